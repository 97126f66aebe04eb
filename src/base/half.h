/* Conversions between f32/f64 and the short float formats: round half to even, rounded once.
 *
 * These functions are the definition; the interpreter and kernels compute the same, by the text of
 * src/expr/scalar/prelude/storage.h, which a test holds to the same codes. Formats: IEEE binary16,
 * bfloat16, OCP FP8 (E4M3FN, E5M2) and the FNUZ forms, OCP FP4 E2M1, OCP E8M0. ONNX's rules decide
 * saturation and NaN (Cast-25).
 */
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include <stdbool.h>
#include <stdint.h>

float f16_to_f32(uint16_t bits);
uint16_t f64_to_f16(double value);
float bf16_to_f32(uint16_t bits);
uint16_t f64_to_bf16(double value);

/* `saturate`: out of range becomes the largest finite value, otherwise NaN or Inf as the format
 * has it. Tables of ONNX Cast. */
float f8e4m3fn_to_f32(uint8_t bits);
uint8_t f32_to_f8e4m3fn(float value, bool saturate);
float f8e4m3fnuz_to_f32(uint8_t bits);
uint8_t f32_to_f8e4m3fnuz(float value, bool saturate);
float f8e5m2_to_f32(uint8_t bits);
uint8_t f32_to_f8e5m2(float value, bool saturate);
float f8e5m2fnuz_to_f32(uint8_t bits);
uint8_t f32_to_f8e5m2fnuz(float value, bool saturate);
float f4e2m1_to_f32(uint8_t nibble);
uint8_t f32_to_f4e2m1(float value);

/* e8m0: a power of two, 2^(bits-127); 255 is NaN. `mode`: 0 up, 1 down, 2 nearest (Cast-24). */
float f8e8m0_to_f32(uint8_t bits);
uint8_t f32_to_f8e8m0(float value, bool saturate, int mode);

#endif
