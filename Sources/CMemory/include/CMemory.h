// What the allocator keeps of memory that nobody uses, and how it gives it back. Glibc's alone; elsewhere nothing is kept
// that could be told.
#ifndef GLP_CMEMORY_H
#define GLP_CMEMORY_H

#include <stddef.h>

/// Bytes that were freed and not given back to the system; 0 where the allocator does not tell.
size_t glp_memory_idle(void);

/// Gives them back.
void glp_memory_trim(void);

#endif
