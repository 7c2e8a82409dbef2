// What glibc has for child processes beyond POSIX, which Swift does not see. No header of the system is included here: Swift
// would take its types for this module's.
#ifndef CPROCESS_H
#define CPROCESS_H

/// A pipe whose ends no child inherits by accident.
int glp_pipe(int ends[2]);

/// Has a child close all descriptors from `first` on; `actions` is a `posix_spawn_file_actions_t`.
int glp_spawn_close_from(void *actions, int first);

#endif
