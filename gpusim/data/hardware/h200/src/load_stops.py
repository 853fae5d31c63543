"""Makes programs for load_stops.csv: a load from shared memory and what stops its result, an instruction at each cycle.

As load_returns.py, by kind of load (L, M, N: ldmatrix.x4, .x2, .x1; S, D, Q: LDS of 4, 8, 16 bytes a lane, every 16
bytes) and of instruction (H: HMMA.16816.F32, F: .F16, K: HMMA.1688.F32, T: HMMA.1688.F32.TF32, U: HMMA.1684.F32.TF32,
I: IMMA.16832, J: IMMA.16816, E and O: FFMA to an even and an odd register, V: a MOV to an odd one); warps 4 to 7 may run
a program of their own. load_stops.csv has, by mask of warps, the cycles behind cycle 0 in which each warp that loads has
what it asks for (in the order of warps). Words of instructions from load_stops_words.cu, HMMA from fragment_marks.cu.

    nvcc -arch=sm_90a -cubin -o load_returns.cubin load_returns.cu && cuobjdump -sass load_returns.cubin > load_returns.sass
    python load_stops.py load_returns.cubin load_returns.sass WORDS.sass OUT NAMES
    ./load_returns_run OUT 2 > clocks.csv
"""

import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from load_returns import BEFORE, FIRST, Room, control, put

TENSOR = {"H": r"HMMA\.16816\.F32 R", "F": r"HMMA\.16816\.F16 R", "K": r"HMMA\.1688\.F32 R",
          "T": r"HMMA\.1688\.F32\.TF32 R", "U": r"HMMA\.1684\.F32\.TF32 R", "I": r"IMMA\.16832\.S8\.S8 R",
          "J": r"IMMA\.16816\.S8\.S8 R"}
LOADS = {"L": r"LDSM\.16\.M88\.4 R\d+, \[R\d+\+", "M": r"LDSM\.16\.M88\.2 R\d+, \[R\d+\+",
         "N": r"LDSM\.16\.M88 R\d+, \[R\d+\+", "S": r"LDS R\d+, \[R\d+\+0x10", "D": r"LDS\.64 R\d+, \[R\d+\+",
         "Q": r"LDS\.128 R\d+, \[R\d+\+"}
FACTOR, SUM = 80, 82
MASKS = (1, 3, 7, 15)
MIXES = ("0M", "0M 4M", "0M 4M 8M", "0N", "0N 2N", "0Q", "0Q 7Q", "0Q 7Q 14Q", "0L 7Q", "0Q 7L", "0L 7M", "0M 4L", "0S",
         "0S 7S", "0D", "0D 7D", "0L 7N", "0N 2L", "0L 1L", "0L 1L 2L 3L", "0Q 1Q", "0M 1M 2M 3M")


class Stops(Room):
    def __init__(self, cubin: str, sass: str, words: str) -> None:
        super().__init__(cubin, sass, words)
        known = self.lines + self._lines(words)
        self.words = {kind: next(word for text, word in known if re.match(pattern, text))
                      for kind, pattern in {**TENSOR, **LOADS, "E": r"FFMA R\d+, R\d+, R\d+, 1\.5"}.items()}

    def program(self, text: str, wanted: int, shift: int = 0) -> list[int]:
        timed: list[tuple[int, int]] = [(-BEFORE, self.at(FIRST, stall=1))]
        tensor = loads = 0
        for step in text.split():
            cycle, kind = int(step[:-1]), step[-1]
            if kind in TENSOR:
                word, sums = self.words[kind], 24 + 4 * (tensor % 6)
                for bit, register in ((16, sums), (24, 56), (32, 60), (64, sums)):
                    word = put(word, (bit, 8), register)
                timed.append((cycle, control(word, 1)))
                tensor += 1
            elif kind in LOADS:
                word = put(put(self.words[kind], (16, 8), 64 + 4 * (loads % 3)), (24, 8), self.base)
                timed.append((cycle, control(put(word, (40, 24), 512 * loads), 1, write=0 if loads == wanted else 1)))
                loads += 1
            elif kind == "V":
                timed.append((cycle, self.moved(FACTOR, 1, 0)))
            else:
                word = put(put(put(self.words["E"], (16, 8), SUM + (kind == "O")), (24, 8), FACTOR), (32, 8), FACTOR)
                timed.append((cycle, control(word, 1)))
        return self.placed(timed, wanted, shift)


def jobs() -> Iterator[tuple[int, str, str, int]]:
    """Mask of warps, what warps 0 to 3 run, what warps 4 to 7 run, the load that is asked for."""
    for at in range(1, 41):
        yield from ((mask, f"0L {at}H", "", 0) for mask in MASKS)
        yield from ((mask, f"-1H 0L {at}H", "", 0) for mask in MASKS if at >= 5)
        yield from ((mask, f"0{load} {at}H", "", 0) for load in "MNSDQ" for mask in (1, 3))
        yield from ((mask, f"0L {at}{kind}", "", 0) for kind in "FKTUIJEO" for mask in (1, 3) if at < 33)
        yield from ((mask, f"0L {at}V", "", 0) for mask in (1, 3, 15))
        yield 0x21, f"0L {at}H", "0L", 0
        yield 0x21, "0L", f"0L {at}H", 0
        yield 0x11, "0L", f"{at - 5}H", 0
        yield 0x21, "0L", f"{at - 5}H", 0
    for first in range(1, 9):
        for count in range(1, 6):
            row, later = (" ".join(f"{first + shift + 7 * i}H" for i in range(count)) for shift in (0, 5))
            yield from ((mask, f"0L {row}", "", 0) for mask in MASKS)
            yield from ((mask, f"-1H 0L {later}", "", 0) for mask in MASKS)
    for text in MIXES:
        yield from ((mask, text, "", wanted) for mask in (*MASKS, 0x11, 0xff) for wanted in range(len(text.split())))


def main(cubin: str, sass: str, words: str, out: str, names: str) -> None:
    room, rows = Stops(cubin, sass, words), []
    with Path(out).open("wb") as archive:
        for mask, text, other, wanted in jobs():
            data = room.written(room.program(other or text, wanted), room.program(text, wanted))
            archive.write(struct.pack("II", mask, len(data)) + data)
            rows.append(f"{text},{other},{mask:x},{wanted}")
    Path(names).write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
