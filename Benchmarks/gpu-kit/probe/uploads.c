// Uploads: a frame of NV12, into two textures or into one buffer.
#include "probe.h"

static int upWidth, upHeight, upLast;
static size_t upBytes;
static uint8_t *upFrames[MAX_FRAMES];
static int upCount;
static GLuint upLuma[RING], upChroma[RING], upUnpack[RING], upBuffer[RING], upStaging;
static GLsync upFence[RING];
static uint8_t *upMapped;

static void uploadTextures(int slot, const uint8_t *data) {
  glBindTexture(GL_TEXTURE_2D, upLuma[slot]);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, upWidth, upHeight, GL_RED, GL_UNSIGNED_BYTE, data);
  glBindTexture(GL_TEXTURE_2D, upChroma[slot]);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, upWidth / 2, upHeight / 2, GL_RG, GL_UNSIGNED_BYTE,
                  data + (size_t)upWidth * upHeight);
}
static void upClient(int index) {
  upLast = index;
  uploadTextures(index % RING, upFrames[index % upCount]);
}
static void upUnsynchronized(int index) {
  int slot = (upLast = index) % RING;
  waitFor(&upFence[slot]);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, upUnpack[slot]);
  void *mapped = glMapBufferRange(GL_PIXEL_UNPACK_BUFFER, 0, upBytes,
                                  GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT | GL_MAP_UNSYNCHRONIZED_BIT);
  if (!mapped) fail("an unpack buffer is not mapped");
  memcpy(mapped, upFrames[index % upCount], upBytes);
  glUnmapBuffer(GL_PIXEL_UNPACK_BUFFER);
  uploadTextures(slot, NULL);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  signalFence(&upFence[slot]);
}
static void upPersistent(int index) {
  int slot = (upLast = index) % RING;
  waitFor(&upFence[slot]);
  memcpy(upMapped + slot * upBytes, upFrames[index % upCount], upBytes);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, upStaging);
  uploadTextures(slot, (const uint8_t *)(slot * upBytes));
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  signalFence(&upFence[slot]);
}
static void upSubData(int index) {
  upLast = index;
  glBindBuffer(GL_SHADER_STORAGE_BUFFER, upBuffer[index % RING]);
  glBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, upBytes, upFrames[index % upCount]);
}
static void upCopied(int index) {
  int slot = (upLast = index) % RING;
  waitFor(&upFence[slot]);
  memcpy(upMapped + slot * upBytes, upFrames[index % upCount], upBytes);
  glBindBuffer(GL_COPY_READ_BUFFER, upStaging);
  glBindBuffer(GL_COPY_WRITE_BUFFER, upBuffer[slot]);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, slot * upBytes, 0, upBytes);
  signalFence(&upFence[slot]);
}
static void upWritten(int index) {
  upLast = index;
  memcpy(upMapped + index % RING * upBytes, upFrames[index % upCount], upBytes);
}
static uint8_t *upMemory;
static void upMemcpy(int index) {
  upLast = index;
  memcpy(upMemory + index % RING * upBytes, upFrames[index % upCount], upBytes);
}

static bool texturesAreRight(void) {
  const uint8_t *frame = upFrames[upLast % upCount];
  uint8_t *pixels = malloc((size_t)upWidth * upHeight * 4);
  bool right = pixels != NULL;
  for (int plane = 0; plane < 2 && right; ++plane) {
    int width = upWidth >> plane, height = upHeight >> plane, components = plane + 1;
    GLuint framebuffer = newFramebuffer(plane ? upChroma[upLast % RING] : upLuma[upLast % RING]);
    memset(pixels, 0xa5, (size_t)width * height * 4);
    glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    const uint8_t *expected = frame + plane * (size_t)upWidth * upHeight;
    for (size_t i = 0; i < (size_t)width * height && right; ++i)
      for (int c = 0; c < components; ++c) right &= pixels[i * 4 + c] == expected[i * components + c];
    glDeleteFramebuffers(1, &framebuffer);
  }
  free(pixels);
  return right;
}
static bool bufferIsRight(void) {
  glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
  glBindBuffer(GL_COPY_READ_BUFFER, upBuffer[upLast % RING]);
  const void *mapped = glMapBufferRange(GL_COPY_READ_BUFFER, 0, upBytes, GL_MAP_READ_BIT);
  bool right = mapped && memcmp(mapped, upFrames[upLast % upCount], upBytes) == 0;
  glUnmapBuffer(GL_COPY_READ_BUFFER);
  return right;
}

void measureUploads(int width, int height, const char *name) {
  upWidth = width, upHeight = height, upBytes = (size_t)width * height * 3 / 2;
  upCount = isSoftware ? 4 : FRAMES_4K;
  for (int i = 0; i < upCount; ++i) upFrames[i] = newFrame(upBytes, i + 1);
  upMemory = malloc(upBytes * RING);
  memset(upMemory, 1, upBytes * RING);
  for (int i = 0; i < RING; ++i) {
    upLuma[i] = newTexture(GL_TEXTURE_2D, GL_R8, width, height);
    upChroma[i] = newTexture(GL_TEXTURE_2D, GL_RG8, width / 2, height / 2);
    upUnpack[i] = newBuffer(GL_PIXEL_UNPACK_BUFFER, upBytes, GL_STREAM_DRAW);
    upBuffer[i] = newBuffer(GL_SHADER_STORAGE_BUFFER, upBytes, GL_DYNAMIC_DRAW);
    upFence[i] = NULL;
  }
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  if (hasStorage) upMapped = newMapped(GL_COPY_READ_BUFFER, upBytes * RING, false, &upStaging);
  struct { const char *name; void (*run)(int); bool (*check)(void); bool needsStorage; } ways[] = {
    {"memcpy, for comparison", upMemcpy, NULL, false},
    {"textures, client memory", upClient, texturesAreRight, false},
    {"textures, unsynchronized unpack buffer", upUnsynchronized, texturesAreRight, false},
    {"textures, persistent unpack buffer", upPersistent, texturesAreRight, true},
    {"buffer, glBufferSubData", upSubData, bufferIsRight, false},
    {"buffer, persistent and GPU copy", upCopied, bufferIsRight, true},
    {"buffer, persistent, only written", upWritten, NULL, true}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (ways[i].needsStorage && !hasStorage) continue;
    Times times = measured((Work){ways[i].run, NULL});
    report("upload", ways[i].name, name, upBytes, times, !ways[i].check || ways[i].check());
    for (int k = 0; k < RING; ++k) waitFor(&upFence[k]);
  }
  glDeleteTextures(RING, upLuma), glDeleteTextures(RING, upChroma);
  glDeleteBuffers(RING, upUnpack), glDeleteBuffers(RING, upBuffer);
  if (hasStorage) glDeleteBuffers(1, &upStaging);
  for (int i = 0; i < upCount; ++i) free(upFrames[i]);
  free(upMemory);
}
