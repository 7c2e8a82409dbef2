// The whole way of a frame: luma of 1920x1080 up, four views, and back, four frames in flight.
#include "probe.h"

static GLuint wayStaging, wayBack, wayWords[RING], wayTexels[RING], wayOutput[RING];
static uint8_t *wayIn, *wayOut, *wayResult;
static GLsync wayFence[RING];
static int wayPending[RING], wayLast;
enum { WAY_VIEWS = 4, WAY_BYTES = WAY_VIEWS * VIEW };

static void takeWay(int slot) {
  if (!wayFence[slot]) return;
  waitFor(&wayFence[slot]);
  memcpy(wayResult, wayOut + slot * WAY_BYTES, WAY_BYTES);
  wayLast = wayPending[slot];
}
static void takeAllWays(void) {
  for (int slot = 0; slot < RING; ++slot) takeWay(slot);
}
static void wayByCompute(int index) {
  int slot = index % RING;
  takeWay(slot);
  memcpy(wayIn + (size_t)slot * LUMA, areaFrames[index % areaCount], LUMA);
  glBindBuffer(GL_COPY_READ_BUFFER, wayStaging);
  glBindBuffer(GL_COPY_WRITE_BUFFER, wayWords[slot]);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, (size_t)slot * LUMA, 0, LUMA);
  GLuint kept = areaOutput;
  areaOutput = wayOutput[slot];
  dispatchWords(wayWords[slot], 0);
  areaOutput = kept;
  glBindBuffer(GL_COPY_READ_BUFFER, wayOutput[slot]);
  glBindBuffer(GL_COPY_WRITE_BUFFER, wayBack);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, slot * WAY_BYTES, WAY_BYTES);
  signalFence(&wayFence[slot]);
  wayPending[slot] = index;
  glFlush();
}
static void wayByFragments(int index) {
  int slot = index % RING;
  takeWay(slot);
  memcpy(wayIn + (size_t)slot * LUMA, areaFrames[index % areaCount], LUMA);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, wayStaging);
  glBindTexture(GL_TEXTURE_2D, wayTexels[slot]);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SOURCE_W / 4, SOURCE_H, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE,
                  (void *)((size_t)slot * LUMA));
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  GLuint kept = areaTexels[index % areaCount];
  areaTexels[index % areaCount] = wayTexels[slot];
  areaTwo(index);
  areaTexels[index % areaCount] = kept;
  glBindBuffer(GL_PIXEL_PACK_BUFFER, wayBack);
  for (int view = 0; view < WAY_VIEWS; ++view) {
    glBindFramebuffer(GL_FRAMEBUFFER, wordTarget[view]);
    glReadPixels(0, 0, VIEW_W / 4, VIEW_H, GL_RGBA, GL_UNSIGNED_BYTE, (void *)(size_t)(slot * WAY_BYTES + view * VIEW));
  }
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  signalFence(&wayFence[slot]);
  wayPending[slot] = index;
  glFlush();
}

void measureWays(void) {
  if (!hasStorage) return;
  wayIn = newMapped(GL_COPY_READ_BUFFER, (size_t)LUMA * RING, false, &wayStaging);
  wayOut = newMapped(GL_PIXEL_PACK_BUFFER, WAY_BYTES * RING, true, &wayBack);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  wayResult = malloc(WAY_BYTES);
  for (int i = 0; i < RING; ++i) {
    wayWords[i] = newBuffer(GL_SHADER_STORAGE_BUFFER, LUMA, GL_DYNAMIC_COPY);
    wayOutput[i] = newBuffer(GL_SHADER_STORAGE_BUFFER, WAY_BYTES, GL_DYNAMIC_COPY);
    wayTexels[i] = newTexture(GL_TEXTURE_2D, GL_RGBA8UI, SOURCE_W / 4, SOURCE_H);
  }
  areaViews = WAY_VIEWS;
  struct { const char *name; void (*run)(int); } ways[] = {
    {"fragment: up, 4 views, back", wayByFragments}, {"compute: up, 4 views, back", wayByCompute}};
  for (int i = 0; i < 2; ++i) {
    memset(wayResult, 0xa5, WAY_BYTES);
    Times t = measured((Work){ways[i].run, takeAllWays});
    takeAllWays();
    bool right = true;
    for (int view = 0; view < WAY_VIEWS; ++view) right &= viewIsRight(wayLast, wayResult + view * VIEW, 1);
    report("way", ways[i].name, "1080p", LUMA + WAY_BYTES, t, right);
    printf("         = %.0f frames a second, four in flight\n", 1e6 / t.piped);
  }
}
