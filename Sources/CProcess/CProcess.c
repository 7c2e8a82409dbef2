// glibc's own calls for child processes.
#define _GNU_SOURCE
#include "CProcess.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

int glp_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int glp_spawn_close_from(void *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
