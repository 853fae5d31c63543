#include "bench.h"
PLAIN("simt_128x128x8_w32x64x8_s4_nt", "simt_multistage", CONFIG(float, float, float, NT, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 4, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_128x128x8_w32x64x8_s4_nn", "simt_multistage", CONFIG(float, float, float, NN, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 4, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_128x128x8_w32x64x8_s4_tn", "simt_multistage", CONFIG(float, float, float, TN, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 4, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_64x64x8_w32x32x8_s3_tn", "simt_multistage", CONFIG(float, float, float, TN, SHAPE(64, 64, 8), SHAPE(32, 32, 8), SHAPE(1, 1, 1), 3, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_256x128x8_w64x64x8_s4_nt", "simt_multistage", CONFIG(float, float, float, NT, SHAPE(256, 128, 8), SHAPE(64, 64, 8), SHAPE(1, 1, 1), 4, cutlass::arch::Sm80, bench::Simt))
