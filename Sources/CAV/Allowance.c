// FFmpeg asks for each picture's memory by get_buffer2, on any of its threads.
#ifdef GLP_FFMPEG
#include "Allowance.h"

enum { MEGABYTE = 1 << 20 };

/// What a decoder takes for pictures of so many bytes: those that others rest on (only H.264 says how many), the one that is
/// decoded, those that wait or are held, and for each thread that decodes pictures of its own two and what it knows of them.
/// Measured with FFmpeg 5.1 and H.264, H.265, MPEG-4 and VP9 of 0.9 to 35 megapixels: a little more than they take.
static int64_t needed(const AVCodecContext *context, int64_t bytes) {
  const int least = context->codec_id == AV_CODEC_ID_H264 ? 1 : 4;
  const int references = context->refs > least ? context->refs : least;
  const int waiting = context->has_b_frames > 0 ? context->has_b_frames : 0;
  const int threads = context->active_thread_type & FF_THREAD_FRAME ? context->thread_count : 0;
  return bytes * (3 + references + waiting + 2 * threads) + (1 + threads) * MEGABYTE;
}

static int take_picture(AVCodecContext *context, AVFrame *frame, int flags) {
  glp_av_allowance *self = context->opaque;
  const AVPixFmtDescriptor *format = glp_av.av_pix_fmt_desc_get(frame->format);
  const int bits = format ? glp_av.av_get_padded_bits_per_pixel(format) : 32;
  // Beside the samples, half a byte a pixel for motion and kinds of blocks.
  const int64_t bytes = (int64_t)frame->width * frame->height * (bits + 4) / 8;
  if (bytes != atomic_load(&self->granted)) {
    if (!self->memory.may_take(self->memory.context, needed(context, bytes))) {
      atomic_store(&self->has_refused, true);
      return AVERROR(ENOMEM);
    }
    atomic_store(&self->granted, bytes);
  }
  return glp_av.avcodec_default_get_buffer2(context, frame, flags);
}

void glp_av_allow(AVCodecContext *context, glp_av_allowance *allowance) {
  if (!allowance->memory.may_take) return;
  context->opaque = allowance;
  context->get_buffer2 = take_picture;
}

bool glp_av_has_refused(glp_av_allowance *self, glp_av_error *error) {
  if (!atomic_exchange(&self->has_refused, false)) return false;
  *error = (glp_av_error){.status = GLP_AV_NO_ROOM};
  return true;
}
#endif
