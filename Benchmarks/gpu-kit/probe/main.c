// What a driver's ways of moving and scaling a frame cost, on OpenGL ES 3.1 and EGL without a window.
//
//     probe --info                  the driver's strings, limits, extensions, dma-buf formats
//     probe [--seconds S] [--json FILE]   that, then every measurement, each for about S seconds (0.15)
//     probe --long SECONDS          one bounded dispatch of about that length: does the driver reset the context?
//     --software, --device N        another device than the first that is hardware
//
// Each result is compared with one made by the CPU. Medians, in microseconds:
//   wall   one run, finished before the next begins         gpu   the same by the GPU's clock (timer query)
//   piped  a run among sixteen, finished once               cpu   CPU time of the calling thread, in the run of `wall`
// Exit status: 0 all is right, 1 a result is wrong, 2 no device or no OpenGL ES 3.1, 3 the context was lost.
#include "probe.h"

// It ends by itself. llvmpipe leaves loops after 65,535 steps, so there it is short.
static int runLong(double seconds) {
  GLuint program = linked(NULL,
    "layout(local_size_x = 1) in;\n"
    "uniform uint count; layout(std430, binding = 0) buffer Output { uint words[]; };\n"
    "void main() { uint s = words[0]; for (uint i = 0u; i < count; ++i) s = s * 1664525u + 1013904223u + (s >> 7u); words[0] = s; }\n");
  GLuint buffer = newBuffer(GL_SHADER_STORAGE_BUFFER, 1024, GL_DYNAMIC_READ);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffer);
  glUseProgram(program);
  PFNGLGETGRAPHICSRESETSTATUSEXTPROC getResetStatus = (void *)eglGetProcAddress("glGetGraphicsResetStatusEXT");
  double count = 1e5, taken = 0;
  printf("robust context: %s, reset status: %s\n", isRobust ? "yes" : "no", getResetStatus ? "can be asked" : "unknown");
  for (int step = 0; step < 12; ++step) {
    glUniform1ui(glGetUniformLocation(program, "count"), (GLuint)count);
    double begun = wallNow();
    glDispatchCompute(1, 1, 1);
    glFinish();
    taken = (wallNow() - begun) / 1e6;
    GLenum status = getResetStatus ? getResetStatus() : 0;
    printf("%.0f steps: %.3f s, reset status 0x%x, GL error 0x%x\n", count, taken, status, glGetError());
    fflush(stdout);
    if (status) return 3;
    if (taken >= seconds * 0.7 || count >= 4e9) return 0;
    double factor = seconds / (taken > 1e-4 ? taken : 1e-4);
    count *= factor > 8 ? 8 : factor;
    if (count > 4e9) count = 4e9;
  }
  return 0;
}

int main(int argc, char **argv) {
  bool onlyInfo = false, wantsSoftware = false;
  int device = -1;
  double longSeconds = 0;
  for (int i = 1; i < argc; ++i) {
    bool hasValue = i + 1 < argc;
    if (!strcmp(argv[i], "--info")) onlyInfo = true;
    else if (!strcmp(argv[i], "--software")) wantsSoftware = true;
    else if (!strcmp(argv[i], "--device") && hasValue) device = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--seconds") && hasValue) secondsEach = atof(argv[++i]);
    else if (!strcmp(argv[i], "--long") && hasValue) longSeconds = atof(argv[++i]);
    else if (!strcmp(argv[i], "--json") && hasValue) jsonFile = fopen(argv[++i], "w");
    else return fprintf(stderr, "probe: unknown argument %s\n", argv[i]), 64;
  }
  openDevice(device, wantsSoftware);
  printInformation();
  if (onlyInfo) return 0;
  if (longSeconds > 0) return runLong(longSeconds);
  const char *gl = (const char *)glGetString(GL_EXTENSIONS);
  getQueryResult = (void *)eglGetProcAddress("glGetQueryObjectui64vEXT");
  bufferStorage = (void *)eglGetProcAddress("glBufferStorageEXT");
  hasTimer = listed(gl, "GL_EXT_disjoint_timer_query") && getQueryResult;
  hasStorage = listed(gl, "GL_EXT_buffer_storage") && bufferStorage;
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  GLuint array;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  printf("\nprobe on %s: medians; GPU clock: %s; persistent buffers: %s\n", glGetString(GL_RENDERER),
         hasTimer ? isSoftware ? "not to be trusted on software" : "yes" : "none", hasStorage ? "yes" : "none");
  reportHeader();
  measureUploads(SOURCE_W, SOURCE_H, "1080p");
  measureUploads(SOURCE_W * 2, SOURCE_H * 2, "2160p");
  measureReadbacks(VIEW_W, VIEW_H, "360p");
  measureReadbacks(SOURCE_W, SOURCE_H, "1080p");
  prepareAreas();
  measureAreas();
  reportHeader();
  measureWays();
  printf("\n%s\n", wrong ? "SOME RESULTS ARE WRONG" : "all results are right");
  if (jsonFile) fclose(jsonFile);
  return wrong ? 1 : 0;
}
