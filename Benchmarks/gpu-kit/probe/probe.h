// What the probe's parts share. The context of OpenGL ES is current in the one thread; any failure of a call that must work ends the program.
#pragma once
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>
// After gl31.h, whose types it uses.
#include <GLES2/gl2ext.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 4, FRAMES_4K = 8, MAX_FRAMES = 32, MAX_VIEWS = 16, MAX_RUNS = 400, BATCH = 16 };
enum { SOURCE_W = 1920, SOURCE_H = 1080, VIEW_W = 640, VIEW_H = 360, LUMA = SOURCE_W * SOURCE_H, VIEW = VIEW_W * VIEW_H };

// context.c
extern bool isSoftware, hasTimer, hasStorage, isRobust;
extern PFNGLGETQUERYOBJECTUI64VEXTPROC getQueryResult;
extern PFNGLBUFFERSTORAGEEXTPROC bufferStorage;
void fail(const char *what);
bool listed(const char *names, const char *name);
void openDevice(int wanted, bool wantsSoftware);
void printInformation(void);

// measuring.c: medians in microseconds, -1 where there is no clock.
typedef struct { double wall, piped, gpu, cpu; int runs; } Times;
typedef struct { void (*run)(int index); void (*settle)(void); } Work;
extern double secondsEach;
extern FILE *jsonFile;
extern int wrong;
double wallNow(void);
Times measured(Work work);
void writeJSON(const char *part, const char *name, const char *of, double bytes, int views, Times t, bool right);
void report(const char *part, const char *name, const char *of, double bytes, Times t, bool right);
void reportHeader(void);
void waitFor(GLsync *fence);
void signalFence(GLsync *fence);
GLuint newBuffer(GLenum target, size_t bytes, GLenum usage);
void *newMapped(GLenum target, size_t bytes, bool forReading, GLuint *buffer);
GLuint newTexture(GLenum target, GLenum format, int width, int height);
GLuint newFramebuffer(GLuint texture);
uint8_t *newFrame(size_t bytes, uint32_t seed);
GLuint linked(const char *fragment, const char *compute);

// areas.c
extern int areaCount, areaViews;
extern uint8_t *areaFrames[MAX_FRAMES];
extern GLuint areaTexels[MAX_FRAMES], areaOutput, wordTarget[MAX_VIEWS];
void draw(GLuint framebuffer, int width, int height);
void areaTwo(int index);
void dispatchWords(GLuint buffer, size_t offset);
bool viewIsRight(int index, const uint8_t *view, int step);
void prepareAreas(void);
void measureAreas(void);

void measureUploads(int width, int height, const char *name);
void measureReadbacks(int width, int height, const char *name);
void measureWays(void);
