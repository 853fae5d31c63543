"""Makes cubins out of operand_reads_template.cubin for tensor_types.csv: what arithmetic costs tensor instructions of other
types than those of operand_slots.csv and operand_streams.csv, one by one and in streams.

``types.txt`` says which cubin is which: groups of operand_slots.py by kind, banks, offset and whether A is kept, then
sequences of operand_reads.py. operand_reads_run.cu runs them. What the load/store unit costs such instructions comes from
tensor_shares.py OUT TYPE.

    nvcc -arch=sm_90a -cubin -o operand_reads_template.cubin operand_reads_template.cu
    python tensor_types.py operand_reads_template.cubin OUT ../sass/*.gz ../sass_micro/*.gz
"""

import gzip
import re
import sys
from pathlib import Path

from deferred import all_words
from operand_reads import FIRST, LAST, NOP, encode, sequence, words_of, write_cubins
from operand_slots import GROUPS, KINDS, R, group, with_registers

INTERVALS = {"HMMA.16816.F32": 6, "HMMA.16816.F16": 6, "HMMA.16816.F32.BF16": 6, "IMMA.16832.S8.S8": 6,
             "HMMA.1688.F32.TF32": 6, "HMMA.1688.F32": 4}
BESIDE = (("IMAD rrr", "eoe"), ("IMAD rrr", "eee"), ("LOP3 rrZ", "eoe"), ("LOP3 rrZ", "eee"), ("VIADD ri", "eoe"),
          ("NOP", "eoe"))
STREAMS = ("H6r", "H6a", "H5r X1", "H5a X1", "H5r I1", "H5a I1", "H3r X1 X1 X1", "H3r I1 I1 I1", "H3a I1 I1 I1",
           "H1r X1 X1", "H1r X1 X1 X1 X1 X1", "H1r I1 I1", "H1a X1 I1", "H1r X1", "H2r X1", "H3r X1", "H4r X1", "H1a X1",
           "H2a X1", "H3a X1", "H4a X1", "H1r I1", "H2r I1", "H3r I1", "H4r I1", "H1a I1", "H2a I1", "H3a I1", "H4a I1",
           "H5r X1 H6r", "H5a X1 H6a", "H5r I1 H6r", "H5a I1 H6a", "H5r X1 H6r H6r", "H5a X1 H6a H6a")


def tensor_words(words: dict[str, int]) -> dict[str, tuple[int, int]]:
    found = {}
    for name in INTERVALS:
        pattern = rf"{re.escape(name)} R\d+, {R}(?:\.ROW)?, {R}(?:\.COL)?, R\d+"
        value = next(word for text, word in words.items() if re.fullmatch(pattern, text))
        found[name] = (value & (1 << 64) - 1, value >> 64)
    return found


def main(template: str, out: str, *files: str) -> None:
    words, codes, names = all_words(list(files)), [], []
    letters = words_of("".join(gzip.open(file, "rt").read() for file in files))
    for name, tensor in tensor_words(words).items():
        interval = INTERVALS[name]
        for kind, banks in BESIDE:
            text = min((text for text in words if re.fullmatch(KINDS[kind], text)), key=len, default="")
            for reuse in (True, False):
                for offset in range(1, interval):
                    stall = interval - offset
                    what, used = with_registers(kind, text, words[text], stall, banks) if text else (
                        encode(NOP, stall, {}, 0), "")
                    code = [word for i in range(GROUPS)
                            for word in group(tensor, i, offset, what, reuse=reuse, interval=interval)]
                    codes.append([encode(NOP, 1, {}, 0)] * (len(range(FIRST, LAST, 16)) - len(code)) + code)
                    names.append(f"{name},{kind},{used},{offset},{int(reuse)}")
        for stream in STREAMS:
            codes.append(sequence(stream, letters | {"H": tensor}))
            names.append(f"{name},{stream}")
    write_cubins(template, out, codes)
    (Path(out) / "types.txt").write_text("\n".join(names) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
