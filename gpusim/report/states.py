"""Models what warp states are called and which colour they have, in every table, figure and trace.
Leaves out how many cycles a warp spends in them (gpusim.engine)."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.engine.result import WARP_STATES

__all__ = ["ISSUED_STATE", "STATES", "WarpState", "ncu_state_name"]

ISSUED_STATE = "selected"


@dataclass(frozen=True)
class WarpState:
    """One of Nsight Compute's warp states: its row in ncu's Warp State Statistics and its colour in figures."""

    name: str
    title: str
    color: str
    sentence: str


_ROWS = (
    ("selected", "Selected", "#117733", "the warp issued an instruction"),
    ("not_selected", "Not Selected", "#dddddd", "ready, but another warp of the sub-partition issued"),
    ("wait", "Wait", "#a6b1bd", "fixed-latency dependence: the stall count of the previous instruction"),
    ("long_scoreboard", "Long Scoreboard", "#cc6677", "waits for data from global memory or L1, or at an mbarrier"),
    ("short_scoreboard", "Short Scoreboard", "#ddcc77", "waits for a result of the MIO, such as ldmatrix"),
    ("mio_throttle", "MIO Throttle", "#ee7733", "the MIO instruction queue is full, often through bank conflicts"),
    ("lg_throttle", "LG Throttle", "#882255", "the queue for global-memory instructions is full"),
    ("math_pipe_throttle", "Math Pipe Throttle", "#4477aa", "the pipe of the next instruction is busy"),
    ("barrier", "Barrier", "#aa4499", "waits for other warps at a CTA barrier"),
    ("gmma", "GMMA", "#332288", "waits for an asynchronous warpgroup MMA"),
    ("membar", "Membar", "#661100", "waits for a memory fence"),
    ("drain", "Drain", "#6699cc", "exited, waits for its stores to drain"),
    ("dispatch_stall", "Dispatch Stall", "#44aa99", "the dispatcher holds the warp back"),
    ("no_instruction", "No Instruction", "#999933", "waits for the instruction cache"),
    ("branch_resolving", "Branch Resolving", "#88ccee", "waits for a branch target"),
    ("imc_miss", "IMC Miss", "#005f73", "waits for the constant cache"),
    ("sleeping", "Sleeping", "#222222", "sleeps on its own request"),
    ("tex_throttle", "Tex Throttle", "#aa7744", "the queue for texture instructions is full"),
    ("misc", "Misc", "#5a4a3a", "anything else"),
)

STATES: dict[str, WarpState] = {row[0]: WarpState(*row) for row in _ROWS}
if tuple(STATES) != WARP_STATES:
    raise AssertionError("gpusim.report.states must list the engine's warp states, in their order")


def ncu_state_name(name: str) -> str:
    """Nsight Compute's metric for the warps in state ``name`` per issued instruction."""
    return f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"
