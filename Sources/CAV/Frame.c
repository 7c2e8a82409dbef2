// A decoded picture: what it is, and its samples, row by row, to where a frame wants them.
#ifdef GLP_FFMPEG
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Frame.h"
#include "Libraries.h"

/// FFmpeg's descriptions leave out that XYZ is no Y'CbCr, that 0 is white in monow, and half of the columns of uyyvyy411.
static const char *const misdescribed[] = {"xyz12le", "xyz12be", "monow", "uyyvyy411"};

static bool is_readable(const AVPixFmtDescriptor *format) {
  for (size_t i = 0; i < sizeof misdescribed / sizeof *misdescribed; i++) {
    if (strcmp(format->name, misdescribed[i]) == 0) return false;
  }
  return !(format->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT));
}

static glp_av_components components_of(int format) {
  const AVPixFmtDescriptor *description = glp_av.av_pix_fmt_desc_get(format);
  glp_av_components components = {};
  if (!description || !is_readable(description)) return components;
  if (description->flags & AV_PIX_FMT_FLAG_PAL) {
    return (glp_av_components){.count = 3, .depths = {8, 8, 8}, .is_rgb = true};
  }
  components.count = description->nb_components;
  for (int i = 0; i < 4; i++) components.depths[i] = description->comp[i].depth;
  components.chroma_shift_x = description->log2_chroma_w;
  components.chroma_shift_y = description->log2_chroma_h;
  components.is_rgb = description->flags & AV_PIX_FMT_FLAG_RGB;
  return components;
}

glp_av_picture glp_av_describe(const glp_av_frame *self) {
  const AVFrame *frame = self->frame;
  glp_av_picture picture = {
      .components = components_of(frame->format),
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

static inline uint8_t narrowed(uint16_t sample, int32_t shift, int32_t mask, int32_t scale, int32_t offset) {
  int32_t code = ((sample >> shift & mask) * scale + offset) >> 16;
  code = code < 0 ? 0 : code;
  return code > 255 ? 255 : code;
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
    for (size_t x = 0; x < row_samples; x++) out[x] = narrowed(in[x], shift, mask, scale, offset);
  }
  return true;
}

bool glp_av_read_component(
    const glp_av_frame *self, int component, uint8_t *target, size_t target_stride, size_t step, size_t row_samples,
    int rows, glp_av_narrowing narrowing) {
  const AVFrame *frame = self->frame;
  const AVPixFmtDescriptor *format = glp_av.av_pix_fmt_desc_get(frame->format);
  const bool is_palette = format && format->flags & AV_PIX_FMT_FLAG_PAL;
  const int index = is_palette ? 0 : component;
  if (!format || index < 0 || index >= format->nb_components || !frame->data[format->comp[index].plane]) return false;
  if (rows > frame->height || row_samples > (size_t)frame->width || (is_palette && !frame->data[1])) return false;
  uint16_t *line = malloc(row_samples * sizeof *line);
  if (!line) return false;
  for (int y = 0; y < rows; y++) {
    glp_av.av_read_image_line2(
        line, (const uint8_t **)frame->data, frame->linesize, format, 0, y, index, (int)row_samples, 0, sizeof *line);
    uint8_t *out = target + y * target_stride;
    for (size_t x = 0; x < row_samples; x++) {
      // A palette has alpha, R, G, B from the upper bits down, in the machine's byte order.
      uint16_t sample = is_palette ? ((const uint32_t *)frame->data[1])[line[x] & 255] >> (16 - 8 * component) : line[x];
      out[x * step] = narrowed(sample, narrowing.shift, narrowing.mask, narrowing.scale, narrowing.offset);
    }
  }
  free(line);
  return true;
}
#endif
