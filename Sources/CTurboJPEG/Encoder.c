// The encoder of CTurboJPEG.h. On an error, the error manager's error_exit jumps back into the function that Swift
// called.
#include "CTurboJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum { MAX_ROWS = MAX_SAMP_FACTOR * DCTSIZE };

typedef struct {
  struct jpeg_compress_struct cinfo;
  struct jpeg_error_mgr errors;
  struct jpeg_destination_mgr destination;
  jmp_buf jump;
  glp_jpeg_encoded *encoded;
  size_t capacity;
} encoder;

[[noreturn]] static void encoder_error_exit(j_common_ptr cinfo) {
  encoder *self = cinfo->client_data;
  char message[JMSG_LENGTH_MAX];
  self->errors.format_message(cinfo, message);
  snprintf(self->encoded->message, sizeof self->encoded->message, "%s", message);
  longjmp(self->jump, 1);
}

static void encoder_emit_message(j_common_ptr cinfo, int level) { (void)cinfo, (void)level; }
static void encoder_output_message(j_common_ptr cinfo) { (void)cinfo; }

// libjpeg's own memory destination starts at 4 KiB and loses its memory on an error.
static void grow(encoder *self, size_t capacity) {
  uint8_t *bytes = realloc(self->encoded->bytes, capacity);
  if (bytes == NULL) ERREXIT1(&self->cinfo, JERR_OUT_OF_MEMORY, 0);
  self->destination.next_output_byte = bytes + self->capacity;
  self->destination.free_in_buffer = capacity - self->capacity;
  self->encoded->bytes = bytes;
  self->capacity = capacity;
}

static void start_output(j_compress_ptr cinfo) {
  size_t pixels = (size_t)cinfo->image_width * cinfo->image_height;
  grow(cinfo->client_data, 16384 + pixels / 4);
}

static boolean flush_output(j_compress_ptr cinfo) {
  encoder *self = cinfo->client_data;
  grow(self, 2 * self->capacity);
  return TRUE;
}

static void finish_output(j_compress_ptr cinfo) {
  encoder *self = cinfo->client_data;
  self->encoded->size = self->capacity - self->destination.free_in_buffer;
}

// Encodes one row of MCUs at a time. Blocks at the right edge are filled by repeating the last sample of a row, blocks
// at the bottom by repeating the last row. libjpeg does this for RGB, but not for planes.
static void encode_planes(encoder *self, const glp_jpeg_picture *picture) {
  struct jpeg_compress_struct *cinfo = &self->cinfo;
  JSAMPROW rows[3][MAX_ROWS];
  JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
  JSAMPARRAY padded[3] = {NULL, NULL, NULL};
  size_t widths[3], heights[3];
  JDIMENSION row_of_blocks = 0;

  for (int c = 0; c < 3; c++) {
    const jpeg_component_info *component = &cinfo->comp_info[c];
    size_t x = c == 0 ? 1 : (size_t)picture->chroma_x, y = c == 0 ? 1 : (size_t)picture->chroma_y;
    widths[c] = ((size_t)picture->width + x - 1) / x;
    heights[c] = ((size_t)picture->height + y - 1) / y;
    if (widths[c] % DCTSIZE == 0) continue;
    padded[c] = cinfo->mem->alloc_sarray(
        (j_common_ptr)cinfo, JPOOL_IMAGE, component->width_in_blocks * DCTSIZE,
        (JDIMENSION)component->v_samp_factor * DCTSIZE);
  }
  while (cinfo->next_scanline < cinfo->image_height) {
    for (int c = 0; c < 3; c++) {
      const jpeg_component_info *component = &cinfo->comp_info[c];
      size_t count = (size_t)component->v_samp_factor * DCTSIZE;
      for (size_t i = 0; i < count; i++) {
        size_t y = row_of_blocks * count + i;
        if (y >= heights[c]) y = heights[c] - 1;
        const uint8_t *row = picture->planes[c].samples + y * picture->planes[c].bytes_per_row;
        if (padded[c] == NULL) {
          rows[c][i] = (JSAMPROW)row;
        } else {
          rows[c][i] = padded[c][i];
          memcpy(rows[c][i], row, widths[c]);
          size_t padding = component->width_in_blocks * DCTSIZE - widths[c];
          memset(rows[c][i] + widths[c], row[widths[c] - 1], padding);
        }
      }
    }
    jpeg_write_raw_data(cinfo, arrays, (JDIMENSION)cinfo->max_v_samp_factor * DCTSIZE);
    row_of_blocks++;
  }
}

static void encode(encoder *self, const glp_jpeg_picture *picture) {
  struct jpeg_compress_struct *cinfo = &self->cinfo;
  jpeg_create_compress(cinfo);
  self->destination = (struct jpeg_destination_mgr){
      .init_destination = start_output,
      .empty_output_buffer = flush_output,
      .term_destination = finish_output,
  };
  cinfo->dest = &self->destination;
  cinfo->image_width = (JDIMENSION)picture->width;
  cinfo->image_height = (JDIMENSION)picture->height;
  cinfo->input_components = 3;
  cinfo->in_color_space = JCS_YCbCr;
  jpeg_set_defaults(cinfo);
  jpeg_set_quality(cinfo, picture->quality, TRUE);
  cinfo->raw_data_in = TRUE;
  cinfo->dct_method = JDCT_ISLOW;
  cinfo->optimize_coding = picture->optimize;
  cinfo->comp_info[0].h_samp_factor = picture->chroma_x;
  cinfo->comp_info[0].v_samp_factor = picture->chroma_y;
  for (int c = 1; c < 3; c++) cinfo->comp_info[c].h_samp_factor = cinfo->comp_info[c].v_samp_factor = 1;
  jpeg_start_compress(cinfo, TRUE);
  if (picture->exif != NULL && picture->exif_size > 0) {
    jpeg_write_marker(cinfo, JPEG_APP0 + 1, picture->exif, (unsigned int)picture->exif_size);
  }
  if (picture->icc != NULL && picture->icc_size > 0) {
    jpeg_write_icc_profile(cinfo, picture->icc, (unsigned int)picture->icc_size);
  }
  encode_planes(self, picture);
  jpeg_finish_compress(cinfo);
}

glp_jpeg_status glp_jpeg_encode(const glp_jpeg_picture *picture, glp_jpeg_encoded *encoded) {
  *encoded = (glp_jpeg_encoded){};
  encoder *self = calloc(1, sizeof *self);
  if (self == NULL) {
    snprintf(encoded->message, sizeof encoded->message, "out of memory");
    return GLP_JPEG_FAILED;
  }
  self->encoded = encoded;
  self->cinfo.err = jpeg_std_error(&self->errors);
  self->errors.error_exit = encoder_error_exit;
  self->errors.emit_message = encoder_emit_message;
  self->errors.output_message = encoder_output_message;
  self->cinfo.client_data = self;
  if (setjmp(self->jump)) {
    free(encoded->bytes);
    encoded->bytes = NULL;
    jpeg_destroy_compress(&self->cinfo);
    free(self);
    return GLP_JPEG_FAILED;
  }
  encode(self, picture);
  jpeg_destroy_compress(&self->cinfo);
  free(self);
  return GLP_JPEG_OK;
}

void glp_jpeg_free(uint8_t *bytes) { free(bytes); }
