// See CMemory.h.
#include "CMemory.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

size_t glp_memory_idle(void) { return mallinfo2().fordblks; }
void glp_memory_trim(void) { malloc_trim(0); }
#else
size_t glp_memory_idle(void) { return 0; }
void glp_memory_trim(void) {}
#endif
