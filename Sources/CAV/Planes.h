// Copies a picture's planes to where an encoder wants them.
#ifndef GLP_AV_PLANES_H
#define GLP_AV_PLANES_H

#include <string.h>

#include "CAV.h"

/// Copies a plane of `columns` and `rows`; what it lacks of `width` and `height` is its last column and row.
static inline void copy_plane(
    uint8_t *target, int target_stride, int width, int height, const glp_av_planes *picture, int plane, int columns,
    int rows) {
  for (int y = 0; y < height; y++) {
    uint8_t *out = target + (ptrdiff_t)y * target_stride;
    memcpy(out, picture->planes[plane] + (y < rows ? y : rows - 1) * picture->strides[plane], columns);
    for (int x = columns; x < width; x++) out[x] = out[columns - 1];
  }
}

#endif
