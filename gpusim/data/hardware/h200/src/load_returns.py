"""Makes programs for load_returns.csv: HMMA and ldmatrix.x4 at chosen cycles behind a barrier, by one to four warps.

Each is a copy of load_returns.cubin whose placeholders are overwritten: five rounds of a barrier, a clock, the program, a
wait for the load that is asked for by its own scoreboard, and another clock. OUT gets an entry for each of them: a mask
of warps, a size (both u32), and the cubin; NAMES a row of program, warps, load and shift. load_returns_run.cu runs them.

    nvcc -arch=sm_90a -cubin -o load_returns.cubin load_returns.cu && cuobjdump -sass load_returns.cubin > load_returns.sass
    python load_returns.py load_returns.cubin load_returns.sass WORDS.sass OUT NAMES   # WORDS: any with the mnemonics below
"""

import re
import struct
import sys
from pathlib import Path

LINE = re.compile(r"/\*([0-9a-f]{4})\*/\s+([^;]+?)\s*;\s+/\* 0x([0-9a-f]{16}) \*/\s*\n\s+/\* 0x([0-9a-f]{16}) \*/")
NOP = 0x000FC000000000000000000000007918
STALL, YIELDS, WRITE, READ, WAIT, REUSE = (105, 4), (109, 1), (110, 3), (113, 3), (116, 6), (122, 4)
NONE, ALL, LONGEST_STALL = 7, 63, 11
FIRST, LAST, TURN, USE = 9, 11, 22, 23  # registers: both clocks, the count of rounds, what is moved to
ROUNDS, BEFORE = 5, 20  # cycles from the first clock to cycle 0 of a program

PROGRAMS = (
    "0L", "-1H 0L", "0L 7L", "-1H 0L 7L",
    "-1H 0L 6H 7L", "0L 6H 7L", "-1H 0L 6H 7L 13H 14L", "0L 7L 14L",
    "0L 7L 13H 14L", "0L 10L", "0L 12L", "-3H 0L",
    "-1H 0L 6H", "-1H 0L 6H 12H", "-1H 0L 6H 12H 18H", "-1H 0L 6H 12H 18H 24H",
)
"""HMMA and ldmatrix by cycle."""


def put(word: int, place: tuple[int, int], value: int) -> int:
    bit, width = place
    return word & ~(((1 << width) - 1) << bit) | value << bit


def control(word: int, stall: int, write: int = NONE, read: int = NONE, wait: int = 0) -> int:
    for place, value in ((STALL, stall), (YIELDS, 1), (WRITE, write), (READ, read), (WAIT, wait), (REUSE, 0)):
        word = put(word, place, value)
    return word


class Room:
    """Where the placeholders of the two programs stand, and words of instructions to fill them with."""

    def __init__(self, cubin: str, sass: str, words: str) -> None:
        self.cubin = Path(cubin).read_bytes()
        self.lines = self._lines(sass)
        loads = [i for i, (text, _) in enumerate(self.lines) if text.startswith("LDS ")]
        self.upper = [i for i in loads if "+0x4]" in self.lines[i][0]]
        self.lower = [i for i in loads if i not in self.upper]
        self.base = int(re.search(r"\[R(\d+)", self.lines[loads[0]][0])[1])
        known = self.lines + self._lines(words)

        def word(pattern: str) -> int:
            return next(value for text, value in known if re.match(pattern, text))

        self.hmma, self.load = word(r"HMMA\.16816\.F32 R"), word(r"LDSM\.16\.M88\.4 R\d+, \[R\d+\+")
        self.clock, self.move = word(r"CS2R\.32 R"), word(r"IMAD\.MOV\.U32 R\d+, RZ, RZ, R\d+")
        self.barrier, self.add = word(r"BAR\.SYNC"), word(r"VIADD R\d+, R\d+, 0x1$")
        self.test, self.branch = word(r"ISETP\.NE\.AND P0, PT, R\d+, 0x80, PT"), word(r"@!P0 BRA 0x[0-9a-f]+$")

    @staticmethod
    def _lines(path: str) -> list[tuple[str, int]]:
        return [(text, int(high + low, 16)) for _, text, low, high in LINE.findall(Path(path).read_text())]

    def at(self, register: int, **fields: int) -> int:
        return control(put(self.clock, (16, 8), register), **fields)

    def moved(self, register: int, stall: int, wait: int) -> int:
        return control(put(put(self.move, (16, 8), USE), (64, 8), register), stall, wait=wait)

    def jump(self, instructions: int, predicate: int) -> int:
        """A branch to so many instructions behind the next one."""
        steps = instructions * 16 // 4
        word = put(put(self.branch, (12, 4), predicate), (16, 8), steps & 255)
        return control(put(word, (34, 48), (steps >> 8) & ((1 << 48) - 1)), LONGEST_STALL)

    def idle(self, cycles: int) -> list[int]:
        return [control(NOP, min(LONGEST_STALL, cycles - done)) for done in range(0, cycles, LONGEST_STALL)]

    def program(self, text: str, wanted: int, shift: int) -> list[int]:
        steps = [(int(step[:-1]), step[-1]) for step in text.split()]
        timed: list[tuple[int, int]] = [(-BEFORE, self.at(FIRST, stall=1))]
        tensor = loads = 0
        for cycle, kind in steps:
            if kind == "H":
                word, sums = self.hmma, 24 + 4 * (tensor % 6)
                for bit, register in ((16, sums), (24, 56), (32, 60), (64, sums)):
                    word = put(word, (bit, 8), register)
                timed.append((cycle, control(word, 1)))
                tensor += 1
            else:
                word = put(put(self.load, (16, 8), 64 + 4 * (loads % 3)), (24, 8), self.base)
                word = put(word, (40, 24), 512 * loads)
                timed.append((cycle, control(word, 1, write=0 if loads == wanted else 1)))
                loads += 1
        return self.placed(timed, wanted, shift)

    def placed(self, timed: list[tuple[int, int]], wanted: int, shift: int) -> list[int]:
        """Instructions at their cycles, a wait for the load that is asked for, and a clock."""
        timed.sort()
        out = self.idle(24 + shift)
        for (cycle, word), (after, _) in zip(timed, [*timed[1:], (timed[-1][0] + 2, 0)], strict=True):
            gap = after - cycle
            out += [put(word, STALL, min(LONGEST_STALL, gap)), *self.idle(gap - min(LONGEST_STALL, gap))]
        out += [self.moved(64 + 4 * (wanted % 3), 1, 1), self.at(LAST, stall=LONGEST_STALL)]
        return [*out, self.moved(24, LONGEST_STALL, 3)]

    def rounds(self, body: list[int]) -> list[int]:
        count = put(put(self.add, (16, 8), TURN), (24, 8), TURN)
        test = put(put(put(self.test, (24, 8), TURN), (32, 32), ROUNDS), (81, 3), 2)
        out = [control(self.barrier, 6, read=0), self.moved(8, LONGEST_STALL, 1), *body,
               control(count, 6), control(test, LONGEST_STALL), control(NOP, 4)]
        return [*out, self.jump(-(len(out) + 1), 2)]

    def written(self, upper_body: list[int], lower_body: list[int]) -> bytes:
        """Both kinds of warps' rounds stand behind each other, as far ones would fetch code late."""
        room, wide = self.upper[-1] + 1 - self.upper[0], self.lower[-1] + 1 - self.lower[0]
        upper = [control(NOP, LONGEST_STALL, wait=ALL), *self.rounds(upper_body)]
        upper.append(self.jump(room - 1 - (len(upper) + 1), NONE))
        while len(upper) % 8:
            upper.append(control(NOP, 1))
        begins = len(upper)
        upper += self.rounds(lower_body)
        upper.append(self.jump(self.lower[-1] - (self.upper[0] + len(upper) + 1), NONE))
        upper += [control(NOP, 1)] * (room - 1 - len(upper)) + [control(NOP, LONGEST_STALL, wait=ALL)]
        lower = [control(NOP, LONGEST_STALL, wait=ALL)]
        lower.append(self.jump(self.upper[0] + begins - (self.lower[0] + 2), NONE))
        lower += [control(NOP, 1)] * (wide - 1 - len(lower)) + [control(NOP, LONGEST_STALL, wait=ALL)]
        data = self.cubin
        for place, words in ((self.upper, upper), (self.lower, lower)):
            before = b"".join(word.to_bytes(16, "little") for _, word in self.lines[place[0]:place[-1] + 1])
            assert data.count(before) == 1 and len(words) == place[-1] + 1 - place[0]
            data = data.replace(before, b"".join(word.to_bytes(16, "little") for word in words))
        return data


def main(cubin: str, sass: str, words: str, out: str, names: str) -> None:
    room, rows, waits = Room(cubin, sass, words), [], [control(NOP, 1)]  # what the upper warps do
    with Path(out).open("wb") as archive:
        for text in PROGRAMS:
            for mask in (1, 3, 7, 15):
                for wanted in range(text.count("L")):
                    for shift in range(3):
                        data = room.written(waits, room.program(text, wanted, shift))
                        archive.write(struct.pack("II", mask, len(data)) + data)
                        rows.append(f"{text},{mask.bit_count()},{wanted},{shift}")
    Path(names).write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
