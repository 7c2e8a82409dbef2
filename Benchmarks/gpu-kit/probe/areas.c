// The mean of 3 x 3: luma of 1920x1080 to 640x360, by several programs.
#include "probe.h"

int areaCount, areaViews;
uint8_t *areaFrames[MAX_FRAMES];
GLuint areaTexels[MAX_FRAMES], areaOutput, wordTarget[MAX_VIEWS];
static GLuint areaBytes[MAX_FRAMES], areaWords[MAX_FRAMES], areaMapped;
static GLuint byteTarget[MAX_VIEWS], sumTexture[MAX_VIEWS], sumTarget[MAX_VIEWS];
static GLuint oneProgram, rowsProgram, columnsProgram, simpleCompute, sharedCompute, wordsCompute;

// One output a fragment, nine fetches of one byte.
static const char *oneSource =
  "uniform sampler2D plane; layout(location = 0) out vec4 color;\n"
  "void main() {\n"
  "  ivec2 first = ivec2(gl_FragCoord.xy) * 3;\n"
  "  float sum = 0.0;\n"
  "  for (int y = 0; y < 3; ++y) for (int x = 0; x < 3; ++x) sum += texelFetch(plane, first + ivec2(x, y), 0).r;\n"
  "  color = vec4(sum / 9.0);\n"
  "}\n";
// Three rows added up, sixteen bytes a fragment; sums are halves of words, eight a texel, in two layers.
static const char *rowsSource =
  "uniform usampler2D plane; layout(location = 0) out uvec4 firstSums; layout(location = 1) out uvec4 secondSums;\n"
  "uvec4 sum(ivec2 texel) {\n"
  "  return texelFetch(plane, texel, 0) + texelFetch(plane, texel + ivec2(0, 1), 0) + texelFetch(plane, texel + ivec2(0, 2), 0);\n"
  "}\n"
  "void main() {\n"
  "  ivec2 texel = ivec2(gl_FragCoord.xy) * ivec2(4, 3);\n"
  "  uvec4 a = sum(texel), b = sum(texel + ivec2(1, 0)), c = sum(texel + ivec2(2, 0)), d = sum(texel + ivec2(3, 0));\n"
  "  firstSums = uvec4(a.xz | a.yw << 16u, b.xz | b.yw << 16u);\n"
  "  secondSums = uvec4(c.xz | c.yw << 16u, d.xz | d.yw << 16u);\n"
  "}\n";
#define MEANS_OF_SIX_WORDS \
  "uvec4 means(uvec3 a, uvec3 b) {\n" \
  "  uvec4 sums = uvec4((a.x & 65535u) + (a.x >> 16u) + (a.y & 65535u), (a.y >> 16u) + (a.z & 65535u) + (a.z >> 16u),\n" \
  "                     (b.x & 65535u) + (b.x >> 16u) + (b.y & 65535u), (b.y >> 16u) + (b.z & 65535u) + (b.z >> 16u));\n" \
  "  return (sums * 2u + 9u) / 18u;\n" \
  "}\n"
// Three columns of sums, four outputs a fragment.
static const char *columnsSource =
  "uniform usampler2DArray sums; layout(location = 0) out vec4 pixels;\n" MEANS_OF_SIX_WORDS
  "void main() {\n"
  "  ivec2 place = ivec2(gl_FragCoord.xy);\n"
  "  int first = place.x * 12, block = first >> 3;\n"
  "  uvec4 a = texelFetch(sums, ivec3(block >> 1, place.y, block & 1), 0);\n"
  "  ++block;\n"
  "  uvec4 b = texelFetch(sums, ivec3(block >> 1, place.y, block & 1), 0);\n"
  "  bool isOdd = (first & 7) != 0;\n"
  "  pixels = vec4(means(isOdd ? uvec3(a.zw, b.x) : a.xyz, isOdd ? b.yzw : uvec3(a.w, b.xy))) / 255.0;\n"
  "}\n";
// One output an invocation; every fourth one writes the word of four.
static const char *simpleSource =
  "layout(local_size_x = 64, local_size_y = 4) in;\n"
  "uniform sampler2D plane; layout(std430, binding = 0) writeonly buffer Output { uint words[]; };\n"
  "shared uint means[256];\n"
  "void main() {\n"
  "  ivec2 place = ivec2(gl_GlobalInvocationID.xy);\n"
  "  float sum = 0.0;\n"
  "  for (int y = 0; y < 3; ++y) for (int x = 0; x < 3; ++x) sum += texelFetch(plane, place * 3 + ivec2(x, y), 0).r;\n"
  "  uint at = gl_LocalInvocationIndex;\n"
  "  means[at] = uint(sum * (255.0 / 9.0) + 0.5);\n"
  "  memoryBarrierShared(); barrier();\n"
  "  if ((at & 3u) == 0u)\n"
  "    words[place.y * 160 + place.x / 4] = means[at] | means[at + 1u] << 8u | means[at + 2u] << 16u | means[at + 3u] << 24u;\n"
  "}\n";
// A tile of 64 x 4 outputs: rows are added up into shared memory, then columns.
static const char *sharedSource =
  "layout(local_size_x = 64) in;\n"
  "uniform usampler2D plane; layout(std430, binding = 0) writeonly buffer Output { uint words[]; };\n"
  "shared uint sums[4 * 96];\n" MEANS_OF_SIX_WORDS
  "void main() {\n"
  "  int at = int(gl_LocalInvocationIndex);\n"
  "  ivec2 group = ivec2(gl_WorkGroupID.xy);\n"
  "  for (int item = at; item < 192; item += 64) {\n"
  "    ivec2 place = ivec2(item % 48, item / 48);\n"
  "    ivec2 texel = ivec2(group.x * 48 + place.x, (group.y * 4 + place.y) * 3);\n"
  "    uvec4 sum = texelFetch(plane, texel, 0) + texelFetch(plane, texel + ivec2(0, 1), 0) + texelFetch(plane, texel + ivec2(0, 2), 0);\n"
  "    sums[place.y * 96 + place.x * 2] = sum.x | sum.y << 16u;\n"
  "    sums[place.y * 96 + place.x * 2 + 1] = sum.z | sum.w << 16u;\n"
  "  }\n"
  "  memoryBarrierShared(); barrier();\n"
  "  int row = at / 16, column = at % 16, from = row * 96 + column * 6;\n"
  "  uvec4 four = means(uvec3(sums[from], sums[from + 1], sums[from + 2]), uvec3(sums[from + 3], sums[from + 4], sums[from + 5]));\n"
  "  words[(group.y * 4 + row) * 160 + group.x * 16 + column] = four.x | four.y << 8u | four.z << 16u | four.w << 24u;\n"
  "}\n";
// Four outputs an invocation from nine words of a buffer; all views in one dispatch.
static const char *wordsSource =
  "layout(local_size_x = 32, local_size_y = 4) in;\n"
  "layout(std430, binding = 0) writeonly buffer Output { uint words[]; };\n"
  "layout(std430, binding = 1) readonly buffer Input { uint plane[]; };\n"
  "void main() {\n"
  "  uvec3 place = gl_GlobalInvocationID;\n"
  "  uint from = place.y * 1440u + place.x * 3u;\n"
  "  uvec3 even = uvec3(0u), odd = uvec3(0u);\n"
  "  for (uint row = 0u; row < 3u; ++row, from += 480u) {\n"
  "    uvec3 three = uvec3(plane[from], plane[from + 1u], plane[from + 2u]);\n"
  "    even += three & 0x00ff00ffu;\n"
  "    odd += three >> 8u & 0x00ff00ffu;\n"
  "  }\n"
  "  uvec3 a = even & 65535u, b = odd & 65535u, c = even >> 16u, d = odd >> 16u;\n"
  "  uvec4 sums = uvec4(a.x + b.x + c.x, d.x + a.y + b.y, c.y + d.y + a.z, b.z + c.z + d.z);\n"
  "  uvec4 four = (sums * 2u + 9u) / 18u;\n"
  "  words[place.z * 57600u + place.y * 160u + place.x] = four.x | four.y << 8u | four.z << 16u | four.w << 24u;\n"
  "}\n";

void draw(GLuint framebuffer, int width, int height) {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glViewport(0, 0, width, height);
  glDrawArrays(GL_TRIANGLES, 0, 3);
}
static void areaOne(int index) {
  glUseProgram(oneProgram);
  glBindTexture(GL_TEXTURE_2D, areaBytes[index % areaCount]);
  for (int view = 0; view < areaViews; ++view) draw(byteTarget[view], VIEW_W, VIEW_H);
}
void areaTwo(int index) {
  glUseProgram(rowsProgram);
  glBindTexture(GL_TEXTURE_2D, areaTexels[index % areaCount]);
  for (int view = 0; view < areaViews; ++view) draw(sumTarget[view], SOURCE_W / 16, VIEW_H);
  glUseProgram(columnsProgram);
  for (int view = 0; view < areaViews; ++view) {
    glBindTexture(GL_TEXTURE_2D_ARRAY, sumTexture[view]);
    draw(wordTarget[view], VIEW_W / 4, VIEW_H);
  }
}
static void dispatchEach(GLuint program, GLuint texture) {
  glUseProgram(program);
  glBindTexture(GL_TEXTURE_2D, texture);
  for (int view = 0; view < areaViews; ++view) {
    glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, areaOutput, view * VIEW, VIEW);
    glDispatchCompute(VIEW_W / 64, VIEW_H / 4, 1);
  }
  glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT | GL_SHADER_STORAGE_BARRIER_BIT);
}
static void areaSimple(int index) { dispatchEach(simpleCompute, areaBytes[index % areaCount]); }
static void areaShared(int index) { dispatchEach(sharedCompute, areaTexels[index % areaCount]); }
void dispatchWords(GLuint buffer, size_t offset) {
  glUseProgram(wordsCompute);
  glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, areaOutput, 0, areaViews * VIEW);
  glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 1, buffer, offset, LUMA);
  glDispatchCompute(VIEW_W / 128, VIEW_H / 4, areaViews);
  glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT | GL_SHADER_STORAGE_BARRIER_BIT);
}
static void areaFromWords(int index) { dispatchWords(areaWords[index % areaCount], 0); }
static void areaInPlace(int index) { dispatchWords(areaMapped, (size_t)(index % areaCount) * LUMA); }

bool viewIsRight(int index, const uint8_t *view, int step) {
  const uint8_t *frame = areaFrames[index % areaCount];
  for (int y = 0; y < VIEW_H; ++y)
    for (int x = 0; x < VIEW_W; ++x) {
      int sum = 0;
      for (int i = 0; i < 9; ++i) sum += frame[(y * 3 + i / 3) * SOURCE_W + x * 3 + i % 3];
      if (view[(y * VIEW_W + x) * step] != (sum * 2 + 9) / 18) return false;
    }
  return true;
}

// Every view is poisoned, then drawn from another frame than the one before.
static bool areaIsRight(void (*run)(int), int kind) {
  static uint8_t pixels[VIEW * 4];
  bool right = true;
  for (int index = 5; index < 7; ++index) {
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, areaOutput);
    uint8_t *poison = malloc(MAX_VIEWS * VIEW);
    memset(poison, 0xa5, MAX_VIEWS * VIEW);
    glBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, MAX_VIEWS * VIEW, poison);
    free(poison);
    for (int view = 0; view < areaViews; ++view) {
      glClearColor(0.3f, 0.3f, 0.3f, 0.3f);
      glBindFramebuffer(GL_FRAMEBUFFER, kind == 0 ? byteTarget[view] : wordTarget[view]);
      glClear(GL_COLOR_BUFFER_BIT);
    }
    run(index);
    for (int view = 0; view < areaViews; ++view) {
      if (kind < 2) {
        glBindFramebuffer(GL_FRAMEBUFFER, kind == 0 ? byteTarget[view] : wordTarget[view]);
        glReadPixels(0, 0, kind == 0 ? VIEW_W : VIEW_W / 4, VIEW_H, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
        right &= viewIsRight(index, pixels, kind == 0 ? 4 : 1);
      } else {
        glBindBuffer(GL_COPY_READ_BUFFER, areaOutput);
        const uint8_t *mapped = glMapBufferRange(GL_COPY_READ_BUFFER, view * VIEW, VIEW, GL_MAP_READ_BIT);
        right &= mapped && viewIsRight(index, mapped, 1);
        glUnmapBuffer(GL_COPY_READ_BUFFER);
      }
    }
  }
  return right;
}

void prepareAreas(void) {
  areaCount = isSoftware ? 6 : MAX_FRAMES;
  oneProgram = linked(oneSource, NULL);
  rowsProgram = linked(rowsSource, NULL);
  columnsProgram = linked(columnsSource, NULL);
  simpleCompute = linked(NULL, simpleSource);
  sharedCompute = linked(NULL, sharedSource);
  wordsCompute = linked(NULL, wordsSource);
  uint8_t *mapped = NULL;
  if (hasStorage) mapped = newMapped(GL_SHADER_STORAGE_BUFFER, (size_t)areaCount * LUMA, false, &areaMapped);
  for (int i = 0; i < areaCount; ++i) {
    areaFrames[i] = newFrame(LUMA, 100 + i);
    areaBytes[i] = newTexture(GL_TEXTURE_2D, GL_R8, SOURCE_W, SOURCE_H);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SOURCE_W, SOURCE_H, GL_RED, GL_UNSIGNED_BYTE, areaFrames[i]);
    areaTexels[i] = newTexture(GL_TEXTURE_2D, GL_RGBA8UI, SOURCE_W / 4, SOURCE_H);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SOURCE_W / 4, SOURCE_H, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE, areaFrames[i]);
    areaWords[i] = newBuffer(GL_SHADER_STORAGE_BUFFER, LUMA, GL_DYNAMIC_DRAW);
    glBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, LUMA, areaFrames[i]);
    if (mapped) memcpy(mapped + (size_t)i * LUMA, areaFrames[i], LUMA);
  }
  areaOutput = newBuffer(GL_SHADER_STORAGE_BUFFER, MAX_VIEWS * VIEW, GL_DYNAMIC_READ);
  for (int view = 0; view < MAX_VIEWS; ++view) {
    byteTarget[view] = newFramebuffer(newTexture(GL_TEXTURE_2D, GL_R8, VIEW_W, VIEW_H));
    wordTarget[view] = newFramebuffer(newTexture(GL_TEXTURE_2D, GL_RGBA8, VIEW_W / 4, VIEW_H));
    sumTexture[view] = newTexture(GL_TEXTURE_2D_ARRAY, GL_RGBA32UI, SOURCE_W / 16, VIEW_H);
    glGenFramebuffers(1, &sumTarget[view]);
    glBindFramebuffer(GL_FRAMEBUFFER, sumTarget[view]);
    for (int layer = 0; layer < 2; ++layer)
      glFramebufferTextureLayer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0 + layer, sumTexture[view], 0, layer);
    glDrawBuffers(2, (const GLenum[]){GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1});
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) fail("a framebuffer of sums is incomplete");
  }
  glFinish();
}

void measureAreas(void) {
  struct { const char *name; void (*run)(int); int kind; } ways[] = {
    {"fragment, R8, 9 fetches", areaOne, 0},
    {"fragment, rows then columns", areaTwo, 1},
    {"compute, R8, one output", areaSimple, 2},
    {"compute, shared rows and columns", areaShared, 2},
    {"compute, words of a buffer", areaFromWords, 2},
    {"compute, words in mapped memory", areaInPlace, 2}};
  static const int views[] = {1, 4, 16};
  double fragment[3] = {0}, fragmentGPU[3] = {0};
  printf("\n%-36s %5s %9s %9s %9s %8s %8s  %s\n", "1920x1080 luma -> 640x360, a view", "views", "wall us", "piped us",
         "gpu us", "GB/s", "speed-up", "(of piped, over rows then columns; by the GPU's clock)");
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (ways[i].run == areaInPlace && !hasStorage) continue;
    for (int k = 0; k < 3; ++k) {
      areaViews = views[k];
      Times t = measured((Work){ways[i].run, NULL});
      bool right = areaIsRight(ways[i].run, ways[i].kind);
      if (!right) ++wrong;
      writeJSON("area", ways[i].name, "1080p", LUMA + VIEW, areaViews, t, right);
      Times each = {t.wall / areaViews, t.piped / areaViews, t.gpu / areaViews, t.cpu / areaViews, t.runs};
      if (ways[i].run == areaTwo) fragment[k] = each.piped, fragmentGPU[k] = each.gpu;
      printf("%-36s %5d %9.1f %9.1f %9.1f %8.1f ", ways[i].name, areaViews, each.wall, each.piped, each.gpu,
             (LUMA + VIEW) / each.piped / 1e3);
      if (fragment[k] > 0) printf("%7.2fx %7.2fx", fragment[k] / each.piped, fragmentGPU[k] / each.gpu);
      else printf("%17s", "");
      puts(right ? "  right" : "  WRONG");
      fflush(stdout);
    }
  }
}
