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

static const char dashboard_js[] = {
#embed "../../Resources/web/dashboard.js"
};
const glp_web_file glp_dashboard_js = {dashboard_js, sizeof dashboard_js};
