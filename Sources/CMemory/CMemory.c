// See CMemory.h.
#include "CMemory.h"

#include <malloc.h>

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
