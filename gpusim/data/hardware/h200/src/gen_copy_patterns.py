"""Patterns for ldgsts_patterns: lanes that meet in few lines, banks and rows. gen_copy_patterns.py few|any OUT.bin OUT.csv"""
import csv
import random
import struct
import sys

OPS = {"CPA4": 19, "CPA8": 20, "CPA16": 21}
WIDTH = {"CPA4": 4, "CPA8": 8, "CPA16": 16}


def pattern(op, lanes, line_bytes):
    """lanes: lane -> (line, place in it, row, place in it), in units of the lane's width."""
    shared, source, mask, width = [0] * 32, [0] * 32, 0, WIDTH[op]
    for lane, (line, port, row, bank) in lanes.items():
        mask |= 1 << lane
        shared[lane], source[lane] = row * 128 + bank * width, line * line_bytes + port * width
    return op, mask, shared, source


def few(rng):
    for n in range(1500):
        op = "CPA4" if n % 5 < 4 else "CPA8"
        banks, count = 128 // WIDTH[op], rng.choice([2, 2, 3, 3, 4, 5, 6, 8])
        reach = [rng.choice(choices) for choices in ([1, 2, 2, 3, 4], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4])]
        lines, rows, ports, places = reach
        taken = sorted(rng.sample(range(banks), count)) if rng.random() < .5 else list(range(count))
        yield pattern(op, {lane: (rng.randrange(lines), rng.randrange(ports), rng.randrange(rows),
                                  rng.randrange(places)) for lane in taken}, 8192)


def any_lanes(rng):
    for _ in range(900):
        count = rng.choice([2, 2, 3, 3, 4, 4, 5, 6, 8, 12, 16, 24, 32])
        lines, rows = rng.choice([1, 1, 2, 3, 4]), rng.choice([1, 1, 2, 3, 4])
        ports, places = rng.choice([2, 4, 8, 8]), rng.choice([2, 4, 8, 8])
        taken = sorted(rng.sample(range(32), count))
        yield pattern("CPA16", {lane: (rng.randrange(lines) * 64, rng.randrange(ports), rng.randrange(rows),
                                       rng.randrange(places)) for lane in taken}, 128)
    for n in range(900):
        op = "CPA4" if n % 3 < 2 else "CPA8"
        banks, count = 128 // WIDTH[op], rng.choice([2, 3, 4, 5, 6, 8, 12, 16, 24, 32])
        lines, gap = rng.choice([1, 1, 2, 3, 4, 8]), rng.choice([1, 1, 64, rng.randrange(1, 200)])
        rows = rng.choice([1, 2, 3, 8])
        ports, places = rng.choice([1, 2, 3, 4, 8, banks]), rng.choice([1, 2, 3, 4, 8, banks])
        taken = sorted(rng.sample(range(32), count))
        yield pattern(op, {lane: (rng.randrange(lines) * gap, rng.randrange(ports), rng.randrange(rows),
                                  rng.randrange(places)) for lane in taken}, 128)


kind, binary, table = sys.argv[1:4]
patterns = list(few(random.Random(11)) if kind == "few" else any_lanes(random.Random(12)))
with open(binary, "wb") as out:
    for op, mask, shared, source in patterns:
        out.write(struct.pack("<iI64I", OPS[op], mask, *shared, *source))
with open(table, "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["idx", "op", "kind", "mask"] + [f"a{i}" for i in range(32)] + [f"g{i}" for i in range(32)])
    for number, (op, mask, shared, source) in enumerate(patterns):
        writer.writerow([number, op, "small", f"{mask:#010x}"] + shared + source)
