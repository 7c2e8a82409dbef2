// Decodes JPEG to planes and encodes planes to JPEG, with the libjpeg API of libjpeg-turbo. libjpeg reports errors by
// longjmp; every jump starts and ends in this module's C files, so Swift sees only return values.
#ifndef GLP_CTURBOJPEG_H
#define GLP_CTURBOJPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The layout of decoded samples.
typedef enum {
  /// One plane of Y'.
  GLP_JPEG_GREY,
  /// Three planes Y', Cb, Cr; chroma is 1/chroma_x by 1/chroma_y of the picture, sizes rounded up.
  GLP_JPEG_YCBCR,
  /// One plane of R, G, B bytes.
  GLP_JPEG_RGB,
} glp_jpeg_layout;

/// The result of a call.
typedef enum {
  GLP_JPEG_OK,
  /// All planes are written, but parts of them are made up. Only if damage is tolerated.
  GLP_JPEG_DAMAGED,
  GLP_JPEG_FAILED,
} glp_jpeg_status;

/// What the header says. The pointers are valid until the decoder is destroyed.
typedef struct {
  int width;
  int height;
  glp_jpeg_layout layout;
  int chroma_x;
  int chroma_y;
  /// The number of components in the file: 1, 3 or 4.
  int components;
  /// Whether an APP2 segment starts with "MPF": more pictures follow that are parts of this one (CIPA DC-007).
  bool has_multi_picture;
  /// The first APP1 segment that starts with "Exif\0\0", without these six bytes; NULL if there is none.
  const uint8_t *exif;
  size_t exif_size;
  /// The ICC profile, assembled from its segments; NULL if there is none.
  const uint8_t *icc;
  size_t icc_size;
} glp_jpeg_header;

/// The layout of the decoded picture at a scale.
typedef struct {
  int width;
  int height;
  /// Pixels of the decoded picture per chroma sample. Below 8 eighths, libjpeg's inverse DCT decodes the chroma of
  /// 4:2:0 at the resolution of luma: then both are 1.
  int chroma_x;
  int chroma_y;
  /// The minimum bytes per row of each plane: whole blocks of Y', Cb, Cr.
  size_t bytes_per_row[3];
  /// The bytes that libjpeg needs besides the planes while decoding: the coefficients of a picture with several scans.
  size_t working_bytes;
} glp_jpeg_scaled_layout;

typedef struct glp_jpeg_decoder glp_jpeg_decoder;

/// NULL if memory runs out. `memory_limit` limits the bytes that libjpeg uses for the coefficients of a picture.
glp_jpeg_decoder *glp_jpeg_decoder_create(bool tolerates_damage, size_t memory_limit);
void glp_jpeg_decoder_destroy(glp_jpeg_decoder *decoder);

/// `data` must stay valid until the decoder is destroyed.
glp_jpeg_status glp_jpeg_read_header(
    glp_jpeg_decoder *decoder, const uint8_t *data, size_t size, glp_jpeg_header *header);

/// Call it after reading the header. The decoded picture has `eighths` / 8 of the columns and rows, rounded up; 1...8.
glp_jpeg_status glp_jpeg_scale(
    glp_jpeg_decoder *decoder, int eighths, glp_jpeg_scaled_layout *layout);

/// The memory of a plane: its height times `bytes_per_row`, which is at least the layout's. The layout's bytes of each
/// row are written.
typedef struct {
  uint8_t *samples;
  size_t bytes_per_row;
} glp_jpeg_plane;

/// Called for each row of blocks of each scan; returns true to end decoding.
typedef bool (*glp_jpeg_stop)(void *context);

/// Call it once, after setting the scale. Writes one plane or three, as the layout says. Fails if there are more than
/// `scan_limit` scans, or if `stop` returns true.
glp_jpeg_status glp_jpeg_decode(
    glp_jpeg_decoder *decoder, const glp_jpeg_plane *planes, int scan_limit, glp_jpeg_stop stop, void *context);

/// The error in libjpeg's words; "" if there is none.
const char *glp_jpeg_message(const glp_jpeg_decoder *decoder);
/// After a failure: whether the data ended before the picture did. A picture that lacks nothing but its end marker (EOI) does
/// not fail.
bool glp_jpeg_is_cut_short(const glp_jpeg_decoder *decoder);
/// Whether `stop` ended the decoding.
bool glp_jpeg_is_stopped(const glp_jpeg_decoder *decoder);

/// A plane to encode.
typedef struct {
  const uint8_t *samples;
  size_t bytes_per_row;
} glp_jpeg_source_plane;

/// A picture to encode: Y', Cb, Cr as in JFIF.
typedef struct {
  int width;
  int height;
  /// Pixels per chroma sample in each direction: 1 or 2.
  int chroma_x;
  int chroma_y;
  /// 1...100.
  int quality;
  /// Uses two passes, for optimal Huffman tables: a few percent smaller, and 1.5 times the encoding time.
  bool optimize;
  glp_jpeg_source_plane planes[3];
  /// The content of an APP1 segment; NULL for none.
  const uint8_t *exif;
  size_t exif_size;
  /// NULL for none.
  const uint8_t *icc;
  size_t icc_size;
} glp_jpeg_picture;

/// The encoded picture, or the error.
typedef struct {
  /// NULL if encoding failed; otherwise pass it to glp_jpeg_free.
  uint8_t *bytes;
  size_t size;
  char message[200];
} glp_jpeg_encoded;

glp_jpeg_status glp_jpeg_encode(const glp_jpeg_picture *picture, glp_jpeg_encoded *encoded);
void glp_jpeg_free(uint8_t *bytes);

/// The entropy-coded data of a picture's only scan, with stuffing and without markers.
typedef struct {
  const uint8_t *bytes;
  size_t size;
} glp_jpeg_scan;

/// Writes the file that glp_jpeg_encode would write for a picture whose scan is known; its planes are not read.
glp_jpeg_status glp_jpeg_wrap(
    const glp_jpeg_picture *picture, const glp_jpeg_scan *scan, glp_jpeg_encoded *encoded);

/// The tables of the pictures of a quality that are not optimised: first those of Y', then those of Cb and Cr.
typedef struct {
  /// Rows of eight.
  uint16_t quantizers[2][64];
  /// By symbol: the length in the upper half, the code in the lower one; 0 for symbols without a code.
  uint32_t dc_codes[2][16];
  uint32_t ac_codes[2][256];
} glp_jpeg_tables;

glp_jpeg_status glp_jpeg_read_tables(int quality, glp_jpeg_tables *tables);

#endif
