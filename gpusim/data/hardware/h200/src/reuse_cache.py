"""Makes cubins out of operand_reads_template.cubin for reuse_cache.csv: what the reuse cache of a register slot keeps.

As register_banks.py, but with named factors: per FFMA its first and second factor and its sum, ``e`` and ``o`` the next
register of a bank in turn, ``e0``, ``o1`` ... always the same one; behind it the factors that it keeps.
``reuse.txt`` says which cubin is which; operand_reads_run.cu runs them with 1, 4, 8 and 16 warps.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python reuse_cache.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz
"""

import re
import sys
from pathlib import Path

from deferred import all_words
from operand_reads import FIRST, LAST, NOP, encode, field, write_cubins
from register_banks import FFMA, YIELD_BIT

UNITS = (
    "e0.o.e-a o0.o.e-a",  # two registers of both banks, in turn
    "e0.o.e-a e1.o.e-a",  # of one bank
    "e0.o.e-a o0.o.e-a e1.o.e-a o1.o.e-a",
    "e0.o.e-a o0.o.e e0.o.e o0.o.e-a",
    "e0.o.e-a o.o.e e0.o.e o.o.e",  # does a register that is not kept put another out of its slot?
    "e0.o.e-a e.o.e e0.o.e e.o.e",
    "e0.o.e-a o.o.e o.o.e e0.o.e",
    "e0.o.e-a o.o.e-a e0.o.e o.o.e-a",
    "e0.o.e-a o.o.e-a o.o.e-a e0.o.e",
    "e0.o.e-a e.o.e-a e0.o.e e.o.e-a",
    "o.e0.e-b o.o0.e-b",
    "o.e0.e-b o.e1.e-b",
    "e0.e0.o-ab o0.e0.o-ab o0.o0.o-b e0.o0.o-b",  # blocks of two by two, as ptxas orders them
    "e0.e0.o-ab o0.e0.e-ab o0.o0.e-b e0.o0.o-b",
    "e0.e0.e-ab o0.e0.e-ab o0.o0.e-b e0.o0.e-b",
    "e0.e0.o-ab o0.e0.o-ab o0.o0.o-b e0.o0.o-b e1.e0.o-ab o1.e0.o-ab o1.o0.o-b e1.o0.o-b",
    "e0.e0.o-ab o0.e0.e-ab o0.o0.e-b e0.o0.o-b e1.e0.o-ab o1.e0.e-ab o1.o0.e-b e1.o0.o-b",
    "e0.e0.e-ab e0.o0.e-ab e0.e0.e-ab e0.o0.e-ab",
    "e0.e0.e-ab e1.e0.e-ab",
)
COUNT = 120
SUMS, FACTORS, NAMED = 8, (40, 60), (48, 68)


def register(name: str, slot: int, place: int) -> int:
    if slot == 2:
        return SUMS + 2 * (place % 8) + (name == "o")
    return (NAMED[slot] + 2 * int(name[1]) if name[1:] else FACTORS[slot] + 2 * (place % 4)) + (name[0] == "o")


def unit_code(word: tuple[int, int], unit: list[str], number: int, *, yields: bool) -> list[bytes]:
    code = []
    for place, text in enumerate(unit, number * len(unit)):
        names, _, keeps = text.partition("-")
        a, b, total = (register(name, slot, place) for slot, name in enumerate(names.split(".")))
        reuse = ("a" in keeps) | ("b" in keeps) << 1
        value = int.from_bytes(encode(word, 1, {16: total, 24: a, 32: b, 64: total}, reuse), "little")
        code.append(field(value, YIELD_BIT, 1, 0 if yields else 1).to_bytes(16, "little"))
    return code


def main(template: str, out: str, *files: str) -> None:
    words, codes, names = all_words(list(files)), [], []
    value = words[min((text for text in words if re.fullmatch(FFMA, text)), key=len)]
    word = (value & (1 << 64) - 1, value >> 64)
    for unit in UNITS:
        for yields in (False, True):
            parts = unit.split()
            code = [one for n in range(COUNT // len(parts)) for one in unit_code(word, parts, n, yields=yields)]
            codes.append([encode(NOP, 1, {}, 0)] * (len(range(FIRST, LAST, 16)) - len(code)) + code)
            names.append(f"{unit},{int(yields)}")
    write_cubins(template, out, codes)
    (Path(out) / "reuse.txt").write_text("\n".join(names) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
