// `#embed` takes the files as they are when this is built, and has it built again when one changes.
#include "CWeb.h"

static const char index_html[] = {
#embed "../../Resources/web/index.html"
};
const glp_web_file glp_index_html = {index_html, sizeof index_html};

static const char dashboard_css[] = {
#embed "../../Resources/web/dashboard.css"
};
const glp_web_file glp_dashboard_css = {dashboard_css, sizeof dashboard_css};

static const char theme_js[] = {
#embed "../../Resources/web/dashboard/theme.js"
};
const glp_web_file glp_theme_js = {theme_js, sizeof theme_js};

static const char dashboard_js[] = {
#embed "../../Resources/web/dashboard.js"
};
const glp_web_file glp_dashboard_js = {dashboard_js, sizeof dashboard_js};

static const char api_js[] = {
#embed "../../Resources/web/dashboard/api.js"
};
const glp_web_file glp_api_js = {api_js, sizeof api_js};

static const char words_js[] = {
#embed "../../Resources/web/dashboard/words.js"
};
const glp_web_file glp_words_js = {words_js, sizeof words_js};

static const char stream_js[] = {
#embed "../../Resources/web/dashboard/stream.js"
};
const glp_web_file glp_stream_js = {stream_js, sizeof stream_js};

static const char video_js[] = {
#embed "../../Resources/web/dashboard/video.js"
};
const glp_web_file glp_video_js = {video_js, sizeof video_js};

static const char webrtc_js[] = {
#embed "../../Resources/web/dashboard/webrtc.js"
};
const glp_web_file glp_webrtc_js = {webrtc_js, sizeof webrtc_js};

static const char tiles_js[] = {
#embed "../../Resources/web/dashboard/tiles.js"
};
const glp_web_file glp_tiles_js = {tiles_js, sizeof tiles_js};

static const char detail_js[] = {
#embed "../../Resources/web/dashboard/detail.js"
};
const glp_web_file glp_detail_js = {detail_js, sizeof detail_js};

static const char crop_js[] = {
#embed "../../Resources/web/dashboard/crop.js"
};
const glp_web_file glp_crop_js = {crop_js, sizeof crop_js};

static const char lens_js[] = {
#embed "../../Resources/web/dashboard/lens.js"
};
const glp_web_file glp_lens_js = {lens_js, sizeof lens_js};

static const char moves_js[] = {
#embed "../../Resources/web/dashboard/moves.js"
};
const glp_web_file glp_moves_js = {moves_js, sizeof moves_js};

static const char turn_js[] = {
#embed "../../Resources/web/dashboard/turn.js"
};
const glp_web_file glp_turn_js = {turn_js, sizeof turn_js};

static const char outlines_js[] = {
#embed "../../Resources/web/dashboard/outlines.js"
};
const glp_web_file glp_outlines_js = {outlines_js, sizeof outlines_js};

static const char snapshots_js[] = {
#embed "../../Resources/web/dashboard/snapshots.js"
};
const glp_web_file glp_snapshots_js = {snapshots_js, sizeof snapshots_js};

static const char links_js[] = {
#embed "../../Resources/web/dashboard/links.js"
};
const glp_web_file glp_links_js = {links_js, sizeof links_js};

static const char recordings_js[] = {
#embed "../../Resources/web/dashboard/recordings.js"
};
const glp_web_file glp_recordings_js = {recordings_js, sizeof recordings_js};

static const char timeline_js[] = {
#embed "../../Resources/web/dashboard/timeline.js"
};
const glp_web_file glp_timeline_js = {timeline_js, sizeof timeline_js};

static const char storyboard_js[] = {
#embed "../../Resources/web/dashboard/storyboard.js"
};
const glp_web_file glp_storyboard_js = {storyboard_js, sizeof storyboard_js};

static const char save_js[] = {
#embed "../../Resources/web/dashboard/save.js"
};
const glp_web_file glp_save_js = {save_js, sizeof save_js};

static const char schedules_js[] = {
#embed "../../Resources/web/dashboard/schedules.js"
};
const glp_web_file glp_schedules_js = {schedules_js, sizeof schedules_js};

static const char motion_js[] = {
#embed "../../Resources/web/dashboard/motion.js"
};
const glp_web_file glp_motion_js = {motion_js, sizeof motion_js};
