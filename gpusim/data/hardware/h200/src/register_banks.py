"""Makes cubins out of operand_reads_template.cubin for register_banks.csv: what FFMA costs whose sources share a bank.

The loop holds 120 FFMA, one a cycle, in units of ``unit``: per FFMA the banks (e, o) of its factors a and b and of its
sum, and behind it the factors that it keeps in the reuse cache. Factors take turns of four registers per bank and sums
of eight, but for a kept factor, which the next FFMA reads again; a unit of one FFMA has the same one all along. ``yields``: whether every FFMA lets other warps go first.
``banks.txt`` says which cubin is which; operand_reads_run.cu runs them with 1, 4, 8 and 16 warps.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python register_banks.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from deferred import all_words
from operand_reads import FIRST, LAST, NOP, encode, field, write_cubins

UNITS = ("eoe", "eee", "eee-a", "eee-b", "eee-ab", "eoe-a eee", "eee-a eoe", "eoe eoe eoe eee",
         "eoe-a eee-b ooe-a oeo", "eee-a eoo-b oee ooe", "eoo-a eee", "eoe oeo", "eoe eoe oeo oeo",
         "eoe eoe eoe oeo oeo oeo", "eee ooo", "eee eee ooo ooo", "eee eee eee ooo ooo ooo", "eoe-a", "oeo-a eoo")
COUNT, YIELD_BIT = 120, 109
FFMA = r"FFMA R\d+, R\d+(?:\.reuse)?, R\d+(?:\.reuse)?, R\d+(?:\.reuse)?"
SUMS, FACTORS_A, FACTORS_B = 8, 40, 60


def unit_code(word: tuple[int, int], unit: list[str], number: int, *, yields: bool) -> list[bytes]:
    first = {"a": FACTORS_A, "b": FACTORS_B}
    code, kept = [], {name: first[name] for name in unit[0].partition("-")[2]} if len(unit) == 1 else {}
    for place, text in enumerate(unit, number * len(unit)):
        banks, _, keeps = text.partition("-")
        a, b = (kept.get(name, first[name] + 2 * (place % 4)) & ~1 | (bank == "o")
                for name, bank in zip("ab", banks, strict=False))
        total = SUMS + 2 * (place % 8) + (banks[2] == "o")
        kept = {name: register for name, register in (("a", a), ("b", b)) if name in keeps}
        code.append(ffma(word, (a, b, total), keeps, yields=yields))
    return code


def write_units(
    template: str, out: str, files: list[str], units: Sequence[str], code_of: Callable[..., list[bytes]], listing: str
) -> None:
    """A cubin per unit, without and with yields; ``code_of(word, unit, number, yields=...)``: the unit that number."""
    words, codes, names = all_words(files), [], []
    value = words[min((text for text in words if re.fullmatch(FFMA, text)), key=len)]
    word = (value & (1 << 64) - 1, value >> 64)
    for unit in units:
        for yields in (False, True):
            parts = unit.split()
            code = [one for n in range(COUNT // len(parts)) for one in code_of(word, parts, n, yields=yields)]
            codes.append([encode(NOP, 1, {}, 0)] * (len(range(FIRST, LAST, 16)) - len(code)) + code)
            names.append(f"{unit},{int(yields)}")
    write_cubins(template, out, codes)
    (Path(out) / listing).write_text("\n".join(names) + "\n")


def ffma(word: tuple[int, int], registers: tuple[int, int, int], keeps: str, *, yields: bool) -> bytes:
    """FFMA of both factors onto the sum; ``keeps``: the factors, a and b, that stay in the reuse cache."""
    a, b, total = registers
    reuse = ("a" in keeps) | ("b" in keeps) << 1
    value = int.from_bytes(encode(word, 1, {16: total, 24: a, 32: b, 64: total}, reuse), "little")
    return field(value, YIELD_BIT, 1, 0 if yields else 1).to_bytes(16, "little")


def main(template: str, out: str, *files: str) -> None:
    write_units(template, out, list(files), UNITS, unit_code, "banks.txt")


if __name__ == "__main__":
    main(*sys.argv[1:])
