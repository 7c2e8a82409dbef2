// See CMemory.h.
#define _DEFAULT_SOURCE
#include "CMemory.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct glp_memory glp_memory_measure(void) {
  struct mallinfo2 info = mallinfo2();
  return (struct glp_memory){.used = info.uordblks + info.hblkhd, .idle = info.fordblks};
}
void glp_memory_trim(void) { malloc_trim(0); }
void glp_memory_use_one_arena(void) {
  mallopt(M_ARENA_MAX, 1);
  // The most that glibc takes: what is larger is always mapped.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

// A mapping of the process, as /proc/self/smaps lists it.
struct mapping {
  unsigned long start, end;
  // Private and not writable, of the program itself or of LLVM. Other libraries may change their own code, as
  // those of OpenGL do, and a change between the look at a mapping and its end would be lost.
  int is_dropped;
};

static int read_mapping(const char *line, const char *program, struct mapping *mapping) {
  char access[5], path[PATH_MAX] = "";
  unsigned long start, end;
  if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %4095[^\n]", &start, &end, access, path) < 3) return 0;
  int is_known = !strcmp(path, program) || strstr(path, "/libLLVM");
  *mapping = (struct mapping){start, end, is_known && access[0] == 'r' && access[1] == '-' && access[3] == 'p'};
  return 1;
}

void glp_memory_drop_file_pages(void) {
  char program[PATH_MAX], line[PATH_MAX + 256];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  FILE *list = length > 0 ? fopen("/proc/self/smaps", "re") : NULL;
  if (!list) return;
  program[length] = 0;
  struct mapping mapping = {0};
  int is_whole = 1;
  // Changed pages in memory and in swap, in kB: both would be lost. A mapping's swap is listed last.
  long anonymous = 1, swapped;
  while (fgets(line, sizeof line, list)) {
    if (is_whole && read_mapping(line, program, &mapping)) {
      anonymous = 1;
    } else if (is_whole && sscanf(line, "Anonymous: %ld", &anonymous) != 1 && sscanf(line, "Swap: %ld", &swapped) == 1 &&
               mapping.is_dropped && anonymous == 0 && swapped == 0) {
      madvise((void *)mapping.start, mapping.end - mapping.start, MADV_DONTNEED);
    }
    is_whole = strchr(line, '\n') != NULL;
  }
  fclose(list);
}
