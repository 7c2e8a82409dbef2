// Pixels of a drawn picture become planes of a video or a JPEG.


// Sums of the pixels that share an output: red and blue, and green, in halves of 32 bits.
INLINE void FORM(sum_pixels)(
    const struct pixels_conversion *c, int row, int first, int count, uint32_t *red_blue, uint32_t *green) {
  memset(red_blue, 0, CONVERT_CHUNK * 4);
  memset(green, 0, CONVERT_CHUNK * 4);
  for (int dy = 0; dy < c->step_y; dy++) {
    int y = row * c->step_y + dy;
    const uint8_t *line = c->pixels + (y < c->height ? y : c->height - 1) * c->stride;
    for (int dx = 0; dx < c->step_x; dx++) {
      // Only the last output may lack a pixel.
      int whole = first + count;
      if ((whole - 1) * c->step_x + dx >= c->width) whole--;
      const uint8_t *from = line + ((ptrdiff_t)first * c->step_x + dx) * 4;
      if (c->step_x == 1) {
        for (int i = 0; i < whole - first; i++) {
          uint32_t pixel = LOAD(uint32_t, from + 4 * i);
          red_blue[i] += pixel & 0xff00ff;
          green[i] += pixel >> 8 & 0xff;
        }
      } else {
        for (int i = 0; i < whole - first; i++) {
          uint32_t pixel = LOAD(uint32_t, from + 8 * i);
          red_blue[i] += pixel & 0xff00ff;
          green[i] += pixel >> 8 & 0xff;
        }
      }
      if (whole < first + count) {
        uint32_t pixel = LOAD(uint32_t, line + (ptrdiff_t)(c->width - 1) * 4);
        red_blue[count - 1] += pixel & 0xff00ff;
        green[count - 1] += pixel >> 8 & 0xff;
      }
    }
  }
}

static void FORM(convert)(const struct pixels_conversion *c, int first, int end) {
  int width = (c->width + c->step_x - 1) / c->step_x;
  int shift = 14 + (c->step_x == 2) + (c->step_y == 2);
  _Alignas(32) uint32_t red_blue[CONVERT_CHUNK], green[CONVERT_CHUNK];
  for (int row = first; row < end; row++)
    for (int x = 0; x < width; x += CONVERT_CHUNK) {
      int count = width - x < CONVERT_CHUNK ? width - x : CONVERT_CHUNK;
      FORM(sum_pixels)(c, row, x, count, red_blue, green);
      for (int output = 0; output < c->output_count; output++) {
        const int16_t *factors = c->factors[output];
        i16x16 first_pair = (i16x16)((i32x8){} + ((int32_t)(uint16_t)factors[0] | (int32_t)((uint32_t)(uint16_t)factors[2] << 16)));
        i16x16 second_pair = (i16x16)((i32x8){} + (int32_t)(uint16_t)factors[1]);
        int32_t start = (c->offsets[output] << (shift - 14)) + (1 << shift >> 1);
        uint8_t *to = c->planes[output] + row * c->strides[output] + x;
        for (int i = 0; i < count; i += 16) {
          i32x8 sums[2];
          for (int half = 0; half < 2; half++)
            sums[half] = ((i32x8){} + start + FORM(madd)(LOAD(i16x16, red_blue + i + 8 * half), first_pair)
                          + FORM(madd)(LOAD(i16x16, green + i + 8 * half), second_pair)) >> shift;
          u8x16 codes = FORM(codes)(FORM(packs)(sums[0], sums[1]));
          // Packing takes four of each by turns.
          codes = __builtin_shufflevector(codes, codes, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
          if (count - i >= 16) STORE(to + i, codes);
          else memcpy(to + i, &codes, count - i);
        }
      }
    }
}
