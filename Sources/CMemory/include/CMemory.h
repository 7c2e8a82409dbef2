// What the allocator keeps of memory that nobody uses, and how it gives it back. Glibc's alone; elsewhere nothing is kept
// that could be told.
#ifndef GLP_CMEMORY_H
#define GLP_CMEMORY_H

#include <stddef.h>

/// Bytes that were freed and not given back to the system; 0 where the allocator does not tell.
size_t glp_memory_idle(void);

/// From now on blocks of this many bytes and more are given back as soon as they are freed, and no thread keeps more than this
/// at the end of its memory. Left to itself, glibc raises both bounds to 32 and 64 MiB a thread with the first large block
/// that is freed, and what lies at a thread's end is nothing that `glp_memory_trim` gives back.
void glp_memory_bound(int byte_count);

/// Gives them back.
void glp_memory_trim(void);

#endif
