// Video by FFmpeg's libraries: out of files and streams (open, next picture, its samples), and into H.264. Nothing of
// FFmpeg's own headers is seen from outside, and its libraries are loaded when the first of these functions wants them
// (Libraries.c).
#ifndef GLP_CAV_H
#define GLP_CAV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What went wrong.
typedef enum {
  GLP_AV_OK,
  /// FFmpeg's libraries, or OpenH264's, are not installed; the text says how to get them.
  GLP_AV_NO_LIBRARIES,
  GLP_AV_INTERRUPTED,
  GLP_AV_NO_MEMORY,
  /// It may not take the memory for its pictures (glp_av_memory).
  GLP_AV_NO_ROOM,
  /// Not a video of any format that is read.
  GLP_AV_UNKNOWN_FORMAT,
  /// Of a known format, but broken; or nothing that could be made sense of was answered.
  GLP_AV_INVALID,
  GLP_AV_NO_VIDEO,
  /// There is video, but no decoder; the text is the codec's name.
  GLP_AV_NO_DECODER,
  /// These libraries were built without the encoder.
  GLP_AV_NO_ENCODER,
  /// Width and height are set.
  GLP_AV_TOO_LARGE,
  GLP_AV_REFUSED,
  GLP_AV_UNAUTHORIZED,
  GLP_AV_FORBIDDEN,
  GLP_AV_NOT_FOUND,
  GLP_AV_TIMED_OUT,
  GLP_AV_HOST_UNKNOWN,
  /// The server has no stream over the transport that was asked for.
  GLP_AV_NO_TRANSPORT,
  /// The server redirects to where it is not followed; the text is the host.
  GLP_AV_REDIRECTED,
  /// A picture could not be decoded, or not all of it; the next may be asked for.
  GLP_AV_DAMAGED,
  /// The last packet is not all there; no picture follows.
  GLP_AV_CUT_SHORT,
  GLP_AV_ENDED,
  /// Anything else: the text says it.
  GLP_AV_FAILED,
} glp_av_status;

/// Why, in FFmpeg's words where it has some; may name hosts, never the user's password.
typedef struct {
  glp_av_status status;
  char text[200];
  int width;
  int height;
} glp_av_error;

/// Loads FFmpeg's libraries unless they are loaded; any thread may. All else below does so by itself.
bool glp_av_load(glp_av_error *error);

/// Stops what waits for the network, from any thread: within a fifth of a second.
typedef struct glp_av_stop glp_av_stop;
glp_av_stop *glp_av_stop_create(void);
void glp_av_stop_set(glp_av_stop *stop);
void glp_av_stop_destroy(glp_av_stop *stop);

/// One file or connection; used by one thread at a time.
typedef struct glp_av_reader glp_av_reader;

/// A decoded picture. Any thread may read it.
typedef struct glp_av_frame glp_av_frame;

/// What is known of the video before its first picture.
typedef struct {
  /// FFmpeg's name.
  char codec[32];
  /// 0 where it is not known yet.
  int width;
  int height;
  /// Pictures a second as a fraction; 0 where it is not known.
  int rate_numerator;
  int rate_denominator;
} glp_av_facts;

/// Asks whether a decoder may take so many bytes in sum from now on, before it takes them; on any thread.
typedef struct {
  /// NULL: it may take anything.
  bool (*may_take)(void *context, int64_t bytes);
  /// Must live as long as the decoder.
  void *context;
} glp_av_memory;

/// A file. Read through a descriptor of our own: nothing that the file says can open another one.
glp_av_reader *glp_av_open_file(
    const char *path, int64_t max_pixels, int threads, glp_av_memory memory, glp_av_error *error);

/// Which redirections of RTSP servers are followed.
typedef enum { GLP_AV_SAME_HOST, GLP_AV_ANY_HOST, GLP_AV_NO_REDIRECTS } glp_av_redirects;

/// A stream. `transport` is "tcp" or "udp" for RTSP, else NULL. `stop` must live as long as the reader.
glp_av_reader *glp_av_open_stream(
    const char *url, const char *transport, glp_av_redirects redirects, int64_t max_pixels, int threads,
    glp_av_memory memory, glp_av_stop *stop, glp_av_error *error);

void glp_av_close(glp_av_reader *reader);

glp_av_facts glp_av_reader_facts(const glp_av_reader *reader);

/// A file begins again. False where it can't, and nothing can be read any more.
bool glp_av_rewind(glp_av_reader *reader, glp_av_error *error);

/// Waits for the next picture. NULL where there is none: `error` says why, GLP_AV_ENDED at a file's end in good order.
glp_av_frame *glp_av_next(glp_av_reader *reader, glp_av_error *error);

/// Waits for the next packet, and does not decode it. False where there is none: `error` says why.
bool glp_av_read(glp_av_reader *reader, glp_av_error *error);

/// A packet that was read; valid until the next call.
typedef struct {
  const uint8_t *bytes;
  size_t count;
  /// A new header of the stream, as `glp_av_header` gives the first; NULL where there is none.
  const uint8_t *header;
  size_t header_count;
  /// It came in parts, or others before it are missing.
  bool is_damaged;
  /// Whether `time` is known: nanoseconds by the stream's own clock.
  bool has_time;
  int64_t time;
} glp_av_packet;

glp_av_packet glp_av_read_packet(const glp_av_reader *reader);

/// What the container says of the codec: parameter sets of H.264, as a byte stream or as MP4 has them. NULL where it says
/// nothing; valid until the next call.
void glp_av_header(const glp_av_reader *reader, const uint8_t **bytes, size_t *count);

/// Decodes the packet that was read. NULL and GLP_AV_OK where no picture comes of it yet; else as glp_av_next.
glp_av_frame *glp_av_decode(glp_av_reader *reader, glp_av_error *error);

/// A decoder of H.264 without a container; used by one thread at a time.
typedef struct glp_av_decoder glp_av_decoder;

/// NULL where it can't be opened: `error` says why.
glp_av_decoder *glp_av_decoder_open(int64_t max_pixels, glp_av_memory memory, glp_av_error *error);
void glp_av_decoder_close(glp_av_decoder *decoder);

/// Decodes a picture of a byte stream without reordering. NULL where it can't be decoded, or is only half a picture
/// (GLP_AV_OK).
glp_av_frame *glp_av_decoder_decode(
    glp_av_decoder *decoder, const uint8_t *bytes, size_t count, glp_av_error *error);

/// The last packet that came: when (CLOCK_MONOTONIC), and the time that it says of itself, both in nanoseconds. False
/// where it says none.
bool glp_av_last_packet(const glp_av_reader *reader, int64_t *arrived, int64_t *media_time);

/// The components of a pixel format: R, G, B and alpha, or Y', Cb, Cr and alpha, or Y' and alpha.
typedef struct {
  /// 0 where they can't be read one by one: pictures in a GPU's memory, floats, raw sensors, XYZ.
  int count;
  /// The bits of each.
  int depths[4];
  /// Logarithms to the base 2 of how many pixels share a chroma sample.
  int chroma_shift_x;
  int chroma_shift_y;
  bool is_rgb;
} glp_av_components;

/// What the samples of a picture are. Numbers are those of ITU-T H.273, and FFmpeg's where it has none.
typedef struct {
  /// FFmpeg's name of the pixel format; empty where it has none.
  char format[32];
  glp_av_components components;
  int width;
  int height;
  /// MatrixCoefficients; 2 is unspecified.
  int matrix;
  /// 0 unspecified, 1 limited, 2 full.
  int range;
  /// 0 unspecified, 1 left, 2 centre, 3 top left, 4 top, 5 bottom left, 6 bottom.
  int chroma_location;
  bool is_key;
  /// Parts of it are made up, or it rests on pictures that are missing.
  bool is_damaged;
  /// Whether `time` is known: nanoseconds by the file's or the stream's own clock.
  bool has_time;
  int64_t time;
  bool has_display_matrix;
  int32_t display_matrix[9];
  /// Bytes of all its buffers.
  size_t byte_count;
} glp_av_picture;

glp_av_picture glp_av_describe(const glp_av_frame *frame);
void glp_av_frame_destroy(glp_av_frame *frame);

/// Copies `rows` rows of `row_bytes` bytes. False where the plane has no such rows.
bool glp_av_copy(
    const glp_av_frame *frame, int plane, uint8_t *target, size_t target_stride, size_t row_bytes, int rows);

/// Samples of 16 bits to codes of 8: ((sample >> shift & mask) * scale + offset) >> 16, held within 0...255.
typedef struct {
  uint16_t shift;
  uint16_t mask;
  int32_t scale;
  int32_t offset;
} glp_av_narrowing;

/// The same for `row_samples` samples a row.
bool glp_av_narrow(
    const glp_av_frame *frame, int plane, uint8_t *target, size_t target_stride, size_t row_samples, int rows,
    glp_av_narrowing narrowing);

/// The same for one component in any arrangement, to every `step`th byte. Its samples are read without shift.
bool glp_av_read_component(
    const glp_av_frame *frame, int component, uint8_t *target, size_t target_stride, size_t step, size_t row_samples,
    int rows, glp_av_narrowing narrowing);

// MARK: Encoding

/// How pictures become H.264: constrained baseline, no B pictures, no delay, one slice a picture up to 1080p.
typedef struct {
  /// FFmpeg's name: h264_v4l2m2m, h264_vaapi, h264_nvenc or libx264; or libopenh264, which needs nothing of
  /// FFmpeg's.
  const char *encoder;
  /// Both even.
  int width;
  int height;
  /// x264's constant rate factor, 0...51; hardware takes it for its own scale where it has one.
  int quality;
  /// Bits a second at most, over half a second, if pictures come at `rate`.
  int64_t bitrate;
  /// Pictures a second.
  int rate;
  /// A key picture comes at the latest after this many.
  int keyframe_interval;
  /// Of software: a slice a thread.
  int threads;
} glp_av_encoding;

/// One encoder; used by one thread at a time.
typedef struct glp_av_encoder glp_av_encoder;

/// NULL where it can't be opened: `error` says why.
glp_av_encoder *glp_av_encoder_open(const glp_av_encoding *encoding, glp_av_error *error);
void glp_av_encoder_close(glp_av_encoder *encoder);

/// Three planes of 4:2:0 in BT.601's limited range: of the encoder's size, or one column or row less, where the last one is
/// repeated.
typedef struct {
  const uint8_t *planes[3];
  size_t strides[3];
  int width;
  int height;
} glp_av_planes;

/// Encodes a picture. `bytes` are Annex B, and valid until the next call; there are none if the encoder still keeps the
/// picture. False where it fails.
bool glp_av_encode(
    glp_av_encoder *encoder, const glp_av_planes *picture, bool is_key, const uint8_t **bytes, size_t *count,
    glp_av_error *error);

/// Sets the most bits a second from the next picture on. Encoders that can't change it keep what they have.
void glp_av_encoder_set_bitrate(glp_av_encoder *encoder, int64_t bitrate);

#endif
