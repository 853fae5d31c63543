#include "bench.h"
SERIAL("h_128x128x32_w64x64x32_s4_tn_splitkserial", 4, CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PARALLEL("h_128x128x32_w64x64x32_s4_tn_splitkparallel", 4, CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
STREAMK("h_128x128x32_w64x64x32_s4_tn_streamk", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
BATCHED("h_128x128x32_w64x64x32_s4_tn_batched", 4, CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("h_64x64x64_w32x32x32_s4_tn_slicedk", "multistage_slicedk", CONFIG(F16, F16, float, TN, SHAPE(64, 64, 64), SHAPE(32, 32, 32), SHAPE(16, 8, 16), 4, cutlass::arch::Sm80, bench::TensorOp, 4))
PLAIN("h_64x64x64_w64x32x32_s4_tn_slicedk", "multistage_slicedk", CONFIG(F16, F16, float, TN, SHAPE(64, 64, 64), SHAPE(64, 32, 32), SHAPE(16, 8, 16), 4, cutlass::arch::Sm80, bench::TensorOp, 4))
PLAIN("h_128x128x64_w64x64x32_s3_tn_slicedk", "multistage_slicedk", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 64), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 3))
SWIZZLED("h_128x128x32_w64x64x32_s4_tn_swz8", "multistage", 8, 3, CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
