// One file or one connection: opened, read packet by packet, decoded picture by picture.
//
// FFmpeg's avformat_find_stream_info is never called. It would decode pictures before any limit is set, keep a live stream
// waiting until it has made up its mind about frame rates, and tell us nothing that the first picture does not.
#ifdef GLP_FFMPEG
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "Allowance.h"
#include "Frame.h"
#include "Libraries.h"

enum {
  FILE_BUFFER = 64 << 10,
  /// So much is read until there is video, or none.
  MOST_PACKETS_WITHOUT_VIDEO = 5000,
  MOST_BYTES_WITHOUT_VIDEO = 20 << 20,
  /// Of packets that came in parts, until their pictures come out of the decoder.
  PARTIAL_PACKETS = 16,
};

/// Containers and elementary streams. No playlists, no scripts, no descriptions of sessions: what names other files or hosts
/// has no place in a file that anybody may have made.
static const char *const file_formats[] = {
    "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi",  "mpegts", "mpeg", "mpegvideo", "m4v", "h264", "hevc",
    "obu", "av1", "ivf", "flv", "asf", "ogg", "mxf", "nut", "gif", "dv", "vc1", "wtv", "rm", "vvc",
};

struct glp_av_stop {
  atomic_bool is_set;
};

struct glp_av_reader {
  int descriptor;
  AVIOContext *io;
  AVFormatContext *format;
  AVStream *stream;
  AVCodecContext *decoder;
  AVPacket *packet;
  AVFrame *frame;
  glp_av_stop *stop;
  /// While a stream is opened: its address, and what becomes of redirections.
  const char *url;
  glp_av_redirects redirects;
  /// The host of a redirection that is not followed; empty where there was none.
  char refused[256];
  int64_t max_pixels;
  int threads;
  glp_av_allowance allowance;
  bool is_live;
  /// Whether `packet` is the first of the video and was not decoded yet.
  bool has_packet;
  /// Before the first picture of what begins in the midst of a group of pictures: what can't be decoded is not damaged.
  bool is_leading_in;
  /// Everything is read; the decoder gives what it still has.
  bool is_draining;
  /// With what the file ended, told when all that was decoded is given.
  int end;
  /// Reference pictures or packets are missing.
  bool has_lost;
  /// How often FFmpeg spoke of what is missing before the packet that was read.
  unsigned losses;
  bool has_given;
  int64_t arrived;
  int64_t media_time;
  bool has_said;
  int64_t partial[PARTIAL_PACKETS];
  int partial_count;
  /// While closing: until when the network may be waited for; 0 before.
  int64_t closing_until;
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

glp_av_stop *glp_av_stop_create(void) { return calloc(1, sizeof(glp_av_stop)); }
void glp_av_stop_set(glp_av_stop *stop) { if (stop) atomic_store(&stop->is_set, true); }
void glp_av_stop_destroy(glp_av_stop *stop) { free(stop); }

/// FFmpeg asks every tenth of a second while it waits.
static int is_stopped(void *context) {
  const glp_av_reader *self = context;
  if (self->closing_until) return now() > self->closing_until;
  if (self->refused[0]) return 1;
  return self->stop && atomic_load(&self->stop->is_set);
}

// MARK: Files

static int read_file(void *context, uint8_t *buffer, int size) {
  const glp_av_reader *self = context;
  ssize_t count;
  do count = read(self->descriptor, buffer, size);
  while (count < 0 && errno == EINTR);
  if (count < 0) return AVERROR(errno);
  return count == 0 ? AVERROR_EOF : (int)count;
}

static int64_t seek_file(void *context, int64_t offset, int whence) {
  const glp_av_reader *self = context;
  if (whence & AVSEEK_SIZE) {
    struct stat status;
    return fstat(self->descriptor, &status) < 0 ? AVERROR(errno) : status.st_size;
  }
  const off_t position = lseek(self->descriptor, offset, whence & ~AVSEEK_FORCE);
  return position < 0 ? AVERROR(errno) : position;
}

/// A file that wants others opened is not obeyed.
static int refuse_to_open(
    AVFormatContext *format, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
  (void)format, (void)io, (void)url, (void)flags, (void)options;
  return AVERROR(EPERM);
}

static bool is_file_format(const AVInputFormat *format) {
  for (size_t i = 0; i < sizeof file_formats / sizeof *file_formats; i++) {
    if (strcmp(file_formats[i], format->name) == 0) return true;
  }
  return false;
}

static bool open_file_format(glp_av_reader *self, glp_av_error *error) {
  glp_av_listen();
  uint8_t *buffer = glp_av.av_malloc(FILE_BUFFER);
  self->io = buffer ? glp_av.avio_alloc_context(buffer, FILE_BUFFER, 0, self, read_file, NULL, seek_file) : NULL;
  if (!self->io) {
    glp_av.av_free(buffer);
    return glp_av_fail(error, AVERROR(ENOMEM));
  }
  // Without a name: names lie.
  const AVInputFormat *input = NULL;
  const int score = glp_av.av_probe_input_buffer2(self->io, &input, "", NULL, 0, 0);
  if (score < 0 || !input || score <= AVPROBE_SCORE_RETRY || !is_file_format(input)) {
    *error = (glp_av_error){.status = GLP_AV_UNKNOWN_FORMAT};
    return false;
  }
  glp_av_listen();
  if (!(self->format = glp_av.avformat_alloc_context())) return glp_av_fail(error, AVERROR(ENOMEM));
  self->format->pb = self->io;
  self->format->io_open = refuse_to_open;
  AVDictionary *options = NULL;
  // io_open is not asked by everything: "none" is no protocol's name.
  glp_av.av_dict_set(&options, "protocol_whitelist", "none", 0);
  glp_av.av_dict_set(&options, "format_whitelist", input->name, 0);
  const int code = glp_av.avformat_open_input(&self->format, "", input, &options);
  glp_av.av_dict_free(&options);
  if (code < 0) glp_av_fail(error, code);
  return code >= 0;
}

// MARK: Streams

static bool has_prefix(const char *text, const char *prefix) {
  return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/// The host of an address; empty where it has none.
static void host_of(const char *url, char *host, int size) {
  glp_av.av_url_split(NULL, 0, NULL, 0, host, size, NULL, NULL, 0, url);
}

/// FFmpeg follows an RTSP server wherever that sends it, and has no option against it (rtsp.c, ff_rtsp_connect). But it sets
/// the new address, says so in its log on this thread, and only then connects: the list of protocols that it may use is
/// emptied in between.
static void refuse_redirection(void *context) {
  glp_av_reader *self = context;
  const char *url = self->format ? self->format->url : NULL;
  if (!url || self->refused[0] || self->redirects == GLP_AV_ANY_HOST || strcmp(url, self->url) == 0) return;
  char host[sizeof self->refused], first[sizeof self->refused];
  host_of(url, host, sizeof host);
  host_of(self->url, first, sizeof first);
  if (self->redirects == GLP_AV_SAME_HOST && strcasecmp(host, first) == 0) return;
  snprintf(self->refused, sizeof self->refused, "%s", host[0] ? host : "?");
  // No protocol has this name.
  if (self->format->protocol_whitelist) strcpy(self->format->protocol_whitelist, "none");
}

static bool open_stream_format(
    glp_av_reader *self, const char *url, const char *transport, glp_av_error *error) {
  glp_av_listen();
  if (!(self->format = glp_av.avformat_alloc_context())) return glp_av_fail(error, AVERROR(ENOMEM));
  self->format->interrupt_callback = (AVIOInterruptCB){is_stopped, self};
  AVDictionary *options = NULL;
  const AVInputFormat *input = NULL;
  if (has_prefix(url, "rtsp")) {
    input = glp_av.av_find_input_format("rtsp");
    glp_av.av_dict_set(&options, "protocol_whitelist", "rtsp,rtsps,rtp,srtp,udp,tcp,tls,crypto", 0);
    glp_av.av_dict_set(&options, "rtsp_transport", transport ? transport : "tcp", 0);
    // Sound is not asked for; its server need not send it.
    glp_av.av_dict_set(&options, "allowed_media_types", "video", 0);
    glp_av.av_dict_set(&options, "initial_pause", "1", 0);
  } else {
    glp_av.av_dict_set(
        &options, "protocol_whitelist", "rtmp,rtmps,rtmpt,rtmpts,ffrtmphttp,ffrtmpcrypt,srt,udp,rtp,tcp,tls,http,https,crypto",
        0);
    glp_av.av_dict_set(&options, "format_whitelist", "mpegts,flv,live_flv,mpeg,matroska,webm,mov,mp4,h264,hevc", 0);
  }
  // How long packets that arrive out of order are waited for, in microseconds: as good as nothing over TCP.
  glp_av.av_dict_set_int(&options, "max_delay", 50000, 0);
  self->url = url;
  glp_av_watch(refuse_redirection, self);
  int code = glp_av.avformat_open_input(&self->format, url, input, &options);
  glp_av_watch(NULL, NULL);
  glp_av.av_dict_free(&options);
  // Also where FFmpeg should have connected without a word.
  if (code >= 0) refuse_redirection(self);
  self->url = NULL;
  if (self->refused[0]) {
    *error = (glp_av_error){.status = GLP_AV_REDIRECTED};
    snprintf(error->text, sizeof error->text, "%.199s", self->refused);
    return false;
  }
  if (code < 0) return glp_av_fail(error, code);
  if (input && (code = glp_av.av_read_play(self->format)) < 0) {
    glp_av_fail(error, code);
    // Where there was nothing to set up, there is nothing to play.
    if (self->format->nb_streams == 0 && error->status != GLP_AV_INTERRUPTED) error->status = GLP_AV_NO_VIDEO;
    return false;
  }
  return true;
}

// MARK: The decoder

/// The video among the streams; NULL where there is none yet.
static AVStream *find_video(AVFormatContext *format) {
  const int index = glp_av.av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  if (index < 0) return NULL;
  // A record's sleeve is no video.
  return format->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC ? NULL : format->streams[index];
}

/// Containers whose streams are found on the way are read until there is video; its first packet is kept.
static bool wait_for_video(glp_av_reader *self, glp_av_error *error) {
  int64_t bytes = 0;
  for (int packets = 0;; packets++) {
    self->stream = find_video(self->format);
    const bool may_change = self->format->ctx_flags & AVFMTCTX_NOHEADER && packets < MOST_PACKETS_WITHOUT_VIDEO &&
                            bytes < MOST_BYTES_WITHOUT_VIDEO;
    if (self->stream && (self->stream->codecpar->codec_id != AV_CODEC_ID_NONE || !may_change)) break;
    glp_av.av_packet_unref(self->packet);
    const int code = may_change ? glp_av.av_read_frame(self->format, self->packet) : AVERROR_EOF;
    if (code == AVERROR_EOF) {
      *error = (glp_av_error){.status = GLP_AV_NO_VIDEO};
      return false;
    }
    if (code < 0 && code != AVERROR(EAGAIN)) return glp_av_fail(error, code);
    if (is_stopped(self)) return glp_av_fail(error, AVERROR_EXIT);
    bytes += self->packet->size;
  }
  self->has_packet = self->packet->data && self->packet->stream_index == self->stream->index;
  return true;
}

static bool open_decoder(glp_av_reader *self, glp_av_error *error) {
  const AVCodecParameters *parameters = self->stream->codecpar;
  if ((int64_t)parameters->width * parameters->height > self->max_pixels) {
    *error = (glp_av_error){
        .status = GLP_AV_TOO_LARGE, .width = parameters->width, .height = parameters->height};
    return false;
  }
  if (parameters->codec_id == AV_CODEC_ID_NONE && parameters->codec_tag == 0) {
    *error = (glp_av_error){.status = GLP_AV_INVALID, .text = "its video is not described"};
    return false;
  }
  const AVCodec *codec = glp_av.avcodec_find_decoder(parameters->codec_id);
  if (!codec) {
    *error = (glp_av_error){.status = GLP_AV_NO_DECODER};
    const bool is_known = parameters->codec_id != AV_CODEC_ID_NONE;
    snprintf(
        error->text, sizeof error->text, "%s", is_known ? glp_av.avcodec_get_name(parameters->codec_id) : "unknown");
    return false;
  }
  if (!(self->decoder = glp_av.avcodec_alloc_context3(codec))) return glp_av_fail(error, AVERROR(ENOMEM));
  int code = glp_av.avcodec_parameters_to_context(self->decoder, parameters);
  if (code < 0) return glp_av_fail(error, code);
  self->decoder->pkt_timebase = self->stream->time_base;
  // A frame a thread adds as many frames of delay; a slice a thread adds none. But where slices of H.264 are decoded side by
  // side, nobody notices that one is missing (FFmpeg's h264_slice.c: no error resilience then): pictures come with a hole.
  const bool is_h264 = parameters->codec_id == AV_CODEC_ID_H264;
  self->decoder->thread_type = self->is_live ? FF_THREAD_SLICE : FF_THREAD_FRAME | (is_h264 ? 0 : FF_THREAD_SLICE);
  self->decoder->thread_count = self->is_live && is_h264 ? 1 : self->threads;
  // Rows are copied: they need not begin on boundaries, and a crop at the left is cut off to the pixel.
  self->decoder->flags |= AV_CODEC_FLAG_UNALIGNED;
  if (self->is_live) self->decoder->flags |= AV_CODEC_FLAG_LOW_DELAY;
  self->decoder->max_pixels = self->max_pixels;
  glp_av_allow(self->decoder, &self->allowance);
  if ((code = glp_av.avcodec_open2(self->decoder, codec, NULL)) < 0) return glp_av_fail(error, code);
  return true;
}

/// What both ways of opening share.
static bool begin(glp_av_reader *self, glp_av_error *error) {
  if (!self->packet && !(self->packet = glp_av.av_packet_alloc())) return glp_av_fail(error, AVERROR(ENOMEM));
  if (!self->frame && !(self->frame = glp_av.av_frame_alloc())) return glp_av_fail(error, AVERROR(ENOMEM));
  self->is_leading_in = self->is_live;
  return wait_for_video(self, error) && open_decoder(self, error);
}

static glp_av_reader *create(int64_t max_pixels, int threads, glp_av_memory memory, glp_av_error *error) {
  if (!glp_av_load(error)) return NULL;
  glp_av_reader *self = calloc(1, sizeof *self);
  if (!self) return glp_av_fail(error, AVERROR(ENOMEM));
  self->descriptor = -1;
  self->max_pixels = max_pixels;
  self->threads = threads;
  self->allowance.memory = memory;
  return self;
}

glp_av_reader *glp_av_open_file(
    const char *path, int64_t max_pixels, int threads, glp_av_memory memory, glp_av_error *error) {
  glp_av_reader *self = create(max_pixels, threads, memory, error);
  if (!self) return NULL;
  self->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (self->descriptor < 0) {
    *error = (glp_av_error){.status = GLP_AV_FAILED};
    snprintf(error->text, sizeof error->text, "%s", strerror(errno));
  }
  if (self->descriptor >= 0 && open_file_format(self, error) && begin(self, error)) return self;
  glp_av_close(self);
  return NULL;
}

glp_av_reader *glp_av_open_stream(
    const char *url, const char *transport, glp_av_redirects redirects, int64_t max_pixels, int threads,
    glp_av_memory memory, glp_av_stop *stop, glp_av_error *error) {
  glp_av_reader *self = create(max_pixels, threads, memory, error);
  if (!self) return NULL;
  self->is_live = true;
  self->stop = stop;
  self->redirects = redirects;
  if (open_stream_format(self, url, transport, error) && begin(self, error)) return self;
  // To close it, the server may be spoken to.
  self->refused[0] = 0;
  glp_av_close(self);
  return NULL;
}

static void close_format(glp_av_reader *self) {
  glp_av.avcodec_free_context(&self->decoder);
  glp_av.avformat_close_input(&self->format);
  // FFmpeg may have put another buffer in the place of ours.
  if (self->io) glp_av.av_free(self->io->buffer);
  glp_av.avio_context_free(&self->io);
  if (self->packet) glp_av.av_packet_unref(self->packet);
  self->stream = NULL;
}

void glp_av_close(glp_av_reader *self) {
  if (!self) return;
  // A server is told that we leave: over UDP it would go on sending. It need not answer.
  self->closing_until = now() + INT64_C(200000000);
  close_format(self);
  glp_av.av_packet_free(&self->packet);
  glp_av.av_frame_free(&self->frame);
  if (self->descriptor >= 0) close(self->descriptor);
  free(self);
}

bool glp_av_rewind(glp_av_reader *self, glp_av_error *error) {
  close_format(self);
  self->has_packet = self->is_draining = self->has_lost = self->has_given = false;
  self->end = self->partial_count = 0;
  self->arrived = 0;
  if (lseek(self->descriptor, 0, SEEK_SET) != 0) return glp_av_fail(error, AVERROR(errno));
  return open_file_format(self, error) && begin(self, error);
}

glp_av_facts glp_av_reader_facts(const glp_av_reader *self) {
  const AVCodecParameters *parameters = self->stream->codecpar;
  AVRational rate = glp_av.av_guess_frame_rate(self->format, self->stream, NULL);
  // What the codec's own headers say, where the container says nothing; known from the first picture on.
  if (rate.num <= 0 || rate.den <= 0) rate = self->decoder->framerate;
  if (rate.num <= 0 || rate.den <= 0) rate = (AVRational){0, 1};
  glp_av_facts facts = {
      .width = parameters->width,
      .height = parameters->height,
      .rate_numerator = rate.num,
      .rate_denominator = rate.den,
  };
  snprintf(facts.codec, sizeof facts.codec, "%s", glp_av.avcodec_get_name(parameters->codec_id));
  return facts;
}

bool glp_av_last_packet(const glp_av_reader *self, int64_t *arrived, int64_t *media_time) {
  *arrived = self->arrived;
  *media_time = self->media_time;
  return self->has_said;
}

// MARK: Pictures

static void take_display_matrix(const glp_av_reader *self, glp_av_frame *picture) {
  const int32_t *matrix = NULL;
  const AVFrameSideData *data = glp_av.av_frame_get_side_data(picture->frame, AV_FRAME_DATA_DISPLAYMATRIX);
  if (data && data->size >= sizeof picture->display_matrix) matrix = (const int32_t *)data->data;
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVCodecParameters *parameters = self->stream->codecpar;
  for (int i = 0; !matrix && i < parameters->nb_coded_side_data; i++) {
    const AVPacketSideData *entry = &parameters->coded_side_data[i];
    if (entry->type == AV_PKT_DATA_DISPLAYMATRIX && entry->size >= sizeof picture->display_matrix) {
      matrix = (const int32_t *)entry->data;
    }
  }
#else
  size_t size = 0;
  const uint8_t *bytes =
      matrix ? NULL : glp_av.av_stream_get_side_data(self->stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (bytes && size >= sizeof picture->display_matrix) matrix = (const int32_t *)bytes;
#endif
  if (!matrix) return;
  picture->has_display_matrix = true;
  memcpy(picture->display_matrix, matrix, sizeof picture->display_matrix);
}

/// Whether the packet of this time came in parts only; each is told once.
static bool take_partial(glp_av_reader *self, int64_t time) {
  for (int i = 0; i < self->partial_count; i++) {
    if (self->partial[i] != time) continue;
    self->partial[i] = self->partial[--self->partial_count];
    return true;
  }
  return false;
}

static glp_av_frame *make_picture(glp_av_reader *self, glp_av_error *error) {
  glp_av_frame *picture = calloc(1, sizeof *picture);
  if (picture) picture->frame = glp_av.av_frame_alloc();
  if (!picture || !picture->frame) {
    free(picture);
    return glp_av_fail(error, AVERROR(ENOMEM));
  }
  const AVFrame *frame = self->frame;
  const bool is_partial = take_partial(self, frame->pts);
  picture->is_damaged =
      is_partial || self->has_lost || frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT;
  self->has_lost = false;
  glp_av.av_frame_move_ref(picture->frame, self->frame);
  picture->time_base = self->stream->time_base;
  take_display_matrix(self, picture);
  self->has_given = true;
  return picture;
}

static void *report_damage(glp_av_error *error) {
  glp_av_fail(error, AVERROR_INVALIDDATA);
  error->status = GLP_AV_DAMAGED;
  return NULL;
}

/// How the file, or the connection, ended.
static void *report_end(glp_av_reader *self, glp_av_error *error) {
  const int end = self->end;
  self->end = AVERROR_EOF;
  if (end == AVERROR_EOF && self->partial_count > 0) {
    self->partial_count = 0;
    *error = (glp_av_error){.status = GLP_AV_CUT_SHORT};
  } else {
    glp_av_fail(error, end);
  }
  return NULL;
}

/// Reads the next packet of the video into `packet`; 0, or FFmpeg's code.
static int read_packet(glp_av_reader *self) {
  if (self->has_packet) {
    self->has_packet = false;
    return 0;
  }
  while (true) {
    glp_av.av_packet_unref(self->packet);
    const int code = glp_av.av_read_frame(self->format, self->packet);
    if (code == AVERROR(EAGAIN)) {
      if (is_stopped(self)) return AVERROR_EXIT;
      nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
      continue;
    }
    if (code < 0) return code;
    if (self->packet->stream_index == self->stream->index) return 0;
    if (is_stopped(self)) return AVERROR_EXIT;
  }
}

/// Takes note of what the packet says of itself.
static void note_packet(glp_av_reader *self) {
  const AVPacket *packet = self->packet;
  if (!self->has_given && !self->is_live && !self->arrived) {
    self->is_leading_in = !(packet->flags & AV_PKT_FLAG_KEY);
  }
  self->arrived = now();
  self->has_said = packet->pts != AV_NOPTS_VALUE;
  if (self->has_said) {
    self->media_time = glp_av.av_rescale_q(packet->pts, self->stream->time_base, (AVRational){1, 1000000000});
  }
  if (packet->flags & AV_PKT_FLAG_CORRUPT && self->partial_count < PARTIAL_PACKETS) {
    self->partial[self->partial_count++] = packet->pts;
  }
}

/// Waits for the next packet of a stream. 0, or FFmpeg's code.
static int take_packet(glp_av_reader *self) {
  const int code = read_packet(self);
  if (code < 0) return code;
  note_packet(self);
  // Listened to apart from what was said while waiting, but losses on the way count.
  self->losses = glp_av_losses_logged();
  glp_av_listen();
  return 0;
}

static int send_packet(glp_av_reader *self) {
  const int code = glp_av.avcodec_send_packet(self->decoder, self->packet);
  glp_av.av_packet_unref(self->packet);
  if (self->is_live && self->losses + glp_av_losses_logged() > 0) self->has_lost = !self->is_leading_in;
  self->losses = 0;
  return code;
}

/// Reads on until there is a picture; with `stays`, decodes only the packet that was read, and gives NULL and GLP_AV_OK where
/// no picture comes of it.
static glp_av_frame *next(glp_av_reader *self, bool stays, glp_av_error *error) {
  if (!self->decoder) return glp_av_fail(error, AVERROR_EOF);
  while (true) {
    glp_av_listen();
    int code = glp_av.avcodec_receive_frame(self->decoder, self->frame);
    if (glp_av_has_refused(&self->allowance, error)) {
      if (code == 0) glp_av.av_frame_unref(self->frame);
      return NULL;
    }
    if (code == 0) {
      self->is_leading_in = false;
      return make_picture(self, error);
    }
    if (code == AVERROR_EOF) return report_end(self, error);
    if (code == AVERROR(EAGAIN)) {
      if (stays && !self->packet->data) {
        *error = (glp_av_error){.status = GLP_AV_OK};
        return NULL;
      }
      code = stays ? 0 : take_packet(self);
      if (code == 0) {
        code = send_packet(self);
        if (glp_av_has_refused(&self->allowance, error)) return NULL;
        if (code >= 0) continue;
      } else if (self->is_live || code == AVERROR_EXIT) {
        return glp_av_fail(error, code);
      } else {
        self->end = code;
        // What is in the decoder is given first.
        if (glp_av.avcodec_send_packet(self->decoder, NULL) < 0) return report_end(self, error);
        continue;
      }
    }
    if (code == AVERROR(ENOMEM)) return glp_av_fail(error, code);
    if (!self->is_leading_in) return report_damage(error);
    if (is_stopped(self)) return glp_av_fail(error, AVERROR_EXIT);
  }
}

glp_av_frame *glp_av_next(glp_av_reader *self, glp_av_error *error) { return next(self, false, error); }

glp_av_frame *glp_av_decode(glp_av_reader *self, glp_av_error *error) { return next(self, true, error); }

bool glp_av_read(glp_av_reader *self, glp_av_error *error) {
  if (!self->decoder) return glp_av_fail(error, AVERROR_EOF);
  glp_av_listen();
  const int code = take_packet(self);
  if (code < 0) glp_av_fail(error, code);
  return code >= 0;
}

glp_av_packet glp_av_read_packet(const glp_av_reader *self) {
  const AVPacket *packet = self->packet;
  glp_av_packet view = {
      .bytes = packet->data,
      .count = packet->size > 0 ? packet->size : 0,
      .is_damaged = packet->flags & AV_PKT_FLAG_CORRUPT || self->losses > 0,
      .has_time = self->has_said,
      .time = self->media_time,
  };
  view.header = glp_av.av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &view.header_count);
  return view;
}

void glp_av_header(const glp_av_reader *self, const uint8_t **bytes, size_t *count) {
  const AVCodecParameters *parameters = self->stream->codecpar;
  *bytes = parameters->extradata;
  *count = parameters->extradata_size > 0 ? parameters->extradata_size : 0;
}
#endif
