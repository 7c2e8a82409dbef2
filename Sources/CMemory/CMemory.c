// See CMemory.h.
#include "CMemory.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

size_t glp_memory_idle(void) { return mallinfo2().fordblks; }
void glp_memory_trim(void) { malloc_trim(0); }
void glp_memory_bound(int byte_count) {
  mallopt(M_MMAP_THRESHOLD, byte_count);
  mallopt(M_TRIM_THRESHOLD, byte_count);
}
#else
size_t glp_memory_idle(void) { return 0; }
void glp_memory_trim(void) {}
void glp_memory_bound(int byte_count) { (void)byte_count; }
#endif
