// Loads OpenSSL and libsrtp on first use: whoever plays no WebRTC shall not need them.
#include "Libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

glp_rtc_functions glp_rtc;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;
static char reason[200];

static void *open_library(const char *name, const char *package) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(
        reason, sizeof reason, "what encrypts WebRTC is not installed (%s): apt-get install %s", name, package);
  }
  return library;
}

/// Never unloaded: OpenSSL leaves handlers for the process's end.
static void load(void) {
  void *CRYPTO, *SSL_, *SRTP;
  if (!(CRYPTO = open_library("libcrypto.so.3", "libssl3"))) return;
  if (!(SSL_ = open_library("libssl.so.3", "libssl3"))) return;
  if (!(SRTP = open_library("libsrtp2.so.1", "libsrtp2-1"))) return;
#define TAKE(library, result, name, parameters) \
  if (!(glp_rtc.name = (__typeof__(glp_rtc.name))dlsym(library, #name))) { \
    snprintf(reason, sizeof reason, "what encrypts WebRTC is too old: no %s", #name); \
    return; \
  }
  GLP_WEBRTC_FUNCTIONS(TAKE)
  if (glp_rtc.srtp_init()) {
    snprintf(reason, sizeof reason, "libsrtp2 does not start");
    return;
  }
  is_loaded = true;
}

bool glp_rtc_load(glp_rtc_error *error) {
  pthread_once(&once, load);
  if (!is_loaded) {
    *error = (glp_rtc_error){.status = GLP_RTC_NO_LIBRARIES};
    snprintf(error->text, sizeof error->text, "%s", reason);
  }
  return is_loaded;
}

bool glp_rtc_fail(glp_rtc_error *error, const char *what) {
  unsigned long code = glp_rtc.ERR_get_error();
  const char *why = code ? glp_rtc.ERR_reason_error_string(code) : NULL;
  *error = (glp_rtc_error){.status = GLP_RTC_FAILED};
  snprintf(error->text, sizeof error->text, why ? "%s: %s" : "%s", what, why);
  glp_rtc.ERR_clear_error();
  return false;
}
