// Datagrams, many with one system call (sendmmsg), and runs of equal ones as one message (UDP_SEGMENT, Linux 4.18).
#define _GNU_SOURCE
#include "CWebRTC.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { MESSAGES = 64 };

/// What sendmmsg takes.
typedef struct {
  struct mmsghdr headers[MESSAGES];
  struct iovec parts[MESSAGES];
  union {
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
    struct cmsghdr alignment;
  } controls[MESSAGES];
  /// The batch of each message.
  size_t batches[MESSAGES];
  unsigned count;
} messages;

static bool is_run(const glp_datagrams *batch) {
  return batch->takes_segments && batch->count - batch->sent > batch->segment;
}

static void add(messages *all, const uint8_t *bytes, glp_datagrams *batch, size_t index, size_t at, size_t count) {
  unsigned number = all->count++;
  all->batches[number] = index;
  all->parts[number] = (struct iovec){.iov_base = (void *)(bytes + batch->offset + at), .iov_len = count};
  struct msghdr *header = &all->headers[number].msg_hdr;
  *header = (struct msghdr){
      .msg_name = batch->address,
      .msg_namelen = batch->address_bytes,
      .msg_iov = &all->parts[number],
      .msg_iovlen = 1,
  };
  if (count <= batch->segment) return;
  header->msg_control = all->controls[number].bytes;
  header->msg_controllen = sizeof all->controls[number].bytes;
  struct cmsghdr *control = CMSG_FIRSTHDR(header);
  control->cmsg_level = IPPROTO_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
  uint16_t segment = (uint16_t)batch->segment;
  memcpy(CMSG_DATA(control), &segment, sizeof segment);
}

static void fill(messages *all, const uint8_t *bytes, glp_datagrams *batches, size_t first, size_t count) {
  all->count = 0;
  for (size_t index = first; index < count; index++) {
    glp_datagrams *batch = &batches[index];
    for (size_t at = batch->sent; at < batch->count;) {
      if (all->count == MESSAGES) return;
      size_t rest = batch->count - at;
      size_t length = is_run(batch) || rest < batch->segment ? rest : batch->segment;
      add(all, bytes, batch, index, at, length);
      at += length;
    }
  }
}

glp_sent glp_datagrams_send(int socket, const uint8_t *bytes, glp_datagrams *batches, size_t count) {
  glp_sent sent = {0};
  messages all;
  while (sent.batches < count) {
    if (batches[sent.batches].sent >= batches[sent.batches].count) {
      sent.batches++;
      continue;
    }
    fill(&all, bytes, batches, sent.batches, count);
    int done = sendmmsg(socket, all.headers, all.count, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done > 0) {
      for (int number = 0; number < done; number++) {
        batches[all.batches[number]].sent += (uint32_t)all.parts[number].iov_len;
      }
      continue;
    }
    // The error is that of the first message.
    glp_datagrams *batch = &batches[all.batches[0]];
    switch (errno) {
    case EINTR: continue;
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM: sent.is_blocked = true; return sent;
    case EIO:
    case EINVAL:
    case EMSGSIZE:
    case EOPNOTSUPP:
      // The kernel, the interface or the path's MTU has no segments for this address.
      if (is_run(batch)) {
        batch->takes_segments = false;
        continue;
      }
      break;
    default: break;
    }
    // An address that can't be reached, or a firewall; the others go on.
    batch->sent += (uint32_t)all.parts[0].iov_len;
    sent.refused++;
    sent.error = errno;
  }
  return sent;
}
