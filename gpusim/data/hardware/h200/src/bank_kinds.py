"""Makes cubins out of operand_reads_template.cubin for bank_kinds.csv: which instructions wait for banks of registers.

As register_banks.py, with other instructions than FFMA: 120 of a kind, whose sources stand in the banks (e, o) of
``banks``, one letter each, and take turns of four registers per bank; results take turns of eight in a bank of their
own. ``kinds.txt`` says which cubin is which; operand_reads_run.cu runs them with 1, 4, 8 and 16 warps.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python bank_kinds.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz OTHER.sass.gz
"""

import re
import sys
from pathlib import Path

from deferred import all_words
from operand_reads import FIRST, LAST, NOP, encode, write_cubins

COUNT, RESULTS = 120, 8
SOURCES = {24: 40, 32: 60, 64: 80}
"""First register by place in the word."""
KINDS = {
    "FFMA": (r"FFMA R\d+, R\d+, R\d+, R\d+", 3), "FADD": (r"FADD R\d+, R\d+, R\d+", 2), "FMUL": (r"FMUL R\d+, R\d+, R\d+", 2),
    "IADD3": (r"IADD3 R\d+, R\d+, R\d+, R\d+", 3), "IMAD": (r"IMAD R\d+, R\d+, R\d+, R\d+", 3),
    "LOP3": (r"LOP3\.LUT R\d+, R\d+, R\d+, R\d+, 0x\w+, !PT", 3), "IDP": (r"IDP\.4A\.S8\.S8 R\d+, R\d+, R\d+, R\d+", 3),
}
BANKS = {2: ("eo", "ee"), 3: ("eoe", "eoo", "eee")}


def main(template: str, out: str, *files: str) -> None:
    words, codes, names = all_words(list(files)), [], []
    for kind, (pattern, sources) in KINDS.items():
        fitting = [text for text in words if re.fullmatch(pattern, text)]
        if not fitting:
            continue
        value = words[min(fitting, key=len)]
        for banks in BANKS[sources]:
            code = []
            for place in range(COUNT):
                registers = {bit: first + 2 * (place % 4) + (bank == "o")
                             for (bit, first), bank in zip(SOURCES.items(), banks, strict=False)}
                result = {16: RESULTS + 2 * (place % 8) + (place % 2)}
                code.append(encode((value & (1 << 64) - 1, value >> 64), 1, registers | result, 0))
            codes.append([encode(NOP, 1, {}, 0)] * (len(range(FIRST, LAST, 16)) - len(code)) + code)
            names.append(f"{kind},{banks}")
    write_cubins(template, out, codes)
    (Path(out) / "kinds.txt").write_text("\n".join(names) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
