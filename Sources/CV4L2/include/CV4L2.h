// V4L2's ioctls as functions with plain arguments, because their numbers are macros, their structures contain unions
// and pointers, and libv4l2's ioctl function is variadic. Single-planar and multi-planar devices have one interface.
//
// Unless stated otherwise, functions return 0, or the errno of the failure. All except `glp_v4l2_open` and
// `glp_v4l2_query` go through libv4l2, which passes on the ioctls that it does not handle.
#ifndef GLP_CV4L2_H
#define GLP_CV4L2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The maximum number of memory planes of a picture. No supported format has more than three.
enum { GLP_V4L2_PLANES = 4 };

/// The identity and the capabilities of a device.
typedef struct {
  char driver[16];
  char card[32];
  char bus_info[32];
  bool captures;
  /// Whether it captures only through the multi-planar API.
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
  bool is_emulated;
} glp_v4l2_offer;

/// One size; if the steps are not 0, all sizes from the least to the greatest. A step of 1 allows any size.
typedef struct {
  uint32_t least_width, greatest_width, width_step;
  uint32_t least_height, greatest_height, height_step;
} glp_v4l2_sizes;

/// One frame interval in seconds, or all from the shortest to the longest.
typedef struct {
  uint32_t shortest_numerator, shortest_denominator;
  uint32_t longest_numerator, longest_denominator;
} glp_v4l2_intervals;

typedef struct {
  uint32_t bytes_per_line;
  uint32_t size_image;
} glp_v4l2_plane_format;

/// A capture format. `field`, `colorspace` and the fields below it have V4L2's values.
typedef struct {
  uint32_t width, height, fourcc, field;
  uint32_t colorspace, ycbcr_encoding, quantization;
  uint32_t plane_count;
  glp_v4l2_plane_format planes[GLP_V4L2_PLANES];
} glp_v4l2_format;

typedef struct {
  /// The offset to map, and the length in bytes.
  uint32_t offset, length;
  /// The content: the picture starts at `data_offset`; `bytes_used` counts from the plane's start.
  uint32_t bytes_used, data_offset;
} glp_v4l2_buffer_plane;

typedef struct {
  uint32_t index, sequence;
  int64_t seconds, microseconds;
  bool has_error, has_monotonic_time;
  uint32_t plane_count;
  glp_v4l2_buffer_plane planes[GLP_V4L2_PLANES];
} glp_v4l2_buffer;

/// A buffer of another device that the driver fills: its file, and its length in bytes.
typedef struct {
  int descriptor;
  uint32_t length;
} glp_v4l2_shared;

typedef struct {
  uint32_t id, type, flags;
  char name[32];
  int64_t minimum, maximum, default_value;
  uint64_t step;
  /// Whether it holds more than one number.
  bool is_compound;
} glp_v4l2_control;

/// Opens the device at `path` in non-blocking mode. Returns its descriptor, or minus errno.
int glp_v4l2_open(const char *path);
void glp_v4l2_close(int fd);
/// Passes the descriptor to libv4l2. With `converts`, libv4l2 adds formats that it converts from the device's own.
int glp_v4l2_attach(int fd, bool converts);

/// Asks the kernel directly, because libv4l2 may change the answer.
int glp_v4l2_query(int fd, glp_v4l2_capability *capability);
/// The next three return EINVAL after the last entry.
int glp_v4l2_offer_at(int fd, bool is_multiplanar, uint32_t index, glp_v4l2_offer *offer);
int glp_v4l2_sizes_at(int fd, uint32_t fourcc, uint32_t index, glp_v4l2_sizes *sizes);
int glp_v4l2_intervals_at(
    int fd, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index, glp_v4l2_intervals *intervals);

/// Sets the input to the detected timings or video standard, if the device needs that. With timings, `width` and
/// `height` are the picture's; otherwise 0.
int glp_v4l2_follow_signal(int fd, uint32_t *width, uint32_t *height);
int glp_v4l2_get_format(int fd, bool is_multiplanar, glp_v4l2_format *format);
/// Sets the size, fourcc, field, and the bytes of a row in the first plane, where 0 lets the driver choose. `format` receives the driver's answer.
int glp_v4l2_set_format(int fd, bool is_multiplanar, glp_v4l2_format *format);
/// The seconds per frame; ENOTTY or EINVAL if the device can't tell.
int glp_v4l2_get_interval(int fd, bool is_multiplanar, uint32_t *numerator, uint32_t *denominator);
int glp_v4l2_set_interval(int fd, bool is_multiplanar, uint32_t *numerator, uint32_t *denominator);

/// Buffers are the driver's own, or shared: another device's, of one memory plane. `count` receives the number of buffers that the
/// driver grants.
int glp_v4l2_request_buffers(int fd, bool is_multiplanar, bool are_shared, uint32_t *count);
int glp_v4l2_query_buffer(
    int fd, bool is_multiplanar, uint32_t plane_count, uint32_t index, glp_v4l2_buffer *buffer);
int glp_v4l2_map(int fd, uint32_t offset, uint32_t length, void **memory);
void glp_v4l2_unmap(void *memory, uint32_t length);
/// `shared` is the buffer to fill, which must stay open until it is dequeued or the stream stops; NULL for the driver's own.
int glp_v4l2_queue(
    int fd, bool is_multiplanar, uint32_t plane_count, uint32_t index, const glp_v4l2_shared *shared);
/// Returns EAGAIN if no buffer is ready.
int glp_v4l2_dequeue(int fd, bool is_multiplanar, bool are_shared, uint32_t plane_count, glp_v4l2_buffer *buffer);
int glp_v4l2_start(int fd, bool is_multiplanar, bool are_shared);
int glp_v4l2_stop(int fd, bool is_multiplanar, bool are_shared);

/// Subscribes to changes of the source and its end; ENOTTY or EINVAL if the device does not report changes.
int glp_v4l2_subscribe(int fd);
/// Takes all pending events: `has_changed` if the source's format changed, `has_ended` if the source ended.
int glp_v4l2_take_events(int fd, bool *has_changed, bool *has_ended);

/// Returns the control with the lowest id above `id`; EINVAL after the last.
int glp_v4l2_control_after(int fd, uint32_t id, glp_v4l2_control *control);
/// Returns a menu item: `name` has 33 bytes; a menu of numbers has `value` instead. EINVAL if there is no such item.
int glp_v4l2_menu_item(int fd, uint32_t id, uint32_t index, char *name, int64_t *value);
int glp_v4l2_get_control(int fd, uint32_t id, uint32_t type, int64_t *value);
int glp_v4l2_set_control(int fd, uint32_t id, uint32_t type, int64_t value);

#endif
