"""Makes cubins out of copy_places.cubin for copy_places.csv: nothing waits for anything but for the last LDS, by its own
scoreboard, until the last clock has been read; instructions of the load/store unit follow each other after two cycles.

In ``kept.cubin`` what ptxas predicates off in front of a copy stays, in ``without.cubin`` it is a NOP.

    nvcc -arch=sm_90a -cubin -o copy_places.cubin copy_places.cu && cuobjdump -sass copy_places.cubin > copy_places.sass
    python copy_places.py copy_places.cubin copy_places.sass OUT
"""

import re
import sys
from pathlib import Path

LINE = re.compile(r"/\*([0-9a-f]{4})\*/\s+([^;]+?)\s*;\s+/\* 0x([0-9a-f]{16}) \*/\s*\n\s+/\* 0x([0-9a-f]{16}) \*/")
NOP, MASK = 0x7918, (1 << 128) - 1
STALL, WRITE, READ, WAIT = (105, 4), (110, 3), (113, 3), (116, 6)
NONE, BOARD, OTHERS, APART_CYCLES = 7, 0, 5, 2


def field(word: int, place: tuple[int, int], value: int) -> int:
    bit, width = place
    return word & MASK & ~(((1 << width) - 1) << bit) | value << bit


def patched(function: str, *, keep: bool) -> list[tuple[bytes, bytes]]:
    """Words before and after, from the first clock of a turn to the instruction behind the last one."""
    lines = [(text, int(high + low, 16)) for _, text, low, high in LINE.findall(function)]
    clocks = [i for i, (text, _) in enumerate(lines) if "SR_CLOCKLO" in text]
    words, memory = [], [i for i in range(clocks[0], clocks[1]) if re.search(r"LDSM|LDS |LDGSTS", lines[i][0])]
    for i in range(clocks[0], clocks[2] + 2):
        text, word = lines[i]
        new = field(word, WAIT, 0 if i <= clocks[2] else 1 << OTHERS)
        if i in memory:
            loads = re.match(r"LDSM|LDS ", text)
            new = field(field(field(new, WRITE, OTHERS if loads else NONE), READ, NONE), STALL, APART_CYCLES)
            if text.startswith("@!PT") and not keep:
                new = field(field(field(NOP, STALL, APART_CYCLES), WRITE, NONE), READ, NONE)
        if i == memory[-1]:
            new = field(new, READ, BOARD)
        if i == clocks[2] - 1:
            new = field(new, WAIT, 1 << BOARD)
        words.append((word.to_bytes(16, "little"), new.to_bytes(16, "little")))
    return words


def main(cubin: str, sass: str, out: str) -> None:
    functions = Path(sass).read_text().split("Function : ")[1:]
    for name, keep in (("kept", True), ("without", False)):
        data = Path(cubin).read_bytes()
        for function in functions:
            words = patched(function, keep=keep)
            before = b"".join(old for old, _ in words)
            assert data.count(before) == 1, function.split()[0]
            data = data.replace(before, b"".join(new for _, new in words))
        (Path(out) / f"{name}.cubin").write_bytes(data)


main(*sys.argv[1:])
