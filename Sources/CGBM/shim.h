// Mesa's buffer manager: the way to a GPU by its file in /dev/dri, where EGL cannot list devices.
#include <gbm.h>
#include <stdint.h>

// A macro that Swift does not import: one byte a pixel.
static const uint32_t glp_gbm_format_r8 = GBM_FORMAT_R8;
