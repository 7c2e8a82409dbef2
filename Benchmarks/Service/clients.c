// The load of `measure`: many clients of one server on loopback, in one thread. Each mode prints one line of JSON.
//
//     clients load PORT PATH CLIENTS SECONDS PID    streams that are read as fast as they come; the cost to process PID
//     clients stall PORT PATH CLIENTS SECONDS       streams that are asked for and never read: how many are cut off
//     clients hold PORT PATH CONNECTIONS            connections that ask once and then say nothing, until input ends
//     clients snapshots PORT PATH COUNT GAP         one after another over one connection, GAP ms between; how long each takes
//
// A stream's parts are told by their Content-Length, so any server's stream can be counted, one without an HTTP head too.
// What is not a head is taken from the socket without being copied (MSG_TRUNC): the load shall not be the load's own.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, EVENTS = 256 };

typedef struct {
  int socket;
  long parts;            // in the window
  long long bytes;       // in the window
  long body;             // bytes of the part that are still to come
  bool is_part;          // whether what comes is a part's body
  double last;           // when the last part was complete
  double gap;            // the longest time between two parts
  size_t head_bytes;
  char head[HEAD_BYTES];
} client;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

// Seconds of CPU that a process has used, user's and system's, and the MB that it has in memory.
static double cpu_seconds(int process, double *memory) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  const char *rest = strrchr(text, ')');
  unsigned long user = 0, system = 0;
  long pages = 0;
  if (!rest || sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
                      &user, &system, &pages) != 3) fail(path);
  *memory = (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double own_cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// A connection on which `path` was asked for.
static int ask(int port, const char *path, const char *more, int receive_buffer) {
  int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peer < 0) fail("socket");
  if (receive_buffer) setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (connect(peer, (struct sockaddr *)&address, sizeof address)) fail("connect");
  char request[1024];
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: bench\r\n%s\r\n", path, port, more);
  if (write(peer, request, (size_t)length) != length) fail("write");
  return peer;
}

// The Content-Length of a head; 0 where it has none.
static long length_in(const char *head) {
  for (const char *line = head; (line = strchr(line, '\n')); ) {
    if (!strncasecmp(++line, "content-length:", 15)) return atol(line + 15);
  }
  return 0;
}

static void end_part(client *one) {
  double time = now();
  if (one->last > 0 && time - one->last > one->gap) one->gap = time - one->last;
  one->last = time;
  one->parts++;
  one->is_part = false;
}

// Takes from `head` what is a head, and what is behind it; what is no whole head yet stays.
static void take_heads(client *one) {
  size_t start = 0;
  while (one->body == 0) {
    if (one->is_part) end_part(one);
    char *found = memmem(one->head + start, one->head_bytes - start, "\r\n\r\n", 4);
    if (!found) break;
    *found = 0;
    one->body = length_in(one->head + start);
    one->is_part = one->body > 0;
    start = (size_t)(found - one->head) + 4;
    size_t here = one->head_bytes - start;
    if ((long)here > one->body) here = (size_t)one->body;
    one->body -= (long)here;
    start += here;
  }
  one->head_bytes -= start;
  memmove(one->head, one->head + start, one->head_bytes);
  // Not a head of any stream: only its end may be one.
  if (one->head_bytes == HEAD_BYTES - 1) one->head_bytes = 0;
}

// Reads what is there; false where the connection is over.
static bool read_some(client *one) {
  if (one->body > 0) {
    ssize_t count = recv(one->socket, NULL, (size_t)one->body, MSG_TRUNC | MSG_DONTWAIT);
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    one->bytes += count;
    if ((one->body -= count) == 0) end_part(one);
    return true;
  }
  ssize_t count = recv(one->socket, one->head + one->head_bytes, HEAD_BYTES - 1 - one->head_bytes, MSG_DONTWAIT);
  if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
  one->bytes += count;
  one->head_bytes += (size_t)count;
  one->head[one->head_bytes] = 0;
  take_heads(one);
  return true;
}

static void load(int port, const char *path, int count, double seconds, int process) {
  client *clients = calloc((size_t)count, sizeof *clients);
  int poller = epoll_create1(EPOLL_CLOEXEC), open = count;
  if (!clients || poller < 0) fail("load");
  for (int index = 0; index < count; index++) {
    clients[index].socket = ask(port, path, "", 0);
    struct epoll_event event = {EPOLLIN, {.u32 = (uint32_t)index}};
    epoll_ctl(poller, EPOLL_CTL_ADD, clients[index].socket, &event);
  }
  // The window opens half a second after all had a first part.
  double asked = now(), opens = 0, opened = 0, cpu = 0, own = 0, memory = 0;
  while (opened == 0 || now() - opened < seconds) {
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(poller, events, EVENTS, 20);
    for (int index = 0; index < ready; index++) {
      client *one = &clients[events[index].data.u32];
      if (read_some(one)) continue;
      epoll_ctl(poller, EPOLL_CTL_DEL, one->socket, NULL);
      open--;
    }
    if (opened > 0) continue;
    if (opens == 0) {
      int served = 0;
      for (int index = 0; index < count; index++) served += clients[index].parts > 0;
      if (served == count || now() - asked > 15) opens = now() + 0.5;
    } else if (now() >= opens) {
      for (int index = 0; index < count; index++) {
        clients[index].parts = 0;
        clients[index].bytes = 0;
        clients[index].gap = 0;
      }
      cpu = cpu_seconds(process, &memory);
      own = own_cpu_seconds();
      opened = now();
    }
  }
  double window = now() - opened;
  cpu = cpu_seconds(process, &memory) - cpu;
  own = own_cpu_seconds() - own;
  long parts = 0, least = clients[0].parts, most = least;
  long long bytes = 0;
  double gap = 0;
  for (int index = 0; index < count; index++) {
    client *one = &clients[index];
    parts += one->parts;
    bytes += one->bytes;
    if (one->parts < least) least = one->parts;
    if (one->parts > most) most = one->parts;
    // Who gets nothing any more has a gap that has not ended.
    double silence = now() - (one->last > opened ? one->last : opened);
    if (one->gap > gap) gap = one->gap;
    if (silence > gap) gap = silence;
  }
  printf("{\"clients\": %d, \"open\": %d, \"seconds\": %.3f, \"parts\": %ld, \"fps\": %.3f, \"fps_min\": %.3f, \"fps_max\": %.3f, "
         "\"bytes\": %lld, \"longest_gap_ms\": %.1f, \"cpu_percent\": %.2f, \"memory_mb\": %.1f, \"client_cpu_percent\": %.2f}\n",
         count, open, window, parts, (double)parts / count / window, (double)least / window, (double)most / window, bytes,
         gap * 1e3, cpu / window * 100, memory, own / window * 100);
}

static void stall(int port, const char *path, int count, double seconds) {
  struct pollfd *peers = calloc((size_t)count, sizeof *peers);
  if (!peers) fail("stall");
  // A small window: what is on its way to them is ours, not the server's.
  for (int index = 0; index < count; index++) peers[index] = (struct pollfd){ask(port, path, "", 4096), POLLRDHUP, 0};
  int over = 0;
  double begun = now(), first = 0, last = 0;
  while (over < count && now() - begun < seconds) {
    poll(peers, (nfds_t)count, 50);
    for (int index = 0; index < count; index++) {
      if (peers[index].fd < 0 || !peers[index].revents) continue;
      close(peers[index].fd);
      peers[index].fd = -1;
      last = now() - begun;
      if (over++ == 0) first = last;
    }
  }
  printf("{\"clients\": %d, \"cut_off\": %d, \"first_s\": %.2f, \"last_s\": %.2f}\n", count, over, first, last);
}

static void hold(int port, const char *path, int count) {
  int *peers = calloc((size_t)count, sizeof *peers), answered = 0, open = 0;
  if (!peers) fail("hold");
  for (int index = 0; index < count; index++) peers[index] = ask(port, path, "", 0);
  for (int index = 0; index < count; index++) {
    char answer[4096];
    answered += recv(peers[index], answer, sizeof answer, 0) > 12 && !strncmp(answer, "HTTP/1.1 200", 12);
  }
  printf("{\"connections\": %d, \"answered\": %d}\n", count, answered);
  fflush(stdout);
  while (getchar() != EOF) {}
  for (int index = 0; index < count; index++) {
    char byte;
    ssize_t left;
    while ((left = recv(peers[index], &byte, 1, MSG_DONTWAIT)) > 0) {}
    open += left < 0 && errno == EAGAIN;
  }
  printf("{\"open\": %d}\n", open);
}

// Reads one answer to its end; false where it is none of status 200.
static bool read_answer(int peer) {
  char head[8192];
  size_t count = 0;
  char *end = NULL;
  while (!end) {
    ssize_t more = recv(peer, head + count, sizeof head - 1 - count, 0);
    if (more <= 0) return false;
    head[count += (size_t)more] = 0;
    end = memmem(head, count, "\r\n\r\n", 4);
  }
  *end = 0;
  long rest = length_in(head) - (long)(count - (size_t)(end + 4 - head));
  while (rest > 0) {
    ssize_t more = recv(peer, NULL, (size_t)rest, MSG_TRUNC);
    if (more <= 0) return false;
    rest -= more;
  }
  return !strncmp(head, "HTTP/1.1 200", 12);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void snapshots(int port, const char *path, int count, int gap) {
  double *times = calloc((size_t)count, sizeof *times);
  if (!times) fail("snapshots");
  char request[1024];
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", path, port);
  int peer = ask(port, path, "", 0), failed = !read_answer(peer);
  for (int index = 0; index < count; index++) {
    usleep((useconds_t)gap * 1000);
    double begun = now();
    if (write(peer, request, (size_t)length) != length || !read_answer(peer)) {
      failed++;
      close(peer);
      peer = ask(port, path, "", 0);
      if (!read_answer(peer)) failed++;
    }
    times[index] = (now() - begun) * 1e3;
  }
  qsort(times, (size_t)count, sizeof *times, compare);
  printf("{\"count\": %d, \"failed\": %d, \"p50_ms\": %.3f, \"p90_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n", count, failed,
         times[count / 2], times[count * 9 / 10], times[count * 99 / 100], times[count - 1]);
}

int main(int count, char **words) {
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const char *mode = count > 4 ? words[1] : "";
  int port = count > 4 ? atoi(words[2]) : 0, number = count > 4 ? atoi(words[4]) : 0;
  if (number < 1) mode = "";
  if (!strcmp(mode, "load") && count == 7) load(port, words[3], number, atof(words[5]), atoi(words[6]));
  else if (!strcmp(mode, "stall") && count == 6) stall(port, words[3], number, atof(words[5]));
  else if (!strcmp(mode, "hold") && count == 5) hold(port, words[3], number);
  else if (!strcmp(mode, "snapshots") && count == 6) snapshots(port, words[3], number, atoi(words[5]));
  else {
    fputs("usage: clients load|stall|hold|snapshots PORT PATH COUNT ...\n", stderr);
    return 64;
  }
  return 0;
}
