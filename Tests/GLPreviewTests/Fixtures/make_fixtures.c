// Writes the JPEGs of this folder that our own encoder can't make:
//   cc make_fixtures.c -ljpeg -o make_fixtures && ./make_fixtures
// All show four quarters (see `quarters` in JPEGTests.swift) in 35x29 pixels: red, green, blue, grey.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { WIDTH = 35, HEIGHT = 29 };

typedef struct {
  const char *name;
  J_COLOR_SPACE in, stored;
  int factors[4][2];
  int progressive, arithmetic, separate_scans;
  /// In MCUs.
  unsigned int restart;
} recipe;

static void pixel(int x, int y, J_COLOR_SPACE space, JSAMPLE *out) {
  static const JSAMPLE colors[4][3] = {{200, 30, 40}, {20, 160, 60}, {40, 50, 190}, {128, 128, 128}};
  const JSAMPLE *color = colors[(x >= WIDTH / 2) + 2 * (y >= HEIGHT / 2)];
  if (space == JCS_GRAYSCALE) {
    out[0] = (JSAMPLE)((299 * color[0] + 587 * color[1] + 114 * color[2] + 500) / 1000);
  } else if (space == JCS_CMYK) {
    // Adobe's way: 255 minus the ink; no black ink but in the last quarter, which is black ink alone.
    int is_grey = color[0] == color[1] && color[1] == color[2];
    for (int i = 0; i < 3; i++) out[i] = is_grey ? 255 : color[i];
    out[3] = is_grey ? color[0] : 255;
  } else {
    memcpy(out, color, 3);
  }
}

static void write_jpeg(const recipe *r) {
  struct jpeg_compress_struct cinfo;
  struct jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  FILE *file = fopen(r->name, "wb");
  if (file == NULL) exit(1);
  jpeg_stdio_dest(&cinfo, file);
  cinfo.image_width = WIDTH;
  cinfo.image_height = HEIGHT;
  cinfo.in_color_space = r->in;
  cinfo.input_components = r->in == JCS_GRAYSCALE ? 1 : r->in == JCS_CMYK ? 4 : 3;
  jpeg_set_defaults(&cinfo);
  jpeg_set_colorspace(&cinfo, r->stored);
  jpeg_set_quality(&cinfo, 92, TRUE);
  cinfo.optimize_coding = !r->arithmetic;
  cinfo.arith_code = r->arithmetic;
  for (int c = 0; c < cinfo.num_components; c++) {
    cinfo.comp_info[c].h_samp_factor = r->factors[c][0];
    cinfo.comp_info[c].v_samp_factor = r->factors[c][1];
  }
  cinfo.restart_interval = r->restart;
  if (r->progressive) jpeg_simple_progression(&cinfo);
  static jpeg_scan_info scans[3];
  if (r->separate_scans) {
    for (int c = 0; c < 3; c++) {
      scans[c] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {c}, .Ss = 0, .Se = 63};
    }
    cinfo.scan_info = scans;
    cinfo.num_scans = 3;
  }
  jpeg_start_compress(&cinfo, TRUE);
  JSAMPLE row[WIDTH * 4];
  JSAMPROW rows[1] = {row};
  while (cinfo.next_scanline < cinfo.image_height) {
    for (int x = 0; x < WIDTH; x++) {
      pixel(x, (int)cinfo.next_scanline, r->in, row + x * cinfo.input_components);
    }
    jpeg_write_scanlines(&cinfo, rows, 1);
  }
  jpeg_finish_compress(&cinfo);
  fclose(file);
  jpeg_destroy_compress(&cinfo);
}

int main(void) {
  static const recipe recipes[] = {
      {"grey.jpg", JCS_GRAYSCALE, JCS_GRAYSCALE, {{1, 1}}},
      {"grey-2x2.jpg", JCS_GRAYSCALE, JCS_GRAYSCALE, {{2, 2}}},
      {"ycc444.jpg", JCS_RGB, JCS_YCbCr, {{1, 1}, {1, 1}, {1, 1}}},
      {"ycc444-1x2.jpg", JCS_RGB, JCS_YCbCr, {{1, 2}, {1, 2}, {1, 2}}},
      {"ycc422.jpg", JCS_RGB, JCS_YCbCr, {{2, 1}, {1, 1}, {1, 1}}},
      {"ycc422-2x2.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 2}, {1, 2}}},
      {"ycc420.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 1}, {1, 1}}},
      {"ycc440.jpg", JCS_RGB, JCS_YCbCr, {{1, 2}, {1, 1}, {1, 1}}},
      {"ycc411.jpg", JCS_RGB, JCS_YCbCr, {{4, 1}, {1, 1}, {1, 1}}},
      {"ycc410.jpg", JCS_RGB, JCS_YCbCr, {{4, 2}, {1, 1}, {1, 1}}},
      {"ycc441.jpg", JCS_RGB, JCS_YCbCr, {{1, 4}, {1, 1}, {1, 1}}},
      {"ycc-mixed.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 2}, {2, 1}}},
      {"progressive420.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 1}, {1, 1}}, .progressive = 1},
      {"arithmetic422.jpg", JCS_RGB, JCS_YCbCr, {{2, 1}, {1, 1}, {1, 1}}, .arithmetic = 1},
      {"scans420.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 1}, {1, 1}}, .separate_scans = 1},
      {"restart420.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 1}, {1, 1}}, .restart = 1},
      {"restart-progressive420.jpg", JCS_RGB, JCS_YCbCr, {{2, 2}, {1, 1}, {1, 1}}, .progressive = 1, .restart = 2},
      {"adobe-rgb.jpg", JCS_RGB, JCS_RGB, {{1, 1}, {1, 1}, {1, 1}}},
      {"adobe-cmyk.jpg", JCS_CMYK, JCS_CMYK, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"adobe-ycck.jpg", JCS_CMYK, JCS_YCCK, {{2, 2}, {1, 1}, {1, 1}, {2, 2}}},
  };
  for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) write_jpeg(&recipes[i]);
  return 0;
}
