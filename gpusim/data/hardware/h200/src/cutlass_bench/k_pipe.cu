#include "bench.h"
PLAIN("h_128x128x32_w64x64x32_s2_tn", "pipelined", CONFIG(F16, F16, float, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
PLAIN("h_128x128x32_w64x64x32_s2_nt", "pipelined", CONFIG(F16, F16, float, NT, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
PLAIN("h_128x128x32_w64x64x32_s2_nn", "pipelined", CONFIG(F16, F16, float, NN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
PLAIN("h_128x128x32_w64x64x32_s2_tt", "pipelined", CONFIG(F16, F16, float, TT, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
PLAIN("h_64x64x32_w32x32x32_s2_tn", "pipelined", CONFIG(F16, F16, float, TN, SHAPE(64, 64, 32), SHAPE(32, 32, 32), SHAPE(16, 8, 16), 2))
PLAIN("h_128x64x32_w64x32x32_s2_tn", "pipelined", CONFIG(F16, F16, float, TN, SHAPE(128, 64, 32), SHAPE(64, 32, 32), SHAPE(16, 8, 16), 2))
PLAIN("h_256x128x32_w64x64x32_s2_tn", "pipelined", CONFIG(F16, F16, float, TN, SHAPE(256, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
PLAIN("hh_128x128x32_w64x64x32_s2_tn", "pipelined", CONFIG(F16, F16, F16, TN, SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 2))
