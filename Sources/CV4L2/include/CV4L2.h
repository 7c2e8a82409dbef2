// V4L2's ioctls as functions with plain arguments: their numbers are macros, their structures unions and pointers, and
// libv4l2's one is variadic. Single- and multi-planar devices look the same from here.
//
// Unless told otherwise a function gives 0, or the errno of what failed. All but `glp_v4l2_query` go through libv4l2,
// which passes on what it has no part in.
#ifndef GLP_CV4L2_H
#define GLP_CV4L2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Memory planes of a picture: more than three are no format of ours.
enum { GLP_V4L2_PLANES = 4 };

/// What a device says of itself.
typedef struct {
  char driver[16];
  char card[32];
  char bus_info[32];
  bool captures;
  /// Through the multi-planar API alone.
  bool is_multiplanar;
  bool streams;
  bool captures_metadata;
  bool outputs;
  bool is_memory_to_memory;
} glp_v4l2_capability;

/// A format that a device offers.
typedef struct {
  uint32_t fourcc;
  char description[32];
  bool is_compressed;
  bool is_emulated;
} glp_v4l2_offer;

/// A size, or with steps that are not 0 all from the least to the greatest. A step of 1 says any.
typedef struct {
  uint32_t least_width, greatest_width, width_step;
  uint32_t least_height, greatest_height, height_step;
} glp_v4l2_sizes;

/// A frame interval in seconds, or all from the shortest to the longest.
typedef struct {
  uint32_t shortest_numerator, shortest_denominator;
  uint32_t longest_numerator, longest_denominator;
  bool is_range;
} glp_v4l2_intervals;

typedef struct {
  uint32_t bytes_per_line;
  uint32_t size_image;
} glp_v4l2_plane_format;

/// What a device captures. `field`, `colorspace` and the rest are V4L2's numbers.
typedef struct {
  uint32_t width, height, fourcc, field;
  uint32_t colorspace, ycbcr_encoding, quantization, transfer_function;
  uint32_t plane_count;
  glp_v4l2_plane_format planes[GLP_V4L2_PLANES];
} glp_v4l2_format;

typedef struct {
  /// Where it is mapped from, and its size.
  uint32_t offset, length;
  /// What is in it: `bytes_used` counts from its begin, the picture from `data_offset`.
  uint32_t bytes_used, data_offset;
} glp_v4l2_buffer_plane;

typedef struct {
  uint32_t index, sequence;
  int64_t seconds, microseconds;
  bool has_error, has_monotonic_time, is_last;
  uint32_t plane_count;
  glp_v4l2_buffer_plane planes[GLP_V4L2_PLANES];
} glp_v4l2_buffer;

typedef struct {
  uint32_t id, type, flags;
  char name[32];
  int64_t minimum, maximum, default_value;
  uint64_t step;
  /// Whether it holds more than one number.
  bool is_compound;
} glp_v4l2_control;

/// The device at `path`, not blocking; its descriptor, or minus errno.
int glp_v4l2_open(const char *path);
void glp_v4l2_close(int fd);
/// From here on through libv4l2; with `converts` also in formats that it makes of the device's own.
int glp_v4l2_attach(int fd, bool converts);

/// Of the kernel, whatever libv4l2 would make of it.
int glp_v4l2_query(int fd, glp_v4l2_capability *capability);
/// EINVAL beyond the last.
int glp_v4l2_offer_at(int fd, bool is_multiplanar, uint32_t index, glp_v4l2_offer *offer);
int glp_v4l2_sizes_at(int fd, uint32_t fourcc, uint32_t index, glp_v4l2_sizes *sizes);
int glp_v4l2_intervals_at(
    int fd, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index, glp_v4l2_intervals *intervals);

/// Sets the input to the signal that is there, where it has to be told: timings or a standard. Of timings `width` and
/// `height` are the picture's; else 0.
int glp_v4l2_follow_signal(int fd, uint32_t *width, uint32_t *height);
int glp_v4l2_get_format(int fd, bool is_multiplanar, glp_v4l2_format *format);
/// Sets size, fourcc and field; the driver's answer is in `format`.
int glp_v4l2_set_format(int fd, bool is_multiplanar, glp_v4l2_format *format);
/// Seconds from picture to picture; ENOTTY or EINVAL where the device can't tell.
int glp_v4l2_get_interval(int fd, bool is_multiplanar, uint32_t *numerator, uint32_t *denominator);
int glp_v4l2_set_interval(int fd, bool is_multiplanar, uint32_t *numerator, uint32_t *denominator);

/// `count` becomes what the driver gives.
int glp_v4l2_request_buffers(int fd, bool is_multiplanar, uint32_t *count);
int glp_v4l2_query_buffer(
    int fd, bool is_multiplanar, uint32_t plane_count, uint32_t index, glp_v4l2_buffer *buffer);
int glp_v4l2_map(int fd, uint32_t offset, uint32_t length, void **memory);
void glp_v4l2_unmap(void *memory, uint32_t length);
int glp_v4l2_queue(int fd, bool is_multiplanar, uint32_t plane_count, uint32_t index);
/// EAGAIN where none is there.
int glp_v4l2_dequeue(int fd, bool is_multiplanar, uint32_t plane_count, glp_v4l2_buffer *buffer);
int glp_v4l2_start(int fd, bool is_multiplanar);
int glp_v4l2_stop(int fd, bool is_multiplanar);

/// Asks to be told when the source changes; ENOTTY or EINVAL where the device never tells.
int glp_v4l2_subscribe(int fd);
/// Takes all events that wait: `has_changed` says whether the source's format did, `has_ended` whether it is over.
int glp_v4l2_take_events(int fd, bool *has_changed, bool *has_ended);

/// The control whose id is the next after `id`; EINVAL beyond the last.
int glp_v4l2_control_after(int fd, uint32_t id, glp_v4l2_control *control);
/// A menu's item: `name` of 33 bytes, or for a menu of numbers `value`. EINVAL for one that is not there.
int glp_v4l2_menu_item(int fd, uint32_t id, uint32_t index, char *name, int64_t *value);
int glp_v4l2_get_control(int fd, uint32_t id, uint32_t type, int64_t *value);
int glp_v4l2_set_control(int fd, uint32_t id, uint32_t type, int64_t value);

#endif
