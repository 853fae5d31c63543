"""Models how ldmatrix statements become instructions: shared-memory addresses by kind of XOR, LDSM.
Leaves out which lanes address what (gpusim.dsl.partition); counts are those of gpusim.dsl.lowering.rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.dsl.lowering.counters import Counter
from gpusim.dsl.lowering.emitter import Emitter
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import LoadMatrix

__all__ = ["LoopLoads", "emit_loop_load", "emit_prologue_load", "read_key"]


COLUMNS_PER_ADDRESS = 2
"""k steps that one address and immediates serve: higher bits of the column are ORed into the lane's part."""


@dataclass
class LoopLoads:
    """What the ldmatrix of one loop share."""

    read_stage: Counter
    kept_lanes: int | None = None  # how many lane parts have registers; the others are read back from local memory
    shares_stage: bool = True  # stages of all tensors have as many bytes
    column_pairs: int = 1  # addresses without XOR that a whole stage takes
    stage_terms: dict[str, Group] = field(default_factory=dict)  # stage x bytes of a stage, "" where tensors share it
    bases: dict[str, Group] = field(default_factory=dict)  # per tensor: lane part + stage part
    addresses: dict[tuple[str, int], Group] = field(default_factory=dict)  # without XOR: per tensor and column pair
    rows: dict[tuple[str, int], Group] = field(default_factory=dict)  # per tensor and row block
    lanes: dict[tuple[str, int], Group] = field(default_factory=dict)  # loop invariants: lane part, XOR per row block

    read: set[str] = field(default_factory=set)  # tensors read from the present stage

    def new_stage(self) -> None:
        self.stage_terms.clear()
        self.read.clear()
        self.bases.clear()
        self.addresses.clear()
        self.rows.clear()


def read_key(tensor_number: int) -> int:
    """Memory key of reads and ordinary writes of a shared tensor."""
    return 2 * tensor_number


def emit_loop_load(emit: Emitter, load: LoadMatrix, state: LoopLoads, key: int) -> None:
    """One statement in a loop: what addresses it needs, then its LDSM."""
    addresses = {"": _plain, "row": _per_column, "shifted": _per_load}[load.xor](emit, load, state)
    state.read.add(load.source)
    for piece, (register, address) in enumerate(zip(load.registers, addresses, strict=True)):
        emit.op(load.mnemonic, address, dst=(register, load.width), piece=piece, memory_key=key)


def _plain(emit: Emitter, load: LoadMatrix, state: LoopLoads) -> list[Group]:
    name = (load.source, load.part // COLUMNS_PER_ADDRESS)
    if name not in state.addresses:
        if len(load.registers) == 1:
            base = emit.new("IMAD", state.read_stage.in_vector(emit), _lane(emit, load, state, 0))
        else:
            base = emit.new("IMAD.IADD", _stage_base(emit, load, state))
        state.addresses[name] = emit.new("LEA", base)
    return [state.addresses[name]] * len(load.registers)


def _stage_base(emit: Emitter, load: LoadMatrix, state: LoopLoads) -> Group:
    """Lane part and stage. A product that serves several addresses, of both tensors or of further columns, is shifted
    once and ORed into each; one that serves a single address comes with it."""
    lane = _lane(emit, load, state, 0)
    if not state.shares_stage and (load.part == 0 or state.column_pairs == 1):
        return emit.new("IMAD", state.read_stage.in_vector(emit), lane)
    name = "" if state.shares_stage else load.source
    if name not in state.stage_terms:
        state.stage_terms[name] = emit.new("IMAD.SHL.U32", state.read_stage.register)
    return emit.new("LOP3.LUT", state.stage_terms[name], lane)


def _lane(emit: Emitter, load: LoadMatrix, state: LoopLoads, number: int) -> Group:
    name = (load.source, number)
    if name in state.lanes:
        return state.lanes[name]
    if number and state.kept_lanes is not None and len(state.lanes) >= state.kept_lanes:
        return emit.new("LDL")
    state.lanes[name] = emit.registers.vector()
    return state.lanes[name]


def _base(emit: Emitter, load: LoadMatrix, state: LoopLoads) -> Group:
    if load.source not in state.bases:
        stage = state.read_stage.in_vector(emit)
        state.bases[load.source] = emit.new("IMAD", stage, _lane(emit, load, state, 0))
    return state.bases[load.source]


def _per_column(emit: Emitter, load: LoadMatrix, state: LoopLoads) -> list[Group]:
    base = _base(emit, load, state)
    column = emit.new("IMAD.IADD", base, _lane(emit, load, state, 1 + load.part))
    return [emit.new("LEA", column)] * len(load.registers)


def _per_load(emit: Emitter, load: LoadMatrix, state: LoopLoads) -> list[Group]:
    if len(load.registers) == 1:
        xor = _lane(emit, load, state, 1 + load.part)
        return [emit.new("LEA", emit.new("IMAD", state.read_stage.in_vector(emit), xor))]
    base, addresses = _base(emit, load, state), []
    for block in range(len(load.registers)):
        name = (load.source, block)
        if name not in state.rows:
            state.rows[name] = emit.new("VIADD", base) if block else base
        xor = _lane(emit, load, state, 1 + load.part * len(load.registers) + block)
        addresses.append(emit.new("LEA", emit.new("IMAD", state.rows[name], xor)))
    return addresses


LANE_OPS = ("LOP3.LUT", "SHF.R.U32.HI", "LOP3.LUT", "IMAD.SHL.U32", "LOP3.LUT", "LOP3.LUT", "LOP3.LUT", "IMAD", "LEA")
"""Lane and warp number to the address of a fragment's first row."""


def emit_prologue_load(emit: Emitter, load: LoadMatrix, thread: Group, key: int) -> None:
    """One statement outside a loop: its addresses from threadIdx."""
    address = emit.chain(LANE_OPS, thread)
    own_address = load.xor == "shifted"
    for piece, register in enumerate(load.registers):
        own = emit.chain(("SHF.R.U32.HI", "LOP3.LUT", "LEA"), address) if own_address else address
        emit.op(load.mnemonic, own, dst=(register, load.width), piece=piece, memory_key=key)
