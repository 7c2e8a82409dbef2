// The two instructions that the compiler does not find by itself, in three forms. Included once for each form.

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Sums of products of neighbours: a[0] * b[0] + a[1] * b[1], ...
INLINE i32x8 FORM(madd)(i16x16 a, i16x16 b) {
#if defined(FORM_AVX2)
  return (i32x8)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
  union { i16x16 whole; __m128i halves[2]; } x = {a}, y = {b};
  union { i32x8 whole; __m128i halves[2]; } sum;
  for (int i = 0; i < 2; i++) sum.halves[i] = _mm_madd_epi16(x.halves[i], y.halves[i]);
  return sum.whole;
#else
  i32x8 even = __builtin_convertvector(__builtin_shufflevector(a, a, 0, 2, 4, 6, 8, 10, 12, 14), i32x8)
      * __builtin_convertvector(__builtin_shufflevector(b, b, 0, 2, 4, 6, 8, 10, 12, 14), i32x8);
  return even + __builtin_convertvector(__builtin_shufflevector(a, a, 1, 3, 5, 7, 9, 11, 13, 15), i32x8)
      * __builtin_convertvector(__builtin_shufflevector(b, b, 1, 3, 5, 7, 9, 11, 13, 15), i32x8);
#endif
}

// What LOW and HIGH took apart, in sixteen bits; what does not fit becomes the nearest that does.
INLINE i16x16 FORM(packs)(i32x8 low, i32x8 high) {
#if defined(FORM_AVX2)
  return (i16x16)_mm256_packs_epi32((__m256i)low, (__m256i)high);
#elif defined(__x86_64__)
  union { i32x8 whole; __m128i halves[2]; } x = {low}, y = {high};
  union { i16x16 whole; __m128i halves[2]; } packed;
  for (int i = 0; i < 2; i++) packed.halves[i] = _mm_packs_epi32(x.halves[i], y.halves[i]);
  return packed.whole;
#else
  i32x8 most = (i32x8){} + 32767, least = (i32x8){} - 32768;
  low = __builtin_elementwise_max(__builtin_elementwise_min(low, most), least);
  high = __builtin_elementwise_max(__builtin_elementwise_min(high, most), least);
  i16x8 a = __builtin_convertvector(low, i16x8), b = __builtin_convertvector(high, i16x8);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
#endif
}

// Codes as bytes; what is beyond 0...255 becomes the nearest.
INLINE u8x16 FORM(codes)(i16x16 values) {
#if defined(__x86_64__)
  union { i16x16 whole; __m128i halves[2]; } x = {values};
  return (u8x16)_mm_packus_epi16(x.halves[0], x.halves[1]);
#else
  i16x16 most = (i16x16){} + 255, least = {};
  values = __builtin_elementwise_max(__builtin_elementwise_min(values, most), least);
  return __builtin_convertvector(values, u8x16);
#endif
}
