"""Makes programs for tensor_pairs.csv: two warps of a CTA and of a sub-partition run one sequence each, the second one so
many cycles later, with clocks around both and behind the second one's first tensor instruction.

Tokens as in operand_reads.py, L: ldmatrix.x4 without conflicts, C: a clock, y: with a yield; 10(H5r V1): ten times. OUT
gets an entry for each program, as load_returns_run.cu reads them (it prints three clocks of warp 0, the second one, two of
warp 4), NAMES a row of first, second and late_cycles.

    nvcc -arch=sm_90a -cubin -o load_returns.cubin load_returns.cu && cuobjdump -sass load_returns.cubin > load_returns.sass
    python tensor_pairs.py load_returns.cubin load_returns.sass WORDS.sass OUT NAMES   # WORDS: any with the mnemonics below
"""

import re
import struct
import sys
from pathlib import Path

from load_returns import ALL, LONGEST_STALL, NONE, NOP, REUSE, Room, control, put

TOKEN = re.compile(r"([HNVWLC])(\d+)(r?)(y?)")
HEAD, TAIL = "C1", "H5 C1"
FIRST = (
    "10(H5r V1)", "10(H5r N1)", "10(H6r)", "10(H5r)", "10(H3r V1)", "10(H3r V3)",
    "4(H5r V1) H6r V1 5(H5r V1)", "4(H5r V1) H5r V2 5(H5r V1)", "4(H5r V1) H7r V1 V1 5(H5r V1)",
    "4(H5r V1) H5r V1 V1 V1 V1 5(H5r V1)", "4(H5r V1) H5r V1 V1 V1 V1 V1 V1 V1 5(H5r V1)",
    "4(H5r V1) H3r W2 V1 5(H5r V1)", "4(H5r V1) H3r W1 V2 V1 V1 V1 5(H5r V1)",
    "3(H5r V1) 4(H4r L1 V1) 3(H5r V1)", "3(H5r V1) H2r L1 L1 L1 V1 6(H5r V1)", "4(H5r V1) H5r V1y 5(H5r V1)",
)
SECOND = ("N11", "N10 N1", "N10 N1y")
"""What comes before its first tensor instruction; behind that a clock and 5(H5r V1)."""
BEFORE, LATE = 20, range(40)


def spelt(text: str) -> list[str]:
    return re.sub(r"(\d+)\(([^)]*)\)", lambda part: " ".join([part[2]] * int(part[1])), text).split()


class Pairs(Room):
    def __init__(self, cubin: str, sass: str, words: str) -> None:
        super().__init__(cubin, sass, words)
        known = self.lines + self._lines(words)
        self.wide = next(word for text, word in known if re.match(r"IMAD\.WIDE R\d+, R\d+, R\d+, R\d+", text))
        self.vector = next(word for text, word in known if re.match(r"VIADD R\d+, R\d+, 0x\w+$", text))

    def sequence(self, text: str) -> list[int]:
        out, count = [], dict.fromkeys("HNVWLC", 0)
        for token in spelt(text):
            kind, stall, reuse, yields = TOKEN.fullmatch(token).groups()
            i = count[kind]
            count[kind] += 1
            word, registers = {
                "H": (self.hmma, {16: 24 + 4 * (i % 6), 24: 56, 32: 60, 64: 24 + 4 * (i % 6)}), "N": (NOP, {}),
                "V": (self.vector, {16: 90 + i % 2, 24: 93}),
                "W": (self.wide, {16: 72 + 2 * (i % 4), 24: 81, 32: 84, 64: 72 + 2 * (i % 4)}),
                "L": (self.load, {16: 64 + 4 * (i % 2), 24: self.base}), "C": (self.clock, {16: 9 + 2 * i}),
            }[kind]
            for bit, register in registers.items():
                word = put(word, (bit, 8), register)
            if kind == "L":
                word = put(word, (40, 24), 512 * i)
            word = control(word, int(stall), write=1 if kind == "L" else NONE)
            out.append((put(word, REUSE, 1) if reuse else word) & ~((1 << 109) * bool(yields)))
        return out

    def body(self, text: str, late: int) -> list[int]:
        ends = [self.moved(64, LONGEST_STALL, ALL), self.moved(24, LONGEST_STALL, ALL)]
        return [*self.idle(24 + late), *self.sequence(text), *ends]


def main(cubin: str, sass: str, words: str, out: str, names: str) -> None:
    room, rows = Pairs(cubin, sass, words), []
    with Path(out).open("wb") as archive:
        for first in FIRST:
            for second in SECOND:
                for late in LATE:
                    data = room.written(room.body(f"{HEAD} {first} {TAIL}", BEFORE),
                                        room.body(f"{HEAD} {second} H5r C1 5(H5r V1) {TAIL}", late))
                    archive.write(struct.pack("II", 17, len(data)) + data)
                    rows.append(f"{first},{second},{late}")
    Path(names).write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
