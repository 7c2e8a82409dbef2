// A camera for programs that know V4L2 alone, on machines without one: loaded before them (LD_PRELOAD) it makes /dev/video0
// a camera whose frames come from a file, over and over, at a steady rate: YUYV, or JPEGs one after another. It answers
// what ustreamer asks, no more.
//
//     CAMERA_FILE=frames.yuyv CAMERA_SIZE=640x360 CAMERA_FPS=30 LD_PRELOAD=./fake_camera.so ustreamer ...
//     CAMERA_FORMAT=MJPG CAMERA_FILE=frames.mjpeg ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BUFFERS = 16, FRAMES = 256 };

static const char device[] = "/dev/video0";
// A timer: it becomes readable when a frame is due, as a camera does.
static int camera = -1;
static unsigned width, height, frames_per_second, frame_count, sequence;
// The largest frame's.
static size_t frame_bytes;
static unsigned char *frames, *buffers[BUFFERS];
static struct { size_t start, count; } places[FRAMES];
static int is_jpeg;
static unsigned buffer_count;
// Buffers that the program has given back, in order.
static unsigned queue[BUFFERS];
static _Atomic unsigned queued, taken;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static void refuse(const char *why) {
  fprintf(stderr, "fake_camera: %s\n", why);
  _exit(3);
}

// Where frames begin in a file: JPEGs where one's end is followed by the next one's start.
static void find_frames(size_t byte_count) {
  size_t start = 0;
  for (size_t end = 2; end <= byte_count && frame_count < FRAMES; end++) {
    int is_end = is_jpeg ? end == byte_count || !memcmp(frames + end - 2, (unsigned char[]){0xFF, 0xD9, 0xFF, 0xD8}, 4)
                         : end - start == (size_t)width * height * 2;
    if (!is_end) continue;
    places[frame_count].start = start;
    places[frame_count++].count = end - start;
    if (end - start > frame_bytes) frame_bytes = end - start;
    start = end;
  }
}

static int open_camera(void) {
  const char *path = getenv("CAMERA_FILE"), *size = getenv("CAMERA_SIZE"), *rate = getenv("CAMERA_FPS");
  if (!path || !size || !rate || sscanf(size, "%ux%u", &width, &height) != 2) refuse("CAMERA_FILE, _SIZE and _FPS say what it is");
  frames_per_second = (unsigned)atoi(rate);
  const char *format = getenv("CAMERA_FORMAT");
  is_jpeg = format && !strcmp(format, "MJPG");
  if (!frames) {
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) || !frames_per_second) refuse("no such frames");
    // Two bytes more, so that the search for the next JPEG stays inside.
    frames = calloc((size_t)about.st_size + 2, 1);
    if (!frames || fread(frames, 1, (size_t)about.st_size, file) != (size_t)about.st_size) refuse("no frames");
    find_frames((size_t)about.st_size);
    if (frame_count == 0) refuse("no whole frame");
    fclose(file);
  }
  return camera = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
}

static void run(int is_on) {
  long period = is_on ? 1000000000L / frames_per_second : 0;
  struct timespec step = {period / 1000000000L, period % 1000000000L};
  timerfd_settime(camera, 0, &(struct itimerspec){step, step}, NULL);
}

static int give_frame(struct v4l2_buffer *buffer) {
  uint64_t ticks;
  if (read(camera, &ticks, sizeof ticks) != sizeof ticks) return -1;
  if (taken == queued) {
    errno = EAGAIN;
    return -1;
  }
  unsigned index = queue[taken++ % BUFFERS];
  unsigned frame = sequence % frame_count;
  memcpy(buffers[index], frames + places[frame].start, places[frame].count);
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  buffer->index = index;
  buffer->bytesused = (unsigned)places[frame].count;
  buffer->length = (unsigned)frame_bytes;
  buffer->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  buffer->sequence = sequence++;
  buffer->timestamp = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
  return 0;
}

static int make_buffers(struct v4l2_requestbuffers *request) {
  if (request->count > BUFFERS) request->count = BUFFERS;
  buffer_count = request->count;
  for (unsigned index = 0; index < buffer_count; index++) {
    if (!buffers[index]) buffers[index] = malloc(frame_bytes);
    if (!buffers[index]) refuse("no memory");
  }
  queued = taken = 0;
  return 0;
}

static int answer(unsigned request, void *argument) {
  switch (request) {
  case VIDIOC_QUERYCAP: {
    struct v4l2_capability *about = argument;
    *about = (struct v4l2_capability){
      .driver = "fake", .card = "fake", .capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING | V4L2_CAP_DEVICE_CAPS,
      .device_caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING};
    return 0;
  }
  case VIDIOC_G_FMT:
  case VIDIOC_S_FMT:
  case VIDIOC_TRY_FMT: {
    struct v4l2_pix_format *format = &((struct v4l2_format *)argument)->fmt.pix;
    format->width = width;
    format->height = height;
    format->pixelformat = is_jpeg ? V4L2_PIX_FMT_MJPEG : V4L2_PIX_FMT_YUYV;
    format->bytesperline = is_jpeg ? 0 : width * 2;
    format->sizeimage = (unsigned)frame_bytes;
    format->field = V4L2_FIELD_NONE;
    return 0;
  }
  case VIDIOC_G_INPUT:
  case VIDIOC_S_INPUT: return 0;
  case VIDIOC_G_PARM:
  case VIDIOC_S_PARM: {
    struct v4l2_captureparm *rate = &((struct v4l2_streamparm *)argument)->parm.capture;
    rate->capability = V4L2_CAP_TIMEPERFRAME;
    rate->timeperframe = (struct v4l2_fract){1, frames_per_second};
    return 0;
  }
  case VIDIOC_REQBUFS: return make_buffers(argument);
  case VIDIOC_QUERYBUF: {
    struct v4l2_buffer *buffer = argument;
    buffer->length = (unsigned)frame_bytes;
    // What `mmap` is told.
    buffer->m.offset = buffer->index * 4096;
    return 0;
  }
  case VIDIOC_QBUF:
    queue[queued++ % BUFFERS] = ((struct v4l2_buffer *)argument)->index;
    return 0;
  case VIDIOC_DQBUF: return give_frame(argument);
  case VIDIOC_STREAMON:
  case VIDIOC_STREAMOFF:
    run(request == VIDIOC_STREAMON);
    return 0;
  default:
    errno = EINVAL;
    return -1;
  }
}

int ioctl(int file, unsigned long request, ...) {
  va_list words;
  va_start(words, request);
  void *argument = va_arg(words, void *);
  va_end(words);
  if (file >= 0 && file == camera) return answer((unsigned)request, argument);
  int (*next)(int, unsigned long, ...) = real("ioctl");
  return next(file, request, argument);
}

int open(const char *path, int flags, ...) {
  va_list words;
  va_start(words, flags);
  int mode = va_arg(words, int);
  va_end(words);
  if (!strcmp(path, device)) return open_camera();
  int (*next)(const char *, int, ...) = real("open");
  return next(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int stat(const char *restrict path, struct stat *restrict about) {
  if (strcmp(path, device)) return fstatat(AT_FDCWD, path, about, 0);
  *about = (struct stat){.st_mode = S_IFCHR | 0666};
  return 0;
}

int access(const char *path, int mode) { return strcmp(path, device) ? faccessat(AT_FDCWD, path, mode, 0) : 0; }

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  if (file >= 0 && file == camera) return buffers[offset / 4096 % BUFFERS];
  void *(*next)(void *, size_t, int, int, int, off_t) = real("mmap");
  return next(address, length, protection, flags, file, offset);
}

int munmap(void *address, size_t length) {
  for (unsigned index = 0; index < buffer_count; index++) {
    if (address == buffers[index]) return 0;
  }
  int (*next)(void *, size_t) = real("munmap");
  return next(address, length);
}
