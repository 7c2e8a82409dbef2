// A decoder of H.264 by itself: pictures that were kept as they came are decoded when somebody needs their samples.
#ifdef GLP_FFMPEG
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "Allowance.h"
#include "Frame.h"
#include "Libraries.h"

struct glp_av_decoder {
  AVCodecContext *context;
  AVPacket *packet;
  AVFrame *frame;
  glp_av_allowance allowance;
};

static bool open_context(glp_av_decoder *self, int64_t max_pixels, glp_av_error *error) {
  const AVCodec *codec = glp_av.avcodec_find_decoder(AV_CODEC_ID_H264);
  if (!codec) return glp_av_fail(error, AVERROR_DECODER_NOT_FOUND);
  self->context = glp_av.avcodec_alloc_context3(codec);
  self->packet = glp_av.av_packet_alloc();
  self->frame = glp_av.av_frame_alloc();
  if (!self->context || !self->packet || !self->frame) return glp_av_fail(error, AVERROR(ENOMEM));
  // As of live streams in Reader.c.
  self->context->thread_count = 1;
  self->context->flags |= AV_CODEC_FLAG_UNALIGNED | AV_CODEC_FLAG_LOW_DELAY;
  self->context->max_pixels = max_pixels;
  glp_av_allow(self->context, &self->allowance);
  const int code = glp_av.avcodec_open2(self->context, codec, NULL);
  if (code < 0) glp_av_fail(error, code);
  return code >= 0;
}

glp_av_decoder *glp_av_decoder_open(int64_t max_pixels, glp_av_memory memory, glp_av_error *error) {
  if (!glp_av_load(error)) return NULL;
  glp_av_listen();
  glp_av_decoder *self = calloc(1, sizeof *self);
  if (!self) return glp_av_fail(error, AVERROR(ENOMEM));
  self->allowance.memory = memory;
  if (open_context(self, max_pixels, error)) return self;
  glp_av_decoder_close(self);
  return NULL;
}

void glp_av_decoder_close(glp_av_decoder *self) {
  if (!self) return;
  glp_av.avcodec_free_context(&self->context);
  glp_av.av_packet_free(&self->packet);
  glp_av.av_frame_free(&self->frame);
  free(self);
}

static glp_av_frame *make_picture(glp_av_decoder *self, glp_av_error *error) {
  glp_av_frame *picture = calloc(1, sizeof *picture);
  if (picture) picture->frame = glp_av.av_frame_alloc();
  if (!picture || !picture->frame) {
    free(picture);
    return glp_av_fail(error, AVERROR(ENOMEM));
  }
  picture->is_damaged = glp_av_losses_logged() > 0 || self->frame->decode_error_flags ||
                        self->frame->flags & AV_FRAME_FLAG_CORRUPT;
  picture->time_base = (AVRational){1, 1000000000};
  glp_av.av_frame_move_ref(picture->frame, self->frame);
  return picture;
}

glp_av_frame *glp_av_decoder_decode(
    glp_av_decoder *self, const uint8_t *bytes, size_t count, glp_av_error *error) {
  glp_av_listen();
  int code = count > INT32_MAX / 2 ? AVERROR(ENOMEM) : glp_av.av_new_packet(self->packet, (int)count);
  if (code < 0) return glp_av_fail(error, code);
  memcpy(self->packet->data, bytes, count);
  code = glp_av.avcodec_send_packet(self->context, self->packet);
  glp_av.av_packet_unref(self->packet);
  if (code >= 0) code = glp_av.avcodec_receive_frame(self->context, self->frame);
  if (glp_av_has_refused(&self->allowance, error)) {
    if (code == 0) glp_av.av_frame_unref(self->frame);
    return NULL;
  }
  if (code == 0) return make_picture(self, error);
  if (code == AVERROR(EAGAIN)) {
    *error = (glp_av_error){.status = GLP_AV_OK};
    return NULL;
  }
  glp_av_fail(error, code);
  if (code != AVERROR(ENOMEM)) error->status = GLP_AV_DAMAGED;
  return NULL;
}
#endif
