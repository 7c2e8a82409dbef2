// The measure of CJPEGBaseline.h. It shares no line with the decoder and the encoder that it is the measure of.
#include "CJPEGBaseline.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#define TEXT_OF(macro) TEXT(macro)
#define TEXT(word) #word

enum { MAX_ROWS = MAX_SAMP_FACTOR * DCTSIZE };

struct glp_jpeg_baseline {
  struct jpeg_decompress_struct reader;
  struct jpeg_compress_struct writer;
  struct jpeg_error_mgr errors;
  jmp_buf jump;
  uint8_t *samples;
  size_t capacity;
  unsigned char *encoded;
  unsigned long encoded_size;
};

[[noreturn]] static void error_exit(j_common_ptr cinfo) {
  glp_jpeg_baseline *self = cinfo->client_data;
  longjmp(self->jump, 1);
}
static void output_message(j_common_ptr cinfo) { (void)cinfo; }

glp_jpeg_baseline *glp_jpeg_baseline_create(void) {
  glp_jpeg_baseline *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->reader.err = self->writer.err = jpeg_std_error(&self->errors);
  self->errors.error_exit = error_exit;
  self->errors.output_message = output_message;
  self->reader.client_data = self->writer.client_data = self;
  if (setjmp(self->jump)) {
    glp_jpeg_baseline_destroy(self);
    return NULL;
  }
  jpeg_create_decompress(&self->reader);
  jpeg_create_compress(&self->writer);
  return self;
}

void glp_jpeg_baseline_destroy(glp_jpeg_baseline *self) {
  if (self == NULL) return;
  jpeg_destroy_decompress(&self->reader);
  jpeg_destroy_compress(&self->writer);
  free(self->samples);
  free(self->encoded);
  free(self);
}

static bool reserve(glp_jpeg_baseline *self, size_t count) {
  if (count <= self->capacity) return true;
  uint8_t *samples = realloc(self->samples, count);
  if (samples == NULL) return false;
  self->samples = samples;
  self->capacity = count;
  return true;
}

bool glp_jpeg_baseline_decode(glp_jpeg_baseline *self, const uint8_t *data, size_t size) {
  struct jpeg_decompress_struct *cinfo = &self->reader;
  if (setjmp(self->jump)) {
    jpeg_abort_decompress(cinfo);
    return false;
  }
  jpeg_mem_src(cinfo, data, size);
  jpeg_read_header(cinfo, TRUE);
  if (cinfo->num_components != 3 || cinfo->jpeg_color_space != JCS_YCbCr) longjmp(self->jump, 1);
  cinfo->raw_data_out = TRUE;
  cinfo->out_color_space = JCS_YCbCr;
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_decompress(cinfo);

  // Planes of whole rows of MCUs: nothing needs to be cut off.
  size_t offsets[3], strides[3], count = 0;
  size_t mcu_rows = ((size_t)cinfo->image_height - 1) / ((size_t)cinfo->max_v_samp_factor * DCTSIZE) + 1;
  for (int c = 0; c < 3; c++) {
    const jpeg_component_info *component = &cinfo->comp_info[c];
    offsets[c] = count;
    strides[c] = (size_t)component->width_in_blocks * DCTSIZE;
    count += strides[c] * mcu_rows * (size_t)component->v_samp_factor * DCTSIZE;
  }
  if (!reserve(self, count)) longjmp(self->jump, 1);
  JSAMPROW rows[3][MAX_ROWS];
  JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
  for (size_t mcu_row = 0; cinfo->output_scanline < cinfo->output_height; mcu_row++) {
    for (int c = 0; c < 3; c++) {
      size_t height = (size_t)cinfo->comp_info[c].v_samp_factor * DCTSIZE;
      for (size_t i = 0; i < height; i++) {
        rows[c][i] = self->samples + offsets[c] + (mcu_row * height + i) * strides[c];
      }
    }
    jpeg_read_raw_data(cinfo, arrays, (JDIMENSION)cinfo->max_v_samp_factor * DCTSIZE);
  }
  jpeg_finish_decompress(cinfo);
  return true;
}

size_t glp_jpeg_baseline_encode(
    glp_jpeg_baseline *self, int width, int height, int quality, const uint8_t *const planes[3],
    const size_t bytes_per_row[3]) {
  struct jpeg_compress_struct *cinfo = &self->writer;
  if (setjmp(self->jump)) {
    jpeg_abort_compress(cinfo);
    return 0;
  }
  // Into the memory of the picture before, which was the same or larger.
  unsigned char *memory = self->encoded;
  unsigned long size = self->encoded_size;
  jpeg_mem_dest(cinfo, &memory, &size);
  cinfo->image_width = (JDIMENSION)width;
  cinfo->image_height = (JDIMENSION)height;
  cinfo->input_components = 3;
  cinfo->in_color_space = JCS_YCbCr;
  jpeg_set_defaults(cinfo);
  jpeg_set_quality(cinfo, quality, TRUE);
  cinfo->raw_data_in = TRUE;
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_compress(cinfo, TRUE);

  JSAMPROW rows[3][MAX_ROWS];
  JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
  for (size_t mcu_row = 0; cinfo->next_scanline < cinfo->image_height; mcu_row++) {
    for (int c = 0; c < 3; c++) {
      size_t count = c == 0 ? 2 * DCTSIZE : DCTSIZE;
      size_t last = (c == 0 ? (size_t)height : ((size_t)height + 1) / 2) - 1;
      for (size_t i = 0; i < count; i++) {
        size_t y = mcu_row * count + i < last ? mcu_row * count + i : last;
        rows[c][i] = (JSAMPROW)(planes[c] + y * bytes_per_row[c]);
      }
    }
    jpeg_write_raw_data(cinfo, arrays, 2 * DCTSIZE);
  }
  jpeg_finish_compress(cinfo);
  // jpeg_mem_dest frees what it has outgrown only if it took it itself.
  if (memory != self->encoded) {
    free(self->encoded);
    self->encoded = memory;
    self->encoded_size = size;
  }
  return size;
}

const char *glp_jpeg_library_version(void) { return TEXT_OF(LIBJPEG_TURBO_VERSION); }
