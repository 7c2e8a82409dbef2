// Loads FFmpeg's libraries on first use: they bring more than a hundred others with them, which whoever renders a JPEG
// shall not wait for. They are the very versions that the headers are of, by their sonames: members of structures are read
// and set directly, and lie elsewhere in other versions.
#ifdef GLP_FFMPEG
#include "Libraries.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

glp_av_functions glp_av;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;
static char reason[200];

static _Thread_local char first_error[200];
static _Thread_local unsigned losses;
static _Thread_local void (*watch)(void *);
static _Thread_local void *watched;

void glp_av_watch(void (*function)(void *context), void *context) {
  watch = function;
  watched = context;
}

/// What FFmpeg says when packets or reference pictures are missing; it gives the pictures all the same, unmarked.
static const char *const words_of_loss[] = {
    "RTP: missed", "Frame num gap", "reference picture missing", "Could not find ref with POC",
    "mmco: unref short failure",
};

/// Nothing goes to standard error. The first error of a call is mostly the root of those that follow.
static void listen_to(void *context, int level, const char *format, va_list arguments) {
  (void)context;
  if (watched) watch(watched);
  if (level > AV_LOG_WARNING) return;
  for (size_t i = 0; i < sizeof words_of_loss / sizeof *words_of_loss; i++) {
    if (strstr(format, words_of_loss[i])) losses++;
  }
  if (level > AV_LOG_ERROR || first_error[0]) return;
  vsnprintf(first_error, sizeof first_error, format, arguments);
  size_t length = strlen(first_error);
  while (length > 0 && (unsigned char)first_error[length - 1] <= ' ') first_error[--length] = 0;
}

void glp_av_listen(void) {
  first_error[0] = 0;
  losses = 0;
}

const char *glp_av_first_error(void) { return first_error; }
unsigned glp_av_losses_logged(void) { return losses; }

#define LIBRARY(name, major) "lib" name ".so." AV_STRINGIFY(major)
#define PACKAGE(name, major) "lib" name AV_STRINGIFY(major)
/// libavutil's major version is FFmpeg's and this.
enum { AVUTIL_BEFORE_FFMPEG = 52 };

/// The name of this system, as /etc/os-release has it.
static void name_system(char name[64]) {
  snprintf(name, 64, "this system");
  FILE *file = fopen("/etc/os-release", "re");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "PRETTY_NAME=%*[\"']%63[^\"'\n]", name) == 1) break;
  }
  if (file) fclose(file);
}

/// The version of FFmpeg that is installed instead of ours; 0 where there is none.
static int find_other_version(void) {
  for (int major = 55; major < 70; major++) {
    char name[32];
    snprintf(name, sizeof name, LIBRARY("avutil", %d), major);
    if (major != LIBAVUTIL_VERSION_MAJOR && dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return major - AVUTIL_BEFORE_FFMPEG;
  }
  return 0;
}

static void *open_library(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library) return library;
  char here[64];
  name_system(here);
  const int other = find_other_version();
  if (other) {
    snprintf(
        reason, sizeof reason,
        "FFmpeg %d is installed, and this glpreview was built for FFmpeg %d (%s): install one that was built for %s",
        other, LIBAVUTIL_VERSION_MAJOR - AVUTIL_BEFORE_FFMPEG, name, here);
  } else {
    snprintf(
        reason, sizeof reason,
        "FFmpeg's libraries are not installed (%s): apt-get install %s %s, or, if %s has others, a glpreview built for it",
        name, PACKAGE("avformat", LIBAVFORMAT_VERSION_MAJOR), PACKAGE("avcodec", LIBAVCODEC_VERSION_MAJOR), here);
  }
  return NULL;
}

/// Never unloaded: FFmpeg's own threads and the libraries below it don't expect that.
static void load(void) {
  void *library;
#define TAKE(name) \
  if (!(glp_av.name = (__typeof__(&name))dlsym(library, #name))) { \
    snprintf(reason, sizeof reason, "FFmpeg's libraries are not those that this was built for: no %s", #name); \
    return; \
  }
  if (!(library = open_library(LIBRARY("avutil", LIBAVUTIL_VERSION_MAJOR)))) return;
  GLP_AV_UTIL(TAKE)
  if (!(library = open_library(LIBRARY("avcodec", LIBAVCODEC_VERSION_MAJOR)))) return;
  GLP_AV_CODEC(TAKE)
  if (!(library = open_library(LIBRARY("avformat", LIBAVFORMAT_VERSION_MAJOR)))) return;
  GLP_AV_FORMAT(TAKE)
  glp_av.av_log_set_callback(listen_to);
  glp_av.avformat_network_init();
  is_loaded = true;
}

bool glp_av_load(glp_av_error *error) {
  pthread_once(&once, load);
  if (!is_loaded) {
    *error = (glp_av_error){.status = GLP_AV_NO_LIBRARIES};
    snprintf(error->text, sizeof error->text, "%s", reason);
  }
  return is_loaded;
}

void *glp_av_fail(glp_av_error *error, int code) {
  *error = (glp_av_error){.status = GLP_AV_FAILED};
  switch (code) {
    case AVERROR_EXIT: error->status = GLP_AV_INTERRUPTED; break;
    case AVERROR(ENOMEM): error->status = GLP_AV_NO_MEMORY; break;
    case AVERROR(ECONNREFUSED): error->status = GLP_AV_REFUSED; break;
    case AVERROR_HTTP_UNAUTHORIZED: error->status = GLP_AV_UNAUTHORIZED; break;
    case AVERROR_HTTP_FORBIDDEN: error->status = GLP_AV_FORBIDDEN; break;
    case AVERROR_HTTP_NOT_FOUND: error->status = GLP_AV_NOT_FOUND; break;
    case AVERROR(ETIMEDOUT): error->status = GLP_AV_TIMED_OUT; break;
    case AVERROR(EPROTONOSUPPORT): error->status = GLP_AV_NO_TRANSPORT; break;
    case AVERROR_EOF: error->status = GLP_AV_ENDED; break;
    case AVERROR_INVALIDDATA: error->status = GLP_AV_INVALID; break;
    case AVERROR_STREAM_NOT_FOUND: error->status = GLP_AV_NO_VIDEO; break;
    case AVERROR_DECODER_NOT_FOUND: error->status = GLP_AV_NO_DECODER; break;
    default: break;
  }
  if (strstr(first_error, "Failed to resolve hostname")) error->status = GLP_AV_HOST_UNKNOWN;
  // What quotes an address may quote the password in it.
  const bool is_quotable = first_error[0] && !strstr(first_error, "://") && !strchr(first_error, '@');
  if (is_quotable) {
    snprintf(error->text, sizeof error->text, "%s", first_error);
  } else if (glp_av.av_strerror(code, error->text, sizeof error->text) < 0) {
    snprintf(error->text, sizeof error->text, "error %d", code);
  }
  return NULL;
}
#endif
