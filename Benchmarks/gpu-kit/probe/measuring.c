// Times, and the objects that every measurement uses.
#include "probe.h"

double secondsEach = 0.15;
FILE *jsonFile;
int wrong;

static double clockMicroseconds(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}
double wallNow(void) { return clockMicroseconds(CLOCK_MONOTONIC); }
static double cpuNow(void) { return clockMicroseconds(CLOCK_THREAD_CPUTIME_ID); }

static int byValue(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *values, int count) {
  if (count == 0) return -1;
  qsort(values, count, sizeof *values, byValue);
  return values[count / 2];
}

Times measured(Work work) {
  static double walls[MAX_RUNS], cpus[MAX_RUNS], gpus[MAX_RUNS], batches[MAX_RUNS];
  int index = 0;
  double least = 1e12;
  for (int i = 0; i < 3; ++i) {
    double begun = wallNow();
    work.run(index++);
    glFinish();
    double taken = wallNow() - begun;
    if (taken < least) least = taken;
  }
  int runs = (int)(secondsEach * 1e6 / (least + 1));
  runs = runs < 7 ? 7 : runs > MAX_RUNS ? MAX_RUNS : runs;
  for (int i = 0; i < runs; ++i) {
    double begun = wallNow(), cpu = cpuNow();
    work.run(index++);
    glFinish();
    walls[i] = wallNow() - begun;
    cpus[i] = cpuNow() - cpu;
  }
  int timed = 0;
  if (hasTimer) {
    GLuint query;
    GLint disjoint;
    glGenQueries(1, &query);
    glGetIntegerv(GL_GPU_DISJOINT_EXT, &disjoint);
    for (int i = 0; i < runs; ++i) {
      GLuint64 nanoseconds = 0;
      glBeginQuery(GL_TIME_ELAPSED_EXT, query);
      work.run(index++);
      glEndQuery(GL_TIME_ELAPSED_EXT);
      glFinish();
      getQueryResult(query, GL_QUERY_RESULT, &nanoseconds);
      glGetIntegerv(GL_GPU_DISJOINT_EXT, &disjoint);
      if (!disjoint) gpus[timed++] = nanoseconds / 1e3;
    }
    glDeleteQueries(1, &query);
  }
  int count = runs / BATCH < 3 ? 3 : runs / BATCH;
  for (int batch = 0; batch < count; ++batch) {
    double begun = wallNow();
    for (int i = 0; i < BATCH; ++i) work.run(index++);
    if (work.settle) work.settle();
    glFinish();
    batches[batch] = (wallNow() - begun) / BATCH;
  }
  GLenum error = glGetError();
  if (error) printf("  GL error 0x%x\n", error), ++wrong;
  return (Times){median(walls, runs), median(batches, count), median(gpus, timed), median(cpus, runs), runs};
}

void writeJSON(const char *part, const char *name, const char *of, double bytes, int views, Times t, bool right) {
  if (!jsonFile) return;
  fprintf(jsonFile,
          "{\"part\":\"%s\",\"way\":\"%s\",\"of\":\"%s\",\"bytes\":%.0f,\"views\":%d,\"wallMicroseconds\":%.2f,"
          "\"pipedMicroseconds\":%.2f,\"gpuMicroseconds\":%.2f,\"cpuMicroseconds\":%.2f,\"runs\":%d,\"right\":%s}\n",
          part, name, of, bytes, views, t.wall, t.piped, t.gpu, t.cpu, t.runs, right ? "true" : "false");
  fflush(jsonFile);
}

void report(const char *part, const char *name, const char *of, double bytes, Times t, bool right) {
  if (!right) ++wrong;
  printf("%-8s %-36s %-7s %9.1f %9.1f %9.1f %9.1f %8.2f %8.2f  %s\n", part, name, of, t.wall, t.piped, t.gpu, t.cpu,
         bytes / t.wall / 1e3, bytes / t.piped / 1e3, right ? "right" : "WRONG");
  fflush(stdout);
  writeJSON(part, name, of, bytes, 0, t, right);
}

void reportHeader(void) {
  printf("\n%-8s %-36s %-7s %9s %9s %9s %9s %8s %8s\n", "part", "way", "of", "wall us", "piped us", "gpu us", "cpu us",
         "GB/s", "piped");
}

void waitFor(GLsync *fence) {
  if (!*fence) return;
  glClientWaitSync(*fence, GL_SYNC_FLUSH_COMMANDS_BIT, 5000000000ull);
  glDeleteSync(*fence);
  *fence = NULL;
}
void signalFence(GLsync *fence) { *fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0); }

GLuint newBuffer(GLenum target, size_t bytes, GLenum usage) {
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(target, buffer);
  glBufferData(target, bytes, NULL, usage);
  return buffer;
}

void *newMapped(GLenum target, size_t bytes, bool forReading, GLuint *buffer) {
  GLbitfield access = (forReading ? GL_MAP_READ_BIT : GL_MAP_WRITE_BIT) | GL_MAP_PERSISTENT_BIT_EXT | GL_MAP_COHERENT_BIT_EXT;
  glGenBuffers(1, buffer);
  glBindBuffer(target, *buffer);
  bufferStorage(target, bytes, NULL, access);
  void *mapped = glMapBufferRange(target, 0, bytes, access);
  if (!mapped) fail("a persistent buffer is not mapped");
  return mapped;
}

GLuint newTexture(GLenum target, GLenum format, int width, int height) {
  GLuint texture;
  glGenTextures(1, &texture);
  glBindTexture(target, texture);
  if (target == GL_TEXTURE_2D_ARRAY) glTexStorage3D(target, 1, format, width, height, 2);
  else glTexStorage2D(target, 1, format, width, height);
  glTexParameteri(target, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(target, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  return texture;
}

GLuint newFramebuffer(GLuint texture) {
  GLuint framebuffer;
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) fail("a framebuffer is incomplete");
  return framebuffer;
}

// Noise on a slope: never constant, and another one for each seed.
uint8_t *newFrame(size_t bytes, uint32_t seed) {
  uint8_t *frame = malloc(bytes);
  if (!frame) fail("no memory");
  uint32_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < bytes; ++i) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    frame[i] = (uint8_t)((i / 61 + seed * 7) + (state & 63));
  }
  return frame;
}

static GLuint compiled(GLenum kind, const char *source) {
  GLuint shader = glCreateShader(kind);
  const char *parts[] = {"#version 310 es\nprecision highp float;\nprecision highp int;\nprecision highp usampler2D;\n"
                         "precision highp usampler2DArray;\nprecision highp sampler2D;\n", source};
  glShaderSource(shader, 2, parts, NULL);
  glCompileShader(shader);
  GLint right = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &right);
  if (!right) {
    char text[4096];
    glGetShaderInfoLog(shader, sizeof text, NULL, text);
    fprintf(stderr, "%s\n%s\n", source, text);
    fail("a shader does not compile");
  }
  return shader;
}

GLuint linked(const char *fragment, const char *compute) {
  GLuint program = glCreateProgram();
  if (compute) {
    glAttachShader(program, compiled(GL_COMPUTE_SHADER, compute));
  } else {
    glAttachShader(program, compiled(GL_VERTEX_SHADER,
      "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }"));
    glAttachShader(program, compiled(GL_FRAGMENT_SHADER, fragment));
  }
  glLinkProgram(program);
  GLint right = 0;
  glGetProgramiv(program, GL_LINK_STATUS, &right);
  if (!right) fail("a program does not link");
  return program;
}
