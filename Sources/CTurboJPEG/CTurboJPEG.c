// The decoder of CTurboJPEG.h; the encoder is in Encoder.c. On an error, the error manager's error_exit jumps back into
// the function that Swift called.
#include "CTurboJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

// From version 7 of its API on, libjpeg's scaled blocks need not be square.
#if JPEG_LIB_VERSION >= 70
#define BLOCK_WIDTH(component) ((component)->DCT_h_scaled_size)
#define BLOCK_HEIGHT(component) ((component)->DCT_v_scaled_size)
#define SMALLEST_BLOCK_HEIGHT(cinfo) ((cinfo)->min_DCT_v_scaled_size)
#else
#define BLOCK_WIDTH(component) ((component)->DCT_scaled_size)
#define BLOCK_HEIGHT(component) ((component)->DCT_scaled_size)
#define SMALLEST_BLOCK_HEIGHT(cinfo) ((cinfo)->min_DCT_scaled_size)
#endif

// The most rows of a component in a row of MCUs: blocks of the component with the most rows are never enlarged.
enum { MAX_ROWS = MAX_SAMP_FACTOR * DCTSIZE };

struct glp_jpeg_decoder {
  struct jpeg_decompress_struct cinfo;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf jump;
  glp_jpeg_header header;
  JOCTET *icc;
  int scan_limit;
  glp_jpeg_stop stop;
  void *stop_context;
  bool is_stopped;
  bool tolerates_damage;
  bool is_damaged;
  /// libjpeg has read beyond the end of the data, where it finds end markers (EOI) that are not there.
  bool is_at_end;
  char message[JMSG_LENGTH_MAX];
};

static void keep_message(glp_jpeg_decoder *decoder) {
  if (decoder->message[0] == '\0') {
    decoder->errors.format_message((j_common_ptr)&decoder->cinfo, decoder->message);
  }
}

[[noreturn]] static void decoder_error_exit(j_common_ptr cinfo) {
  glp_jpeg_decoder *decoder = cinfo->client_data;
  keep_message(decoder);
  longjmp(decoder->jump, 1);
}

// libjpeg classifies every recoverable error as a warning, from a stray byte to the loss of half a picture.
static bool is_harmless(int message_code) {
  switch (message_code) {
    case JWRN_ADOBE_XFORM:      // an unknown transform flag: YCbCr or YCCK is assumed
    case JWRN_BOGUS_ICC:        // the profile is dropped
    case JWRN_EXTRANEOUS_DATA:  // bytes between segments
    case JWRN_JFIF_MAJOR:       // a newer JFIF version
    case JWRN_NOT_SEQUENTIAL:   // some cameras write zeros for the SOS parameters
      return true;
    default:
      return false;
  }
}

static void decoder_emit_message(j_common_ptr cinfo, int level) {
  glp_jpeg_decoder *decoder = cinfo->client_data;
  if (level >= 0 || is_harmless(cinfo->err->msg_code)) return;
  if (cinfo->err->msg_code == JWRN_JPEG_EOF) {
    // Not damage by itself: many cameras leave the EOI out. Missing blocks have warnings of their own.
    decoder->is_at_end = true;
    return;
  }
  cinfo->err->num_warnings++;
  decoder->is_damaged = true;
  keep_message(decoder);
  if (!decoder->tolerates_damage) longjmp(decoder->jump, 1);
}

static void decoder_output_message(j_common_ptr cinfo) { (void)cinfo; }

// libjpeg calls this for each row of blocks of each scan. A few bytes can encode one more scan of a huge picture, which
// costs one more pass over all of it.
static void decoder_progress(j_common_ptr cinfo) {
  glp_jpeg_decoder *decoder = cinfo->client_data;
  if (decoder->stop != NULL && decoder->stop(decoder->stop_context)) {
    decoder->is_stopped = true;
    snprintf(decoder->message, sizeof decoder->message, "stopped");
    longjmp(decoder->jump, 1);
  }
  if (decoder->cinfo.input_scan_number <= decoder->scan_limit) return;
  snprintf(decoder->message, sizeof decoder->message, "more than %d scans", decoder->scan_limit);
  longjmp(decoder->jump, 1);
}

glp_jpeg_decoder *glp_jpeg_decoder_create(bool tolerates_damage, size_t memory_limit) {
  glp_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return NULL;
  decoder->tolerates_damage = tolerates_damage;
  decoder->cinfo.err = jpeg_std_error(&decoder->errors);
  decoder->errors.error_exit = decoder_error_exit;
  decoder->errors.emit_message = decoder_emit_message;
  decoder->errors.output_message = decoder_output_message;
  decoder->cinfo.client_data = decoder;
  if (setjmp(decoder->jump)) {
    glp_jpeg_decoder_destroy(decoder);
    return NULL;
  }
  jpeg_create_decompress(&decoder->cinfo);
  decoder->progress.progress_monitor = decoder_progress;
  decoder->cinfo.progress = &decoder->progress;
  // libjpeg-turbo has no backing store: exceeding this limit is an error.
  decoder->cinfo.mem->max_memory_to_use = (long)memory_limit;
  return decoder;
}

void glp_jpeg_decoder_destroy(glp_jpeg_decoder *decoder) {
  if (decoder == NULL) return;
  jpeg_destroy_decompress(&decoder->cinfo);
  free(decoder->icc);
  free(decoder);
}

const char *glp_jpeg_message(const glp_jpeg_decoder *decoder) { return decoder->message; }
bool glp_jpeg_is_cut_short(const glp_jpeg_decoder *decoder) { return decoder->is_at_end; }
bool glp_jpeg_is_stopped(const glp_jpeg_decoder *decoder) { return decoder->is_stopped; }

static bool is_ratio(const jpeg_component_info *luma, const jpeg_component_info *chroma, int x, int y) {
  return luma->h_samp_factor == x * chroma->h_samp_factor && luma->v_samp_factor == y * chroma->v_samp_factor;
}

// Whether the planes can be output as they are stored, with one of the supported chroma ratios.
static bool find_chroma_ratio(const struct jpeg_decompress_struct *cinfo, int *chroma_x, int *chroma_y) {
  static const int ratios[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
  const jpeg_component_info *components = cinfo->comp_info;
  for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
    int x = ratios[i][0], y = ratios[i][1];
    if (!is_ratio(&components[0], &components[1], x, y)) continue;
    if (!is_ratio(&components[0], &components[2], x, y)) continue;
    *chroma_x = x;
    *chroma_y = y;
    return true;
  }
  return false;
}

static bool choose_layout(glp_jpeg_decoder *decoder) {
  struct jpeg_decompress_struct *cinfo = &decoder->cinfo;
  glp_jpeg_header *header = &decoder->header;
  header->chroma_x = header->chroma_y = 1;
  switch (cinfo->jpeg_color_space) {
    case JCS_GRAYSCALE:
      header->layout = GLP_JPEG_GREY;
      cinfo->raw_data_out = TRUE;
      cinfo->out_color_space = JCS_GRAYSCALE;
      return true;
    case JCS_YCbCr:
      header->layout = GLP_JPEG_YCBCR;
      cinfo->raw_data_out = find_chroma_ratio(cinfo, &header->chroma_x, &header->chroma_y);
      cinfo->out_color_space = JCS_YCbCr;
      return true;
    case JCS_RGB:
      header->layout = GLP_JPEG_RGB;
      cinfo->out_color_space = JCS_RGB;
      return true;
    case JCS_CMYK:
    case JCS_YCCK:
      header->layout = GLP_JPEG_RGB;
      cinfo->out_color_space = JCS_CMYK;
      return true;
    default:
      snprintf(
          decoder->message, sizeof decoder->message, "%d colour components of unknown meaning",
          cinfo->num_components);
      return false;
  }
}

static bool starts_with(jpeg_saved_marker_ptr marker, int code, const char *tag, size_t size) {
  return marker->marker == code && marker->data_length >= size && memcmp(marker->data, tag, size) == 0;
}

static void collect_markers(glp_jpeg_decoder *decoder) {
  glp_jpeg_header *header = &decoder->header;
  for (jpeg_saved_marker_ptr marker = decoder->cinfo.marker_list; marker != NULL; marker = marker->next) {
    if (header->exif == NULL && starts_with(marker, JPEG_APP0 + 1, "Exif\0\0", 6)) {
      header->exif = marker->data + 6;
      header->exif_size = marker->data_length - 6;
    }
    if (starts_with(marker, JPEG_APP0 + 2, "MPF\0", 4)) header->has_multi_picture = true;
  }
  unsigned int icc_size = 0;
  if (jpeg_read_icc_profile(&decoder->cinfo, &decoder->icc, &icc_size)) {
    header->icc = decoder->icc;
    header->icc_size = icc_size;
  }
}

// The size without zeros at the end, as in buffers of a fixed size and in files that were never written whole: they would be
// decoded as if they were blocks. One is kept, because it may be data.
static size_t without_padding(const uint8_t *data, size_t size) {
  size_t count = size;
  while (count > 0 && data[count - 1] == 0) count--;
  return count < size ? count + 1 : size;
}

glp_jpeg_status glp_jpeg_read_header(
    glp_jpeg_decoder *decoder, const uint8_t *data, size_t size, glp_jpeg_header *header) {
  struct jpeg_decompress_struct *cinfo = &decoder->cinfo;
  if (setjmp(decoder->jump)) return GLP_JPEG_FAILED;
  jpeg_mem_src(cinfo, data, without_padding(data, size));
  jpeg_save_markers(cinfo, JPEG_APP0 + 1, 0xFFFF);
  jpeg_save_markers(cinfo, JPEG_APP0 + 2, 0xFFFF);
  jpeg_read_header(cinfo, TRUE);
  decoder->header.width = (int)cinfo->image_width;
  decoder->header.height = (int)cinfo->image_height;
  decoder->header.components = cinfo->num_components;
  if (!choose_layout(decoder)) return GLP_JPEG_FAILED;
  collect_markers(decoder);
  *header = decoder->header;
  return GLP_JPEG_OK;
}

// The width in whole blocks. The part of the last block beyond the picture is written too.
static JDIMENSION row_of_whole_blocks(const jpeg_component_info *component) {
  return component->width_in_blocks * (JDIMENSION)BLOCK_WIDTH(component);
}

// The number of luma pixels per chroma sample, as decoded.
static bool find_decoded_ratio(const jpeg_component_info *components, int *chroma_x, int *chroma_y) {
  int luma_x = components[0].h_samp_factor * BLOCK_WIDTH(&components[0]);
  int luma_y = components[0].v_samp_factor * BLOCK_HEIGHT(&components[0]);
  int x = components[1].h_samp_factor * BLOCK_WIDTH(&components[1]);
  int y = components[1].v_samp_factor * BLOCK_HEIGHT(&components[1]);
  if (luma_x % x != 0 || luma_y % y != 0) return false;
  *chroma_x = luma_x / x;
  *chroma_y = luma_y / y;
  return true;
}

static size_t rounded_up(size_t number, int factor) {
  size_t count = (size_t)factor;
  return (number + count - 1) / count * count;
}

// If a picture has several scans, libjpeg keeps the coefficients of all its blocks, whatever the output's size.
static size_t coefficient_bytes(struct jpeg_decompress_struct *cinfo) {
  if (!jpeg_has_multiple_scans(cinfo)) return 0;
  size_t bytes = 0;
  for (int c = 0; c < cinfo->num_components; c++) {
    const jpeg_component_info *component = &cinfo->comp_info[c];
    bytes += rounded_up(component->width_in_blocks, component->h_samp_factor) *
             rounded_up(component->height_in_blocks, component->v_samp_factor) * sizeof(JBLOCK);
  }
  return bytes;
}

glp_jpeg_status glp_jpeg_scale(
    glp_jpeg_decoder *decoder, int eighths, glp_jpeg_scaled_layout *layout) {
  struct jpeg_decompress_struct *cinfo = &decoder->cinfo;
  if (setjmp(decoder->jump)) return GLP_JPEG_FAILED;
  cinfo->scale_num = (unsigned int)eighths;
  cinfo->scale_denom = DCTSIZE;
  jpeg_calc_output_dimensions(cinfo);
  *layout = (glp_jpeg_scaled_layout){
      .width = (int)cinfo->output_width, .height = (int)cinfo->output_height, .chroma_x = 1, .chroma_y = 1,
      .working_bytes = coefficient_bytes(cinfo)};
  if (cinfo->raw_data_out) {
    for (int c = 0; c < cinfo->num_components; c++) {
      layout->bytes_per_row[c] = row_of_whole_blocks(&cinfo->comp_info[c]);
    }
    if (cinfo->num_components == 1) return GLP_JPEG_OK;
    if (find_decoded_ratio(cinfo->comp_info, &layout->chroma_x, &layout->chroma_y)) return GLP_JPEG_OK;
    snprintf(decoder->message, sizeof decoder->message, "no planes at %d/8 of its size", eighths);
    return GLP_JPEG_FAILED;
  }
  size_t width = cinfo->output_width;
  if (decoder->header.layout == GLP_JPEG_RGB) {
    layout->bytes_per_row[0] = width * 3;
  } else {
    for (int c = 0; c < 3; c++) layout->bytes_per_row[c] = (width + DCTSIZE - 1) / DCTSIZE * DCTSIZE;
  }
  return GLP_JPEG_OK;
}

// Decodes one row of MCUs at a time into the planes. In the last one, all rows below a plane are written to one spare
// row.
static void decode_planes(glp_jpeg_decoder *decoder, const glp_jpeg_plane *planes) {
  struct jpeg_decompress_struct *cinfo = &decoder->cinfo;
  JSAMPROW rows[3][MAX_ROWS];
  JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
  JSAMPARRAY spare[3] = {NULL, NULL, NULL};
  JDIMENSION row_of_blocks = 0;

  for (int c = 0; c < cinfo->num_components; c++) {
    JDIMENSION width = row_of_whole_blocks(&cinfo->comp_info[c]);
    if (planes[c].bytes_per_row < width) ERREXIT(cinfo, JERR_BUFFER_SIZE);
    spare[c] = cinfo->mem->alloc_sarray((j_common_ptr)cinfo, JPOOL_IMAGE, width, 1);
  }
  while (cinfo->output_scanline < cinfo->output_height) {
    for (int c = 0; c < cinfo->num_components; c++) {
      const jpeg_component_info *component = &cinfo->comp_info[c];
      JDIMENSION count = (JDIMENSION)(component->v_samp_factor * BLOCK_HEIGHT(component));
      for (JDIMENSION i = 0; i < count; i++) {
        JDIMENSION y = row_of_blocks * count + i;
        bool is_inside = y < component->downsampled_height;
        rows[c][i] = is_inside ? planes[c].samples + y * planes[c].bytes_per_row : spare[c][0];
      }
    }
    jpeg_read_raw_data(
        cinfo, arrays, (JDIMENSION)(cinfo->max_v_samp_factor * SMALLEST_BLOCK_HEIGHT(cinfo)));
    row_of_blocks++;
  }
}

// Multiplies the colours by black, as is usual. Samples are 255 minus the ink, as Adobe writes them despite the
// specification. Files without Adobe's marker are mostly Adobe's too, with the marker removed, and all other decoders that
// were tried (Pillow, ImageMagick, FFmpeg, libvips, browsers) take them so.
static void cmyk_to_rgb(const JSAMPLE *cmyk, uint8_t *rgb, JDIMENSION width) {
  for (JDIMENSION x = 0; x < width; x++, cmyk += 4, rgb += 3) {
    for (int i = 0; i < 3; i++) rgb[i] = (uint8_t)((cmyk[i] * cmyk[3] + 127) / 255);
  }
}

static void decode_rows(glp_jpeg_decoder *decoder, const glp_jpeg_plane *planes) {
  struct jpeg_decompress_struct *cinfo = &decoder->cinfo;
  JSAMPARRAY buffer = cinfo->mem->alloc_sarray(
      (j_common_ptr)cinfo, JPOOL_IMAGE, cinfo->output_width * (JDIMENSION)cinfo->output_components, 1);
  while (cinfo->output_scanline < cinfo->output_height) {
    size_t y = cinfo->output_scanline;
    jpeg_read_scanlines(cinfo, buffer, 1);
    const JSAMPLE *in = buffer[0];
    uint8_t *out = planes[0].samples + y * planes[0].bytes_per_row;
    switch (cinfo->out_color_space) {
      case JCS_YCbCr:
        for (size_t c = 0; c < 3; c++) {
          uint8_t *row = planes[c].samples + y * planes[c].bytes_per_row;
          for (size_t x = 0; x < cinfo->output_width; x++) row[x] = in[3 * x + c];
          // Fill the padding too, as whole blocks do: a frame must not contain uninitialized memory.
          memset(row + cinfo->output_width, in[3 * (cinfo->output_width - 1) + c],
                 planes[c].bytes_per_row - cinfo->output_width);
        }
        break;
      case JCS_CMYK:
        cmyk_to_rgb(in, out, cinfo->output_width);
        break;
      default:
        memcpy(out, in, (size_t)cinfo->output_width * 3);
    }
  }
}

// Whether every coefficient was in a scan, to its last bit. Within a scan, missing data is a warning of the entropy
// decoder; of arithmetic coding it is not, because its encoders leave zeros at the end out (T.81, D.1.8).
static bool has_all_scans(const struct jpeg_decompress_struct *cinfo) {
  if (cinfo->arith_code) return false;
  for (int c = 0; c < cinfo->num_components; c++) {
    // A component's table is kept when its first scan begins.
    if (cinfo->comp_info[c].quant_table == NULL) return false;
    for (int i = 0; cinfo->progressive_mode && i < DCTSIZE2; i++) {
      if (cinfo->coef_bits[c][i] != 0) return false;
    }
  }
  return true;
}

glp_jpeg_status glp_jpeg_decode(
    glp_jpeg_decoder *decoder, const glp_jpeg_plane *planes, int scan_limit, glp_jpeg_stop stop, void *context) {
  struct jpeg_decompress_struct *cinfo = &decoder->cinfo;
  decoder->scan_limit = scan_limit;
  decoder->stop = stop;
  decoder->stop_context = context;
  if (setjmp(decoder->jump)) return GLP_JPEG_FAILED;
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_decompress(cinfo);
  if (cinfo->raw_data_out) {
    decode_planes(decoder, planes);
  } else {
    decode_rows(decoder, planes);
  }
  bool is_whole = has_all_scans(cinfo);
  jpeg_finish_decompress(cinfo);
  if (decoder->is_at_end && !is_whole) decoder->is_damaged = true;
  if (!decoder->is_damaged) return GLP_JPEG_OK;
  return decoder->tolerates_damage ? GLP_JPEG_DAMAGED : GLP_JPEG_FAILED;
}
