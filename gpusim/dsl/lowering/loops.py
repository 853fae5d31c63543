"""Models the code of a loop over k: trip and stage counters, guarded copies, addresses that live across iterations.
Leaves out code outside loops (gpusim.dsl.lowering.blocks); counts are those of gpusim.dsl.lowering.rules."""

from __future__ import annotations

from gpusim.arch import GpuSpec
from gpusim.dsl.lowering.compute import emit_simple
from gpusim.dsl.lowering.copies import LoopCopies, Place, ResidentCopies, Slot, wide_product, write_key
from gpusim.dsl.lowering.counters import Counter, TripTest, trip_test
from gpusim.dsl.lowering.emitter import NONE, Emitter, Instruction
from gpusim.dsl.lowering.loads import COLUMNS_PER_ADDRESS, LoopLoads, emit_loop_load, read_key
from gpusim.dsl.lowering.recomputed import UniformCopies, VectorCopies
from gpusim.dsl.lowering.rules import AddressPlan, plan_addresses
from gpusim.dsl.lowering.straight import PLACE_OPS
from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.statements import AsyncCopy, BasicBlock, LoadMatrix, Spec

__all__ = ["LoopLowering"]


class LoopLowering:
    """One loop of a role: its plan for addresses and the registers that live across its iterations."""

    def __init__(self, registers: Registers, body: BasicBlock, threads: int, spec: GpuSpec) -> None:
        self.plan: AddressPlan = plan_addresses(body, threads, spec)
        self.registers = registers
        self.first_line = body.statements[0].line
        uniform = self.plan.uniform
        self.trip = Counter.new(registers, uniform=True)
        self.write_stage = Counter.new(registers, uniform=uniform.write_stage)
        self.counter = Counter.new(registers, uniform=False)  # k of copies; set where nothing reads it, too
        slot = Slot(registers.vector(), registers.vector(2)) if self.plan.in_series else None
        copies = [statement.spec for statement in body.statements if isinstance(statement.spec, AsyncCopy)]
        self.copies: LoopCopies
        if self.plan.resident:
            shared = registers.uniform(2) if self.plan.shares_offset else NONE
            self.copies = ResidentCopies(self.write_stage, copies, slot, shared)
        elif uniform.write_stage:
            self.copies = UniformCopies(self.write_stage, copies, slot, self.trip)
        else:
            self.copies = VectorCopies(self.write_stage, copies, slot, self.counter)
        loads = [statement.spec for statement in body.statements if isinstance(statement.spec, LoadMatrix)]
        self.loads = LoopLoads(Counter.new(registers, uniform=uniform.read_stage), self.plan.kept_lanes,
                               shares_stage=len({copy.stage_bytes for copy in copies}) <= 1,
                               column_pairs=len({load.part // COLUMNS_PER_ADDRESS for load in loads}))
        self.wrapped = False  # in this iteration, the read stage has been advanced

    def body(self, block: BasicBlock, tensors: dict[str, int]) -> list[Instruction]:
        """Instructions of one iteration in source order."""
        emit = Emitter(self.registers)
        emit.line = block.statements[0].line
        specs = [statement.spec for statement in block.statements]
        guard = self._begin(emit, guarded=any(statement.predicated for statement in block.statements))
        for number, statement in enumerate(block.statements):
            emit.line, emit.statement = statement.line, number
            emit.guard = guard if statement.predicated else None
            self._statement(emit, statement.spec, tensors)
            emit.guard = None
            if number == _last(specs, AsyncCopy):
                self.copies.end_turn(emit)
                self.write_stage.wrap_round(emit)
        self._end(emit)
        return emit.instructions

    def _begin(self, emit: Emitter, *, guarded: bool) -> Group | None:
        self.loads.new_stage()
        self.wrapped = False
        test = self._test(emit, emit.uniform("UIADD3", self.trip.register)) if guarded else None
        self.copies.begin_turn(test)
        return test.predicate if test else None

    def _test(self, emit: Emitter, trip: Group) -> TripTest:
        return trip_test(emit, trip, on_uniform=self.plan.uniform.write_stage)

    def _statement(self, emit: Emitter, spec: Spec, tensors: dict[str, int]) -> None:
        if isinstance(spec, AsyncCopy):
            self.copies.copy(emit, spec, write_key(tensors[spec.destination]))
        elif isinstance(spec, LoadMatrix):
            self._load(emit, spec, tensors)
        else:
            emit_simple(emit, spec)

    def _load(self, emit: Emitter, load: LoadMatrix, tensors: dict[str, int]) -> None:
        if load.new_stage and load.source in self.loads.read:
            self._next_read_stage(emit)
        emit_loop_load(emit, load, self.loads, read_key(tensors[load.source]))

    def _next_read_stage(self, emit: Emitter) -> None:
        self.loads.read_stage.wrap_round(emit)
        self.loads.new_stage()
        self.wrapped = True

    def _end(self, emit: Emitter) -> None:
        if self.loads.lanes and not self.wrapped:
            self._next_read_stage(emit)
        emit.op("UIADD3", self.trip.register, dst=self.trip.register)
        emit.op("BRA", self._test(emit, self.trip.register).predicate)

    def entry_instructions(self, *, addresses_known: bool) -> list[Instruction]:
        """What sets the loop's invariants before its first iteration; to be asked after its bodies are lowered.
        ``addresses_known``: places and offsets are still there from the prologue."""
        emit = Emitter(self.registers)
        emit.line = self.first_line
        thread = emit.new("S2R")
        beside = [] if self.write_stage.uniform else [self.counter]
        for counter in (self.write_stage, *beside, self.loads.read_stage, self.trip):
            counter.start(emit)
        if self.copies.shared_offset[1]:
            emit.op("UMOV", dst=self.copies.shared_offset)
        for place in self.copies.places.values():
            _initial_place(emit, thread, place, addresses_known=addresses_known)
        for pair in self.copies.pointers.values():
            _initial_pointer(emit, thread, pair, addresses_known=addresses_known)
        self._lane_values(emit, thread)
        return emit.instructions

    def _lane_values(self, emit: Emitter, thread: Group) -> None:
        for (_, number), register in self.loads.lanes.items():
            source = emit.chain(("SHF.R.U32.HI", "LOP3.LUT"), thread) if number else thread
            emit.op("LOP3.LUT", source, dst=register)


def _last(specs: list[Spec], kind: type) -> int:
    return max((number for number, spec in enumerate(specs) if isinstance(spec, kind)), default=-1)


def _initial_place(emit: Emitter, thread: Group, place: Place, *, addresses_known: bool) -> None:
    """Row and column, the column in as many registers as the loop wants."""
    start, count = place.column
    source = thread if addresses_known else emit.chain(PLACE_OPS[count:], thread)
    emit.op("SHF.R.S32.HI", source, dst=place.row)
    for register in range(start, start + count):
        emit.op("IMAD.SHL.U32" if register == start else "SHF.R.S32.HI", source, dst=(register, 1))


def _initial_pointer(emit: Emitter, thread: Group, pair: Group, *, addresses_known: bool) -> None:
    """The global address of a piece, and the distance of the stages the prologue has filled."""
    low, high = (pair[0], 1), (pair[0] + 1, 1)
    offset = thread if addresses_known else wide_product(emit, thread)
    emit.op("LEA", (offset[0], 1), dst=low)
    emit.op("LEA.HI.X", offset, low, dst=high)
    emit.op("IADD3", low, dst=low)
    emit.op("IMAD.X", high, dst=high)
