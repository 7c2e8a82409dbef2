// See CYAML.h.
#include "CYAML.h"

#include <stdlib.h>
#include <yaml.h>

struct glp_yaml {
  yaml_parser_t parser;
  yaml_event_t event;
};

glp_yaml *glp_yaml_open(const uint8_t *text, size_t count) {
  glp_yaml *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  if (!yaml_parser_initialize(&reader->parser)) {
    free(reader);
    return NULL;
  }
  yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&reader->parser, text, count);
  return reader;
}

static glp_yaml_place place(yaml_mark_t mark) { return (glp_yaml_place){mark.line + 1, mark.column + 1}; }

static glp_yaml_event node(glp_yaml_kind kind, const yaml_char_t *anchor, const yaml_char_t *tag) {
  return (glp_yaml_event){.kind = kind, .has_anchor = anchor != NULL, .tag = (const char *)tag};
}

bool glp_yaml_next(glp_yaml *reader, glp_yaml_event *event) {
  while (true) {
    yaml_event_delete(&reader->event);
    if (!yaml_parser_parse(&reader->parser, &reader->event)) return false;
    const yaml_event_t *read = &reader->event;
    switch (read->type) {
      case YAML_NO_EVENT:
      case YAML_STREAM_END_EVENT: *event = (glp_yaml_event){.kind = GLP_YAML_END}; break;
      case YAML_STREAM_START_EVENT:
      case YAML_DOCUMENT_END_EVENT: continue;
      case YAML_DOCUMENT_START_EVENT: *event = (glp_yaml_event){.kind = GLP_YAML_DOCUMENT}; break;
      case YAML_ALIAS_EVENT: *event = (glp_yaml_event){.kind = GLP_YAML_ALIAS}; break;
      case YAML_SCALAR_EVENT:
        *event = node(GLP_YAML_SCALAR, read->data.scalar.anchor, read->data.scalar.tag);
        event->text = read->data.scalar.value;
        event->count = read->data.scalar.length;
        event->is_plain = read->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        break;
      case YAML_SEQUENCE_START_EVENT:
        *event = node(GLP_YAML_LIST, read->data.sequence_start.anchor, read->data.sequence_start.tag);
        break;
      case YAML_MAPPING_START_EVENT:
        *event = node(GLP_YAML_MAPPING, read->data.mapping_start.anchor, read->data.mapping_start.tag);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: *event = (glp_yaml_event){.kind = GLP_YAML_CLOSE}; break;
    }
    event->place = place(read->start_mark);
    return true;
  }
}

glp_yaml_failure glp_yaml_why(const glp_yaml *reader) {
  const yaml_parser_t *parser = &reader->parser;
  return (glp_yaml_failure){
      .problem = parser->problem,
      .context = parser->context,
      .place = place(parser->problem_mark),
      .context_place = place(parser->context_mark),
      .has_place = parser->error == YAML_SCANNER_ERROR || parser->error == YAML_PARSER_ERROR,
      .offset = parser->problem_offset,
  };
}

void glp_yaml_close(glp_yaml *reader) {
  yaml_event_delete(&reader->event);
  yaml_parser_delete(&reader->parser);
  free(reader);
}
