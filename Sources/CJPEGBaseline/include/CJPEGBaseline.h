// libjpeg-turbo alone: its own calls in a plain loop, with memory that is kept. What `glpreview bench` holds the
// codecs against.
#ifndef GLP_CJPEGBASELINE_H
#define GLP_CJPEGBASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct glp_jpeg_baseline glp_jpeg_baseline;

/// NULL where there is no memory.
glp_jpeg_baseline *glp_jpeg_baseline_create(void);
void glp_jpeg_baseline_destroy(glp_jpeg_baseline *baseline);

/// Decodes a JPEG of Y', Cb, Cr to planes that the next call writes over. False where it can't.
bool glp_jpeg_baseline_decode(glp_jpeg_baseline *baseline, const uint8_t *data, size_t size);

/// Encodes planes of 4:2:0 with Annex K's Huffman tables; the bytes are dropped. Their number, or 0 where it can't.
/// Rows must have room for whole blocks, as `glp_jpeg_baseline_decode` and padded pictures have.
size_t glp_jpeg_baseline_encode(
    glp_jpeg_baseline *baseline, int width, int height, int quality, const uint8_t *const planes[3],
    const size_t bytes_per_row[3]);

/// Of the headers that this was built with: "2.1.5".
const char *glp_jpeg_library_version(void);

#endif
