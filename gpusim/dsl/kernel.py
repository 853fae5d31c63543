"""Models a kernel as a recorded function: ``@kernel`` makes one, ``record`` turns it into a Program.
Leaves out running it (gpusim.engine, gpusim.verify)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.dsl.backend import FinishedOps, Schedule, finish
from gpusim.dsl.context import Context
from gpusim.dsl.launch import CtaPlace, place_of
from gpusim.dsl.lowering import StaticTable, fit_registers, lower_role
from gpusim.dsl.lowering.iterators import early_exit
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.source import SourceLine, shown_file
from gpusim.dsl.statements import Code, Instance
from gpusim.dsl.tensors import LINE_BYTES, GmemTensor
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError, did_you_mean
from gpusim.program import CtaClass, Launch, Program, RoleProgram, Static, TensorInfo
from gpusim.program.access_builder import build_access_table

__all__ = ["Kernel", "kernel"]

UNIFORM_DATAPATH_SINCE = 75
"""Compute capability of Turing."""


class Kernel:
    """A function ``f(ctx, *tensors, *, **parameters)`` whose body is recorded, once per class of CTAs."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.name = function.__name__
        self.file = str(Path(inspect.getsourcefile(function) or "").resolve())
        self.shown_file = shown_file(self.file)
        arguments = list(inspect.signature(function).parameters.values())[1:]
        tensors = [a for a in arguments if a.kind is not a.KEYWORD_ONLY]
        self.tensor_names = tuple(a.name for a in tensors)
        self.required_tensors = sum(a.default is a.empty for a in tensors)  # the ones after them may be left out
        self.parameters: dict[str, Any] = {a.name: a.default for a in arguments if a.kind is a.KEYWORD_ONLY}
        self.__doc__ = function.__doc__

    def record(self, spec: GpuSpec, *tensors: GmemTensor, schedule: Schedule = "list", flops: float = 0.0,
               registers: int | None = None, **parameters: Any) -> Program:
        """The Program of this kernel on ``tensors``. ``registers`` overrides the estimate per thread.

        Raises UserError, naming file and line of the kernel, for an unknown parameter and for whatever the hardware
        refuses: misaligned swizzles, tiles that warps do not divide, too much shared memory, too few stages.
        """
        chosen = self._parameters(parameters)
        if not self.required_tensors <= len(tensors) <= len(self.tensor_names):
            raise UserError(f"kernel {self.name} takes the tensors {', '.join(self.tensor_names)}",
                            place=self._place_of_definition(),
                            got=len(tensors))
        return _Recording(self, spec, tensors, chosen, schedule).program(flops, registers)

    def _parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        for name, value in given.items():
            if name not in self.parameters:
                raise UserError(f"kernel {self.name} has no parameter '{name}'", place=self._place_of_definition(),
                                suggestion=did_you_mean(name, self.parameters))
            _require_kind(name, self.parameters[name], value, self._place_of_definition())
        return {**self.parameters, **{name: _plain(value) for name, value in given.items()}}

    def _place_of_definition(self) -> str:
        return f"{self.shown_file}:{self.function.__code__.co_firstlineno}"

    def run(self, context: Context, parameters: dict[str, Any]) -> None:
        """Execute the body on a context; errors name the line of the kernel they came from."""
        tensors = context.grid.tensors
        optional = {tensor.name: tensor for tensor in tensors[self.required_tensors :]}
        try:
            self.function(context, *tensors[: self.required_tensors], **optional, **parameters)
        except UserError as error:
            place = f"{self.shown_file}:{self._line_of(error)}"
            raise UserError(error.rule, place=f"{place}: {error.place}" if error.place else place, got=error.got,
                            suggestion=error.suggestion) from error

    def _line_of(self, error: UserError) -> int:
        line, trace = self.function.__code__.co_firstlineno, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.function.__code__.co_filename:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line


def _plain(value: Any) -> Any:
    """Lists as tuples, numbers of numpy and pandas as Python's."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _require_kind(name: str, default: Any, value: Any, place: str) -> None:
    """A parameter's value is of the same kind as its default, a tuple also of the same length."""
    value = _plain(value)
    alike = isinstance(value, type(default)) and not (isinstance(value, bool) and not isinstance(default, bool))
    if alike and isinstance(default, tuple):
        alike = len(value) == len(default) and all(isinstance(v, type(d)) for v, d in zip(value, default, strict=True))
    if not alike and default is not None:
        raise UserError(f"parameter '{name}' is of type {type(default).__name__}, such as {default!r}", place=place,
                        got=repr(value))


def kernel(function: Callable[..., None]) -> Kernel:
    """Decorator: the function's positional arguments after ``ctx`` are tensors, its keyword arguments parameters."""
    return Kernel(function)


class _Recording:
    """One call of Kernel.record."""

    def __init__(self, kernel: Kernel, spec: GpuSpec, tensors: tuple[GmemTensor, ...], parameters: dict[str, Any],
                 schedule: Schedule) -> None:
        self.kernel, self.spec, self.tensors = kernel, spec, tensors
        self.parameters, self.schedule = parameters, schedule
        uniform = spec.compute_capability >= UNIFORM_DATAPATH_SINCE
        self.statics = StaticTable(kernel.shown_file, uniform_datapath=uniform,
                                   parameter_start=spec.fetch.parameter_start_bytes)
        self.registers = 0  # per thread, by the most demanding role
        self.notes: list[str] = []
        self.compiled: dict[Hashable, Any] = {}  # what classes of CTAs have in common

    def program(self, flops: float, registers: int | None) -> Program:
        first = self._context((), None)
        addresses = first.grid.cta_addresses()
        places = first.grid.cta_places()
        kinds, cta_class = np.unique(np.column_stack([places, addresses % LINE_BYTES]), axis=0, return_inverse=True)
        contexts = [self._context_of(kind.tolist(), places.shape[1], first) for kind in kinds]
        classes = tuple(self._class(context.grid.name + (f" #{number}" if number else ""), context)
                        for number, context in enumerate(contexts))
        return Program(
            name=self.kernel.name, statics=tuple(self.statics.rows), classes=classes,
            launch=self._launch(contexts, registers), cta_class=cta_class.reshape(-1).astype(np.int32),
            cta_bases=addresses - addresses % LINE_BYTES, cta_index=first.grid.cta_index(),
            tensors=self._tensor_infos(contexts) * first.grid.schedule.shape[1], flops=flops,
            parameters=dict(self.parameters),
            notes=(*self._register_note(registers), *self.notes), flags=first.flags,
            mbarriers=tuple(contexts[0].barriers))

    def _register_note(self, given: int | None) -> tuple[str, ...]:
        return () if given else (f"registers per thread are estimated ({self.registers}); registers= overrides that",)

    def _context_of(self, kind: list[int], columns: int, first: Context) -> Context:
        """``kind``: a row of Grid.cta_places, ``columns`` long, and the residues of the tensors at every visit."""
        place = place_of(kind[:columns])
        return first if place == CtaPlace() == first.grid.place and not any(kind) else self._context(
            tuple(kind[columns:]), place)

    def _context(self, residues: tuple[int, ...], place: CtaPlace | None) -> Context:
        context = Context(self.spec, self.tensors, residues, place=place, source_file=self.kernel.file)
        self.kernel.run(context, self.parameters)
        if place and place.idle:
            context.roles = [self._idle(role.name, role.first_warp, role.num_warps) for role in context.roles] or [
                self._idle("all", 0, context.grid.num_warps)]
        if sum(role.num_warps for role in context.roles) != context.grid.num_warps:
            raise UserError("the roles of a kernel must use all of its warps", place=self.kernel.name,
                            got=f"{sum(r.num_warps for r in context.roles)} of {context.grid.num_warps}")
        return context

    def _idle(self, name: str, first_warp: int, num_warps: int) -> Recorder:
        """The warps of a CTA without a tile: they find that out and exit."""
        idle, line = Recorder(name, first_warp, num_warps), self.kernel.function.__code__.co_firstlineno
        with idle.scope("prologue"):
            idle.add(Code(tuple(early_exit(idle.registers))), SourceLine(line), Instance())
        return idle

    def _class(self, name: str, context: Context) -> CtaClass:
        return CtaClass(name, tuple(self._role(role, context) for role in context.roles))

    def _role(self, role: Recorder, context: Context) -> RoleProgram:
        numbers = {tensor.name: number for number, tensor in enumerate(context.shared.tensors)}
        threads = context.grid.num_warps * LANES
        lowered = lower_role(role.blocks, role.registers, self.statics, threads, self.spec, numbers)
        finished = self._finish(lowered.blocks, lowered.max_registers)
        needed = lowered.registers_needed or finished.register_estimate.registers  # live ranges where no rule speaks
        self.registers = max(self.registers, fit_registers(
            needed, threads, self.spec, squeezable=lowered.squeezable))
        accesses = build_access_table(role.accesses, role.num_warps)
        return RoleProgram(role.name, role.first_warp, role.num_warps, finished.ops, accesses)

    def _finish(self, blocks: list[Any], max_registers: int) -> FinishedOps:
        mnemonics = [static.mnemonic for static in self.statics.rows]
        finished = finish(blocks, mnemonics, self.spec.instruction_table, max_registers, schedule=self.schedule,
                          known=self.compiled)
        self.statics.rows.extend(Static(mnemonic) for mnemonic in finished.mnemonics[len(mnemonics):])
        note = finished.register_estimate.note
        if note and note not in self.notes:
            self.notes.append(note)
        return finished

    def _launch(self, contexts: list[Context], registers: int | None) -> Launch:
        grid = contexts[0].grid
        threads = grid.num_warps * LANES
        if any(context.reallocates_registers for context in contexts):  # compiled for all that a CTA can have
            self.registers = fit_registers(self.spec.sm.registers, threads, self.spec, squeezable=False)
        return Launch(grid.grid, threads_per_cta=threads,
                      registers_per_thread=registers or self.registers,
                      shared_bytes=max(context.shared.used_bytes for context in contexts),
                      cluster=(grid.cluster.m, grid.cluster.n, 1),
                      parameter_bytes=max(context.parameter_bytes for context in contexts))

    def _tensor_infos(self, contexts: list[Context]) -> tuple[TensorInfo, ...]:
        """Of the tensors; what any class of CTAs stores to is an output."""
        written = set().union(*(context.mover.outputs for context in contexts))
        return tuple(
            TensorInfo(t.name, t.dtype.name, t.shape, t.strides, base, t.size_bytes,
                       t.name in written and not t.scratch, t.values, t.scratch)
            for t, base in zip(self.tensors, contexts[0].grid.addresses(), strict=True))
