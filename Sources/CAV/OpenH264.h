// OpenH264 (Cisco, BSD-2): its binary interface as far as it is used, so that its headers are not needed to build; names are
// its own, so that they can be looked up. And an encoder of it.
//
// There are two layouts: libopenh264.so.8 (2.5, Debian 13) measures PSNR, which libopenh264.so.7 (2.3, Debian 12) does not.
#ifndef GLP_OPENH264_H
#define GLP_OPENH264_H

#include "CAV.h"

enum {
  CAMERA_VIDEO_REAL_TIME = 0,
  RC_BITRATE_MODE = 1,
  PRO_BASELINE = 66,
  LOW_COMPLEXITY = 0,
  videoFormatI420 = 23,
  WELS_LOG_QUIET = 0,
  ENCODER_OPTION_BITRATE = 5,
  ENCODER_OPTION_MAX_BITRATE = 6,
  ENCODER_OPTION_TRACE_LEVEL = 25,
  SPATIAL_LAYER_ALL = 4,
  /// Video formats of an SPS: unspecified.
  VF_UNDEF = 5,
};

typedef struct {
  int uiSliceMode;
  unsigned uiSliceNum;
  unsigned uiSliceMbNum[35];
  unsigned uiSliceSizeConstraint;
} SSliceArgument;

typedef struct {
  int iVideoWidth, iVideoHeight;
  float fFrameRate;
  int iSpatialBitrate, iMaxSpatialBitrate;
  int uiProfileIdc, uiLevelIdc, iDLayerQp;
  SSliceArgument sSliceArgument;
  bool bVideoSignalTypePresent;
  unsigned char uiVideoFormat;
  bool bFullRange, bColorDescriptionPresent;
  unsigned char uiColorPrimaries, uiTransferCharacteristics, uiColorMatrix;
  bool bAspectRatioPresent;
  int eAspectRatio;
  unsigned short sAspectRatioExtWidth, sAspectRatioExtHeight;
} SSpatialLayerConfig;

typedef struct {
  int iUsageType, iPicWidth, iPicHeight, iTargetBitrate, iRCMode;
  float fMaxFrameRate;
  int iTemporalLayerNum, iSpatialLayerNum;
  SSpatialLayerConfig sSpatialLayers[4];
  int iComplexityMode;
  unsigned uiIntraPeriod;
  int iNumRefFrame, eSpsPpsIdStrategy;
  bool bPrefixNalAddingCtrl, bEnableSSEI, bSimulcastAVC;
  int iPaddingFlag, iEntropyCodingModeFlag;
  bool bEnableFrameSkip;
  int iMaxBitrate, iMaxQp, iMinQp;
  unsigned uiMaxNalSize;
  bool bEnableLongTermReference;
  int iLTRRefNum;
  unsigned iLtrMarkPeriod;
  unsigned short iMultipleThreadIdc;
  bool bUseLoadBalancing;
  int iLoopFilterDisableIdc, iLoopFilterAlphaC0Offset, iLoopFilterBetaOffset;
  bool bEnableDenoise, bEnableBackgroundDetection, bEnableAdaptiveQuant, bEnableFrameCroppingFlag;
  bool bEnableSceneChangeDetect, bIsLosslessLink, bFixRCOverShoot;
  int iIdrBitrateRatio;
  /// Beyond the end for version 7.
  bool bPsnrY, bPsnrU, bPsnrV;
} SEncParamExt;

typedef struct {
  unsigned char uiTemporalId, uiSpatialId, uiQualityId;
  int eFrameType;
  unsigned char uiLayerType;
  int iSubSeqId, iNalCount;
  int *pNalLengthInByte;
  unsigned char *pBsBuf;
} SLayerBSInfo;

typedef struct {
  SLayerBSInfo layer;
  float rPsnr[3];
} SLayerBSInfo8;

#define GLP_FRAME_OF(Layer) \
  struct { \
    int iLayerNum; \
    Layer sLayerInfo[128]; \
    int eFrameType, iFrameSizeInBytes; \
    long long uiTimeStamp; \
  }

/// What EncodeFrame writes, by the library's version.
typedef union {
  GLP_FRAME_OF(SLayerBSInfo) v7;
  GLP_FRAME_OF(SLayerBSInfo8) v8;
} SFrameBSInfo;

#if __SIZEOF_POINTER__ == 8
// As the libraries' own headers have it (2.3.1, 2.6.0).
static_assert(sizeof(SEncParamExt) == 924 && offsetof(SEncParamExt, bPsnrY) == 920);
static_assert(sizeof(((SFrameBSInfo *)NULL)->v7) == 5144 && offsetof(SFrameBSInfo, v7.iFrameSizeInBytes) == 5132);
static_assert(sizeof(((SFrameBSInfo *)NULL)->v8) == 7192 && offsetof(SFrameBSInfo, v8.iFrameSizeInBytes) == 7180);
#endif

typedef struct {
  int iColorFormat, iStride[4];
  unsigned char *pData[4];
  int iPicWidth, iPicHeight;
  long long uiTimeStamp;
  /// Beyond the end for version 7.
  bool bPsnrY, bPsnrU, bPsnrV;
} SSourcePicture;

typedef struct {
  int iLayer, iBitrate;
} SBitrateInfo;

typedef const struct ISVCEncoderVtbl *ISVCEncoder;

struct ISVCEncoderVtbl {
  int (*Initialize)(ISVCEncoder *, const void *);
  int (*InitializeExt)(ISVCEncoder *, const SEncParamExt *);
  int (*GetDefaultParams)(ISVCEncoder *, SEncParamExt *);
  int (*Uninitialize)(ISVCEncoder *);
  int (*EncodeFrame)(ISVCEncoder *, const SSourcePicture *, SFrameBSInfo *);
  int (*EncodeParameterSets)(ISVCEncoder *, SFrameBSInfo *);
  int (*ForceIntraFrame)(ISVCEncoder *, bool);
  int (*SetOption)(ISVCEncoder *, int, void *);
  int (*GetOption)(ISVCEncoder *, int, void *);
};

typedef struct glp_openh264 glp_openh264;

/// What CAV.h says of encoders.
glp_openh264 *glp_openh264_open(const glp_av_encoding *encoding, glp_av_error *error);
void glp_openh264_close(glp_openh264 *encoder);
bool glp_openh264_encode(
    glp_openh264 *encoder, const glp_av_planes *picture, bool is_key, const uint8_t **bytes, size_t *count,
    glp_av_error *error);
void glp_openh264_set_bitrate(glp_openh264 *encoder, int64_t bitrate);

#endif
