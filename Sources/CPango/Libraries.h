// Pango's and Cairo's functions as far as they are used, each behind a pointer. Their headers are not asked for: these
// are their declarations, which have not changed since Pango 1.44 (2019) and Cairo 1.0.
#ifndef GLP_PANGO_LIBRARIES_H
#define GLP_PANGO_LIBRARIES_H

#include "CPango.h"

typedef struct PangoFontMap PangoFontMap;
typedef struct PangoContext PangoContext;
typedef struct PangoLayout PangoLayout;
typedef struct PangoFontDescription PangoFontDescription;
typedef struct cairo cairo_t;
typedef struct cairo_surface cairo_surface_t;
typedef struct cairo_font_options cairo_font_options_t;

typedef struct {
  int x;
  int y;
  int width;
  int height;
} PangoRectangle;

/// Pango's units in a pixel.
enum { PANGO_SCALE = 1024 };
enum { PANGO_ELLIPSIZE_END = 3 };
enum { CAIRO_STATUS_SUCCESS = 0 };
enum { CAIRO_FORMAT_ARGB32 = 0 };
enum { CAIRO_ANTIALIAS_GRAY = 2 };
enum { CAIRO_HINT_STYLE_NONE = 1 };
enum { CAIRO_HINT_METRICS_OFF = 1 };

/// Library, what it gives, name, what it takes.
#define GLP_PANGO_FUNCTIONS(F) \
  F(GOBJECT, void, g_object_unref, (void *)) \
  F(PANGO, PangoContext *, pango_font_map_create_context, (PangoFontMap *)) \
  F(PANGO, void, pango_context_set_round_glyph_positions, (PangoContext *, int)) \
  F(PANGO, PangoFontDescription *, pango_font_description_new, (void)) \
  F(PANGO, void, pango_font_description_free, (PangoFontDescription *)) \
  F(PANGO, void, pango_font_description_set_family, (PangoFontDescription *, const char *)) \
  F(PANGO, void, pango_font_description_set_absolute_size, (PangoFontDescription *, double)) \
  F(PANGO, void, pango_font_description_set_weight, (PangoFontDescription *, int)) \
  F(PANGO, PangoLayout *, pango_layout_new, (PangoContext *)) \
  F(PANGO, void, pango_layout_set_text, (PangoLayout *, const char *, int)) \
  F(PANGO, void, pango_layout_set_font_description, (PangoLayout *, const PangoFontDescription *)) \
  F(PANGO, void, pango_layout_set_width, (PangoLayout *, int)) \
  F(PANGO, void, pango_layout_set_ellipsize, (PangoLayout *, int)) \
  F(PANGO, void, pango_layout_get_pixel_extents, (PangoLayout *, PangoRectangle *, PangoRectangle *)) \
  F(PANGO, int, pango_layout_get_unknown_glyphs_count, (PangoLayout *)) \
  F(PANGOCAIRO, PangoFontMap *, pango_cairo_font_map_new, (void)) \
  F(PANGOCAIRO, void, pango_cairo_context_set_font_options, (PangoContext *, const cairo_font_options_t *)) \
  F(PANGOCAIRO, void, pango_cairo_show_layout, (cairo_t *, PangoLayout *)) \
  F(CAIRO, cairo_font_options_t *, cairo_font_options_create, (void)) \
  F(CAIRO, void, cairo_font_options_destroy, (cairo_font_options_t *)) \
  F(CAIRO, void, cairo_font_options_set_antialias, (cairo_font_options_t *, int)) \
  F(CAIRO, void, cairo_font_options_set_hint_style, (cairo_font_options_t *, int)) \
  F(CAIRO, void, cairo_font_options_set_hint_metrics, (cairo_font_options_t *, int)) \
  F(CAIRO, cairo_surface_t *, cairo_image_surface_create, (int, int, int)) \
  F(CAIRO, unsigned char *, cairo_image_surface_get_data, (cairo_surface_t *)) \
  F(CAIRO, int, cairo_image_surface_get_stride, (cairo_surface_t *)) \
  F(CAIRO, void, cairo_surface_flush, (cairo_surface_t *)) \
  F(CAIRO, void, cairo_surface_destroy, (cairo_surface_t *)) \
  F(CAIRO, cairo_t *, cairo_create, (cairo_surface_t *)) \
  F(CAIRO, int, cairo_status, (cairo_t *)) \
  F(CAIRO, void, cairo_destroy, (cairo_t *)) \
  F(CAIRO, void, cairo_set_source_rgb, (cairo_t *, double, double, double)) \
  F(CAIRO, void, cairo_move_to, (cairo_t *, double, double))

#define GLP_PANGO_MEMBER(library, result, name, parameters) result(*name) parameters;
typedef struct {
  GLP_PANGO_FUNCTIONS(GLP_PANGO_MEMBER)
} glp_pango_functions;

/// All of them; filled by glp_pango_load.
extern glp_pango_functions glp_pango;

/// Loads the libraries unless they are loaded; any thread may.
bool glp_pango_load(glp_text_error *error);

#endif
