// Sixteen more tiles of MmaPipelined with FFMAs, for simt_loops.csv; compile with -DP1 to -DP4.
#include "bench.h"
#define S(n,L,A,B,C,D,E,F) PLAIN(n, "simt_pipelined", CONFIG(float, float, float, L, SHAPE(A,B,C), SHAPE(D,E,F), SHAPE(1,1,1), 2, cutlass::arch::Sm80, bench::Simt))
#ifdef P1
S("simt_128x128x8_w64x64x8_s2_nt",NT,128,128,8,64,64,8)
S("simt_128x128x8_w64x32x8_s2_nt",NT,128,128,8,64,32,8)
S("simt_64x128x8_w32x64x8_s2_nt",NT,64,128,8,32,64,8)
S("simt_128x64x8_w64x32x8_s2_nt",NT,128,64,8,64,32,8)
#endif
#ifdef P2
S("simt_128x64x8_w32x32x8_s2_nt",NT,128,64,8,32,32,8)
S("simt_64x64x8_w64x32x8_s2_nt",NT,64,64,8,64,32,8)
S("simt_64x64x8_w32x64x8_s2_nt",NT,64,64,8,32,64,8)
S("simt_256x128x8_w64x64x8_s2_nt",NT,256,128,8,64,64,8)
#endif
#ifdef P3
S("simt_128x256x8_w64x64x8_s2_nt",NT,128,256,8,64,64,8)
S("simt_128x32x8_w64x32x8_s2_nt",NT,128,32,8,64,32,8)
S("simt_64x32x8_w32x32x8_s2_nt",NT,64,32,8,32,32,8)
S("simt_32x64x8_w32x32x8_s2_tn",TN,32,64,8,32,32,8)
#endif
#ifdef P4
S("simt_128x128x16_w32x64x16_s2_nt",NT,128,128,16,32,64,16)
S("simt_64x64x16_w32x32x16_s2_nt",NT,64,64,16,32,32,16)
S("simt_64x256x8_w32x64x8_s2_nt",NT,64,256,8,32,64,8)
S("simt_256x64x8_w64x32x8_s2_nt",NT,256,64,8,64,32,8)
#endif
