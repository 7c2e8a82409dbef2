// Pictures to H.264 by OpenH264, which is loaded when the first encoder is opened.
#ifdef GLP_FFMPEG
#include "OpenH264.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "Planes.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*create)(ISVCEncoder **);
static void (*destroy)(ISVCEncoder *);
/// Which layout SFrameBSInfo has.
static bool is_version_8;

/// Never unloaded: encoders may have threads of their own.
static void load(void) {
  void *library = dlopen("libopenh264.so.8", RTLD_LAZY | RTLD_LOCAL);
  is_version_8 = library;
  if (!library && !(library = dlopen("libopenh264.so.7", RTLD_LAZY | RTLD_LOCAL))) return;
  destroy = (__typeof__(destroy))dlsym(library, "WelsDestroySVCEncoder");
  if (destroy) create = (__typeof__(create))dlsym(library, "WelsCreateSVCEncoder");
}

struct glp_openh264 {
  ISVCEncoder *encoder;
  /// Planes of even sizes, where the picture's are odd or its rows are padded.
  uint8_t *planes;
  uint8_t *bytes;
  size_t capacity;
  int width;
  int height;
  int rate;
  int64_t pictures;
};

static bool fail(glp_av_error *error, glp_av_status status, const char *text) {
  *error = (glp_av_error){.status = status};
  snprintf(error->text, sizeof error->text, "%s", text);
  return false;
}

static int held(int64_t bitrate) { return bitrate < INT32_MAX ? (int)bitrate : INT32_MAX; }

static SEncParamExt parameters(SEncParamExt defaults, const glp_av_encoding *encoding) {
  SEncParamExt all = defaults;
  all.iUsageType = CAMERA_VIDEO_REAL_TIME;
  all.iPicWidth = encoding->width;
  all.iPicHeight = encoding->height;
  all.iTargetBitrate = all.iMaxBitrate = held(encoding->bitrate);
  all.iRCMode = RC_BITRATE_MODE;
  all.fMaxFrameRate = encoding->rate;
  all.iTemporalLayerNum = all.iSpatialLayerNum = 1;
  all.iComplexityMode = LOW_COMPLEXITY;
  all.uiIntraPeriod = encoding->keyframe_interval;
  all.iNumRefFrame = 1;
  all.eSpsPpsIdStrategy = 0;
  all.bPrefixNalAddingCtrl = all.bEnableSSEI = false;
  all.iEntropyCodingModeFlag = 0;
  // A picture that is left out would leave a hole in the times.
  all.bEnableFrameSkip = false;
  all.iMinQp = encoding->quality;
  all.iMaxQp = 51;
  all.iMultipleThreadIdc = 1;
  all.bEnableFrameCroppingFlag = true;
  SSpatialLayerConfig *layer = &all.sSpatialLayers[0];
  layer->iVideoWidth = encoding->width;
  layer->iVideoHeight = encoding->height;
  layer->fFrameRate = encoding->rate;
  layer->iSpatialBitrate = layer->iMaxSpatialBitrate = all.iMaxBitrate;
  layer->uiProfileIdc = PRO_BASELINE;
  // JPEG's colours in limited range: BT.709's primaries, sRGB's curve, BT.601's matrix (H.273, tables 2 to 4).
  layer->bVideoSignalTypePresent = layer->bColorDescriptionPresent = true;
  layer->uiVideoFormat = VF_UNDEF;
  layer->bFullRange = false;
  layer->uiColorPrimaries = 1;
  layer->uiTransferCharacteristics = 13;
  layer->uiColorMatrix = 6;
  return all;
}

glp_openh264 *glp_openh264_open(const glp_av_encoding *encoding, glp_av_error *error) {
  pthread_once(&once, load);
  if (!create) {
    fail(
        error, GLP_AV_NO_LIBRARIES,
        "OpenH264 is not installed: apt-get install libopenh264-8, or libopenh264-7 where that is not known");
    return NULL;
  }
  glp_openh264 *self = calloc(1, sizeof *self);
  if (self) self->planes = malloc((size_t)encoding->width * encoding->height * 3 / 2);
  if (!self || !self->planes || create(&self->encoder) != 0 || !self->encoder) {
    fail(error, GLP_AV_NO_MEMORY, "");
    glp_openh264_close(self);
    return NULL;
  }
  self->width = encoding->width;
  self->height = encoding->height;
  self->rate = encoding->rate;
  int quiet = WELS_LOG_QUIET;
  (*self->encoder)->SetOption(self->encoder, ENCODER_OPTION_TRACE_LEVEL, &quiet);
  SEncParamExt all = {0};
  (*self->encoder)->GetDefaultParams(self->encoder, &all);
  all = parameters(all, encoding);
  if ((*self->encoder)->InitializeExt(self->encoder, &all) == 0) return self;
  fail(error, GLP_AV_FAILED, "OpenH264 refuses this size or bit rate");
  glp_openh264_close(self);
  return NULL;
}

void glp_openh264_close(glp_openh264 *self) {
  if (!self) return;
  if (self->encoder) {
    (*self->encoder)->Uninitialize(self->encoder);
    destroy(self->encoder);
  }
  free(self->planes);
  free(self->bytes);
  free(self);
}

/// Puts the units of all layers after one another; false without memory.
static bool gather(glp_openh264 *self, const SFrameBSInfo *info, size_t *count) {
  const int size = is_version_8 ? info->v8.iFrameSizeInBytes : info->v7.iFrameSizeInBytes;
  const int layers = is_version_8 ? info->v8.iLayerNum : info->v7.iLayerNum;
  if ((size_t)size > self->capacity) {
    uint8_t *larger = realloc(self->bytes, size);
    if (!larger) return false;
    self->bytes = larger;
    self->capacity = size;
  }
  for (int i = 0; i < layers; i++) {
    const SLayerBSInfo *layer = is_version_8 ? &info->v8.sLayerInfo[i].layer : &info->v7.sLayerInfo[i];
    size_t length = 0;
    for (int unit = 0; unit < layer->iNalCount; unit++) length += layer->pNalLengthInByte[unit];
    if (length > self->capacity - *count) return false;
    memcpy(self->bytes + *count, layer->pBsBuf, length);
    *count += length;
  }
  return true;
}

bool glp_openh264_encode(
    glp_openh264 *self, const glp_av_planes *picture, bool is_key, const uint8_t **bytes, size_t *count,
    glp_av_error *error) {
  const int columns = self->width / 2, rows = self->height / 2;
  *bytes = NULL;
  *count = 0;
  uint8_t *luma = self->planes, *cb = luma + (size_t)self->width * self->height, *cr = cb + (size_t)columns * rows;
  copy_plane(luma, self->width, self->width, self->height, picture, 0, picture->width, picture->height);
  copy_plane(cb, columns, columns, rows, picture, 1, columns, rows);
  copy_plane(cr, columns, columns, rows, picture, 2, columns, rows);
  const SSourcePicture source = {
      .iColorFormat = videoFormatI420,
      .iStride = {self->width, columns, columns},
      .pData = {luma, cb, cr},
      .iPicWidth = self->width,
      .iPicHeight = self->height,
      .uiTimeStamp = self->pictures++ * 1000 / self->rate,
  };
  if (is_key) (*self->encoder)->ForceIntraFrame(self->encoder, true);
  SFrameBSInfo info = {.v8 = {0}};
  const int code = (*self->encoder)->EncodeFrame(self->encoder, &source, &info);
  if (code != 0 || (is_version_8 ? info.v8.iFrameSizeInBytes : info.v7.iFrameSizeInBytes) <= 0) {
    return fail(error, GLP_AV_FAILED, "OpenH264 could not encode a picture");
  }
  if (!gather(self, &info, count)) return fail(error, GLP_AV_NO_MEMORY, "");
  *bytes = self->bytes;
  return true;
}

void glp_openh264_set_bitrate(glp_openh264 *self, int64_t bitrate) {
  SBitrateInfo info = {.iLayer = SPATIAL_LAYER_ALL, .iBitrate = held(bitrate)};
  (*self->encoder)->SetOption(self->encoder, ENCODER_OPTION_MAX_BITRATE, &info);
  (*self->encoder)->SetOption(self->encoder, ENCODER_OPTION_BITRATE, &info);
}
#endif
