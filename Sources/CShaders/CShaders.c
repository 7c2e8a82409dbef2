// `#embed` takes the files as they are when this is built, and has it built again when one changes.
#include "CShaders.h"

static const char fullscreen_vert[] = {
#embed "../../Resources/shaders/fullscreen.vert"
};
const glp_shader_text glp_fullscreen_vert = {fullscreen_vert, sizeof fullscreen_vert};

static const char light_frag[] = {
#embed "../../Resources/shaders/light.frag"
};
const glp_shader_text glp_light_frag = {light_frag, sizeof light_frag};

static const char taps_glsl[] = {
#embed "../../Resources/shaders/include/taps.glsl"
};
const glp_shader_text glp_taps_glsl = {taps_glsl, sizeof taps_glsl};

static const char light_glsl[] = {
#embed "../../Resources/shaders/include/light.glsl"
};
const glp_shader_text glp_light_glsl = {light_glsl, sizeof light_glsl};

static const char rows_frag[] = {
#embed "../../Resources/shaders/rows.frag"
};
const glp_shader_text glp_rows_frag = {rows_frag, sizeof rows_frag};

static const char columns_frag[] = {
#embed "../../Resources/shaders/columns.frag"
};
const glp_shader_text glp_columns_frag = {columns_frag, sizeof columns_frag};

static const char sample_frag[] = {
#embed "../../Resources/shaders/sample.frag"
};
const glp_shader_text glp_sample_frag = {sample_frag, sizeof sample_frag};

static const char warp_frag[] = {
#embed "../../Resources/shaders/warp.frag"
};
const glp_shader_text glp_warp_frag = {warp_frag, sizeof warp_frag};

static const char turn_frag[] = {
#embed "../../Resources/shaders/turn.frag"
};
const glp_shader_text glp_turn_frag = {turn_frag, sizeof turn_frag};

static const char fold_glsl[] = {
#embed "../../Resources/shaders/include/fold.glsl"
};
const glp_shader_text glp_fold_glsl = {fold_glsl, sizeof fold_glsl};

static const char place_glsl[] = {
#embed "../../Resources/shaders/include/place.glsl"
};
const glp_shader_text glp_place_glsl = {place_glsl, sizeof place_glsl};

static const char store_glsl[] = {
#embed "../../Resources/shaders/include/store.glsl"
};
const glp_shader_text glp_store_glsl = {store_glsl, sizeof store_glsl};

static const char words_frag[] = {
#embed "../../Resources/shaders/words.frag"
};
const glp_shader_text glp_words_frag = {words_frag, sizeof words_frag};

static const char turnwords_frag[] = {
#embed "../../Resources/shaders/turnwords.frag"
};
const glp_shader_text glp_turnwords_frag = {turnwords_frag, sizeof turnwords_frag};

static const char words_glsl[] = {
#embed "../../Resources/shaders/include/words.glsl"
};
const glp_shader_text glp_words_glsl = {words_glsl, sizeof words_glsl};

static const char layer_frag[] = {
#embed "../../Resources/shaders/layer.frag"
};
const glp_shader_text glp_layer_frag = {layer_frag, sizeof layer_frag};

static const char spread_frag[] = {
#embed "../../Resources/shaders/spread.frag"
};
const glp_shader_text glp_spread_frag = {spread_frag, sizeof spread_frag};

static const char planes_frag[] = {
#embed "../../Resources/shaders/planes.frag"
};
const glp_shader_text glp_planes_frag = {planes_frag, sizeof planes_frag};

static const char pixels_glsl[] = {
#embed "../../Resources/shaders/include/pixels.glsl"
};
const glp_shader_text glp_pixels_glsl = {pixels_glsl, sizeof pixels_glsl};

static const char bell_glsl[] = {
#embed "../../Resources/shaders/include/bell.glsl"
};
const glp_shader_text glp_bell_glsl = {bell_glsl, sizeof bell_glsl};

static const char passes_comp[] = {
#embed "../../Resources/shaders/passes.comp"
};
const glp_shader_text glp_passes_comp = {passes_comp, sizeof passes_comp};

static const char rows_glsl[] = {
#embed "../../Resources/shaders/include/rows.glsl"
};
const glp_shader_text glp_rows_glsl = {rows_glsl, sizeof rows_glsl};

static const char columns_glsl[] = {
#embed "../../Resources/shaders/include/columns.glsl"
};
const glp_shader_text glp_columns_glsl = {columns_glsl, sizeof columns_glsl};

static const char lightrows_glsl[] = {
#embed "../../Resources/shaders/include/lightrows.glsl"
};
const glp_shader_text glp_lightrows_glsl = {lightrows_glsl, sizeof lightrows_glsl};

static const char convert_glsl[] = {
#embed "../../Resources/shaders/include/convert.glsl"
};
const glp_shader_text glp_convert_glsl = {convert_glsl, sizeof convert_glsl};

static const char output_glsl[] = {
#embed "../../Resources/shaders/include/output.glsl"
};
const glp_shader_text glp_output_glsl = {output_glsl, sizeof output_glsl};

static const char jpegdct_comp[] = {
#embed "../../Resources/shaders/jpegdct.comp"
};
const glp_shader_text glp_jpegdct_comp = {jpegdct_comp, sizeof jpegdct_comp};

static const char jpeglengths_comp[] = {
#embed "../../Resources/shaders/jpeglengths.comp"
};
const glp_shader_text glp_jpeglengths_comp = {jpeglengths_comp, sizeof jpeglengths_comp};

static const char jpegscan_comp[] = {
#embed "../../Resources/shaders/jpegscan.comp"
};
const glp_shader_text glp_jpegscan_comp = {jpegscan_comp, sizeof jpegscan_comp};

static const char jpegclear_comp[] = {
#embed "../../Resources/shaders/jpegclear.comp"
};
const glp_shader_text glp_jpegclear_comp = {jpegclear_comp, sizeof jpegclear_comp};

static const char jpegbits_comp[] = {
#embed "../../Resources/shaders/jpegbits.comp"
};
const glp_shader_text glp_jpegbits_comp = {jpegbits_comp, sizeof jpegbits_comp};

static const char jpegstuffing_comp[] = {
#embed "../../Resources/shaders/jpegstuffing.comp"
};
const glp_shader_text glp_jpegstuffing_comp = {jpegstuffing_comp, sizeof jpegstuffing_comp};

static const char jpegbytes_comp[] = {
#embed "../../Resources/shaders/jpegbytes.comp"
};
const glp_shader_text glp_jpegbytes_comp = {jpegbytes_comp, sizeof jpegbytes_comp};

static const char jpeg_glsl[] = {
#embed "../../Resources/shaders/include/jpeg.glsl"
};
const glp_shader_text glp_jpeg_glsl = {jpeg_glsl, sizeof jpeg_glsl};

static const char jpegcode_glsl[] = {
#embed "../../Resources/shaders/include/jpegcode.glsl"
};
const glp_shader_text glp_jpegcode_glsl = {jpegcode_glsl, sizeof jpegcode_glsl};

static const char jpegsums_glsl[] = {
#embed "../../Resources/shaders/include/jpegsums.glsl"
};
const glp_shader_text glp_jpegsums_glsl = {jpegsums_glsl, sizeof jpegsums_glsl};

static const char jpegchunk_glsl[] = {
#embed "../../Resources/shaders/include/jpegchunk.glsl"
};
const glp_shader_text glp_jpegchunk_glsl = {jpegchunk_glsl, sizeof jpegchunk_glsl};

static const char jpegcounts_comp[] = {
#embed "../../Resources/shaders/jpegcounts.comp"
};
const glp_shader_text glp_jpegcounts_comp = {jpegcounts_comp, sizeof jpegcounts_comp};

static const char jpegchoice_comp[] = {
#embed "../../Resources/shaders/jpegchoice.comp"
};
const glp_shader_text glp_jpegchoice_comp = {jpegchoice_comp, sizeof jpegchoice_comp};

static const char jpegquantise_comp[] = {
#embed "../../Resources/shaders/jpegquantise.comp"
};
const glp_shader_text glp_jpegquantise_comp = {jpegquantise_comp, sizeof jpegquantise_comp};

static const char jpegquality_glsl[] = {
#embed "../../Resources/shaders/include/jpegquality.glsl"
};
const glp_shader_text glp_jpegquality_glsl = {jpegquality_glsl, sizeof jpegquality_glsl};
