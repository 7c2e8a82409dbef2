// What a decoded picture carries beside FFmpeg's frame.
#ifndef GLP_AV_FRAME_H
#define GLP_AV_FRAME_H

#include <libavutil/frame.h>

#include "CAV.h"

struct glp_av_frame {
  AVFrame *frame;
  AVRational time_base;
  bool is_damaged;
  bool has_display_matrix;
  int32_t display_matrix[9];
};

#endif
