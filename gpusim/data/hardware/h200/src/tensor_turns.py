"""Makes cubins out of tensor_turns_template.cubin in which the loop holds a sequence of tensor_turns.csv over and over.

Tokens as in operand_reads.py, y: with a yield. NOPs fill what is left of the 126 places. tensor_turns_run.cu runs them by
one, two and four CTAs of an SM and prints, by CTA, cycles per iteration of the loop until it ends.

    nvcc -arch=sm_90a -cubin -o tensor_turns_template.cubin tensor_turns_template.cu
    python tensor_turns.py gemm.sass.gz tensor_turns_template.cubin OUT "H8r" "H10r W1 H10 W1y N11y" ...
"""

import gzip
import sys

from operand_reads import sequence, words_of, write_cubins

NO_YIELD = 1 << 109


def with_yields(text: str, words: dict[str, tuple[int, int]]) -> list[bytes]:
    tokens = text.split()
    code = sequence(" ".join(token.replace("y", "") for token in tokens), words)
    return [(int.from_bytes(word, "little") & ~(NO_YIELD * ("y" in token))).to_bytes(16, "little")
            for token, word in zip(tokens, code, strict=True)]


def main(disassembly: str, template: str, out: str, *texts: str) -> None:
    words = words_of(gzip.open(disassembly, "rt").read())
    write_cubins(template, out, (with_yields(text, words) for text in texts))


if __name__ == "__main__":
    main(*sys.argv[1:])
