// Readbacks: a picture of RGBA, from a framebuffer or from a buffer.
#include "probe.h"

static int backWidth, backHeight, backLast;
static size_t backBytes;
static GLuint backTexture[RING], backTarget[RING], backPack[RING], backStorage[RING], backMapped, fillPicture, fillBuffer;
static GLsync backFence[RING];
static int backPending[RING];
static uint8_t *backPixels, *backMappedBytes;

static uint32_t backWord(uint32_t at, uint32_t seed) { return (at + seed * 7919u) * 2654435761u; }

static void fillStorage(int index) {
  glUseProgram(fillBuffer);
  glUniform1ui(glGetUniformLocation(fillBuffer, "seed"), (GLuint)index);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, backStorage[index % RING]);
  glDispatchCompute((backWidth * backHeight + 255) / 256, 1, 1);
  glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
}
static void backClient(int index) {
  backLast = index % RING;
  glBindFramebuffer(GL_FRAMEBUFFER, backTarget[backLast]);
  glReadPixels(0, 0, backWidth, backHeight, GL_RGBA, GL_UNSIGNED_BYTE, backPixels);
}
static void backPacked(int index) {
  backLast = index % RING;
  glBindFramebuffer(GL_FRAMEBUFFER, backTarget[backLast]);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, backPack[backLast]);
  glReadPixels(0, 0, backWidth, backHeight, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  const void *mapped = glMapBufferRange(GL_PIXEL_PACK_BUFFER, 0, backBytes, GL_MAP_READ_BIT);
  if (mapped) memcpy(backPixels, mapped, backBytes);
  glUnmapBuffer(GL_PIXEL_PACK_BUFFER);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}
static void takeSlot(int slot) {
  if (!backFence[slot]) return;
  waitFor(&backFence[slot]);
  memcpy(backPixels, backMappedBytes + slot * backBytes, backBytes);
  backLast = backPending[slot];
}
static void readIntoSlot(int index) {
  int slot = index % RING;
  glBindFramebuffer(GL_FRAMEBUFFER, backTarget[slot]);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, backMapped);
  glReadPixels(0, 0, backWidth, backHeight, GL_RGBA, GL_UNSIGNED_BYTE, (void *)(slot * backBytes));
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  signalFence(&backFence[slot]);
  backPending[slot] = slot;
}
static void backPersistent(int index) {
  readIntoSlot(index);
  takeSlot(index % RING);
}
static void backInFlight(int index) {
  takeSlot(index % RING);
  readIntoSlot(index);
  glFlush();
}
static void copyIntoSlot(int index) {
  int slot = index % RING;
  fillStorage(index);
  glBindBuffer(GL_COPY_READ_BUFFER, backStorage[slot]);
  glBindBuffer(GL_COPY_WRITE_BUFFER, backMapped);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, slot * backBytes, backBytes);
  signalFence(&backFence[slot]);
  backPending[slot] = index;
}
static void backStorageMapped(int index) {
  backLast = index;
  fillStorage(index);
  glBindBuffer(GL_COPY_READ_BUFFER, backStorage[index % RING]);
  const void *mapped = glMapBufferRange(GL_COPY_READ_BUFFER, 0, backBytes, GL_MAP_READ_BIT);
  if (mapped) memcpy(backPixels, mapped, backBytes);
  glUnmapBuffer(GL_COPY_READ_BUFFER);
}
static void backStorageCopied(int index) {
  copyIntoSlot(index);
  takeSlot(index % RING);
}
static void backStorageInFlight(int index) {
  takeSlot(index % RING);
  copyIntoSlot(index);
  glFlush();
}
static void takeAll(void) {
  for (int slot = 0; slot < RING; ++slot) takeSlot(slot);
}
static void onlyFill(int index) { fillStorage(index); }

static bool pixelsAreRight(void) {
  for (uint32_t at = 0; at < (uint32_t)(backWidth * backHeight); ++at) {
    uint32_t word;
    memcpy(&word, backPixels + at * 4u, 4);
    if (word != backWord(at, (uint32_t)backLast)) return false;
  }
  return true;
}

void measureReadbacks(int width, int height, const char *name) {
  fillPicture = linked(
    "uniform uint seed; uniform int width; layout(location = 0) out vec4 color;\n"
    "void main() {\n"
    "  ivec2 place = ivec2(gl_FragCoord.xy);\n"
    "  uint word = (uint(place.y * width + place.x) + seed * 7919u) * 2654435761u;\n"
    "  color = vec4(word & 255u, word >> 8u & 255u, word >> 16u & 255u, word >> 24u) / 255.0;\n"
    "}\n", NULL);
  fillBuffer = linked(NULL,
    "layout(local_size_x = 256) in; uniform uint seed; layout(std430, binding = 0) writeonly buffer Output { uint words[]; };\n"
    "void main() { uint at = gl_GlobalInvocationID.x; words[at] = (at + seed * 7919u) * 2654435761u; }\n");
  backWidth = width, backHeight = height, backBytes = (size_t)width * height * 4;
  backPixels = malloc(backBytes);
  memset(backPixels, 1, backBytes);
  if (hasStorage) backMappedBytes = newMapped(GL_PIXEL_PACK_BUFFER, backBytes * RING, true, &backMapped);
  for (int i = 0; i < RING; ++i) {
    backTexture[i] = newTexture(GL_TEXTURE_2D, GL_RGBA8, width, height);
    backTarget[i] = newFramebuffer(backTexture[i]);
    glUseProgram(fillPicture);
    glUniform1ui(glGetUniformLocation(fillPicture, "seed"), (GLuint)i);
    glUniform1i(glGetUniformLocation(fillPicture, "width"), width);
    draw(backTarget[i], width, height);
    backPack[i] = newBuffer(GL_PIXEL_PACK_BUFFER, backBytes, GL_STREAM_READ);
    backStorage[i] = newBuffer(GL_SHADER_STORAGE_BUFFER, (backBytes + 1023) / 1024 * 1024, GL_DYNAMIC_READ);
  }
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  glFinish();
  struct { const char *name; Work work; bool needsStorage, checks; } ways[] = {
    {"glReadPixels to client", {backClient, NULL}, false, true},
    {"glReadPixels, pack buffer, map", {backPacked, NULL}, false, true},
    {"glReadPixels, persistent buffer", {backPersistent, NULL}, true, true},
    {"glReadPixels, persistent, 4 in flight", {backInFlight, takeAll}, true, true},
    {"a dispatch fills a buffer: it alone", {onlyFill, NULL}, false, false},
    {"a dispatch, then map", {backStorageMapped, NULL}, false, true},
    {"a dispatch, GPU copy, persistent", {backStorageCopied, NULL}, true, true},
    {"a dispatch, GPU copy, 4 in flight", {backStorageInFlight, takeAll}, true, true}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (ways[i].needsStorage && !hasStorage) continue;
    memset(backPixels, 0xa5, backBytes);
    Times t = measured(ways[i].work);
    report("readback", ways[i].name, name, backBytes, t, !ways[i].checks || pixelsAreRight());
  }
  glDeleteTextures(RING, backTexture), glDeleteFramebuffers(RING, backTarget);
  glDeleteBuffers(RING, backPack), glDeleteBuffers(RING, backStorage);
  if (hasStorage) glDeleteBuffers(1, &backMapped);
  free(backPixels);
}
