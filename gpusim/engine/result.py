"""Models what a simulation says: cycles, counters, warp states, recorded events. Plain arrays, no behaviour.
Leaves out metric names and tables (gpusim.report)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["EVENT", "EVENT_KINDS", "WARP_STATES", "SimulationResult"]

WARP_STATES = (
    "selected", "not_selected", "wait", "long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle",
    "math_pipe_throttle", "barrier", "gmma", "membar", "drain", "dispatch_stall", "no_instruction", "branch_resolving",
    "imc_miss", "sleeping", "tex_throttle", "misc",
)
"""Nsight Compute's warp states; a warp on an SM is in exactly one of them in every cycle."""

EVENT_KINDS = ("issue", "state", "copy", "shared", "mma")
"""issue: one instruction (one cycle); state: a run of cycles in one stalled state; copy: an asynchronous copy in flight
from issue to its data being in shared memory; shared: the data stage busy, for an access,
data that arrive, an operation on an mbarrier or operands of wgmma; mma: the tensor pipe busy."""

EVENT = np.dtype(
    [
        ("kind", "u1"), ("state", "u1"), ("sub_partition", "u1"), ("warp_slot", "<i2"), ("cta", "<i4"),
        ("warp", "<i2"), ("pc", "<i4"), ("op", "<i4"), ("start", "<i8"), ("end", "<i8"),
    ]
)
"""cta: launch-order number; warp: warp of that CTA; op: row of the role's op table; cycles [start, end)."""


@dataclass(frozen=True)
class SimulationResult:
    """Counters of one simulated launch. P static instructions, S simulated SMs, N = len(WARP_STATES)."""

    cycles: int  # from launch to the last write drained (launch overhead included if so configured)
    clock_mhz: float
    num_sms: int  # SMs of the chip
    sms_used: np.ndarray  # (S,) i4: SMs that were simulated
    sm_active_cycles: np.ndarray  # (S,) i8: cycles with at least one resident warp
    sm_warp_cycles: np.ndarray  # (S,) i8: sum over cycles of resident warps
    issued: np.ndarray  # (P,) i8: warp instructions issued per static instruction
    state_cycles: np.ndarray  # (P, N) i8: warp-cycles per static instruction (the one waited to issue) and state
    sm_state_cycles: np.ndarray  # (S, N) i8
    counters: dict[str, float]  # l2_sectors_read, dram_bytes_read, ... see gpusim.report.metrics
    sm_counters: dict[str, np.ndarray]  # (S,) each: shared_wavefronts, tensor_busy_cycles, ...
    cta_start: np.ndarray  # (C,) i8: cycle a CTA was placed, -1: not simulated
    cta_end: np.ndarray  # (C,) i8
    cta_sm: np.ndarray  # (C,) i4
    blocks_per_sm: int
    events: np.ndarray  # EVENT rows, sorted by start
    host_seconds: float
    compile_seconds: float
    simulated_share: float = 1.0  # of the CTAs; what the others did is extrapolated in all counts
    assumptions: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    launch_cycles: tuple[int, ...] = ()  # of each launch, where the program is several

    @property
    def warp_instructions(self) -> int:
        return int(self.issued.sum())

    @property
    def warp_instructions_per_second(self) -> float:
        return self.warp_instructions * self.simulated_share / self.host_seconds if self.host_seconds > 0 else 0.0
