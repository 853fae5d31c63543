"""Models what Hopper adds to a kernel: TMA, mbarrier pipelines, wgmma, clusters, and the code that ptxas makes of them.
Leaves out distributed shared memory other than multicast loads and arrivals at mbarriers.

Instructions per warp, read from CUTLASS 4.2's sm90 kernels as nvcc 13 compiles them (KernelTmaWarpSpecialized
128x128x64 with 6 stages, ...Cooperative 256x128x64 with 4):

| what | instructions |
| --- | --- |
| consumer: wait for a stage | 4: address, parity, TRYWAIT, branch; 5 to step stage and phase |
| ... wgmma of a stage | 2 addresses; first 4 (descriptor), then 2 for a new A, 4 for a new A and B; HGMMA |
| ... release | 7: counter of its own, address in the cluster, arrive |
| producer: acquire a stage | 4 as above, 4 to expect its bytes, 5 to step |
| ... a box of TMA | 6: descriptor address 2, shared address, cache hint 2, UTMALDG; each further one 7 |
| ... coordinate along k | 1 |
| loop | 3: counter, test, branch |
| tail | 8 per stage |
| consumer that passes over another's stages | 11 with 8 stages, 12 with 6 (...Pingpong) |
| turns of consumers | wait 3: parity, TRYWAIT, branch; arrive 1 |

The loops come out as compiled: 55 instructions of the consumer, 30 of the producer. What a wait that fails executes
besides (NANOSLEEP.SYNCS and another try) is not recorded. Clusters change names, not numbers: UTMALDG.2D.MULTICAST, and
UCGABAR_ARV and UCGABAR_WAIT for the first BAR; compiled (...Pingpong in clusters of two), a consumer's turn has one
instruction more and a producer's two to four. A in registers was not seen compiled: an HGMMA has the descriptor of B
alone then.
"""
