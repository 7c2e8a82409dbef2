// Draws the layers of compositions, pixel by pixel, as docs/semantics.md says.
#include "CPixels.h"

#include <math.h>
#include <string.h>

struct color {
  float of[3];
  float alpha;
};

static float clamped(float value, float least, float most) {
  return value < least ? least : value > most ? most : value;
}

// The distance to a rectangle with round corners; negative inside.
static float distance(float x, float y, float left, float top, float width, float height, float radius) {
  float beyond_x = fabsf(x - left - width / 2) - width / 2 + radius;
  float beyond_y = fabsf(y - top - height / 2) - height / 2 + radius;
  float outside_x = beyond_x > 0 ? beyond_x : 0, outside_y = beyond_y > 0 ? beyond_y : 0;
  float inside = beyond_x > beyond_y ? beyond_x : beyond_y;
  return sqrtf(outside_x * outside_x + outside_y * outside_y) + (inside < 0 ? inside : 0) - radius;
}

static const uint8_t *pixel(const struct pixels_layer *layer, int x, int y) {
  x = x < 0 ? 0 : x >= layer->pixels_width ? layer->pixels_width - 1 : x;
  y = y < 0 ? 0 : y >= layer->pixels_height ? layer->pixels_height - 1 : y;
  return layer->pixels + y * layer->stride + 4 * (ptrdiff_t)x;
}

// Four pixels, each by its alpha.
static struct color bilinear(const struct pixels_layer *layer, float x, float y) {
  float left = floorf(x - 0.5f), top = floorf(y - 0.5f);
  float right_part = x - 0.5f - left, bottom_part = y - 0.5f - top;
  struct color sum = {};
  for (int i = 0; i < 4; i++) {
    const uint8_t *from = pixel(layer, (int)left + (i & 1), (int)top + (i >> 1));
    float weight = (i & 1 ? right_part : 1 - right_part) * (i >> 1 ? bottom_part : 1 - bottom_part) * from[3] / 255;
    for (int c = 0; c < 3; c++) sum.of[c] += from[c] * weight;
    sum.alpha += weight;
  }
  for (int c = 0; c < 3; c++) sum.of[c] = sum.alpha > 0 ? sum.of[c] / sum.alpha : 0;
  return sum;
}

// The quadratic B-spline at a distance from its centre (Unser 1999, equation 2 of order 2).
static float bell(float distance) {
  distance = fabsf(distance);
  if (distance < 0.5f) return 0.75f - distance * distance;
  return distance < 1.5f ? (1.5f - distance) * (1.5f - distance) / 2 : 0;
}

static struct color spline(const struct pixels_layer *layer, float x, float y) {
  float across = x * layer->pixels_width / layer->width, down = y * layer->pixels_height / layer->height;
  int column = (int)floorf(across), row = (int)floorf(down);
  struct color sum = {.alpha = 1};
  for (int dy = -1; dy <= 1; dy++) {
    float weight = bell(down - (row + dy) - 0.5f);
    for (int dx = -1; dx <= 1; dx++) {
      const uint8_t *from = pixel(layer, column + dx, row + dy);
      float part = weight * bell(across - (column + dx) - 0.5f);
      for (int c = 0; c < 3; c++) sum.of[c] += from[c] * part;
    }
  }
  return sum;
}

static struct color content(const struct pixels_layer *layer, float x, float y) {
  struct color color = {.alpha = 1};
  switch (layer->content) {
  case PIXELS_COLOR: memcpy(color.of, layer->colors[0], sizeof color.of); return color;
  case PIXELS_GRADIENT: {
    float part = clamped(layer->ramp[0] + layer->ramp[1] * x + layer->ramp[2] * y, 0, 1);
    for (int c = 0; c < 3; c++) color.of[c] = layer->colors[0][c] * (1 - part) + layer->colors[1][c] * part;
    return color;
  }
  case PIXELS_SPLINE: return spline(layer, x, y);
  case PIXELS_PIXELS: {
    if (layer->is_transformed) return bilinear(layer, x, y);
    const uint8_t *from = pixel(layer, (int)floorf(x), (int)floorf(y));
    for (int c = 0; c < 3; c++) color.of[c] = from[c];
    color.alpha = from[3] / 255.0f;
    return color;
  }
  }
  return color;
}

void pixels_draw_layer(
    const struct pixels_layer *layer, uint8_t *canvas, ptrdiff_t stride, int32_t x, int32_t y, int32_t width, int32_t height) {
  for (int row = y; row < y + height; row++) {
    uint8_t *to = canvas + row * stride + 4 * (ptrdiff_t)x;
    for (int column = x; column < x + width; column++, to += 4) {
      double from_x = column + 0.5, from_y = row + 0.5;
      float at_x = (float)(from_x * layer->to_x[0] + from_y * layer->to_x[1] + layer->to_x[2]);
      float at_y = (float)(from_x * layer->to_y[0] + from_y * layer->to_y[1] + layer->to_y[2]);
      float to_shape = distance(
          at_x, at_y, layer->shape_x, layer->shape_y, layer->shape_width, layer->shape_height, layer->radius);
      float to_edge = distance(at_x, at_y, 0, 0, layer->width, layer->height, 0);
      float coverage = clamped(0.5f - (to_shape > to_edge ? to_shape : to_edge), 0, 1);
      if (coverage == 0) continue;
      struct color color = content(layer, at_x, at_y);
      float amount = coverage * layer->opacity * color.alpha;
      for (int c = 0; c < 3; c++) color.of[c] = clamped(color.of[c] * layer->scale[c] + layer->offset[c], 0, 255);
      if (layer->has_border) {
        float inside = clamped(0.5f - (to_shape + layer->border_width), 0, 1);
        for (int c = 0; c < 3; c++) color.of[c] = layer->border[c] * (1 - inside) + color.of[c] * inside;
        amount = coverage * layer->opacity * (1 - inside + color.alpha * inside);
      }
      // The slack brings back halves that sums of floats fall short of.
      for (int c = 0; c < 3; c++) to[c] = (uint8_t)(to[c] * (1 - amount) + color.of[c] * amount + 0.5f + 1e-4f);
      to[3] = 255;
    }
  }
}

void pixels_fill(uint8_t *canvas, ptrdiff_t stride, uint32_t color, int32_t x, int32_t y, int32_t width, int32_t height) {
  for (int row = y; row < y + height; row++) {
    uint8_t *to = canvas + row * stride + 4 * (ptrdiff_t)x;
    for (int i = 0; i < width; i++) memcpy(to + 4 * i, &color, 4);
  }
}

void pixels_copy_opaque(const uint8_t *from, uint8_t *to, int32_t count) {
  const uint8_t opaque[4] = {0, 0, 0, 255};
  uint32_t alpha;
  memcpy(&alpha, opaque, 4);
  for (int i = 0; i < count; i++) {
    uint32_t pixel;
    memcpy(&pixel, from + 4 * (ptrdiff_t)i, 4);
    pixel |= alpha;
    memcpy(to + 4 * (ptrdiff_t)i, &pixel, 4);
  }
}

void pixels_blend(const uint8_t *from, int32_t are_words, const uint8_t behind[3], uint16_t *to, int32_t count) {
  for (int i = 0; i < count; i++, to += 4) {
    uint32_t pixel[4];
    for (int c = 0; c < 4; c++)
      pixel[c] = are_words ? from[8 * i + 2 * c] | (uint32_t)from[8 * i + 2 * c + 1] << 8 : from[4 * i + c] * 257u;
    for (int c = 0; c < 3; c++) {
      // At most 65535 * 65535 + 32767, and the next two lines divide exactly by 65535.
      uint32_t sum = pixel[c] * pixel[3] + behind[c] * 257u * (65535 - pixel[3]) + 32768;
      to[c] = (uint16_t)((sum + (sum >> 16)) >> 16);
    }
    to[3] = 65535;
  }
}
