// What glibc has for child processes beyond POSIX, which Swift does not see.
#ifndef CPROCESS_H
#define CPROCESS_H
#include <spawn.h>

/// A pipe whose ends no child inherits by accident.
int glp_pipe(int ends[2]);

/// Has a child close all descriptors from `first` on.
int glp_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

#endif
