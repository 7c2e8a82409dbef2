// Asks before a decoder takes memory for pictures of another size than before.
#ifndef GLP_AV_ALLOWANCE_H
#define GLP_AV_ALLOWANCE_H

#include <stdatomic.h>

#include "Libraries.h"

typedef struct {
  glp_av_memory memory;
  /// The bytes of a picture that were last granted.
  _Atomic int64_t granted;
  /// Whether a picture was refused.
  atomic_bool has_refused;
} glp_av_allowance;

/// Has a context, which is not open yet, ask. `allowance` must live as long as it.
void glp_av_allow(AVCodecContext *context, glp_av_allowance *allowance);

/// Whether a picture was refused since the last call; then `error` says so.
bool glp_av_has_refused(glp_av_allowance *allowance, glp_av_error *error);

#endif
