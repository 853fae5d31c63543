"""Makes cubins out of operand_reads_template.cubin for deferred.csv: what waits behind a BAR.SYNC.DEFER_BLOCKING.

The loop holds fifty HMMA, BAR, an instruction and fifty HMMA more, and in its twin a NOP that does not yield and has the
same stall count in the place of BAR. Words come from disassemblies; sources and results are registers that the template
does not use. An instruction that waits takes 14 cycles more beside its twin, with one warp 8. operand_reads_run.cu runs
them; ``deferred.txt`` says which cubin is which.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python deferred.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz
"""

import gzip
import re
import sys
from pathlib import Path

from operand_reads import FIRST, LAST, NOP, TEXT, control, encode, field, sequence, write_cubins

HMMA, BAR = r"HMMA\.16816\.F32 R\d+, R\d+(?:\.reuse)?, R\d+(?:\.reuse)?, R\d+", r"BAR\.SYNC\.DEFER_BLOCKING 0x0"
KINDS = ("NOP", "BRA", "@!PT LDS RZ", "LDGDEPBAR", "DEPBAR.LE SB0", "LDC R", "S2R R", "S2UR", "ULDC UR", "UMOV", "USHF",
         "UIADD3 UR", "UISETP", "ULOP3", "UIMAD", "USEL", "R2UR", "VOTEU", "CS2R R", "CS2R.32", "PLOP3", "ISETP", "VIADD",
         "SEL", "SHF", "LEA R", "LOP3", "IADD3 R", "IMAD R", "IMAD.MOV", "PRMT", "FFMA", "FADD", "HFMA2", "F2FP", "IABS",
         "MUFU.EX2", "I2F", "F2F", "POPC", "BREV", "SHFL.BFLY", "REDUX", "BSSY", "WARPSYNC")
VARIABLE = ("LDC", "S2R", "S2UR", "MUFU", "SHFL", "I2F", "F2F", "POPC", "BREV", "REDUX", "R2UR", "VOTEU")
RESULT, SOURCES, UNIFORM_RESULT, FREE_PREDICATE, UNUSED = 94, {24: 88, 32: 89, 64: 90}, 20, 3, 7
STALL, DISTANCES, EACH = 4, (1, 2, 3, 4, 5, 6, 8), 50


def all_words(files: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for file in files:
        for text, low, high in TEXT.findall(gzip.open(file, "rt").read()):
            plain = re.sub(r"^@!?U?P\d ", "", re.sub(r"\s+", " ", text.strip()))
            found.setdefault(plain, int(low, 16) | int(high, 16) << 64)
    return found


def harmless(text: str, word: int, stall: int) -> bytes:
    """The instruction with registers that nobody needs; what has a variable latency sets a scoreboard."""
    base = text.replace("@!PT ", "").split()[0].split(".")[0]
    word = field(word, 12, 4, 0xF if text.startswith("@") else 7)
    if base[0] != "U" and base not in ("LDS", "LDGDEPBAR", "DEPBAR", "BSSY", "WARPSYNC", "NOP"):
        for bit, register in SOURCES.items():
            is_register = bit != 32 or word >> 9 & 7 == 1
            if is_register and 100 < word >> bit & 255 < 255:
                word = field(word, bit, 8, register)
    if "SETP" in base or base == "PLOP3":
        word = field(field(word, 81, 3, FREE_PREDICATE), 84, 3, UNUSED)
    elif base[0] == "U" or base in ("S2UR", "R2UR", "VOTEU", "REDUX"):
        word = field(word, 16, 6, UNIFORM_RESULT)
    elif base not in ("LDS", "LDGDEPBAR", "DEPBAR", "BSSY", "WARPSYNC", "NOP"):
        word = field(word, 16, 8, RESULT)
    board = 0 if base == "LDGDEPBAR" else 1 if base in VARIABLE else UNUSED
    return control(word, stall, write=board).to_bytes(16, "little")


def main(template: str, out: str, *files: str) -> None:
    words = all_words(list(files))
    tensor = next(word for text, word in words.items() if re.fullmatch(HMMA, text))
    barrier = next(word for text, word in words.items() if re.fullmatch(BAR, text))
    split = {"H": (tensor & (1 << 64) - 1, tensor >> 64), "N": NOP}
    tensors = sequence(" ".join(["H6r"] * EACH), split)
    codes, names = [], []

    def add(name: str, behind: int, with_barrier: bool, tail: list[bytes]) -> None:
        stop = harmless("BAR", barrier, behind) if with_barrier else encode(NOP, behind, {}, 0)
        code = [*tensors, stop, *tail]
        codes.append([encode(NOP, 1, {}, 0)] * (len(range(FIRST, LAST, 16)) - len(code)) + code)
        names.append(f"{name},{behind},{int(with_barrier)}")

    for with_barrier in (True, False):
        for kind in KINDS:
            text = min((text for text in words if text.startswith(kind)), key=len, default="")
            if kind == "BRA":  # the loop's own
                add(kind, 6, with_barrier, [])
            elif text:
                add(text.replace(",", ""), 6, with_barrier, [harmless(text, words[text], STALL), *tensors])
        for behind in DISTANCES:
            add("NOP", behind, with_barrier, [encode(NOP, STALL, {}, 0), *tensors])
    write_cubins(template, out, codes)
    (Path(out) / "deferred.txt").write_text("\n".join(names) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
