#include "bench.h"
PLAIN("h_128x128x32_w64x64x32_s3_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 3))
PLAIN("h_128x128x32_w64x64x32_s4_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("h_128x128x32_w64x64x32_s5_tn", "multistage", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 5))
PLAIN("h_128x128x32_w64x64x32_s4_nt", "multistage", CONFIG(F16, F16, float, NT, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("h_128x128x32_w64x64x32_s4_nn", "multistage", CONFIG(F16, F16, float, NN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
PLAIN("h_128x128x32_w64x64x32_s4_tt", "multistage", CONFIG(F16, F16, float, TT, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))
