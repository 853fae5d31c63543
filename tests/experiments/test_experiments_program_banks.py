"""Bank conflicts of whole programs: recounted from addresses, they equal the access tables; the worst warp is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.errors import UserError
from gpusim.experiments.config import load_plan
from gpusim.experiments.program_banks import access_details, program_banks
from gpusim.experiments.run import record_plan
from gpusim.experiments.shared_accesses import source_accesses
from gpusim.program import Program
from gpusim.report.tables import shared_memory_table

SMALL = ["M=256", "N=128", "K=128"]


def hgemm(swizzle: str) -> Program:
    return record_plan(load_plan("hgemm", [*SMALL, f"swizzle={swizzle}"]), load_gpu("h200"))


def with_shared_addresses(program: Program, access: int, warp: int, addresses: np.ndarray) -> Program:
    """The program after one warp's access was moved; the table's own counts stay as they were."""
    (cta_class,) = program.classes
    (role,) = cta_class.roles
    moved = role.accesses.shared_address.copy()
    moved[access, warp] = addresses
    accesses = replace(role.accesses, shared_address=moved)
    return replace(program, classes=(replace(cta_class, roles=(replace(role, accesses=accesses),)),))


@pytest.mark.parametrize("swizzle", ["none", "64B", "pad:16B", "S<1,4,4>"])
def test_the_totals_of_the_launch_are_those_of_the_access_tables(swizzle: str):
    program = hgemm(swizzle)
    both = program_banks(program).merge(shared_memory_table(program), on=["label", "line", "operation"])
    assert len(both) == len(shared_memory_table(program)) == 4
    for name in ("wavefronts", "wavefronts_ideal", "bank_conflicts"):
        assert both[f"{name}_x"].tolist() == both[f"{name}_y"].tolist()


def test_every_warp_is_checked_at_every_stage():
    table = program_banks(hgemm("none")).set_index("label")
    assert table["warps"].tolist() == [4] * 4
    assert (table.loc[["ldmatrix sA", "ldmatrix sB"], "ways"] == 4).all()
    stages = {int(address) // 8192 for access in source_accesses(hgemm("none")) if access.label == "ldmatrix sA"
              for address in access.shared.ravel()}
    assert stages == {0, 1, 2}


def test_the_worst_warp_is_found_though_the_mean_hides_it(tiny_program: Program):
    free = np.arange(32) * 16
    for warp in range(4):
        tiny_program = with_shared_addresses(tiny_program, 1, warp, free)
    one_bad = with_shared_addresses(tiny_program, 1, 2, np.arange(32) * 128)
    before, after = (program_banks(p).set_index("label").loc["ldmatrix sA"] for p in (tiny_program, one_bad))
    assert (before["worst_ways"], before["bank_conflicts"]) == (1, 0)
    assert (after["worst_ways"], after["worst_warp"], after["ways"]) == (8, 2, (3 + 8) / 4)


def test_the_detail_names_lanes_and_banks_that_collide():
    (detail,) = access_details(hgemm("none"), "ldmatrix sA")
    assert (detail.wavefronts, detail.ideal_wavefronts, detail.warp) == (16, 4, 0)
    assert detail.place.startswith("hgemm_multistage.py:")
    first = detail.table.iloc[0]
    assert (first["lanes"], first["lanes_in_worst_bank"]) == ("0-7", "0 | 2 | 4 | 6")


def test_the_detail_of_a_copy_names_the_pieces_it_joins():
    padded, plain = (access_details(hgemm(swizzle), "cp.async A")[0] for swizzle in ("pad:16B", "none"))
    assert len(plain.table) == 8 == plain.wavefronts  # a warp copies eight rows, each to half of a shared row
    assert len(padded.table) == 11 and padded.wavefronts > plain.wavefronts
    lanes = [lane for text in padded.table["lanes"] for lane in text.replace("-", ",").split(",")]
    assert lanes[0] == "0" and lanes[-1] == "31"


def test_an_unknown_label_is_one_sentence(tiny_program: Program):
    with pytest.raises(UserError, match=r"no shared-memory access has this label, got 'ldmatrx sA'; did you mean"):
        access_details(tiny_program, "ldmatrx sA")
