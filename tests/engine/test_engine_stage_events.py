"""Law: recorded events of the data stage are what its counter counts, whoever took it, and it serves one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.dsl.registry import load_program, program_names
from gpusim.engine import RecordWindow, simulate
from gpusim.engine.result import EVENT_KINDS

GPU = load_gpu("h200")
USERS = {
    "hgemm_multistage": {"LDGSTS", "LDS", "LDSM", "STG"},  # LDS: predicated off, in front of copies
    "hgemm_single_stage": {"LDG", "LDSM", "STG", "STS"},
    "hgemm_warp_specialized": {"HGMMA", "STSM", "SYNCS", "UTMASTG"},
    "sgemm_pipelined": {"LDG", "LDS", "STG", "STS"},
    "conv2d_fprop": {"LDGSTS", "LDS", "LDSM", "STG", "STS"},
}


@pytest.mark.parametrize("name", USERS)
def test_events_of_the_data_stage_add_up_to_its_counter(name: str) -> None:
    sizes = {} if name == "conv2d_fprop" else {"M": 128, "N": 128, "K": 256}
    program = load_program(program_names()[name]).record(GPU, sizes)
    result = simulate(program, GPU, record=RecordWindow(0, 0, 1 << 40))
    events = result.events[result.events["kind"] == EVENT_KINDS.index("shared")]
    assert (events["end"] - events["start"]).sum() == result.sm_counters["data_stage_cycles"][0] > 0
    assert (events["end"][:-1] <= events["start"][1:]).all()
    mnemonics = np.array([static.mnemonic.split(".")[0] for static in program.statics])
    assert set(mnemonics[events["pc"]].tolist()) == USERS[name]
