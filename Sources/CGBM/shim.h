// Mesa's buffer manager: the way to a GPU by its file in /dev/dri, where EGL cannot list devices.
#include <gbm.h>
