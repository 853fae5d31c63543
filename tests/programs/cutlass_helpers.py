"""What the tests of CUTLASS's pipelines share: recording, counting, and configurations by the names of kernels."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gpusim as gs
from gpusim.program import Program
from gpusim.verify import CheckReport, check_program, random_inputs

SPEC = gs.load_gpu("h200")
HARDWARE = Path(gs.__file__).parent / "data/hardware/h200"


@cache
def record(name: str, sizes: tuple[int, int, int], schedule: str = "source", **parameters: Any) -> Program:
    return gs.load_program(name).record(SPEC, dict(zip("MNK", sizes, strict=True)), schedule=schedule, **parameters)


def check(name: str, program: Program, seed: int) -> CheckReport:
    """The verdict on a program of a file, on random data."""
    inputs = random_inputs(program, seed=seed)
    return check_program(program, inputs, gs.load_program(name).expected(program, inputs))


def mnemonics(program: Program, scope: str = "") -> list[str]:
    """Mnemonics of a CTA's warp, of one scope or of all, in program order."""
    statics = [program.statics[pc] for pc in program.classes[0].roles[0].ops["pc"].tolist()]
    return [static.mnemonic for static in statics if scope in ("", static.scope)]


def count(program: Program, prefix: str, scope: str = "") -> int:
    return sum(name.startswith(prefix) for name in mnemonics(program, scope))


def active(program: Program, prefix: str) -> np.ndarray:
    """Rows of a warp whose mnemonic starts with ``prefix`` and that are not predicated off."""
    ops = program.classes[0].roles[0].ops
    names = np.array([static.mnemonic for static in program.statics])[ops["pc"]]
    return ops[np.char.startswith(names, prefix) & (ops["active"] == 1)]


def wavefronts(program: Program, operation: str) -> int:
    """Of all warps of a CTA, over accesses whose operation starts with ``operation``."""
    role = program.classes[0].roles[0]
    rows = role.ops["access"][(role.ops["access"] >= 0) & (role.ops["active"] == 1)]
    chosen = [row for row in rows.tolist() if role.accesses.operation[row].startswith(operation)]
    return int(role.accesses.wavefronts[chosen].sum())


def story(program: Program, iteration: int) -> str:
    """One iteration of the main loop in source order: L fragments of A and B, M an MMA round, A3 piece 3 of A by
    cp.async, C commit, W wait, | barrier, G and S a tile to and from registers."""
    role = program.classes[0].roles[0]
    words: list[str] = []
    pieces: Counter[str] = Counter()
    seen = -1
    for op in role.ops:
        static = program.statics[op["pc"]]
        if static.scope != "main_loop":
            continue
        seen += not words and not pieces and seen < 0
        if seen == iteration and (word := _word(static.mnemonic, int(op["access"]), role.accesses.label, pieces)) \
                and (word[0] in "AB" or not words or words[-1] != word):
            words.append(word)
        seen += static.mnemonic == "BRA"
    return " ".join(words)


def _word(mnemonic: str, access: int, labels: tuple[str, ...], pieces: Counter[str]) -> str:
    if mnemonic.startswith("LDGSTS"):
        operand = labels[access].split()[1]
        pieces[operand] += 1
        return f"{operand}{pieces[operand] - 1}"
    words = {"LDSM": "L", "LDS.128": "L", "HMMA": "M", "FFMA": "M", "LDGDEPBAR": "C", "DEPBAR": "W", "BAR": "|",
             "LDG.": "G", "STS": "S"}
    return next((word for prefix, word in words.items() if mnemonic.startswith(prefix)), "")


_NAME = re.compile(r"(?P<type>h|hh|bf|tf32|s8|simt)_(?P<tile>\d+x\d+x\d+)_w(?P<warp>\d+x\d+x\d+)_s(?P<stages>\d)"
                   r"_(?P<layouts>[nt]{2})(_swz\d)?(_slicedk)?(?P<sm75>_sm75)?$")
_TYPES = {"h": ("f16", "f32", "f16"), "hh": ("f16", "f16", "f16"), "bf": ("bf16", "f32", "bf16"),
          "tf32": ("tf32", "f32", "f32"), "s8": ("s8", "s32", "s32")}


def named(kernel: str) -> tuple[str, dict[str, Any]] | None:
    """Program and parameters of a CUTLASS kernel's name; None for families that have no program."""
    match = _NAME.match(kernel)
    if match is None:
        return None
    tile, warp = (tuple(map(int, match[key].split("x"))) for key in ("tile", "warp"))
    stages = int(match["stages"])
    parameters: dict[str, Any] = {"tile": tile, "warp": warp, "layouts": match["layouts"]}
    if stages > 2:
        parameters["num_stages"] = stages
    if match["type"] == "simt":
        return ("sgemm_multistage" if stages > 2 else "sgemm_pipelined"), parameters
    types = dict(zip(("input_type", "accumulator_type", "output_type"), _TYPES[match["type"]], strict=True))
    k = {"tf32": 8, "s8": 32}.get(match["type"], 8 if match["sm75"] else 16)
    return ("gemm_multistage" if stages > 2 else "gemm_pipelined"), {**parameters, **types, "instruction": (16, 8, k)}
