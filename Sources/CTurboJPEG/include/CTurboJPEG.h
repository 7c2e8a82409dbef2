// JPEG to planes and planes to JPEG, over libjpeg-turbo's libjpeg API.
// libjpeg reports errors by longjmp; every jump starts and ends in CTurboJPEG.c, so Swift sees return values.
#ifndef GLP_CTURBOJPEG_H
#define GLP_CTURBOJPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a decoder writes.
typedef enum {
  /// One plane of Y'.
  GLP_JPEG_GREY,
  /// Three planes Y', Cb, Cr; chroma is 1/chroma_x by 1/chroma_y of the picture, sizes rounded up.
  GLP_JPEG_YCBCR,
  /// One plane of R, G, B bytes.
  GLP_JPEG_RGB,
} glp_jpeg_layout;

/// How a call ended.
typedef enum {
  GLP_JPEG_OK,
  /// All planes are written, but parts of them are made up. Only where damage is tolerated.
  GLP_JPEG_DAMAGED,
  GLP_JPEG_FAILED,
} glp_jpeg_status;

/// What is known before any sample is decoded. Its pointers live as long as the decoder.
typedef struct {
  int width;
  int height;
  glp_jpeg_layout layout;
  int chroma_x;
  int chroma_y;
  /// Components of the file: 1, 3 or 4.
  int components;
  /// Whether an APP2 segment says "MPF": more pictures follow that are parts of this one (CIPA DC-007).
  bool has_multi_picture;
  /// The first APP1 segment that says "Exif", after those six bytes; NULL where there is none.
  const uint8_t *exif;
  size_t exif_size;
  /// The ICC profile, put together; NULL where there is none.
  const uint8_t *icc;
  size_t icc_size;
} glp_jpeg_header;

/// What is written at a scale.
typedef struct {
  int width;
  int height;
  /// Pixels of the written picture to a chroma sample. At less than 8 eighths libjpeg's inverse DCT gives 4:2:0's
  /// chroma back what luma loses: then both are 1.
  int chroma_x;
  int chroma_y;
  /// The least bytes of a row of each plane: whole blocks of Y', Cb, Cr.
  size_t bytes_per_row[3];
  /// What libjpeg takes beside the planes while it decodes: the coefficients of a picture of several scans.
  size_t working_bytes;
} glp_jpeg_scaled_layout;

typedef struct glp_jpeg_decoder glp_jpeg_decoder;

/// NULL where there is no memory. `memory_limit` bounds what libjpeg takes for the coefficients of a picture.
glp_jpeg_decoder *glp_jpeg_decoder_create(bool tolerates_damage, size_t memory_limit);
void glp_jpeg_decoder_destroy(glp_jpeg_decoder *decoder);

/// `data` must stay until the decoder is destroyed.
glp_jpeg_status glp_jpeg_read_header(
    glp_jpeg_decoder *decoder, const uint8_t *data, size_t size, glp_jpeg_header *header);

/// After the header: what is decoded has `eighths` / 8 of the picture's columns and rows, rounded up; 1...8.
glp_jpeg_status glp_jpeg_scale(
    glp_jpeg_decoder *decoder, int eighths, glp_jpeg_scaled_layout *layout);

/// A plane's memory: its height times `bytes_per_row` bytes, at least the layout's; as many are written.
typedef struct {
  uint8_t *samples;
  size_t bytes_per_row;
} glp_jpeg_plane;

/// Asked for each row of blocks of each scan: true ends the decoding.
typedef bool (*glp_jpeg_stop)(void *context);

/// Once, after the scale: into one plane or three, as the layout says. More than `scan_limit` scans are an
/// error. Fails where `stop` says so.
glp_jpeg_status glp_jpeg_decode(
    glp_jpeg_decoder *decoder, const glp_jpeg_plane *planes, int scan_limit, glp_jpeg_stop stop, void *context);

/// What went wrong, in libjpeg's words; "" where nothing did.
const char *glp_jpeg_message(const glp_jpeg_decoder *decoder);
/// Whether the data ended before the picture did.
bool glp_jpeg_is_cut_short(const glp_jpeg_decoder *decoder);
/// Whether `stop` ended the decoding.
bool glp_jpeg_is_stopped(const glp_jpeg_decoder *decoder);

/// A plane to be encoded.
typedef struct {
  const uint8_t *samples;
  size_t bytes_per_row;
} glp_jpeg_source_plane;

/// A picture to be encoded: JFIF's Y', Cb, Cr.
typedef struct {
  int width;
  int height;
  /// Pixels to a chroma sample: 1 or 2 each.
  int chroma_x;
  int chroma_y;
  /// 1...100.
  int quality;
  /// Two passes for Huffman tables of its own: a few percent smaller, half again as slow.
  bool optimize;
  glp_jpeg_source_plane planes[3];
  /// The content of an APP1 segment; NULL for none.
  const uint8_t *exif;
  size_t exif_size;
  /// NULL for none.
  const uint8_t *icc;
  size_t icc_size;
} glp_jpeg_picture;

/// What an encoder made, or why it did not.
typedef struct {
  /// NULL where it failed; else to be given to glp_jpeg_free.
  uint8_t *bytes;
  size_t size;
  char message[200];
} glp_jpeg_encoded;

glp_jpeg_status glp_jpeg_encode(const glp_jpeg_picture *picture, glp_jpeg_encoded *encoded);
void glp_jpeg_free(uint8_t *bytes);

#endif
