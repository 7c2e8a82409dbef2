// FFmpeg's functions as far as they are used, each behind a pointer.
#ifndef GLP_AV_LIBRARIES_H
#define GLP_AV_LIBRARIES_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/hwcontext.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

#include "CAV.h"

#define GLP_AV_UTIL(F) \
  F(av_strerror) F(av_dict_set) F(av_dict_set_int) F(av_dict_free) F(av_frame_alloc) F(av_frame_free) \
  F(av_frame_move_ref) F(av_frame_get_side_data) F(av_get_pix_fmt_name) F(av_read_image_line2) F(av_log_set_callback) F(av_malloc) \
  F(av_free) F(av_rescale_q) F(av_opt_set) F(av_frame_get_buffer) F(av_frame_make_writable) F(av_frame_unref) \
  F(av_hwdevice_ctx_create) F(av_hwframe_ctx_alloc) F(av_hwframe_ctx_init) F(av_hwframe_get_buffer) \
  F(av_hwframe_transfer_data) F(av_buffer_unref) F(av_pix_fmt_desc_get) F(av_get_padded_bits_per_pixel)

#define GLP_AV_CODEC(F) \
  F(avcodec_alloc_context3) F(avcodec_free_context) F(avcodec_open2) F(avcodec_parameters_to_context) \
  F(avcodec_send_packet) F(avcodec_receive_frame) F(avcodec_get_name) F(avcodec_find_decoder) F(avcodec_find_encoder_by_name) \
  F(avcodec_send_frame) F(avcodec_receive_packet) F(av_packet_alloc) F(av_packet_free) F(av_packet_unref) \
  F(av_new_packet) F(av_packet_get_side_data) F(avcodec_default_get_buffer2)

#define GLP_AV_FORMAT(F) \
  F(avformat_alloc_context) F(avformat_free_context) F(avformat_open_input) F(avformat_close_input) F(av_read_frame) \
  F(av_find_best_stream) F(av_read_play) F(av_find_input_format) F(avio_alloc_context) F(avio_context_free) \
  F(av_probe_input_buffer2) F(av_url_split) F(avformat_network_init) F(av_guess_frame_rate) \
  GLP_AV_STREAM_SIDE_DATA(F)

// Since FFmpeg 6.1 side data are the codec parameters'.
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
#define GLP_AV_STREAM_SIDE_DATA(F)
#else
#define GLP_AV_STREAM_SIDE_DATA(F) F(av_stream_get_side_data)
#endif

#define GLP_AV_MEMBER(name) __typeof__(&name) name;
typedef struct {
  GLP_AV_UTIL(GLP_AV_MEMBER)
  GLP_AV_CODEC(GLP_AV_MEMBER)
  GLP_AV_FORMAT(GLP_AV_MEMBER)
} glp_av_functions;

/// All of them; filled by glp_av_load.
extern glp_av_functions glp_av;

/// Asked at each message of FFmpeg's on this thread, while `context` is not NULL.
void glp_av_watch(void (*watch)(void *context), void *context);

/// The messages of FFmpeg on this thread since glp_av_listen: the first error, and how many were about missing data.
void glp_av_listen(void);
const char *glp_av_first_error(void);
unsigned glp_av_losses_logged(void);

/// Sets what an FFmpeg call ended with. Returns NULL.
void *glp_av_fail(glp_av_error *error, int code);

#endif
