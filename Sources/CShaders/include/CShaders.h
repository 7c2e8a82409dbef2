// The files of Resources/shaders, in the binary.
#ifndef GLP_CSHADERS_H
#define GLP_CSHADERS_H
#include <stddef.h>

/// A text that lives as long as the process; not ended by a zero.
typedef struct {
  const char *text;
  size_t length;
} glp_shader_text;

extern const glp_shader_text glp_fullscreen_vert;
extern const glp_shader_text glp_light_frag;
extern const glp_shader_text glp_rows_frag;
extern const glp_shader_text glp_columns_frag;
extern const glp_shader_text glp_sample_frag;
extern const glp_shader_text glp_warp_frag;
extern const glp_shader_text glp_turn_frag;
extern const glp_shader_text glp_words_frag;
extern const glp_shader_text glp_turnwords_frag;
extern const glp_shader_text glp_words_glsl;
extern const glp_shader_text glp_place_glsl;
extern const glp_shader_text glp_store_glsl;
extern const glp_shader_text glp_fold_glsl;
extern const glp_shader_text glp_taps_glsl;
extern const glp_shader_text glp_light_glsl;
extern const glp_shader_text glp_layer_frag;
extern const glp_shader_text glp_spread_frag;
extern const glp_shader_text glp_planes_frag;
extern const glp_shader_text glp_pixels_glsl;
extern const glp_shader_text glp_bell_glsl;
extern const glp_shader_text glp_passes_comp;
extern const glp_shader_text glp_rows_glsl;
extern const glp_shader_text glp_columns_glsl;
extern const glp_shader_text glp_lightrows_glsl;
extern const glp_shader_text glp_convert_glsl;
extern const glp_shader_text glp_output_glsl;
extern const glp_shader_text glp_jpegdct_comp;
extern const glp_shader_text glp_jpeglengths_comp;
extern const glp_shader_text glp_jpegscan_comp;
extern const glp_shader_text glp_jpegclear_comp;
extern const glp_shader_text glp_jpegbits_comp;
extern const glp_shader_text glp_jpegstuffing_comp;
extern const glp_shader_text glp_jpegbytes_comp;
extern const glp_shader_text glp_jpeg_glsl;
extern const glp_shader_text glp_jpegcode_glsl;
extern const glp_shader_text glp_jpegsums_glsl;
extern const glp_shader_text glp_jpegchunk_glsl;
extern const glp_shader_text glp_jpegcounts_comp;
extern const glp_shader_text glp_jpegchoice_comp;
extern const glp_shader_text glp_jpegquantise_comp;
extern const glp_shader_text glp_jpegquality_glsl;

#endif
