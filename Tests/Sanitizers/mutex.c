// ThreadSanitizer sees the fast way through the standard library's Mutex, which is compiled into our code, but not the slow
// one, which is in libswiftSynchronization: a lock that was waited for would look like none. Preloaded, this tells it.
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
  SWIFT void (*next)(uint32_t, SELF void *) = (SWIFT void (*)(uint32_t, SELF void *))dlsym(RTLD_NEXT, LOCK);
  next(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
  SWIFT void (*next)(SELF void *) = (SWIFT void (*)(SELF void *))dlsym(RTLD_NEXT, UNLOCK);
  if (__tsan_release) __tsan_release(mutex);
  next(mutex);
}
