// Preloaded, it makes a driver a lesser one, as told by variables:
//
//   LESSER_TEXTURES=2048       the longest side of a texture; the program that creates a larger one is ended
//   LESSER_EXTENSION=GL_...    an extension that is not listed; standard error says when it is hidden
#define _GNU_SOURCE
#include <GLES3/gl3.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *next(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  fprintf(stderr, "lesser_driver: there is no %s\n", name);
  abort();
}

static int limit(void) {
  const char *text = getenv("LESSER_TEXTURES");
  return text ? atoi(text) : 1 << 30;
}

static void check(GLsizei width, GLsizei height) {
  if (width <= limit() && height <= limit()) return;
  fprintf(stderr, "lesser_driver: a texture of %d x %d texels\n", width, height);
  abort();
}

void glGetIntegerv(GLenum name, GLint *value) {
  ((void (*)(GLenum, GLint *))next("glGetIntegerv"))(name, value);
  if (name == GL_MAX_TEXTURE_SIZE && *value > limit()) *value = limit();
}

const GLubyte *glGetStringi(GLenum name, GLuint index) {
  const GLubyte *text = ((const GLubyte *(*)(GLenum, GLuint))next("glGetStringi"))(name, index);
  const char *hidden = getenv("LESSER_EXTENSION");
  if (name != GL_EXTENSIONS || !text || !hidden || strcmp((const char *)text, hidden) != 0) return text;
  static int hasSaid;
  if (!__atomic_exchange_n(&hasSaid, 1, __ATOMIC_RELAXED)) fprintf(stderr, "lesser_driver: hides %s\n", hidden);
  return (const GLubyte *)"GL_none";
}

void glTexStorage2D(GLenum target, GLsizei levels, GLenum format, GLsizei width, GLsizei height) {
  check(width, height);
  ((void (*)(GLenum, GLsizei, GLenum, GLsizei, GLsizei))next("glTexStorage2D"))(target, levels, format, width, height);
}

void glTexStorage3D(GLenum target, GLsizei levels, GLenum format, GLsizei width, GLsizei height, GLsizei depth) {
  check(width, height);
  ((void (*)(GLenum, GLsizei, GLenum, GLsizei, GLsizei, GLsizei))next("glTexStorage3D"))(
    target, levels, format, width, height, depth);
}
