// See CMemory.h.
#define _DEFAULT_SOURCE
#include "CMemory.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

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
  // Private, readable and not writable, of a file that is no device: what a device has mapped may not come back.
  int is_file;
};

static int read_mapping(const char *line, struct mapping *mapping) {
  char access[5], path[16] = "";
  unsigned long start, end;
  if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %15s", &start, &end, access, path) < 3) return 0;
  *mapping = (struct mapping){
      start, end, access[0] == 'r' && access[1] == '-' && access[3] == 'p' && path[0] == '/' && strncmp(path, "/dev/", 5)};
  return 1;
}

void glp_memory_drop_file_pages(void) {
  FILE *list = fopen("/proc/self/smaps", "re");
  if (!list) return;
  char line[512];
  struct mapping mapping = {0};
  int is_start = 1;
  while (fgets(line, sizeof line, list)) {
    long anonymous;
    // Paths may be longer than a line here.
    if (is_start && !read_mapping(line, &mapping) && sscanf(line, "Anonymous: %ld", &anonymous) == 1 && anonymous == 0 &&
        mapping.is_file)
      madvise((void *)mapping.start, mapping.end - mapping.start, MADV_DONTNEED);
    is_start = strchr(line, '\n') != NULL;
  }
  fclose(list);
}
