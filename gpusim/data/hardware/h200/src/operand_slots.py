"""Makes cubins out of operand_reads_template.cubin for operand_slots.csv: what arithmetic costs tensor instructions, by the
slots and the banks of its register operands, by its place between two of them, and by whether these keep their A operand.

The loop holds groups of three HMMA; behind the first, after ``offset`` cycles, stands one instruction of a kind, and the
second HMMA six cycles after the first. ``reuse``: A is in the reuse cache; else it is read again. Kinds name the slots:
r a register, i an immediate, Z nothing; ``banks``: e even and o odd registers. ``slots.txt`` says which cubin is which;
operand_reads_run.cu runs them.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python operand_slots.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz
"""

import re
import sys
from pathlib import Path

from deferred import HMMA, all_words, harmless
from operand_reads import FIRST, LAST, NOP, encode, field, write_cubins

R, I = r"R\d+(?:\.reuse)?", r"0x\w+"
KINDS = {
    "IMAD rrr": rf"IMAD R\d+, {R}, {R}, {R}", "IMAD rir": rf"IMAD R\d+, {R}, {I}, {R}",
    "IMAD riZ": rf"IMAD R\d+, {R}, {I}, RZ", "IMAD.IADD rir": rf"IMAD\.IADD R\d+, {R}, 0x1, {R}",
    "IMAD.MOV ZZr": rf"IMAD\.MOV\.U32 R\d+, RZ, RZ, {R}", "VIADD ri": rf"VIADD R\d+, {R}, {I}",
    "LEA rri": rf"LEA R\d+, {R}, {R}, {I}", "LOP3 rrr": rf"LOP3\.LUT R\d+, {R}, {R}, {R}, {I}, !PT",
    "LOP3 rir": rf"LOP3\.LUT R\d+, {R}, {I}, {R}, {I}, !PT", "LOP3 rrZ": rf"LOP3\.LUT R\d+, {R}, {R}, RZ, {I}, !PT",
    "LOP3 riZ": rf"LOP3\.LUT R\d+, {R}, {I}, RZ, {I}, !PT", "IADD3 rrr": rf"IADD3 R\d+, {R}, {R}, {R}",
    "IADD3 rrZ": rf"IADD3 R\d+, {R}, {R}, RZ", "SEL rZ": rf"SEL R\d+, {R}, RZ, P\d",
    "ISETP rr": rf"ISETP\.\w+\.AND P\d, PT, {R}, {R}, PT", "F2FP rr": rf"F2FP\.F16\.F32\.PACK_AB R\d+, {R}, {R}",
    "FADD rr": rf"FADD R\d+, {R}, {R}", "FFMA rrr": rf"FFMA R\d+, {R}, {R}, {R}",
    "PRMT rir": rf"PRMT R\d+, {R}, {I}, {R}", "MUFU.EX2 Zr": rf"MUFU\.EX2 R\d+, {R}", "I2F Zr": rf"I2F\.RP R\d+, {R}", "NOP": "",
}
GROUPS, INTERVAL, REUSE_BITS = 30, 6, 122
BANKS = ("eoe", "eee", "eeo", "eoo", "oee", "oeo", "ooe", "ooo")
SOURCES = {24: (88, 87), 32: (90, 89), 64: (92, 91)}
"""By bit of the 128-bit word: an even and an odd register."""


def with_registers(kind: str, text: str, word: int, stall: int, banks: str) -> tuple[bytes, str]:
    """The instruction with other registers in the slots that hold any, none of them kept; and the banks of these."""
    value, used, slots = int.from_bytes(harmless(text, word, stall), "little"), "", kind.split()[-1].ljust(3)
    for (bit, registers), bank, slot in zip(SOURCES.items(), banks, slots, strict=True):
        if slot == "r":
            value, used = field(value, bit, 8, registers[bank == "o"]), used + bank
    return field(value, REUSE_BITS, 4, 0).to_bytes(16, "little"), used


def group(tensor: tuple[int, int], number: int, offset: int, what: bytes, *, reuse: bool,
          interval: int = INTERVAL) -> list[bytes]:
    def hmma(i: int, stall: int) -> bytes:
        place = 3 * number + i
        registers = {16: 8 + 4 * (place % 8), 24: 40, 32: 56 + 2 * (place % 8), 64: 8 + 4 * (place % 8)}
        return encode(tensor, stall, registers, int(reuse))

    return [hmma(0, offset), what, hmma(1, interval), hmma(2, interval)]


def main(template: str, out: str, *files: str) -> None:
    words, codes, names = all_words(list(files)), [], []
    value = next(word for text, word in words.items() if re.fullmatch(HMMA, text))
    tensor = (value & (1 << 64) - 1, value >> 64)
    for kind, pattern in KINDS.items():
        text = min((text for text in words if re.fullmatch(pattern, text)), key=len, default="")
        seen = set()
        for banks in BANKS:
            used = with_registers(kind, text, words[text], 1, banks)[1] if text else ""
            if used in seen:
                continue
            seen.add(used)
            for reuse in (True, False):
                for offset in range(1, INTERVAL):
                    stall = INTERVAL - offset
                    nop = encode(NOP, stall, {}, 0)
                    what = with_registers(kind, text, words[text], stall, banks)[0] if text else nop
                    code = [word for i in range(GROUPS) for word in group(tensor, i, offset, what, reuse=reuse)]
                    codes.append([encode(NOP, 1, {}, 0)] * (len(range(FIRST, LAST, 16)) - len(code)) + code)
                    names.append(f"{kind},{used},{offset},{int(reuse)}")
    write_cubins(template, out, codes)
    (Path(out) / "slots.txt").write_text("\n".join(names) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
