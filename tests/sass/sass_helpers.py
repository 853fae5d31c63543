"""What the tests of gpusim.sass share: a tiny assembler of disassembly text, and the launches of the measured GEMMs."""

from __future__ import annotations

from gpusim.sass import SassLaunch, Scalar, TensorPointer

CONTROL_NONE = 0x7F1 << 41  # stall 1, no barriers, no yield


def assemble(*lines: str, name: str = "kernel", architecture: int = 90) -> str:
    """Disassembly text of ``lines``; encodings hold nothing but neutral control fields."""
    head = [f"\t\tFunction : {name}", f'\t.headerflags @"EF_CUDA_SM{architecture}"']
    body = []
    for i, line in enumerate(lines):
        body += [f"        /*{16 * i:04x}*/   {line} ;   /* 0x{0:016x} */", f"     /* 0x{CONTROL_NONE:016x} */"]
    return "\n".join(head + body) + "\n"


def hgemm(row: dict[str, str]) -> SassLaunch:
    """The launch behind a row of kernels.csv; gemm.cu's parameters are A, B, D, M, N, K, cycle counts."""
    m, n, k = int(row["M"]), int(row["N"]), int(row["K"])
    x, y, z = (int(part) for part in row["grid"].split("x"))
    params = (
        TensorPointer("A", "f16", (m, k)), TensorPointer("B", "f16", (n, k)), TensorPointer("D", "f16", (m, n), True),
        Scalar(m), Scalar(n), Scalar(k), TensorPointer("cycles", "i64", (x * y, 4), True),
    )
    return SassLaunch((x, y, z), (int(row["threads"]), 1, 1), params, int(row["smem_bytes"]), int(row["registers"]))
