// What the allocator has given out and what it keeps, and how it returns that, as glibc tells it.
#ifndef GLP_CMEMORY_H
#define GLP_CMEMORY_H

#include <stddef.h>

/// Bytes of the heap.
struct glp_memory {
  /// Allocated, in the shared heap or in mappings of their own.
  size_t used;
  /// Freed and kept for reuse. Their pages may have been returned to the system.
  size_t idle;
};

struct glp_memory glp_memory_measure(void);

/// Returns the pages of idle memory to the system.
void glp_memory_trim(void);

/// Unmaps the pages of the program's code and constants, and of LLVM's, which are read again when they are used: from the page
/// cache, at a microsecond each. Mappings with changes, such as relocations, are kept, also where these are in swap.
void glp_memory_drop_file_pages(void);

/// From now on all new threads have their memory from one place, which keeps what is freed until `glp_memory_trim`: to be
/// called before there are threads. Left to itself, glibc has up to eight places for each core, keeps up to 64 MiB at the end of
/// each, which `glp_memory_trim` does not give back, and maps large blocks anew each time they are taken.
void glp_memory_use_one_arena(void);

/// Makes the program's constants read-only. Linkers put them among its variables, because Swift's compiler marks some of them
/// as writable.
void glp_memory_protect_constants(void);

#endif
