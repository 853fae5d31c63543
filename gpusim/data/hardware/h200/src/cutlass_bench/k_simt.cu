#include "bench.h"
PLAIN("simt_128x128x8_w32x64x8_s2_nt", "simt_pipelined", CONFIG(float, float, float, NT, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 2, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_128x128x8_w32x64x8_s2_nn", "simt_pipelined", CONFIG(float, float, float, NN, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 2, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_128x128x8_w32x64x8_s2_tn", "simt_pipelined", CONFIG(float, float, float, TN, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 2, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_128x128x8_w32x64x8_s2_tt", "simt_pipelined", CONFIG(float, float, float, TT, SHAPE(128, 128, 8), SHAPE(32, 64, 8), SHAPE(1, 1, 1), 2, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_64x64x8_w32x32x8_s2_nt", "simt_pipelined", CONFIG(float, float, float, NT, SHAPE(64, 64, 8), SHAPE(32, 32, 8), SHAPE(1, 1, 1), 2, cutlass::arch::Sm80, bench::Simt))
PLAIN("simt_128x64x8_w64x32x8_s2_nn", "simt_pipelined", CONFIG(float, float, float, NN, SHAPE(128, 64, 8), SHAPE(64, 32, 8), SHAPE(1, 1, 1), 2, cutlass::arch::Sm80, bench::Simt))
