// Vectors of sixteen samples, in the compiler's notation: it splits them where registers are shorter.
#ifndef VECTORS_H
#define VECTORS_H

#include <stdint.h>
#include <string.h>

// Sixteen samples of a row, or one sample of sixteen rows.
typedef int16_t i16x16 __attribute__((vector_size(32)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef int16_t i16x8 __attribute__((vector_size(16)));

#define INLINE static inline __attribute__((always_inline))

#define LOAD(type, from) ({ type value_; memcpy(&value_, (from), sizeof value_); value_; })
#define STORE(to, value) ({ __typeof__(value) stored_ = (value); memcpy((to), &stored_, sizeof stored_); })

// The samples of two vectors by turns, from the lower and the upper half of each sixteen bytes.
#define LOW(a, b) \
  __builtin_shufflevector((a), (b), 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27)
#define HIGH(a, b) \
  __builtin_shufflevector((a), (b), 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_BYTES(a, b) \
  __builtin_shufflevector((a), (b), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_BYTES(a, b) \
  __builtin_shufflevector((a), (b), 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_WORDS(a, b) __builtin_shufflevector((a), (b), 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_WORDS(a, b) __builtin_shufflevector((a), (b), 4, 12, 5, 13, 6, 14, 7, 15)

// One of the stages that turn `count` vectors, 2 to the power of the number of stages.
#define SHUFFLE(count, from, to, low, high) \
  _Pragma("clang loop unroll(full)") for (int i_ = 0; i_ < (count) / 2; i_++) { \
    (to)[2 * i_] = low((from)[i_], (from)[i_ + (count) / 2]); \
    (to)[2 * i_ + 1] = high((from)[i_], (from)[i_ + (count) / 2]); \
  }

#endif
