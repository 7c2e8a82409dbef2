// Text to pixels: a layout by Pango, drawn by Cairo, given back as R, G, B, A.
#include "CPango.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Libraries.h"

struct glp_text_fonts {
  PangoFontMap *map;
  PangoContext *context;
};

static glp_text_fonts *fail(glp_text_error *error, glp_text_status status, const char *text) {
  *error = (glp_text_error){.status = status};
  snprintf(error->text, sizeof error->text, "%s", text);
  return NULL;
}

/// Letters are the same on every machine that has the same fonts: grey edges, and neither outlines nor distances bent
/// to the pixels, whatever the desktop's settings are.
static bool set_options(PangoContext *context) {
  cairo_font_options_t *options = glp_pango.cairo_font_options_create();
  if (!options) return false;
  glp_pango.cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  glp_pango.cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  glp_pango.cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  glp_pango.pango_cairo_context_set_font_options(context, options);
  glp_pango.cairo_font_options_destroy(options);
  glp_pango.pango_context_set_round_glyph_positions(context, 0);
  return true;
}

/// A layout in which every line ends in an ellipsis where it is too long.
static PangoLayout *lay_out(glp_text_fonts *fonts, const glp_text *text) {
  PangoLayout *layout = glp_pango.pango_layout_new(fonts->context);
  if (!layout) return NULL;
  PangoFontDescription *font = glp_pango.pango_font_description_new();
  if (!font) {
    glp_pango.g_object_unref(layout);
    return NULL;
  }
  glp_pango.pango_font_description_set_family(font, text->family);
  glp_pango.pango_font_description_set_absolute_size(font, (double)text->size * PANGO_SCALE);
  glp_pango.pango_font_description_set_weight(font, text->weight);
  glp_pango.pango_layout_set_font_description(layout, font);
  glp_pango.pango_font_description_free(font);
  glp_pango.pango_layout_set_width(layout, text->max_width * PANGO_SCALE);
  glp_pango.pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
  glp_pango.pango_layout_set_text(layout, text->text, (int)text->length);
  return layout;
}

/// Pango has families whatever there is: only a letter tells whether there are fonts.
static bool has_letters(glp_text_fonts *fonts) {
  const glp_text text = {
      .text = "a", .length = 1, .family = "sans", .size = 16, .weight = 400, .max_width = 100, .max_height = 100};
  PangoLayout *layout = lay_out(fonts, &text);
  if (!layout) return false;
  const bool has_all = glp_pango.pango_layout_get_unknown_glyphs_count(layout) == 0;
  glp_pango.g_object_unref(layout);
  return has_all;
}

glp_text_fonts *glp_text_open(glp_text_error *error) {
  *error = (glp_text_error){0};
  if (!glp_pango_load(error)) return NULL;
  glp_text_fonts *fonts = calloc(1, sizeof *fonts);
  if (!fonts) return fail(error, GLP_TEXT_NO_MEMORY, "not enough memory for text");
  fonts->map = glp_pango.pango_cairo_font_map_new();
  if (fonts->map) fonts->context = glp_pango.pango_font_map_create_context(fonts->map);
  if (!fonts->context || !set_options(fonts->context)) {
    glp_text_close(fonts);
    return fail(error, GLP_TEXT_NO_MEMORY, "not enough memory for text");
  }
  if (!has_letters(fonts)) {
    glp_text_close(fonts);
    return fail(error, GLP_TEXT_NO_FONTS, "there are no fonts: apt-get install fonts-dejavu-core");
  }
  return fonts;
}

void glp_text_close(glp_text_fonts *fonts) {
  if (!fonts) return;
  if (fonts->context) glp_pango.g_object_unref(fonts->context);
  if (fonts->map) glp_pango.g_object_unref(fonts->map);
  free(fonts);
}

/// The lines' room, and what reaches beyond it.
static PangoRectangle around(PangoRectangle one, PangoRectangle other) {
  const int left = one.x < other.x ? one.x : other.x;
  const int top = one.y < other.y ? one.y : other.y;
  const int right = one.x + one.width > other.x + other.width ? one.x + one.width : other.x + other.width;
  const int bottom = one.y + one.height > other.y + other.height ? one.y + one.height : other.y + other.height;
  return (PangoRectangle){.x = left, .y = top, .width = right - left, .height = bottom - top};
}

static bool is_near(unsigned one, unsigned other) { return one <= other + 1 && other <= one + 1; }

/// Cairo's premultiplied pixel to four codes. Where it is the text's colour, that is given to the code: division alone would
/// not find it again where little is covered.
static void unmultiply(uint32_t pixel, const glp_text *text, uint8_t *target) {
  const unsigned alpha = pixel >> 24;
  const unsigned premultiplied[3] = {pixel >> 16 & 0xff, pixel >> 8 & 0xff, pixel & 0xff};
  const uint8_t color[3] = {text->red, text->green, text->blue};
  bool is_text = true;
  for (int i = 0; i < 3; i++) is_text &= is_near(premultiplied[i], (color[i] * alpha + 127) / 255);
  for (int i = 0; i < 3; i++) {
    const unsigned code = is_text ? color[i] : (premultiplied[i] * 255 + alpha / 2) / alpha;
    target[i] = code > 255 ? 255 : (uint8_t)code;
  }
  target[3] = (uint8_t)alpha;
}

static bool copy(cairo_surface_t *surface, const glp_text *text, glp_text_bitmap *bitmap) {
  const size_t row = (size_t)bitmap->width * 4;
  uint8_t *bytes = malloc(row * (size_t)bitmap->height);
  if (!bytes) return false;
  glp_pango.cairo_surface_flush(surface);
  const uint8_t *source = glp_pango.cairo_image_surface_get_data(surface);
  const int stride = glp_pango.cairo_image_surface_get_stride(surface);
  for (int y = 0; y < bitmap->height; y++) {
    for (int x = 0; x < bitmap->width; x++) {
      uint32_t pixel;
      memcpy(&pixel, source + (size_t)y * (size_t)stride + (size_t)x * 4, sizeof pixel);
      unmultiply(pixel, text, bytes + (size_t)y * row + (size_t)x * 4);
    }
  }
  bitmap->bytes = bytes;
  return true;
}

static bool draw(PangoLayout *layout, const glp_text *text, glp_text_bitmap *bitmap) {
  PangoRectangle ink, lines;
  glp_pango.pango_layout_get_pixel_extents(layout, &ink, &lines);
  bitmap->missing = glp_pango.pango_layout_get_unknown_glyphs_count(layout);
  if (ink.width <= 0 || ink.height <= 0) return true;
  const PangoRectangle room = around(ink, lines);
  bitmap->width = room.width < text->max_width ? room.width : text->max_width;
  bitmap->height = room.height < text->max_height ? room.height : text->max_height;
  cairo_surface_t *surface =
      glp_pango.cairo_image_surface_create(CAIRO_FORMAT_ARGB32, bitmap->width, bitmap->height);
  cairo_t *cairo = glp_pango.cairo_create(surface);
  glp_pango.cairo_set_source_rgb(cairo, text->red / 255.0, text->green / 255.0, text->blue / 255.0);
  glp_pango.cairo_move_to(cairo, -room.x, -room.y);
  glp_pango.pango_cairo_show_layout(cairo, layout);
  const bool is_drawn = glp_pango.cairo_status(cairo) == CAIRO_STATUS_SUCCESS;
  glp_pango.cairo_destroy(cairo);
  const bool is_done = is_drawn && copy(surface, text, bitmap);
  glp_pango.cairo_surface_destroy(surface);
  return is_done;
}

bool glp_text_draw(glp_text_fonts *fonts, const glp_text *text, glp_text_bitmap *bitmap) {
  *bitmap = (glp_text_bitmap){0};
  PangoLayout *layout = lay_out(fonts, text);
  if (!layout) return false;
  const bool is_done = draw(layout, text, bitmap);
  glp_pango.g_object_unref(layout);
  return is_done;
}

void glp_text_free(glp_text_bitmap *bitmap) {
  free(bitmap->bytes);
  *bitmap = (glp_text_bitmap){0};
}
