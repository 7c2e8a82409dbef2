// Pictures to WebP, by libwebp. Nothing of its headers is needed, and it is loaded when the first picture is encoded.
#ifndef GLP_CWEBP_H
#define GLP_CWEBP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Loads the library unless it is loaded. Any thread may. NULL where it is there; otherwise what to install.
const char *glp_webp_failure(void);

/// Encodes R, G, B, A bytes. False where they can't be, or there is not enough memory. The bytes must be freed.
bool glp_webp_encode(
    const uint8_t *rgba, int width, int height, int bytes_per_row, float quality, uint8_t **bytes, size_t *count);
void glp_webp_free(uint8_t *bytes);

#endif
