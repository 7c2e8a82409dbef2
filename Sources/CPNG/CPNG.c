// See CPNG.h. Two halves: the decoder, then the encoder; each has its own error function, which jumps back
// into the function that was called from Swift.
#include "CPNG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

static void ignore_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

// ---- Decoder ---------------------------------------------------------------------------------------

struct glp_png_decoder {
  png_structp png;
  png_infop info;
  const uint8_t *data;
  size_t size;
  size_t position;
  size_t block_limit;
  glp_png_header header;
  bool is_cut_short;
  bool is_stopped;
  bool has_wrong_chunk;
  bool has_wrong_samples;
  bool has_all_rows;
  char message[200];
};

// Of warnings, those about the two checksums of the samples matter: the chunk's CRC, and zlib's Adler-32 over what is
// unfolded. The texts are libpng's and zlib's own.
static void note_warning(png_structp png, png_const_charp message) {
  glp_png_decoder *decoder = png_get_error_ptr(png);
  if (strcmp(message, "IDAT: CRC error") == 0) decoder->has_wrong_chunk = true;
  if (strcmp(message, "IDAT: incorrect data check") == 0) decoder->has_wrong_samples = true;
}

[[noreturn]] static void decoder_error(png_structp png, png_const_charp message) {
  glp_png_decoder *decoder = png_get_error_ptr(png);
  snprintf(decoder->message, sizeof decoder->message, "%s", message);
  png_longjmp(png, 1);
}

static void read_bytes(png_structp png, png_bytep out, size_t size) {
  glp_png_decoder *decoder = png_get_io_ptr(png);
  if (size > decoder->size - decoder->position) {
    decoder->is_cut_short = true;
    png_error(png, "the data ends before the picture does");
  }
  memcpy(out, decoder->data + decoder->position, size);
  decoder->position += size;
}

// libpng takes the memory for some chunks by the length that they claim, whatever png_set_chunk_malloc_max says and
// however few bytes follow. What is larger than any chunk or row may be is not there for it.
static png_voidp take_block(png_structp png, png_alloc_size_t size) {
  const glp_png_decoder *decoder = png_get_mem_ptr(png);
  return size <= decoder->block_limit ? malloc(size) : NULL;
}

static void free_block(png_structp png, png_voidp block) {
  (void)png;
  free(block);
}

glp_png_decoder *glp_png_decoder_create(void) {
  glp_png_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return NULL;
  decoder->block_limit = 8 << 20;
  decoder->png = png_create_read_struct_2(
      PNG_LIBPNG_VER_STRING, decoder, decoder_error, note_warning, decoder, take_block, free_block);
  if (decoder->png != NULL) decoder->info = png_create_info_struct(decoder->png);
  if (decoder->info != NULL) return decoder;
  glp_png_decoder_destroy(decoder);
  return NULL;
}

void glp_png_decoder_destroy(glp_png_decoder *decoder) {
  if (decoder == NULL) return;
  if (decoder->png != NULL) png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
  free(decoder);
}

const char *glp_png_message(const glp_png_decoder *decoder) { return decoder->message; }
bool glp_png_is_cut_short(const glp_png_decoder *decoder) { return decoder->is_cut_short; }
bool glp_png_is_stopped(const glp_png_decoder *decoder) { return decoder->is_stopped; }

// Chunks that say nothing of the samples, and unfold to a thousand times their size: they are passed over unread.
static const png_byte ignored_chunks[] = "tEXt\0zTXt\0iTXt\0sPLT\0pCAL\0sCAL\0hIST\0";
enum { IGNORED_CHUNK_COUNT = (sizeof ignored_chunks - 1) / 5 };

// The most bytes of one chunk that is kept, unfolded: a profile, or EXIF. There is one of each at most.
enum { KEPT_CHUNK_LIMIT = 8 << 20 };

static void choose_layout(glp_png_decoder *decoder) {
  png_structp png = decoder->png;
  int type = png_get_color_type(png, decoder->info);
  bool has_transparent_color = png_get_valid(png, decoder->info, PNG_INFO_tRNS) != 0;
  bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || has_transparent_color;
  bool is_grey = (type & PNG_COLOR_MASK_COLOR) == 0;

  // Palettes to RGB, 1, 2 and 4 bits to 8, tRNS to alpha.
  png_set_expand(png);
  if (png_get_bit_depth(png, decoder->info) == 16) {
    decoder->header.layout = GLP_PNG_RGBA64;
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(png);
    png_set_gray_to_rgb(png);
    if (!has_alpha) png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
  } else if (has_alpha) {
    decoder->header.layout = GLP_PNG_RGBA;
    png_set_gray_to_rgb(png);
  } else {
    decoder->header.layout = is_grey ? GLP_PNG_GREY : GLP_PNG_RGB;
  }
}

bool glp_png_read_header(glp_png_decoder *decoder, const uint8_t *data, size_t size, glp_png_header *header) {
  png_structp png = decoder->png;
  decoder->data = data;
  decoder->size = size;
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, decoder, read_bytes);
  // As libpng does by default: what says something else than the samples is left out if its checksum is wrong.
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
  // All that the format allows: the caller refuses what is too large, by its pixels, before taking memory.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, ignored_chunks, IGNORED_CHUNK_COUNT);
  png_set_chunk_cache_max(png, 4);
  png_set_chunk_malloc_max(png, KEPT_CHUNK_LIMIT);
  png_read_info(png, decoder->info);

  decoder->header.width = png_get_image_width(png, decoder->info);
  decoder->header.height = png_get_image_height(png, decoder->info);
  png_charp name = NULL;
  png_bytep icc = NULL;
  png_uint_32 icc_size = 0;
  int method = 0;
  if (png_get_iCCP(png, decoder->info, &name, &method, &icc, &icc_size) == PNG_INFO_iCCP) {
    decoder->header.icc = icc;
    decoder->header.icc_size = icc_size;
  }
  choose_layout(decoder);
  *header = decoder->header;
  return true;
}

static size_t bytes_per_pixel(glp_png_layout layout) {
  switch (layout) {
    case GLP_PNG_GREY: return 1;
    case GLP_PNG_RGB: return 3;
    case GLP_PNG_RGBA: return 4;
    default: return 8;
  }
}

bool glp_png_decode(
    glp_png_decoder *decoder, uint8_t *rows, size_t bytes_per_row, glp_png_stop stop, void *context) {
  png_structp png = decoder->png;
  // Nothing after the last row can make the picture another one.
  if (setjmp(png_jmpbuf(png))) return decoder->has_all_rows;
  // Wrong checksums of IDAT are judged below, together with zlib's own.
  png_set_crc_action(png, PNG_CRC_WARN_USE, PNG_CRC_WARN_DISCARD);
  // libpng's rows have at most eight bytes a pixel, and some room around them.
  decoder->block_limit += 8 * decoder->header.width + 4096;
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder->info);
  size_t row_size = png_get_rowbytes(png, decoder->info);
  size_t expected_size = decoder->header.width * bytes_per_pixel(decoder->header.layout);
  if (row_size != expected_size || row_size > bytes_per_row) {
    png_error(png, "rows of an unexpected length");
  }
  for (int pass = 0; pass < passes; pass++) {
    for (size_t y = 0; y < decoder->header.height; y++) {
      if (stop(context)) {
        decoder->is_stopped = true;
        png_error(png, "stopped");
      }
      png_read_row(png, rows + y * bytes_per_row, NULL);
    }
  }
  if (decoder->has_wrong_chunk && decoder->has_wrong_samples) png_error(png, "IDAT: CRC error");
  decoder->has_all_rows = true;
  png_read_end(png, decoder->info);
  return true;
}

const uint8_t *glp_png_exif(glp_png_decoder *decoder, size_t *size) {
  png_uint_32 count = 0;
  png_bytep exif = NULL;
  if (png_get_eXIf_1(decoder->png, decoder->info, &count, &exif) != PNG_INFO_eXIf) return NULL;
  *size = count;
  return exif;
}

// ---- Encoder ---------------------------------------------------------------------------------------

typedef struct {
  glp_png_encoded *encoded;
  size_t capacity;
} destination;

[[noreturn]] static void encoder_error(png_structp png, png_const_charp message) {
  destination *self = png_get_error_ptr(png);
  snprintf(self->encoded->message, sizeof self->encoded->message, "%s", message);
  png_longjmp(png, 1);
}

static void write_bytes(png_structp png, png_bytep bytes, size_t size) {
  destination *self = png_get_io_ptr(png);
  glp_png_encoded *encoded = self->encoded;
  if (size > self->capacity - encoded->size) {
    size_t capacity = 2 * self->capacity + size;
    uint8_t *grown = realloc(encoded->bytes, capacity);
    if (grown == NULL) png_error(png, "out of memory");
    encoded->bytes = grown;
    self->capacity = capacity;
  }
  memcpy(encoded->bytes + encoded->size, bytes, size);
  encoded->size += size;
}

static void flush_bytes(png_structp png) { (void)png; }

// Whether libpng writes a profile, in all its versions: the size, which the profile begins with, is that of a header and a count of
// tags at least, and from version 4 on a multiple of 4 (ICC.1:2022, 7.2). Newer versions refuse the picture otherwise; older ones
// leave the profile out.
static bool is_profile(const uint8_t *icc, size_t size) {
  return size >= 132 && size <= PNG_UINT_31_MAX && png_get_uint_32(icc) == size && (icc[8] < 4 || size % 4 == 0);
}

static void encode(png_structp png, png_infop info, const glp_png_picture *picture) {
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(
      png, info, picture->width, picture->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
      PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, picture->compression_level);
  // Trying all five filters on each row costs more than it saves on camera pictures.
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB | PNG_FILTER_UP);
  if (picture->icc != NULL && is_profile(picture->icc, picture->icc_size)) {
    png_set_benign_errors(png, 1);
    png_set_iCCP(
        png, info, "ICC profile", PNG_COMPRESSION_TYPE_BASE, picture->icc, (png_uint_32)picture->icc_size);
  }
  png_write_info(png, info);
  png_set_filler(png, 0, PNG_FILLER_AFTER);
  for (size_t y = 0; y < picture->height; y++) {
    png_write_row(png, picture->rows + y * picture->bytes_per_row);
  }
  png_write_end(png, info);
}

bool glp_png_encode(const glp_png_picture *picture, glp_png_encoded *encoded) {
  *encoded = (glp_png_encoded){};
  destination target = {.encoded = encoded};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &target, encoder_error, ignore_warning);
  png_infop info = png == NULL ? NULL : png_create_info_struct(png);
  if (info == NULL) {
    png_destroy_write_struct(&png, NULL);
    snprintf(encoded->message, sizeof encoded->message, "out of memory");
    return false;
  }
  png_infop volatile kept = info;
  png_structp volatile writer = png;
  if (setjmp(png_jmpbuf(png))) {
    png_structp ended = writer;
    png_infop ended_info = kept;
    png_destroy_write_struct(&ended, &ended_info);
    free(encoded->bytes);
    encoded->bytes = NULL;
    return false;
  }
  png_set_write_fn(png, &target, write_bytes, flush_bytes);
  encode(png, info, picture);
  png_destroy_write_struct(&png, &info);
  return true;
}

void glp_png_free(uint8_t *bytes) { free(bytes); }
