"""Makes cubins out of operand_reads_template.cubin in which the loop holds a given sequence of instructions.

Words come from a disassembly of gemm.cu; registers and control fields are set here. A sequence of operand_reads.csv is
tokens: H HMMA.16816.F32, W IMAD.WIDE, I IMAD, X LOP3, V VIADD, N NOP; then the stall count; a: another A operand, r: A
is kept in the reuse cache. Four NOPs of 11 cycles follow. operand_reads_run.cu prints cycles per iteration; cycles of a
sequence are what it takes more than the four NOPs.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python operand_reads.py gemm.sass.gz operand_reads_template.cubin OUT "W1 H5 N1" "H5 W1 N1" ...
"""

import gzip
import re
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

TEXT = re.compile(r"/\*[0-9a-f]{4,5}\*/\s+([^;]+);\s+/\* 0x([0-9a-f]{16}) \*/\s*\n\s+/\* 0x([0-9a-f]{16}) \*/")
R = r"R\d+(?:\.reuse)?"
PATTERNS = {
    "H": rf"HMMA\.16816\.F32 R\d+, {R}, {R}, R\d+", "W": rf"(?:@!P4 )?IMAD\.WIDE R\d+, {R}, {R}, R\d+",
    "I": rf"IMAD R\d+, {R}, {R}, R\d+", "X": rf"LOP3\.LUT R\d+, {R}, 0x7, {R}, 0x78, !PT",
    "V": rf"VIADD R\d+, {R}, 0x\w+",
}
NOP = (0x0000000000007918, 0x000FC00000000000)
SECTION, FIRST, LAST = 0x600, 0x750, 0xF30  # of the template: offset of the code, placeholders in it


def words_of(disassembly: str) -> dict[str, tuple[int, int]]:
    found = {re.sub(r"\s+", " ", text.strip()): (int(low, 16), int(high, 16))
             for text, low, high in TEXT.findall(disassembly)}
    return {letter: next(word for text, word in found.items() if re.fullmatch(pattern, text))
            for letter, pattern in PATTERNS.items()} | {"N": NOP}


def field(word: int, bit: int, width: int, value: int) -> int:
    return word & ~(((1 << width) - 1) << bit) | value << bit


def control(word: int, stall: int, *, write: int = 7, reuse: int = 0) -> int:
    """The word with this stall count and no yield; ``write``: the scoreboard that its result releases."""
    return field(word, 105, 21, stall | 1 << 4 | write << 5 | 7 << 8 | reuse << 17)


def encode(word: tuple[int, int], stall: int, registers: dict[int, int], reuse: int) -> bytes:
    """``registers``: by bit of the 128-bit word."""
    value = field(word[0] | word[1] << 64, 12, 4, 7)  # guard PT
    for bit, register in registers.items():
        value = field(value, bit, 8, register)
    value = control(value, stall, reuse=reuse)
    return struct.pack("<QQ", value & (1 << 64) - 1, value >> 64)


def sequence(text: str, words: dict[str, tuple[int, int]]) -> list[bytes]:
    count, code = {"H": 0, "W": 0, "I": 0, "N": 0}, []
    for token in text.split():
        letter, stall, flags = token[0], int(re.sub(r"\D", "", token)), token.lstrip("HWIXVN0123456789")
        kind = "I" if letter in "IXV" else letter
        i = count[kind]
        count[kind] += 1
        registers = {
            "H": {16: 8 + 4 * (i % 8), 24: 40 + 4 * (i % 4 if "a" in flags else 0), 32: 56 + 2 * (i % 8),
                  64: 8 + 4 * (i % 8)},
            "W": {16: 72 + 2 * (i % 4), 24: 81 + 2 * (i % 2), 32: 84, 64: 72 + 2 * (i % 4)},
            "I": {16: 86 + i % 2, 24: 91, 32: 84, 64: 93}, "X": {16: 94 + i % 2, 24: 97, 64: 98},
            "V": {16: 94 + i % 2, 24: 97}, "N": {},
        }[letter]
        code.append(encode(words[letter], stall, registers, "r" in flags))
    return code


def write_cubins(template: str, out: str, codes: Iterable[list[bytes]]) -> None:
    """For each code, the template with as many copies of it as fit, and NOPs, in its loop."""
    blob, places = Path(template).read_bytes(), range(FIRST, LAST, 16)
    for number, one in enumerate(codes):
        code = one * (len(places) // len(one))
        code += [encode(NOP, 1, {}, 0)] * (len(places) - len(code))
        cubin = bytearray(blob)
        for place, word in zip((0x710, 0x730, *places), (encode(NOP, 1, {}, 0),) * 2 + tuple(code), strict=True):
            cubin[SECTION + place : SECTION + place + 16] = word
        (Path(out) / f"{number:03d}.cubin").write_bytes(cubin)


def main(disassembly: str, template: str, out: str, *texts: str) -> None:
    words = words_of(gzip.open(disassembly, "rt").read())
    write_cubins(template, out, (sequence(text, words) + [encode(NOP, 11, {}, 0)] * 4 for text in texts))


if __name__ == "__main__":
    main(*sys.argv[1:])
