// Loads libwebp on first use: whoever asks for no animation shall not need it. These are the declarations of libwebp 0.6
// (2017), which libwebp.so.7 keeps.
#include "CWebP.h"

#include <dlfcn.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *reason = "what writes WebP is not installed (libwebp.so.7): apt-get install libwebp7";
static size_t (*encode)(const uint8_t *, int, int, int, float, uint8_t **);
static void (*release)(void *);

static void load(void) {
  void *library = dlopen("libwebp.so.7", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return;
  encode = (__typeof__(encode))dlsym(library, "WebPEncodeRGBA");
  release = (__typeof__(release))dlsym(library, "WebPFree");
  reason = encode && release ? NULL : "what writes WebP is too old: libwebp 0.6 is needed";
}

const char *glp_webp_failure(void) {
  pthread_once(&once, load);
  return reason;
}

bool glp_webp_encode(
    const uint8_t *rgba, int width, int height, int bytes_per_row, float quality, uint8_t **bytes, size_t *count) {
  *bytes = NULL;
  *count = 0;
  if (glp_webp_failure()) return false;
  *count = encode(rgba, width, height, bytes_per_row, quality, bytes);
  return *count > 0;
}

void glp_webp_free(uint8_t *bytes) {
  if (bytes) release(bytes);
}
