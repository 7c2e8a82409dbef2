// PNG to rows and rows to PNG, over libpng.
// libpng reports errors by longjmp; every jump starts and ends in CPNG.c, so Swift sees return values only.
#ifndef GLP_CPNG_H
#define GLP_CPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a decoder writes: one plane.
typedef enum {
  /// One byte a pixel: grey without alpha of up to 8 bits.
  GLP_PNG_GREY,
  /// R, G, B bytes.
  GLP_PNG_RGB,
  /// R, G, B, A bytes.
  GLP_PNG_RGBA,
  /// R, G, B, A of 16 bits in the machine's byte order: every file of 16 bits.
  GLP_PNG_RGBA64,
} glp_png_layout;

/// What is known before any sample is decoded. Its pointers live as long as the decoder.
typedef struct {
  uint32_t width;
  uint32_t height;
  glp_png_layout layout;
  /// NULL where there is none.
  const uint8_t *icc;
  size_t icc_size;
} glp_png_header;

typedef struct glp_png_decoder glp_png_decoder;

/// NULL where there is no memory.
glp_png_decoder *glp_png_decoder_create(void);
void glp_png_decoder_destroy(glp_png_decoder *decoder);

/// `data` must stay until the decoder is destroyed.
bool glp_png_read_header(glp_png_decoder *decoder, const uint8_t *data, size_t size, glp_png_header *header);

/// Asked before each row: true ends the decoding.
typedef bool (*glp_png_stop)(void *context);

/// Once, after the header: into height times `bytes_per_row` bytes. Fails where `stop` says so.
bool glp_png_decode(
    glp_png_decoder *decoder, uint8_t *rows, size_t bytes_per_row, glp_png_stop stop, void *context);

/// The eXIf chunk, which may stand after the samples: ask when they are decoded. NULL where there is none.
const uint8_t *glp_png_exif(glp_png_decoder *decoder, size_t *size);

/// What went wrong, in libpng's words; "" where nothing did.
const char *glp_png_message(const glp_png_decoder *decoder);
/// Whether the data ended before the picture did.
bool glp_png_is_cut_short(const glp_png_decoder *decoder);
/// Whether `stop` ended the decoding.
bool glp_png_is_stopped(const glp_png_decoder *decoder);

/// A picture to be encoded: R, G, B, A bytes, of which A is left out.
typedef struct {
  uint32_t width;
  uint32_t height;
  const uint8_t *rows;
  size_t bytes_per_row;
  /// zlib's, 0...9.
  int compression_level;
  /// NULL for none; one that libpng finds fault with is left out.
  const uint8_t *icc;
  size_t icc_size;
} glp_png_picture;

/// What an encoder made, or why it did not.
typedef struct {
  /// NULL where it failed; else to be given to glp_png_free.
  uint8_t *bytes;
  size_t size;
  char message[200];
} glp_png_encoded;

bool glp_png_encode(const glp_png_picture *picture, glp_png_encoded *encoded);
void glp_png_free(uint8_t *bytes);

#endif
