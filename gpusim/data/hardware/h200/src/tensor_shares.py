"""Makes cubins out of tensor_shares_template.cu for tensor_shares_run.cu: which registers the load/store unit reads beside
tensor instructions, and what these lose.

Instructions of a kind follow each other after two cycles, or eight apart with NOPs of four cycles between them; control
fields are set here, so that none waits for another. LDSM and NOP are put in the place of LDS, and in quiet copies NOPs of
six cycles in that of HMMA. The three LDS that nvcc predicates off in front of a copy that follows something else are NOPs
here: they cost nothing but their issue, which takes half a cycle of the tensor instructions where three follow at once.

    python tensor_shares.py OUT [TYPE]
    nvcc -o run tensor_shares_run.cu -lcuda && ./run OUT/*.cubin
"""

import re
import struct
import subprocess
import sys
from pathlib import Path

from operand_reads import control

LINE = re.compile(r"/\*([0-9a-f]{4})\*/\s+([^;]+);\s+/\* 0x([0-9a-f]{16}) \*/\s*\n\s+/\* 0x([0-9a-f]{16}) \*/")
NOP = 0x7918
COMPILED = {"LDS": 0, "LDS.128": 1, "STS": 2, "STS.64": 3, "STS.128": 4, "LDGSTS": 5, "STG": 6, "STG.128": 7}
REPLACED = {"LDSM.16.M88": 0x83B, "LDSM.16.M88.4": 0x83B | 0x200 << 64, "NOP": NOP, "@!PT LDS": 0x984}
LDSM_REGISTER, EVERY = 20, (1, 8)


def other(word: int, what: str) -> int:
    """An LDS as something else with the same address."""
    if what == "NOP":
        return NOP
    if what == "@!PT LDS":
        return word | 0xF << 12
    word = word & ~0xFFF & ~(0xE00 << 64) & ~(0xFF << 16)
    return word | REPLACED[what] | LDSM_REGISTER << 16


def patched(blob: bytes, words: list[tuple[str, str, int]], at: int, what: str, every: int, *, quiet: bool) -> bytes:
    cubin, left, inside = bytearray(blob), 64 // every, False
    compiled = what.replace("STG.128", "STG.E.128") if what in COMPILED else "LDS"
    for offset, text, value in words:
        word, inside = value, inside or "NANOSLEEP" in text
        if text.startswith(("PMTRIG", "@!PT LDS")):
            word = control(NOP, 4)
        elif inside and left and text.split()[0].startswith(compiled):
            word = control(value if what in COMPILED else other(value, what), 2 if every == 1 else 4)
            left -= 1
        elif quiet and text.startswith(("HMMA", "IMMA")):
            word = control(NOP, 6)
        cubin[at + int(offset, 16) : at + int(offset, 16) + 16] = word.to_bytes(16, "little")
    assert left == 0, (what, every)
    return bytes(cubin)


def build(out: Path, what: str, every: int, new_b: int, tensor_type: str = "0") -> None:
    kind = COMPILED.get(what, COMPILED["LDS"])
    cubin = out / "compiled"
    source = Path(__file__).with_name("tensor_shares_template.cu")
    subprocess.run(["nvcc", "-O3", "-arch=sm_90a", "-cubin", f"-DKIND={kind}", f"-DEVERY={every}",
                    f"-DNEW_B={new_b}", f"-DTYPE={tensor_type}", "-o", str(cubin), str(source)], check=True)
    text = subprocess.run(["cuobjdump", "-sass", str(cubin)], check=True, capture_output=True, text=True).stdout
    words = [(offset, text.strip(), int(low, 16) | int(high, 16) << 64) for offset, text, low, high in LINE.findall(text)]
    blob = cubin.read_bytes()
    cubin.unlink()
    at = blob.index(b"".join(struct.pack("<QQ", word & (1 << 64) - 1, word >> 64) for *_, word in words))
    for quiet in (False, True):
        name = f"{what.replace(' ', '_')}_{every}_{new_b}{'_quiet' if quiet else ''}.cubin"
        (out / name).write_bytes(patched(blob, words, at, what, every, quiet=quiet))


if __name__ == "__main__":
    for what in (*COMPILED, *REPLACED):
        for every in EVERY:
            for new_b in (0, 1):
                build(Path(sys.argv[1]), what, every, new_b, *sys.argv[2:])
