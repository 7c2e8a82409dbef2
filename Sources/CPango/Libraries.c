// Loads Pango and Cairo on first use: whoever writes no text shall neither need them nor wait for them.
#include "Libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

glp_pango_functions glp_pango;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;
static char reason[200];

static void *open_library(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    snprintf(
        reason, sizeof reason,
        "what draws text is not installed (%s): apt-get install libpangocairo-1.0-0 fonts-dejavu-core", name);
  }
  return library;
}

/// Never unloaded: GLib's types are registered for good.
static void load(void) {
  void *GOBJECT, *PANGO, *PANGOCAIRO, *CAIRO;
  if (!(GOBJECT = open_library("libgobject-2.0.so.0"))) return;
  if (!(CAIRO = open_library("libcairo.so.2"))) return;
  if (!(PANGO = open_library("libpango-1.0.so.0"))) return;
  if (!(PANGOCAIRO = open_library("libpangocairo-1.0.so.0"))) return;
#define TAKE(library, result, name, parameters) \
  if (!(glp_pango.name = (__typeof__(glp_pango.name))dlsym(library, #name))) { \
    snprintf(reason, sizeof reason, "what draws text is too old: no %s (Pango 1.44 is needed)", #name); \
    return; \
  }
  GLP_PANGO_FUNCTIONS(TAKE)
  is_loaded = true;
}

bool glp_pango_load(glp_text_error *error) {
  pthread_once(&once, load);
  if (!is_loaded) {
    *error = (glp_text_error){.status = GLP_TEXT_NO_LIBRARIES};
    snprintf(error->text, sizeof error->text, "%s", reason);
  }
  return is_loaded;
}
