// Pictures to H.264, one picture in, one picture out: by one of FFmpeg's encoders, or by OpenH264.
#ifdef GLP_FFMPEG
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "Libraries.h"
#include "OpenH264.h"
#include "Planes.h"

struct glp_av_encoder {
  /// Not FFmpeg's; then all else is NULL.
  glp_openh264 *openh264;
  AVCodecContext *codec;
  /// What the codec takes, or what is uploaded for it.
  AVFrame *frame;
  AVPacket *packet;
  /// Of encoders that take pictures in a GPU's memory; else NULL.
  AVBufferRef *device;
  int64_t pictures;
};

typedef struct {
  const char *name;
  const char *value;
} option;

/// What is asked of an encoder beside what all have. Options that a version does not know are left out: av_opt_set
/// refuses them, and the stream is only a little worse.
static const struct {
  const char *encoder;
  const char *quality;
  option options[8];
} dialects[] = {
    {"libx264", "crf",
     {{"preset", "ultrafast"}, {"tune", "zerolatency"}, {"profile", "baseline"}, {"forced-idr", "1"}}},
    {"h264_nvenc", "cq",
     {{"preset", "p2"},
      {"tune", "ull"},
      {"profile", "baseline"},
      {"forced-idr", "1"},
      {"rc", "vbr"},
      {"delay", "0"},
      {"zerolatency", "1"}}},
    {"h264_vaapi", NULL, {{"profile", "constrained_baseline"}, {"async_depth", "1"}}},
};

static void set_dialect(AVCodecContext *codec, const glp_av_encoding *encoding) {
  char quality[16];
  snprintf(quality, sizeof quality, "%d", encoding->quality);
  for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
    if (strcmp(dialects[i].encoder, encoding->encoder) != 0) continue;
    for (const option *next = dialects[i].options; next->name; next++) {
      glp_av.av_opt_set(codec->priv_data, next->name, next->value, 0);
    }
    if (dialects[i].quality) glp_av.av_opt_set(codec->priv_data, dialects[i].quality, quality, 0);
  }
}

static void set_rate(AVCodecContext *codec, int64_t bitrate) {
  codec->rc_max_rate = bitrate;
  codec->rc_buffer_size = (int)(bitrate / 2 < INT32_MAX ? bitrate / 2 : INT32_MAX);
  // x264 takes a bit rate for its target, and then forgets the quality. Hardware wants one, and takes one as high as
  // the limit for a constant rate.
  if (strcmp(codec->codec->name, "libx264") != 0) codec->bit_rate = bitrate * 3 / 4;
}

static void set_parameters(AVCodecContext *codec, const glp_av_encoding *encoding) {
  codec->width = encoding->width;
  codec->height = encoding->height;
  codec->time_base = (AVRational){1, encoding->rate};
  codec->framerate = (AVRational){encoding->rate, 1};
  codec->gop_size = encoding->keyframe_interval;
  codec->max_b_frames = 0;
  codec->refs = 1;
  codec->flags |= AV_CODEC_FLAG_LOW_DELAY;
  codec->thread_type = FF_THREAD_SLICE;
  codec->thread_count = encoding->threads;
  // What the samples are: JPEG's colours in limited range, chroma in the middle of its pixels.
  codec->color_range = AVCOL_RANGE_MPEG;
  codec->colorspace = AVCOL_SPC_SMPTE170M;
  codec->color_primaries = AVCOL_PRI_BT709;
  codec->color_trc = AVCOL_TRC_IEC61966_2_1;
  codec->chroma_sample_location = AVCHROMA_LOC_CENTER;
  // Drivers have defaults of their own; other encoders have an option.
  if (strcmp(codec->codec->name, "h264_v4l2m2m") == 0) codec->profile = FF_PROFILE_H264_CONSTRAINED_BASELINE;
  // For VA-API's scale of quality; others have an option.
  if (strcmp(codec->codec->name, "h264_vaapi") == 0) codec->global_quality = encoding->quality;
  set_rate(codec, encoding->bitrate);
  set_dialect(codec, encoding);
}

/// Pictures in the memory of the first GPU that VA-API finds; 0, or FFmpeg's code.
static int set_device(glp_av_encoder *self) {
  AVCodecContext *codec = self->codec;
  int code = glp_av.av_hwdevice_ctx_create(&self->device, AV_HWDEVICE_TYPE_VAAPI, NULL, NULL, 0);
  if (code < 0) return code;
  if (!(codec->hw_frames_ctx = glp_av.av_hwframe_ctx_alloc(self->device))) return AVERROR(ENOMEM);
  AVHWFramesContext *frames = (AVHWFramesContext *)codec->hw_frames_ctx->data;
  frames->format = codec->pix_fmt = AV_PIX_FMT_VAAPI;
  frames->sw_format = AV_PIX_FMT_NV12;
  frames->width = codec->width;
  frames->height = codec->height;
  frames->initial_pool_size = 4;
  return glp_av.av_hwframe_ctx_init(codec->hw_frames_ctx);
}

/// Opens the encoder for planes (`format`) or for what is in a GPU's memory; 0, or FFmpeg's code.
static int open_codec(
    glp_av_encoder *self, const AVCodec *codec, enum AVPixelFormat format, const glp_av_encoding *encoding) {
  const bool is_uploaded = strcmp(codec->name, "h264_vaapi") == 0;
  glp_av_listen();
  glp_av.avcodec_free_context(&self->codec);
  if (!(self->codec = glp_av.avcodec_alloc_context3(codec))) return AVERROR(ENOMEM);
  set_parameters(self->codec, encoding);
  self->codec->pix_fmt = format;
  if (is_uploaded) {
    const int code = set_device(self);
    if (code < 0) return code;
  }
  glp_av_listen();
  const int code = glp_av.avcodec_open2(self->codec, codec, NULL);
  if (code < 0) return code;
  self->frame->format = is_uploaded ? AV_PIX_FMT_NV12 : format;
  self->frame->width = encoding->width;
  self->frame->height = encoding->height;
  return glp_av.av_frame_get_buffer(self->frame, 0);
}

glp_av_encoder *glp_av_encoder_open(const glp_av_encoding *encoding, glp_av_error *error) {
  const bool is_openh264 = strcmp(encoding->encoder, "libopenh264") == 0;
  if (!is_openh264 && !glp_av_load(error)) return NULL;
  const AVCodec *codec = is_openh264 ? NULL : glp_av.avcodec_find_encoder_by_name(encoding->encoder);
  if (!codec && !is_openh264) {
    *error = (glp_av_error){.status = GLP_AV_NO_ENCODER};
    return NULL;
  }
  glp_av_encoder *self = calloc(1, sizeof *self);
  if (!self) {
    *error = (glp_av_error){.status = GLP_AV_NO_MEMORY};
    return NULL;
  }
  if (is_openh264) {
    if ((self->openh264 = glp_openh264_open(encoding, error))) return self;
    free(self);
    return NULL;
  }
  self->frame = glp_av.av_frame_alloc();
  self->packet = glp_av.av_packet_alloc();
  int code = self->frame && self->packet ? open_codec(self, codec, AV_PIX_FMT_YUV420P, encoding) : AVERROR(ENOMEM);
  // Some V4L2 devices take chroma only by turns.
  if (code < 0 && strcmp(codec->name, "h264_v4l2m2m") == 0) code = open_codec(self, codec, AV_PIX_FMT_NV12, encoding);
  if (code >= 0) return self;
  glp_av_fail(error, code);
  if (strcmp(codec->name, "h264_vaapi") == 0 && !self->device) {
    snprintf(error->text, sizeof error->text, "there is no device of VA-API");
  }
  glp_av_encoder_close(self);
  return NULL;
}

void glp_av_encoder_close(glp_av_encoder *self) {
  if (!self) return;
  if (self->openh264) {
    glp_openh264_close(self->openh264);
  } else {
    glp_av.avcodec_free_context(&self->codec);
    glp_av.av_frame_free(&self->frame);
    glp_av.av_packet_free(&self->packet);
    glp_av.av_buffer_unref(&self->device);
  }
  free(self);
}

/// Chroma by turns: Cb, Cr, Cb, Cr.
static void interleave(uint8_t *target, int target_stride, const glp_av_planes *picture, int columns, int rows) {
  for (int y = 0; y < rows; y++) {
    uint8_t *restrict out = target + (ptrdiff_t)y * target_stride;
    const uint8_t *restrict cb = picture->planes[1] + y * picture->strides[1];
    const uint8_t *restrict cr = picture->planes[2] + y * picture->strides[2];
    for (int x = 0; x < columns; x++) {
      out[2 * x] = cb[x];
      out[2 * x + 1] = cr[x];
    }
  }
}

static int fill(AVFrame *frame, const glp_av_planes *picture) {
  const int code = glp_av.av_frame_make_writable(frame);
  if (code < 0) return code;
  const int columns = frame->width / 2, rows = frame->height / 2;
  copy_plane(
      frame->data[0], frame->linesize[0], frame->width, frame->height, picture, 0, picture->width, picture->height);
  if (frame->format == AV_PIX_FMT_NV12) {
    interleave(frame->data[1], frame->linesize[1], picture, columns, rows);
    return 0;
  }
  for (int i = 1; i < 3; i++) {
    copy_plane(frame->data[i], frame->linesize[i], columns, rows, picture, i, columns, rows);
  }
  return 0;
}

/// Hands the filled frame to the encoder, by way of the GPU's memory where it wants that; 0, or FFmpeg's code.
static int send(glp_av_encoder *self, bool is_key) {
  AVFrame *frame = self->frame, *uploaded = NULL;
  int code = 0;
  if (self->codec->hw_frames_ctx) {
    if (!(uploaded = glp_av.av_frame_alloc())) return AVERROR(ENOMEM);
    code = glp_av.av_hwframe_get_buffer(self->codec->hw_frames_ctx, uploaded, 0);
    if (code >= 0) code = glp_av.av_hwframe_transfer_data(uploaded, frame, 0);
    frame = uploaded;
  }
  if (code >= 0) {
    frame->pts = self->pictures++;
    frame->pict_type = is_key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    code = glp_av.avcodec_send_frame(self->codec, frame);
  }
  glp_av.av_frame_free(&uploaded);
  return code;
}

bool glp_av_encode(
    glp_av_encoder *self, const glp_av_planes *picture, bool is_key, const uint8_t **bytes, size_t *count,
    glp_av_error *error) {
  if (self->openh264) return glp_openh264_encode(self->openh264, picture, is_key, bytes, count, error);
  glp_av_listen();
  glp_av.av_packet_unref(self->packet);
  *bytes = NULL;
  *count = 0;
  int code = fill(self->frame, picture);
  if (code >= 0) code = send(self, is_key);
  // An encoder that takes nothing may have something to give first.
  if (code >= 0 || code == AVERROR(EAGAIN)) code = glp_av.avcodec_receive_packet(self->codec, self->packet);
  if (code == AVERROR(EAGAIN)) return true;
  if (code < 0) return glp_av_fail(error, code);
  *bytes = self->packet->data;
  *count = self->packet->size;
  return true;
}

void glp_av_encoder_set_bitrate(glp_av_encoder *self, int64_t bitrate) {
  if (self->openh264) return glp_openh264_set_bitrate(self->openh264, bitrate);
  set_rate(self->codec, bitrate);
}
#endif
