// Rotated copies, sixteen by sixteen samples at a time.

static void FORM(turn_plane)(
    const uint8_t *from, ptrdiff_t from_stride, uint8_t *to, ptrdiff_t to_stride, int width, int height, int flips_x,
    int flips_y) {
  for (int y = 0; y < height; y += 16)
    for (int x = 0; x < width; x += 16) {
      int columns = width - x < 16 ? width - x : 16, rows = height - y < 16 ? height - y : 16;
      u8x16 block[16] = {};
      for (int row = 0; row < rows; row++) {
        // A row of what is written is a column here: reversed rows are read from the last.
        const uint8_t *line = from + (flips_y ? height - 1 - (y + row) : y + row) * from_stride + x;
        if (columns == 16) block[row] = LOAD(u8x16, line);
        else memcpy(&block[row], line, columns);
      }
      FORM(turn_bytes)(block);
      for (int column = 0; column < columns; column++) {
        uint8_t *line = to + (flips_x ? width - 1 - (x + column) : x + column) * to_stride + y;
        if (rows == 16) STORE(line, block[column]);
        else memcpy(line, &block[column], rows);
      }
    }
}

static void FORM(turn_pixels)(
    const uint8_t *from, ptrdiff_t from_stride, uint8_t *to, ptrdiff_t to_stride, int width, int height, int flips_x,
    int flips_y) {
  // Blocks, so that both sides stay in the cache.
  for (int top = 0; top < height; top += 16)
    for (int left = 0; left < width; left += 16) {
      int right = width < left + 16 ? width : left + 16, bottom = height < top + 16 ? height : top + 16;
      for (int x = left; x < right; x++) {
        uint8_t *line = to + (flips_x ? width - 1 - x : x) * to_stride;
        for (int y = top; y < bottom; y++)
          memcpy(line + 4 * y, from + (flips_y ? height - 1 - y : y) * from_stride + 4 * x, 4);
      }
    }
}
