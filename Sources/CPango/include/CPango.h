// Text to pixels by Pango and Cairo: any script, shaped, with whatever fonts there are. Nothing of their headers is needed,
// and their libraries are loaded when the first of these functions wants them (Libraries.c).
#ifndef GLP_CPANGO_H
#define GLP_CPANGO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What went wrong.
typedef enum {
  GLP_TEXT_OK,
  /// Libraries are not installed; the text says how to get them.
  GLP_TEXT_NO_LIBRARIES,
  /// There is no font at all.
  GLP_TEXT_NO_FONTS,
  GLP_TEXT_NO_MEMORY,
} glp_text_status;

/// Why, in one line.
typedef struct {
  glp_text_status status;
  char text[200];
} glp_text_error;

/// Fonts, and what is known of them; used by one thread at a time.
typedef struct glp_text_fonts glp_text_fonts;

/// NULL where there are no libraries, or no fonts.
glp_text_fonts *glp_text_open(glp_text_error *error);
void glp_text_close(glp_text_fonts *fonts);

/// What is to be drawn.
typedef struct {
  /// UTF-8 with no byte that is 0; newlines begin new lines.
  const char *text;
  size_t length;
  /// As fontconfig knows it.
  const char *family;
  /// Of the em, in pixels.
  int size;
  /// OpenType's, 100...1000.
  int weight;
  uint8_t red;
  uint8_t green;
  uint8_t blue;
  /// In pixels: longer lines end in an ellipsis, what is below is cut off.
  int max_width;
  int max_height;
} glp_text;

/// What came of it.
typedef struct {
  /// R, G, B, A, not premultiplied, with no bytes between rows; NULL where nothing is to be seen.
  uint8_t *bytes;
  int width;
  int height;
  /// How many letters no font has.
  int missing;
} glp_text_bitmap;

/// False where there is not enough memory.
bool glp_text_draw(glp_text_fonts *fonts, const glp_text *text, glp_text_bitmap *bitmap);
void glp_text_free(glp_text_bitmap *bitmap);

#endif
