// The context, and what its driver tells of itself.
#include "probe.h"

bool isSoftware, hasTimer, hasStorage, isRobust;
PFNGLGETQUERYOBJECTUI64VEXTPROC getQueryResult;
PFNGLBUFFERSTORAGEEXTPROC bufferStorage;

static EGLDisplay display = EGL_NO_DISPLAY;
static PFNEGLQUERYDEVICESEXTPROC queryDevices;
static PFNEGLQUERYDEVICESTRINGEXTPROC queryDeviceString;
static PFNEGLGETPLATFORMDISPLAYEXTPROC getPlatformDisplay;
static PFNEGLQUERYDMABUFFORMATSEXTPROC queryFormats;
static PFNEGLQUERYDMABUFMODIFIERSEXTPROC queryModifiers;

void fail(const char *what) {
  fprintf(stderr, "probe: %s (EGL error 0x%x)\n", what, eglGetError());
  exit(2);
}

bool listed(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = names; at && (at = strstr(at, name)); at += length)
    if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
  return false;
}

static bool isSoftwareName(const char *renderer) {
  static const char *names[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader", "lavapipe"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcasestr(renderer, names[i])) return true;
  return false;
}

static bool openContext(EGLDisplay candidate) {
  if (candidate == EGL_NO_DISPLAY || !eglInitialize(candidate, NULL, NULL)) return false;
  if (!eglBindAPI(EGL_OPENGL_ES_API)) return false;
  const char *extensions = eglQueryString(candidate, EGL_EXTENSIONS);
  EGLConfig config = NULL;
  if (!listed(extensions, "EGL_KHR_no_config_context")) {
    EGLint count = 0;
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
    if (!eglChooseConfig(candidate, wanted, &config, 1, &count) || count == 0) return false;
  }
  isRobust = listed(extensions, "EGL_EXT_create_context_robustness");
  EGLint attributes[] = {
    EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1,
    isRobust ? EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT : EGL_NONE, EGL_LOSE_CONTEXT_ON_RESET_EXT, EGL_NONE};
  EGLContext context = eglCreateContext(candidate, config, EGL_NO_CONTEXT, attributes);
  if (context == EGL_NO_CONTEXT) return false;
  EGLSurface surface = EGL_NO_SURFACE;
  if (!listed(extensions, "EGL_KHR_surfaceless_context")) {
    const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
    surface = eglCreatePbufferSurface(candidate, config, size);
  }
  if (!eglMakeCurrent(candidate, surface, surface, context)) return false;
  display = candidate;
  return true;
}

void openDevice(int wanted, bool wantsSoftware) {
  const char *client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  queryDevices = (void *)eglGetProcAddress("eglQueryDevicesEXT");
  queryDeviceString = (void *)eglGetProcAddress("eglQueryDeviceStringEXT");
  getPlatformDisplay = (void *)eglGetProcAddress("eglGetPlatformDisplayEXT");
  printf("EGL client extensions: %s\n", client ? client : "none");
  if (!getPlatformDisplay) fail("no eglGetPlatformDisplayEXT: no driver is installed");
  EGLDeviceEXT devices[16];
  EGLint count = 0;
  if (queryDevices && !queryDevices(16, devices, &count)) count = 0;
  int order[16], ordered = 0;
  for (int pass = 0; pass < 2; ++pass)  // hardware first
    for (int i = 0; i < count; ++i) {
      const char *extensions = queryDeviceString(devices[i], EGL_EXTENSIONS);
      bool software = listed(extensions, "EGL_MESA_device_software");
      if (software == (pass == 1)) order[ordered++] = i;
      if (pass == 0) printf("EGL device %d: %s\n", i, extensions ? extensions : "?");
    }
  for (int i = 0; i < ordered; ++i) {
    if (wanted >= 0 && order[i] != wanted) continue;
    if (!openContext(getPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[order[i]], NULL))) {
      printf("EGL device %d does not work: EGL error 0x%x\n", order[i], eglGetError());
      continue;
    }
    isSoftware = isSoftwareName((const char *)glGetString(GL_RENDERER));
    if (wanted >= 0 || isSoftware == wantsSoftware || (isSoftware && !wantsSoftware)) {
      printf("EGL device %d is used\n", order[i]);
      return;
    }
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    display = EGL_NO_DISPLAY;
  }
  if (wanted < 0 && openContext(getPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL))) {
    isSoftware = isSoftwareName((const char *)glGetString(GL_RENDERER));
    printf("the surfaceless platform is used\n");
    return;
  }
  fail("no device with OpenGL ES 3.1 works");
}

static void printIntegers(const char *name, GLenum value, int indices) {
  printf("  %s:", name);
  for (int i = 0; i < (indices ? indices : 1); ++i) {
    GLint number = -1;
    if (indices) glGetIntegeri_v(value, i, &number); else glGetIntegerv(value, &number);
    printf(" %d", number);
  }
  puts(glGetError() ? "  (unknown here)" : "");
}

static void printExtensions(const char *all, const char **names) {
  for (const char **name = names; *name; ++name) printf("  %-46s %s\n", *name, listed(all, *name) ? "yes" : "-");
}

static void printFormats(void) {
  queryFormats = (void *)eglGetProcAddress("eglQueryDmaBufFormatsEXT");
  queryModifiers = (void *)eglGetProcAddress("eglQueryDmaBufModifiersEXT");
  EGLint count = 0, formats[256];
  if (!listed(eglQueryString(display, EGL_EXTENSIONS), "EGL_EXT_image_dma_buf_import_modifiers") || !queryFormats ||
      !queryFormats(display, 256, formats, &count)) {
    puts("dma-buf formats: the driver lists none");
    return;
  }
  printf("dma-buf formats (modifiers, of them external_only, has linear): %d\n", count);
  for (int i = 0; i < count; ++i) {
    EGLuint64KHR modifiers[128];
    EGLBoolean external[128];
    EGLint found = 0, externals = 0;
    bool linear = false;
    if (!queryModifiers(display, formats[i], 128, modifiers, external, &found)) found = 0;
    for (int k = 0; k < found; ++k) externals += external[k] ? 1 : 0, linear |= modifiers[k] == 0;
    printf("  %.4s %d %d %s%s", (char *)&formats[i], found, externals, linear ? "yes" : "-", i % 6 == 5 ? "\n" : ";");
  }
  puts("");
}

void printInformation(void) {
  printf("EGL vendor: %s\nEGL version: %s\n", eglQueryString(display, EGL_VENDOR), eglQueryString(display, EGL_VERSION));
  printf("GL vendor: %s\nGL renderer: %s\nGL version: %s\nGLSL version: %s\nsoftware: %s\n", glGetString(GL_VENDOR),
         glGetString(GL_RENDERER), glGetString(GL_VERSION), glGetString(GL_SHADING_LANGUAGE_VERSION),
         isSoftware ? "yes" : "no");
  puts("limits");
  printIntegers("texture size", GL_MAX_TEXTURE_SIZE, 0);
  printIntegers("texture layers", GL_MAX_ARRAY_TEXTURE_LAYERS, 0);
  printIntegers("buffer texture size", 0x8C2B, 0);
  printIntegers("draw buffers, colour attachments", GL_MAX_DRAW_BUFFERS, 0);
  printIntegers("  colour attachments", GL_MAX_COLOR_ATTACHMENTS, 0);
  printIntegers("storage blocks, compute", GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS, 0);
  printIntegers("storage blocks, fragment", GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS, 0);
  printIntegers("storage block bytes", GL_MAX_SHADER_STORAGE_BLOCK_SIZE, 0);
  printIntegers("storage offset alignment", GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT, 0);
  printIntegers("images, compute", GL_MAX_COMPUTE_IMAGE_UNIFORMS, 0);
  printIntegers("images, fragment", GL_MAX_FRAGMENT_IMAGE_UNIFORMS, 0);
  printIntegers("work groups", GL_MAX_COMPUTE_WORK_GROUP_COUNT, 3);
  printIntegers("work group size", GL_MAX_COMPUTE_WORK_GROUP_SIZE, 3);
  printIntegers("work group invocations", GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS, 0);
  printIntegers("shared memory bytes", GL_MAX_COMPUTE_SHARED_MEMORY_SIZE, 0);
  printIntegers("texture units, fragment", GL_MAX_TEXTURE_IMAGE_UNITS, 0);
  printIntegers("uniform vectors, fragment", GL_MAX_FRAGMENT_UNIFORM_VECTORS, 0);
  printIntegers("program binary formats", GL_NUM_PROGRAM_BINARY_FORMATS, 0);
  const char *egl = eglQueryString(display, EGL_EXTENSIONS), *gl = (const char *)glGetString(GL_EXTENSIONS);
  puts("extensions");
  printExtensions(egl, (const char *[]){
    "EGL_KHR_surfaceless_context", "EGL_KHR_no_config_context", "EGL_EXT_create_context_robustness", "EGL_KHR_fence_sync",
    "EGL_KHR_wait_sync", "EGL_ANDROID_native_fence_sync", "EGL_KHR_image_base", "EGL_EXT_image_dma_buf_import",
    "EGL_EXT_image_dma_buf_import_modifiers", "EGL_MESA_image_dma_buf_export", "EGL_IMG_context_priority", NULL});
  printExtensions(gl, (const char *[]){
    "GL_EXT_buffer_storage", "GL_EXT_disjoint_timer_query", "GL_EXT_texture_buffer", "GL_OES_texture_buffer",
    "GL_OES_EGL_image", "GL_OES_EGL_image_external_essl3", "GL_EXT_YUV_target", "GL_EXT_color_buffer_float",
    "GL_EXT_robustness", "GL_KHR_robustness", "GL_KHR_debug", "GL_KHR_parallel_shader_compile", "GL_KHR_shader_subgroup",
    "GL_EXT_memory_object_fd", "GL_EXT_semaphore_fd", "GL_EXT_shader_framebuffer_fetch", "GL_EXT_texture_norm16", NULL});
  printf("GL extensions: %s\nEGL extensions: %s\n", gl, egl);
  printFormats();
}
