// What the allocator keeps of memory that nobody uses, and how it gives it back. Glibc's alone; elsewhere nothing is kept
// that could be told.
#ifndef GLP_CMEMORY_H
#define GLP_CMEMORY_H

#include <stddef.h>

/// Bytes that were freed and not given back to the system; 0 where the allocator does not tell.
size_t glp_memory_idle(void);

/// Gives them back.
void glp_memory_trim(void);

/// From now on all new threads have their memory from one place, which keeps what is freed until `glp_memory_trim`: to be
/// called before there are threads. Left to itself, glibc has up to eight places for each core, keeps up to 64 MiB at the end of
/// each, which `glp_memory_trim` does not give back, and maps large blocks anew each time they are taken.
void glp_memory_use_one_arena(void);

#endif
