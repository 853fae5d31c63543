#include "bench.h"
PLAIN("h_128x256x32_w64x64x32_s3_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(128, 256, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 3))
PLAIN("h_256x128x32_w64x64x32_s3_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(256, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 3))
PLAIN("h_64x64x64_w32x32x64_s5_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(64, 64, 64), SHAPE(32, 32, 64), SHAPE(16, 8, 16), 5))
PLAIN("h_128x64x32_w64x32x32_s4_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(128, 64, 32), SHAPE(64, 32, 32), SHAPE(16, 8, 16), 4))
PLAIN("h_64x128x32_w32x64x32_s4_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(64, 128, 32), SHAPE(32, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("h_128x128x64_w64x64x64_s3_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 64), SHAPE(64, 64, 64), SHAPE(16, 8, 16), 3))
PLAIN("h_64x64x32_w32x32x32_s6_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(64, 64, 32), SHAPE(32, 32, 32), SHAPE(16, 8, 16), 6))
PLAIN("h_128x64x64_w64x32x64_s4_nt", "multistage", CONFIG(F16, F16, float, NT, SHAPE(128, 64, 64), SHAPE(64, 32, 64), SHAPE(16, 8, 16), 4))
