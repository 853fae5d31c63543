"""Makes cubins out of operand_reads_template.cubin for reuse_cache.csv: what the reuse cache of a register slot keeps.

As register_banks.py, but with named factors: per FFMA its first and second factor and its sum, ``e`` and ``o`` the next
register of a bank in turn, ``e0``, ``o1`` ... always the same one; behind it the factors that it keeps.
``reuse.txt`` says which cubin is which; operand_reads_run.cu runs them with 1, 4, 8 and 16 warps.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python reuse_cache.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz
"""

import sys

from register_banks import SUMS, ffma, write_units

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
FACTORS, NAMED = (40, 60), (48, 68)


def register(name: str, slot: int, place: int) -> int:
    if slot == 2:
        return SUMS + 2 * (place % 8) + (name == "o")
    return (NAMED[slot] + 2 * int(name[1]) if name[1:] else FACTORS[slot] + 2 * (place % 4)) + (name[0] == "o")


def unit_code(word: tuple[int, int], unit: list[str], number: int, *, yields: bool) -> list[bytes]:
    code = []
    for place, text in enumerate(unit, number * len(unit)):
        names, _, keeps = text.partition("-")
        a, b, total = (register(name, slot, place) for slot, name in enumerate(names.split(".")))
        code.append(ffma(word, (a, b, total), keeps, yields=yields))
    return code


def main(template: str, out: str, *files: str) -> None:
    write_units(template, out, list(files), UNITS, unit_code, "reuse.txt")


if __name__ == "__main__":
    main(*sys.argv[1:])
