#include "bench.h"
PLAIN("h_128x128x32_w64x64x32_s2_tn_sm75", "pipelined", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 8), 2, cutlass::arch::Sm75))
PLAIN("h_64x64x32_w32x32x32_s2_tn_sm75", "pipelined", CONFIG(F16, F16, float, TN, SHAPE(64, 64, 32), SHAPE(32, 32, 32), SHAPE(16, 8, 8), 2, cutlass::arch::Sm75))
PLAIN("h_128x64x32_w64x32x32_s2_nt_sm75", "pipelined", CONFIG(F16, F16, float, NT, SHAPE(128, 64, 32), SHAPE(64, 32, 32), SHAPE(16, 8, 8), 2, cutlass::arch::Sm75))
PLAIN("tf32_128x128x16_w64x64x16_s2_tn", "pipelined", CONFIG(TF32, float, float, TN, SHAPE(128, 128, 16), SHAPE(64, 64, 16), SHAPE(16, 8, 8), 2))
PLAIN("s8_128x128x64_w64x64x64_s2_tn", "pipelined", CONFIG(int8_t, int32_t, int32_t, TN, SHAPE(128, 128, 64), SHAPE(64, 64, 64), SHAPE(16, 8, 32), 2))
PLAIN("bf_128x128x32_w64x64x32_s2_tn", "pipelined", CONFIG(BF16, BF16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
