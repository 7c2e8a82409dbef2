// Implements CV4L2.h: fills in the structures of the ioctls, and copies their answers.
#define _GNU_SOURCE
#include "CV4L2.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <libv4l2.h>
#include <linux/videodev2.h>

static int control_device(int fd, unsigned long request, void *argument) {
  int result;
  do result = v4l2_ioctl(fd, request, argument);
  while (result < 0 && errno == EINTR);
  return result < 0 ? errno : 0;
}

// libv4l2 refuses buffers that are not the driver's own.
static int control_kernel(int fd, unsigned long request, void *argument) {
  int result;
  do result = ioctl(fd, request, argument);
  while (result < 0 && errno == EINTR);
  return result < 0 ? errno : 0;
}

static int control_buffers(int fd, bool are_shared, unsigned long request, void *argument) {
  return are_shared ? control_kernel(fd, request, argument) : control_device(fd, request, argument);
}

static uint32_t buffer_type(bool is_multiplanar) {
  return is_multiplanar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
}

int glp_v4l2_open(const char *path) {
  int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

void glp_v4l2_close(int fd) { v4l2_close(fd); }

// libv4l2 logs errors to standard error unless it has a log file; we report errors ourselves. A stream without
// functions discards all output, and needs no descriptor.
static void be_silent(void) {
  if (v4l2_log_file || getenv("LIBV4L2_LOG_FILENAME")) return;
  v4l2_log_file = fopencookie(NULL, "w", (cookie_io_functions_t){0});
}

int glp_v4l2_attach(int fd, bool converts) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, be_silent);
  return v4l2_fd_open(fd, converts ? 0 : V4L2_DISABLE_CONVERSION) < 0 ? errno : 0;
}

int glp_v4l2_query(int fd, glp_v4l2_capability *capability) {
  struct v4l2_capability answer = {0};
  int result;
  do result = ioctl(fd, VIDIOC_QUERYCAP, &answer);
  while (result < 0 && errno == EINTR);
  if (result < 0) return errno;
  *capability = (glp_v4l2_capability){0};
  memcpy(capability->driver, answer.driver, sizeof capability->driver);
  memcpy(capability->card, answer.card, sizeof capability->card);
  memcpy(capability->bus_info, answer.bus_info, sizeof capability->bus_info);
  // Without device_caps, only the capabilities of the whole device are known.
  uint32_t flags =
      answer.capabilities & V4L2_CAP_DEVICE_CAPS ? answer.device_caps : answer.capabilities;
  capability->captures = flags & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE);
  capability->is_multiplanar = !(flags & V4L2_CAP_VIDEO_CAPTURE) && flags & V4L2_CAP_VIDEO_CAPTURE_MPLANE;
  capability->streams = flags & V4L2_CAP_STREAMING;
  capability->captures_metadata = flags & V4L2_CAP_META_CAPTURE;
  capability->outputs = flags & (V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_VIDEO_OUTPUT_MPLANE);
  capability->is_memory_to_memory = flags & (V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_M2M_MPLANE);
  return 0;
}

// MARK: Enumeration

int glp_v4l2_offer_at(int fd, bool is_multiplanar, uint32_t index, glp_v4l2_offer *offer) {
  struct v4l2_fmtdesc answer = {.index = index, .type = buffer_type(is_multiplanar)};
  int error = control_device(fd, VIDIOC_ENUM_FMT, &answer);
  if (error) return error;
  offer->fourcc = answer.pixelformat;
  memcpy(offer->description, answer.description, sizeof offer->description);
  offer->is_emulated = answer.flags & V4L2_FMT_FLAG_EMULATED;
  return 0;
}

int glp_v4l2_sizes_at(int fd, uint32_t fourcc, uint32_t index, glp_v4l2_sizes *sizes) {
  struct v4l2_frmsizeenum answer = {.index = index, .pixel_format = fourcc};
  int error = control_device(fd, VIDIOC_ENUM_FRAMESIZES, &answer);
  if (error) return error;
  if (answer.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
    *sizes = (glp_v4l2_sizes){
        .least_width = answer.discrete.width, .greatest_width = answer.discrete.width,
        .least_height = answer.discrete.height, .greatest_height = answer.discrete.height};
    return 0;
  }
  // Stepwise and continuous sizes have a single entry.
  if (index > 0) return EINVAL;
  *sizes = (glp_v4l2_sizes){
      .least_width = answer.stepwise.min_width, .greatest_width = answer.stepwise.max_width,
      .width_step = answer.stepwise.step_width ? answer.stepwise.step_width : 1,
      .least_height = answer.stepwise.min_height, .greatest_height = answer.stepwise.max_height,
      .height_step = answer.stepwise.step_height ? answer.stepwise.step_height : 1};
  return 0;
}

int glp_v4l2_intervals_at(
    int fd, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index, glp_v4l2_intervals *intervals) {
  struct v4l2_frmivalenum answer = {
      .index = index, .pixel_format = fourcc, .width = width, .height = height};
  int error = control_device(fd, VIDIOC_ENUM_FRAMEINTERVALS, &answer);
  if (error) return error;
  bool is_range = answer.type != V4L2_FRMIVAL_TYPE_DISCRETE;
  if (is_range && index > 0) return EINVAL;
  struct v4l2_fract shortest = is_range ? answer.stepwise.min : answer.discrete;
  struct v4l2_fract longest = is_range ? answer.stepwise.max : answer.discrete;
  *intervals = (glp_v4l2_intervals){
      .shortest_numerator = shortest.numerator, .shortest_denominator = shortest.denominator,
      .longest_numerator = longest.numerator, .longest_denominator = longest.denominator};
  return 0;
}

// MARK: Settings

int glp_v4l2_follow_signal(int fd, uint32_t *width, uint32_t *height) {
  int number = 0;
  *width = *height = 0;
  if (control_device(fd, VIDIOC_G_INPUT, &number)) return 0;
  struct v4l2_input input = {.index = (uint32_t)number};
  if (control_device(fd, VIDIOC_ENUMINPUT, &input)) return 0;
  if (input.capabilities & V4L2_IN_CAP_DV_TIMINGS) {
    struct v4l2_dv_timings present = {0}, found = {0};
    int error = control_device(fd, VIDIOC_QUERY_DV_TIMINGS, &found);
    // A device that can't detect timings keeps its current ones.
    if (error) return error == ENOTTY || error == ENODATA ? 0 : error;
    *width = found.bt.width;
    *height = found.bt.height;
    if (!control_device(fd, VIDIOC_G_DV_TIMINGS, &present) && present.type == found.type &&
        !memcmp(&present.bt, &found.bt, sizeof found.bt))
      return 0;
    return control_device(fd, VIDIOC_S_DV_TIMINGS, &found);
  }
  if (input.capabilities & V4L2_IN_CAP_STD) {
    v4l2_std_id found = V4L2_STD_UNKNOWN;
    int error = control_device(fd, VIDIOC_QUERYSTD, &found);
    // Several bits are several candidates; keep the current standard if it is one of them.
    v4l2_std_id present = V4L2_STD_UNKNOWN;
    if (error || found == V4L2_STD_UNKNOWN) return 0;
    if (!control_device(fd, VIDIOC_G_STD, &present) && (present & found)) return 0;
    return control_device(fd, VIDIOC_S_STD, &found);
  }
  return 0;
}

static void take_apart(const struct v4l2_format *answer, bool is_multiplanar, glp_v4l2_format *format) {
  *format = (glp_v4l2_format){0};
  if (is_multiplanar) {
    const struct v4l2_pix_format_mplane *pix = &answer->fmt.pix_mp;
    format->width = pix->width;
    format->height = pix->height;
    format->fourcc = pix->pixelformat;
    format->field = pix->field;
    format->colorspace = pix->colorspace;
    format->ycbcr_encoding = pix->ycbcr_enc;
    format->quantization = pix->quantization;
    format->plane_count = pix->num_planes;
    for (int i = 0; i < pix->num_planes && i < GLP_V4L2_PLANES; i++) {
      format->planes[i].bytes_per_line = pix->plane_fmt[i].bytesperline;
      format->planes[i].size_image = pix->plane_fmt[i].sizeimage;
    }
    return;
  }
  const struct v4l2_pix_format *pix = &answer->fmt.pix;
  format->width = pix->width;
  format->height = pix->height;
  format->fourcc = pix->pixelformat;
  format->field = pix->field;
  format->colorspace = pix->colorspace;
  // Drivers older than these fields leave them uninitialized.
  if (pix->priv == V4L2_PIX_FMT_PRIV_MAGIC) {
    format->ycbcr_encoding = pix->ycbcr_enc;
    format->quantization = pix->quantization;
  }
  format->plane_count = 1;
  format->planes[0].bytes_per_line = pix->bytesperline;
  format->planes[0].size_image = pix->sizeimage;
}

int glp_v4l2_get_format(int fd, bool is_multiplanar, glp_v4l2_format *format) {
  struct v4l2_format answer = {.type = buffer_type(is_multiplanar)};
  if (!is_multiplanar) answer.fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;
  int error = control_device(fd, VIDIOC_G_FMT, &answer);
  if (!error) take_apart(&answer, is_multiplanar, format);
  return error;
}

int glp_v4l2_set_format(int fd, bool is_multiplanar, glp_v4l2_format *format) {
  struct v4l2_format answer = {.type = buffer_type(is_multiplanar)};
  if (is_multiplanar) {
    answer.fmt.pix_mp.width = format->width;
    answer.fmt.pix_mp.height = format->height;
    answer.fmt.pix_mp.pixelformat = format->fourcc;
    answer.fmt.pix_mp.field = format->field;
    answer.fmt.pix_mp.plane_fmt[0].bytesperline = format->planes[0].bytes_per_line;
  } else {
    answer.fmt.pix.width = format->width;
    answer.fmt.pix.height = format->height;
    answer.fmt.pix.pixelformat = format->fourcc;
    answer.fmt.pix.field = format->field;
    answer.fmt.pix.bytesperline = format->planes[0].bytes_per_line;
    answer.fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;
  }
  int error = control_device(fd, VIDIOC_S_FMT, &answer);
  if (!error) take_apart(&answer, is_multiplanar, format);
  return error;
}

int glp_v4l2_get_interval(int fd, bool is_multiplanar, uint32_t *numerator, uint32_t *denominator) {
  struct v4l2_streamparm answer = {.type = buffer_type(is_multiplanar)};
  int error = control_device(fd, VIDIOC_G_PARM, &answer);
  if (error) return error;
  *numerator = answer.parm.capture.timeperframe.numerator;
  *denominator = answer.parm.capture.timeperframe.denominator;
  return 0;
}

int glp_v4l2_set_interval(int fd, bool is_multiplanar, uint32_t *numerator, uint32_t *denominator) {
  struct v4l2_streamparm answer = {.type = buffer_type(is_multiplanar)};
  int error = control_device(fd, VIDIOC_G_PARM, &answer);
  if (error) return error;
  if (!(answer.parm.capture.capability & V4L2_CAP_TIMEPERFRAME)) return ENOTTY;
  answer.parm.capture.timeperframe.numerator = *numerator;
  answer.parm.capture.timeperframe.denominator = *denominator;
  error = control_device(fd, VIDIOC_S_PARM, &answer);
  if (error) return error;
  *numerator = answer.parm.capture.timeperframe.numerator;
  *denominator = answer.parm.capture.timeperframe.denominator;
  return 0;
}

// MARK: Buffers

int glp_v4l2_request_buffers(int fd, bool is_multiplanar, bool are_shared, uint32_t *count) {
  struct v4l2_requestbuffers request = {
      .count = *count, .type = buffer_type(is_multiplanar),
      .memory = are_shared ? V4L2_MEMORY_DMABUF : V4L2_MEMORY_MMAP};
  int error = control_buffers(fd, are_shared, VIDIOC_REQBUFS, &request);
  if (!error) *count = request.count;
  return error;
}

static void prepare(
    struct v4l2_buffer *buffer, struct v4l2_plane *planes, bool is_multiplanar, uint32_t plane_count,
    const glp_v4l2_shared *shared) {
  buffer->type = buffer_type(is_multiplanar);
  buffer->memory = shared ? V4L2_MEMORY_DMABUF : V4L2_MEMORY_MMAP;
  if (is_multiplanar) {
    buffer->m.planes = planes;
    buffer->length = plane_count;
    if (shared) {
      planes[0].m.fd = shared->descriptor;
      planes[0].length = shared->length;
    }
  } else if (shared) {
    buffer->m.fd = shared->descriptor;
    buffer->length = shared->length;
  }
}

static void take_buffer_apart(
    const struct v4l2_buffer *answer, const struct v4l2_plane *planes, bool is_multiplanar,
    uint32_t plane_count, glp_v4l2_buffer *buffer) {
  *buffer = (glp_v4l2_buffer){
      .index = answer->index, .sequence = answer->sequence,
      .seconds = answer->timestamp.tv_sec, .microseconds = answer->timestamp.tv_usec,
      .has_error = answer->flags & V4L2_BUF_FLAG_ERROR,
      .has_monotonic_time =
          (answer->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
      .plane_count = is_multiplanar ? plane_count : 1};
  if (!is_multiplanar) {
    buffer->planes[0].offset = answer->m.offset;
    buffer->planes[0].length = answer->length;
    buffer->planes[0].bytes_used = answer->bytesused;
    return;
  }
  for (uint32_t i = 0; i < plane_count && i < GLP_V4L2_PLANES; i++) {
    buffer->planes[i].offset = planes[i].m.mem_offset;
    buffer->planes[i].length = planes[i].length;
    buffer->planes[i].bytes_used = planes[i].bytesused;
    buffer->planes[i].data_offset = planes[i].data_offset;
  }
}

int glp_v4l2_query_buffer(
    int fd, bool is_multiplanar, uint32_t plane_count, uint32_t index, glp_v4l2_buffer *buffer) {
  struct v4l2_plane planes[VIDEO_MAX_PLANES] = {0};
  struct v4l2_buffer answer = {.index = index};
  prepare(&answer, planes, is_multiplanar, plane_count, NULL);
  int error = control_device(fd, VIDIOC_QUERYBUF, &answer);
  if (!error) take_buffer_apart(&answer, planes, is_multiplanar, plane_count, buffer);
  return error;
}

int glp_v4l2_map(int fd, uint32_t offset, uint32_t length, void **memory) {
  void *result = v4l2_mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  if (result == MAP_FAILED) return errno;
  *memory = result;
  return 0;
}

void glp_v4l2_unmap(void *memory, uint32_t length) { v4l2_munmap(memory, length); }

int glp_v4l2_queue(
    int fd, bool is_multiplanar, uint32_t plane_count, uint32_t index, const glp_v4l2_shared *shared) {
  struct v4l2_plane planes[VIDEO_MAX_PLANES] = {0};
  struct v4l2_buffer buffer = {.index = index};
  prepare(&buffer, planes, is_multiplanar, plane_count, shared);
  return control_buffers(fd, shared, VIDIOC_QBUF, &buffer);
}

int glp_v4l2_dequeue(int fd, bool is_multiplanar, bool are_shared, uint32_t plane_count, glp_v4l2_buffer *buffer) {
  struct v4l2_plane planes[VIDEO_MAX_PLANES] = {0};
  struct v4l2_buffer answer = {0};
  const glp_v4l2_shared unknown = {-1, 0};
  prepare(&answer, planes, is_multiplanar, plane_count, are_shared ? &unknown : NULL);
  int error = control_buffers(fd, are_shared, VIDIOC_DQBUF, &answer);
  if (!error) take_buffer_apart(&answer, planes, is_multiplanar, plane_count, buffer);
  return error;
}

int glp_v4l2_start(int fd, bool is_multiplanar, bool are_shared) {
  int type = (int)buffer_type(is_multiplanar);
  return control_buffers(fd, are_shared, VIDIOC_STREAMON, &type);
}

int glp_v4l2_stop(int fd, bool is_multiplanar, bool are_shared) {
  int type = (int)buffer_type(is_multiplanar);
  return control_buffers(fd, are_shared, VIDIOC_STREAMOFF, &type);
}

// MARK: Events

int glp_v4l2_subscribe(int fd) {
  struct v4l2_event_subscription end = {.type = V4L2_EVENT_EOS};
  (void)control_device(fd, VIDIOC_SUBSCRIBE_EVENT, &end);
  struct v4l2_event_subscription change = {.type = V4L2_EVENT_SOURCE_CHANGE};
  return control_device(fd, VIDIOC_SUBSCRIBE_EVENT, &change);
}

int glp_v4l2_take_events(int fd, bool *has_changed, bool *has_ended) {
  *has_changed = false;
  *has_ended = false;
  while (true) {
    struct v4l2_event event = {0};
    int error = control_device(fd, VIDIOC_DQEVENT, &event);
    if (error) return error == ENOENT || error == EAGAIN ? 0 : error;
    if (event.type == V4L2_EVENT_SOURCE_CHANGE) *has_changed = true;
    if (event.type == V4L2_EVENT_EOS) *has_ended = true;
    if (event.pending == 0) return 0;
  }
}

// MARK: Controls

int glp_v4l2_control_after(int fd, uint32_t id, glp_v4l2_control *control) {
  struct v4l2_query_ext_ctrl answer = {
      .id = id | V4L2_CTRL_FLAG_NEXT_CTRL | V4L2_CTRL_FLAG_NEXT_COMPOUND};
  int error = control_device(fd, VIDIOC_QUERY_EXT_CTRL, &answer);
  if (error) return error;
  *control = (glp_v4l2_control){
      .id = answer.id, .type = answer.type, .flags = answer.flags, .minimum = answer.minimum,
      .maximum = answer.maximum, .default_value = answer.default_value, .step = answer.step,
      .is_compound = answer.type >= V4L2_CTRL_COMPOUND_TYPES || answer.nr_of_dims > 0};
  memcpy(control->name, answer.name, sizeof control->name);
  return 0;
}

int glp_v4l2_menu_item(int fd, uint32_t id, uint32_t index, char *name, int64_t *value) {
  struct v4l2_querymenu item = {.id = id, .index = index};
  int error = control_device(fd, VIDIOC_QUERYMENU, &item);
  if (error) return error;
  *value = item.value;
  memcpy(name, item.name, sizeof item.name);
  name[sizeof item.name] = 0;
  return 0;
}

int glp_v4l2_get_control(int fd, uint32_t id, uint32_t type, int64_t *value) {
  struct v4l2_ext_control control = {.id = id};
  struct v4l2_ext_controls controls = {
      .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
  int error = control_device(fd, VIDIOC_G_EXT_CTRLS, &controls);
  if (error) return error;
  switch (type) {
    case V4L2_CTRL_TYPE_INTEGER64: *value = control.value64; break;
    case V4L2_CTRL_TYPE_BITMASK: *value = (uint32_t)control.value; break;
    default: *value = control.value;
  }
  return 0;
}

int glp_v4l2_set_control(int fd, uint32_t id, uint32_t type, int64_t value) {
  struct v4l2_ext_control control = {.id = id};
  if (type == V4L2_CTRL_TYPE_INTEGER64) control.value64 = value;
  else control.value = (int32_t)value;
  struct v4l2_ext_controls controls = {
      .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
  return control_device(fd, VIDIOC_S_EXT_CTRLS, &controls);
}
