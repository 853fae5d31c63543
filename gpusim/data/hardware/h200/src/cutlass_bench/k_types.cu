#include "bench.h"
PLAIN("hh_128x128x32_w64x64x32_s4_tn", "multistage", CONFIG(F16, F16, F16, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("bf_128x128x32_w64x64x32_s4_tn", "multistage", CONFIG(BF16, BF16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("tf32_128x128x16_w64x64x16_s4_tn", "multistage", CONFIG(TF32, float, float, TN, SHAPE(128, 128, 16), SHAPE(64, 64, 16), SHAPE(16, 8, 8), 4))
PLAIN("s8_128x128x64_w64x64x64_s3_tn", "multistage", CONFIG(int8_t, int32_t, int32_t, TN, SHAPE(128, 128, 64), SHAPE(64, 64, 64), SHAPE(16, 8, 32), 3))
PLAIN("tf32_64x64x32_w32x32x32_s4_tn", "multistage", CONFIG(TF32, float, float, TN, SHAPE(64, 64, 32), SHAPE(32, 32, 32), SHAPE(16, 8, 8), 4))
PLAIN("hh_256x128x32_w64x64x32_s3_nt", "multistage", CONFIG(F16, F16, F16, NT, SHAPE(256, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 3))
