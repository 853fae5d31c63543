"""Patterns for tag_banks.csv: two lanes that read one word each of two lines. tag_banks.py OUT.bin LINES.csv

Written to ldgsts_patterns.cu's format; that program has to take its source from a buffer aligned to 4 GiB (cudaMalloc of
12 GiB, rounded up), so that no bit of a line's number carries into another one:
ncu --clock-control none --metrics l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum ldgsts_patterns count OUT.bin
"""
import random
import struct
import sys

rng = random.Random(5)
pairs = [(0, (1 << bit) + low) for bit in range(3, 25) for low in range(4)]
pairs += [tuple(rng.randrange(1 << 25) for _ in range(2)) for _ in range(200)]
with open(sys.argv[1], "wb") as binary, open(sys.argv[2], "w") as table:
    table.write("first_line,second_line\n")
    for first, second in pairs:
        shared, source = [0, 4] + [0] * 30, [first * 128, second * 128] + [0] * 30
        binary.write(struct.pack("<iI64I", 19, 3, *shared, *source))
        table.write(f"{first},{second}\n")
