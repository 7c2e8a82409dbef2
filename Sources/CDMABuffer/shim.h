// Memory that devices share. Swift can't call ioctl, whose arguments vary.
#include <errno.h>
#include <linux/dma-buf.h>
#include <stdbool.h>
#include <sys/ioctl.h>

/// Begins or ends the processor's reading of a buffer, so that its caches and the devices agree. Returns 0, or errno.
static inline int glp_dma_buffer_sync(int descriptor, bool begins) {
  struct dma_buf_sync sync = {.flags = (begins ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END) | DMA_BUF_SYNC_READ};
  int status;
  do {
    status = ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &sync);
  } while (status < 0 && (errno == EINTR || errno == EAGAIN));
  return status < 0 ? errno : 0;
}
