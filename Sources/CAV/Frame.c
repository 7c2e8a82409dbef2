// A decoded picture: what it is, and its samples, row by row, to where a frame wants them.
#ifdef GLP_FFMPEG
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Frame.h"
#include "Libraries.h"

glp_av_picture glp_av_describe(const glp_av_frame *self) {
  const AVFrame *frame = self->frame;
  glp_av_picture picture = {
      .width = frame->width,
      .height = frame->height,
      .matrix = frame->colorspace,
      .range = frame->color_range,
      .chroma_location = frame->chroma_location,
      .is_damaged = self->is_damaged,
      .has_display_matrix = self->has_display_matrix,
  };
  const char *format = glp_av.av_get_pix_fmt_name(frame->format);
  snprintf(picture.format, sizeof picture.format, "%s", format ? format : "");
#ifdef AV_FRAME_FLAG_KEY
  picture.is_key = frame->flags & AV_FRAME_FLAG_KEY;
#else
  picture.is_key = frame->key_frame;
#endif
  if (frame->best_effort_timestamp != AV_NOPTS_VALUE) {
    picture.has_time = true;
    picture.time =
        glp_av.av_rescale_q(frame->best_effort_timestamp, self->time_base, (AVRational){1, 1000000000});
  }
  memcpy(picture.display_matrix, self->display_matrix, sizeof picture.display_matrix);
  for (int i = 0; i < AV_NUM_DATA_POINTERS; i++) {
    if (frame->buf[i]) picture.byte_count += frame->buf[i]->size;
  }
  return picture;
}

void glp_av_frame_destroy(glp_av_frame *self) {
  if (!self) return;
  glp_av.av_frame_free(&self->frame);
  free(self);
}

/// A plane's first row, or NULL where it has no rows of `row_bytes` bytes. Rows may stand in reverse: the stride says so.
static const uint8_t *rows_of(const AVFrame *frame, int plane, size_t row_bytes, int rows) {
  if (plane < 0 || plane >= AV_NUM_DATA_POINTERS || !frame->data[plane]) return NULL;
  if (rows > frame->height || row_bytes > (size_t)labs((long)frame->linesize[plane])) return NULL;
  return frame->data[plane];
}

bool glp_av_copy(
    const glp_av_frame *self, int plane, uint8_t *target, size_t target_stride, size_t row_bytes, int rows) {
  const uint8_t *source = rows_of(self->frame, plane, row_bytes, rows);
  if (!source) return false;
  const ptrdiff_t stride = self->frame->linesize[plane];
  for (int y = 0; y < rows; y++) memcpy(target + y * target_stride, source + y * stride, row_bytes);
  return true;
}

bool glp_av_narrow(
    const glp_av_frame *self, int plane, uint8_t *target, size_t target_stride, size_t row_samples, int rows,
    glp_av_narrowing narrowing) {
  const uint8_t *source = rows_of(self->frame, plane, 2 * row_samples, rows);
  if (!source) return false;
  const ptrdiff_t stride = self->frame->linesize[plane];
  const int32_t shift = narrowing.shift, mask = narrowing.mask, scale = narrowing.scale, offset = narrowing.offset;
  for (int y = 0; y < rows; y++) {
    const uint16_t *restrict in = (const uint16_t *)(source + y * stride);
    uint8_t *restrict out = target + y * target_stride;
    for (size_t x = 0; x < row_samples; x++) {
      int32_t code = ((in[x] >> shift & mask) * scale + offset) >> 16;
      code = code < 0 ? 0 : code;
      out[x] = code > 255 ? 255 : code;
    }
  }
  return true;
}
#endif
