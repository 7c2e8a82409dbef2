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
  // The bytes of the output to begin with.
  size_t expected;
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
  encoder *self = cinfo->client_data;
  grow(self, 16384 + self->expected);
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

// Sets what the planes and the quality decide.
static void set_up(struct jpeg_compress_struct *cinfo, const glp_jpeg_picture *picture) {
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
}

// Writes what comes before the tables.
static void start(encoder *self, const glp_jpeg_picture *picture) {
  struct jpeg_compress_struct *cinfo = &self->cinfo;
  jpeg_start_compress(cinfo, TRUE);
  if (picture->exif != NULL && picture->exif_size > 0) {
    jpeg_write_marker(cinfo, JPEG_APP0 + 1, picture->exif, (unsigned int)picture->exif_size);
  }
  if (picture->icc != NULL && picture->icc_size > 0) {
    jpeg_write_icc_profile(cinfo, picture->icc, (unsigned int)picture->icc_size);
  }
}

static void encode(encoder *self, const glp_jpeg_picture *picture, const void *unused) {
  (void)unused;
  self->expected = (size_t)picture->width * (size_t)picture->height / 4;
  set_up(&self->cinfo, picture);
  start(self, picture);
  encode_planes(self, picture);
  jpeg_finish_compress(&self->cinfo);
}

// The bytes up to the scan, whose header is the last segment.
static size_t size_of_headers(encoder *self, size_t size) {
  const uint8_t *bytes = self->encoded->bytes;
  size_t place = 2;
  while (place + 4 <= size) {
    bool is_last = bytes[place + 1] == 0xDA;
    place += 2 + ((size_t)bytes[place + 2] << 8 | bytes[place + 3]);
    if (is_last && place <= size) return place;
  }
  ERREXIT(&self->cinfo, JERR_CANT_SUSPEND);
  return 0;
}

// Has libjpeg write the headers, which come with the first blocks: a row of empty ones, which the scan replaces.
static void wrap(encoder *self, const glp_jpeg_picture *picture, const void *context) {
  struct jpeg_compress_struct *cinfo = &self->cinfo;
  const glp_jpeg_scan *scan = context;
  self->expected = scan->size + picture->icc_size + picture->icc_size / 256 + picture->exif_size + 2;
  set_up(cinfo, picture);
  // Otherwise there would be no headers before the end.
  cinfo->optimize_coding = FALSE;
  start(self, picture);
  size_t width = ((size_t)picture->width + MAX_ROWS * DCTSIZE) * sizeof(JSAMPLE);
  JSAMPROW empty = cinfo->mem->alloc_large((j_common_ptr)cinfo, JPOOL_IMAGE, width);
  memset(empty, 0, width);
  JSAMPROW rows[MAX_ROWS];
  JSAMPARRAY arrays[3] = {rows, rows, rows};
  for (int i = 0; i < MAX_ROWS; i++) rows[i] = empty;
  jpeg_write_raw_data(cinfo, arrays, (JDIMENSION)cinfo->max_v_samp_factor * DCTSIZE);

  size_t headers = size_of_headers(self, self->capacity - self->destination.free_in_buffer);
  size_t size = headers + scan->size + 2;
  if (size > self->capacity) grow(self, size);
  uint8_t *end = self->encoded->bytes + headers;
  if (scan->size > 0) memcpy(end, scan->bytes, scan->size);
  memcpy(end + scan->size, (const uint8_t[]){0xFF, JPEG_EOI}, 2);
  self->encoded->size = size;
}

static void copy_tables(encoder *self, const glp_jpeg_picture *picture, const void *context) {
  struct jpeg_compress_struct *cinfo = &self->cinfo;
  glp_jpeg_tables *tables = *(glp_jpeg_tables *const *)context;
  set_up(cinfo, picture);
  for (int t = 0; t < 2; t++) {
    memcpy(tables->quantizers[t], cinfo->quant_tbl_ptrs[t]->quantval, sizeof tables->quantizers[t]);
    const JHUFF_TBL *sources[2] = {cinfo->dc_huff_tbl_ptrs[t], cinfo->ac_huff_tbl_ptrs[t]};
    uint32_t *targets[2] = {tables->dc_codes[t], tables->ac_codes[t]};
    for (int k = 0; k < 2; k++) {
      // T.81, C.2.
      uint32_t code = 0;
      int symbol = 0;
      for (uint32_t length = 1; length <= 16; length++, code <<= 1) {
        for (int i = 0; i < sources[k]->bits[length]; i++, symbol++, code++) {
          int value = sources[k]->huffval[symbol];
          if (k == 0 && value > 15) ERREXIT(cinfo, JERR_BAD_HUFF_TABLE);
          targets[k][value] = length << 16 | code;
        }
      }
    }
  }
}

// Runs `work` with an encoder whose errors end it.
static glp_jpeg_status run(
    void (*work)(encoder *, const glp_jpeg_picture *, const void *), const glp_jpeg_picture *picture,
    const void *context, glp_jpeg_encoded *encoded) {
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
  jpeg_create_compress(&self->cinfo);
  self->destination = (struct jpeg_destination_mgr){
      .init_destination = start_output,
      .empty_output_buffer = flush_output,
      .term_destination = finish_output,
  };
  self->cinfo.dest = &self->destination;
  work(self, picture, context);
  jpeg_destroy_compress(&self->cinfo);
  free(self);
  return GLP_JPEG_OK;
}

glp_jpeg_status glp_jpeg_encode(const glp_jpeg_picture *picture, glp_jpeg_encoded *encoded) {
  return run(encode, picture, NULL, encoded);
}

glp_jpeg_status glp_jpeg_wrap(
    const glp_jpeg_picture *picture, const glp_jpeg_scan *scan, glp_jpeg_encoded *encoded) {
  return run(wrap, picture, scan, encoded);
}

glp_jpeg_status glp_jpeg_read_tables(int quality, glp_jpeg_tables *tables) {
  *tables = (glp_jpeg_tables){};
  const glp_jpeg_picture picture = {
      .width = 8, .height = 8, .chroma_x = 1, .chroma_y = 1, .quality = quality};
  glp_jpeg_encoded none;
  return run(copy_tables, &picture, &tables, &none);
}

void glp_jpeg_free(uint8_t *bytes) { free(bytes); }
