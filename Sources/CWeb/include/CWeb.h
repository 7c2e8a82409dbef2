// The files of Resources/web, in the binary.
#ifndef GLP_CWEB_H
#define GLP_CWEB_H
#include <stddef.h>

/// A file that lives as long as the process; not ended by a zero.
typedef struct {
  const char *bytes;
  size_t length;
} glp_web_file;

extern const glp_web_file glp_index_html;
extern const glp_web_file glp_dashboard_css;
extern const glp_web_file glp_theme_js;
extern const glp_web_file glp_dashboard_js;
extern const glp_web_file glp_api_js;
extern const glp_web_file glp_words_js;
extern const glp_web_file glp_stream_js;
extern const glp_web_file glp_video_js;
extern const glp_web_file glp_webrtc_js;
extern const glp_web_file glp_tiles_js;
extern const glp_web_file glp_detail_js;
extern const glp_web_file glp_crop_js;
extern const glp_web_file glp_lens_js;
extern const glp_web_file glp_moves_js;
extern const glp_web_file glp_turn_js;
extern const glp_web_file glp_outlines_js;
extern const glp_web_file glp_snapshots_js;
extern const glp_web_file glp_links_js;
extern const glp_web_file glp_recordings_js;
extern const glp_web_file glp_timeline_js;
extern const glp_web_file glp_storyboard_js;
extern const glp_web_file glp_save_js;
extern const glp_web_file glp_schedules_js;
extern const glp_web_file glp_motion_js;

#endif
