"""Every pipeline's committed summary: what a CTA executes, by scope and instruction, what shared memory and L2 see.

To write the files anew after a change on purpose: ``python tests/programs/test_programs_expected.py``.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from library import SUMMARISED

import gpusim as gs
from gpusim.program import Program, RoleProgram

EXPECTED = Path(__file__).parent / "expected"


def summary(name: str) -> dict[str, Any]:
    case = SUMMARISED[name]
    program = gs.load_program(case.program).record(gs.load_gpu("h200"), case.sizes, **case.parameters)
    launch = {"grid": list(program.launch.grid), "threads": program.launch.threads_per_cta,
              "registers": program.launch.registers_per_thread, "shared_bytes": program.launch.shared_bytes}
    roles = program.classes[0].roles
    if len(roles) == 1:
        return {"launch": launch, **role_summary(program, roles[0])}
    return {"launch": launch, "roles": {role.name: role_summary(program, role) for role in roles}}


def role_summary(program: Program, role: RoleProgram) -> dict[str, Any]:
    statics = [program.statics[pc] for pc in role.ops["pc"].tolist()]
    performed = role.ops["access"][(role.ops["access"] >= 0) & (role.ops["active"] == 1)].tolist()
    accesses = role.accesses
    by_label: dict[str, dict[str, int]] = {}
    for row in performed:
        entry = by_label.setdefault(accesses.label[row], Counter())
        entry["instructions"] += accesses.num_warps
        entry["wavefronts"] += int(accesses.wavefronts[row].sum())
        first, number = accesses.request_first[row], accesses.request_count[row]
        for start, lines in zip(first.tolist(), number.tolist(), strict=True):
            masks = accesses.requests["sector_mask"][start : start + lines].tolist()
            entry["sectors"] += sum(mask.bit_count() for mask in masks)
    return {
        "instructions_by_scope": dict(sorted(Counter(static.scope for static in statics).items())),
        "instructions": dict(sorted(Counter(static.mnemonic for static in statics).items())),
        "accesses": {label: dict(sorted(entry.items())) for label, entry in sorted(by_label.items())},
    }


@pytest.mark.parametrize("name", SUMMARISED)
def test_summary_is_the_committed_one(name: str) -> None:
    assert summary(name) == json.loads((EXPECTED / f"{name}.json").read_text())


if __name__ == "__main__":
    for program_name in SUMMARISED:
        (EXPECTED / f"{program_name}.json").write_text(json.dumps(summary(program_name), indent=1) + "\n")
