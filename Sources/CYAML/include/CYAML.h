// The events of a YAML text, over libyaml.
#ifndef GLP_CYAML_H
#define GLP_CYAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  GLP_YAML_END,
  GLP_YAML_DOCUMENT,
  GLP_YAML_SCALAR,
  GLP_YAML_LIST,
  GLP_YAML_MAPPING,
  /// The end of a list or mapping.
  GLP_YAML_CLOSE,
  GLP_YAML_ALIAS,
} glp_yaml_kind;

/// A place in a text. Both start at 1; columns count Unicode scalars.
typedef struct {
  size_t line, column;
} glp_yaml_place;

/// What is read next. The pointers are valid until the next call.
typedef struct {
  glp_yaml_kind kind;
  glp_yaml_place place;
  /// A scalar's UTF-8, unquoted.
  const uint8_t *_Nullable text;
  size_t count;
  /// Whether a scalar is neither quoted nor a block.
  bool is_plain;
  /// Whether a node has a name (&name).
  bool has_anchor;
  /// The explicit tag of a node; NULL for none.
  const char *_Nullable tag;
} glp_yaml_event;

/// Why a text can't be read further.
typedef struct {
  /// In libyaml's words; NULL for none.
  const char *_Nullable problem, *_Nullable context;
  /// `offset` counts bytes, for texts that are not UTF-8 or have characters that are not allowed: such have no place.
  glp_yaml_place place, context_place;
  bool has_place;
  size_t offset;
} glp_yaml_failure;

typedef struct glp_yaml glp_yaml;

/// Begins to read `count` bytes of UTF-8, which must exist as long as the reader. NULL without memory.
glp_yaml *_Nullable glp_yaml_open(const uint8_t *_Nonnull text, size_t count);

/// Reads on. False for an invalid text.
bool glp_yaml_next(glp_yaml *_Nonnull reader, glp_yaml_event *_Nonnull event);

glp_yaml_failure glp_yaml_why(const glp_yaml *_Nonnull reader);

void glp_yaml_close(glp_yaml *_Nonnull reader);

#endif
