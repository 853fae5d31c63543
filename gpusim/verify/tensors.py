"""Models global memory: one buffer of bytes per tensor, bounds, and how often each element was written.
Leaves out caches and the order of writes of different CTAs: a write is visible at once to whoever reads later."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from gpusim.errors import SimulatedFailure, UserError, did_you_mean
from gpusim.program import Program, TensorInfo
from gpusim.verify.dtypes import decode, dtype_bits, encode

__all__ = ["GlobalMemory", "element_offsets"]

_GRANULE_BYTES = 8
"""Buffers are padded to this, so that they can be viewed as words of any width."""


def element_offsets(info: TensorInfo) -> np.ndarray:
    """Offset in elements of every coordinate, shape ``info.shape``."""
    offsets = np.zeros((), np.int64)
    for extent, stride in zip(info.shape, info.strides, strict=True):
        offsets = offsets[..., None] + np.arange(extent) * stride
    return offsets


class GlobalMemory:
    """Buffers of all tensors of a program; inputs by tensor name, whatever has none starts as zeros."""

    def __init__(self, program: Program, inputs: Mapping[str, np.ndarray], ignore: Collection[str] = ()) -> None:
        _check_names(program, inputs, ignore)
        self.tensors = program.tensors
        self.ignored = {t for t, info in enumerate(self.tensors) if info.name in ignore}
        names = [info.name for info in self.tensors]
        firsts = [names.index(name) for name in names]  # a program has a tensor once per tile of its CTAs
        buffers = {t: _buffer(self.tensors[t], inputs.get(names[t])) for t in set(firsts)}
        stores = {t: np.zeros(_num_elements(self.tensors[t]), np.int32) for t in set(firsts)}
        self.buffers = [buffers[t] for t in firsts]
        self.stores = {t: stores[firsts[t]] for t, info in enumerate(self.tensors)
                       if info.is_output and t not in self.ignored}
        self.repeats = {t: np.zeros_like(counts) for t, counts in self.stores.items()}  # most writes in one turn
        self._before = {t: np.zeros_like(counts) for t, counts in self.stores.items()}

    def read(self, tensor: int, offsets: np.ndarray, num_bytes: int, place: str) -> np.ndarray:
        """``num_bytes`` at each byte offset: uint8 (..., num_bytes). Raises SimulatedFailure out of bounds."""
        self._check(tensor, offsets, num_bytes, place)
        unit = _unit(num_bytes)
        cells = self.buffers[tensor].view(unit)[(offsets // unit.itemsize)[..., None]
                                                + np.arange(num_bytes // unit.itemsize)]
        return cells.view(np.uint8)

    def write(self, tensor: int, offsets: np.ndarray, data: np.ndarray, place: str) -> None:
        """Store ``data`` (uint8, (..., num_bytes)) at each byte offset and count the elements written."""
        num_bytes = data.shape[-1]
        self._check(tensor, offsets, num_bytes, place)
        unit = _unit(num_bytes)
        cells = (offsets // unit.itemsize)[..., None] + np.arange(num_bytes // unit.itemsize)
        self.buffers[tensor].view(unit)[cells] = np.ascontiguousarray(data).view(unit)
        if tensor in self.stores:
            self._count(tensor, offsets, num_bytes)

    def end_turn(self) -> None:
        """What follows is ordered behind what was written so far: only there may an element be written again."""
        for tensor, counts in self.stores.items():
            self.repeats[tensor] = np.maximum(self.repeats[tensor], counts - self._before[tensor])
            self._before[tensor] = counts.copy()

    def add(self, tensor: int, offsets: np.ndarray, data: np.ndarray, place: str) -> None:
        """Atomically add float32 ``data`` (uint8, (..., 4)) at each byte offset."""
        self._check(tensor, offsets, data.shape[-1], place)
        np.add.at(self.buffers[tensor].view(np.float32), offsets // data.shape[-1], np.ascontiguousarray(data).view(
            np.float32)[..., 0])

    def outputs(self) -> dict[str, np.ndarray]:
        """Numbers of every output tensor, by name, in its shape."""
        return {info.name: decode(self.buffers[t][:info.size_bytes], info.dtype)[element_offsets(info)]
                for t, info in enumerate(self.tensors) if t in self.stores}

    def written(self, *, in_one_turn: bool = False) -> dict[str, np.ndarray]:
        """Stores per element of every output tensor, in all or at most in one turn, by name, in its shape."""
        chosen = self.repeats if in_one_turn else self.stores
        return {self.tensors[t].name: counts[element_offsets(self.tensors[t])] for t, counts in chosen.items()}

    def _count(self, tensor: int, offsets: np.ndarray, num_bytes: int) -> None:
        bits = dtype_bits(self.tensors[tensor].dtype)
        step = max(1, bits // 8)
        first_bytes = offsets[..., None] + np.arange(0, num_bytes, min(step, num_bytes))
        first_bytes = first_bytes[first_bytes % step == 0]
        per_byte = max(1, 8 // bits)
        elements = first_bytes[:, None] * 8 // bits + np.arange(per_byte)
        np.add.at(self.stores[tensor], elements.ravel(), 1)

    def _check(self, tensor: int, offsets: np.ndarray, num_bytes: int, place: str) -> None:
        if offsets.size == 0:
            return
        info, low, high = self.tensors[tensor], int(offsets.min()), int(offsets.max()) + num_bytes
        if low < 0 or high > info.size_bytes:
            raise SimulatedFailure(f"{place}: a global access must stay inside its tensor, got bytes {low}..{high - 1} "
                                   f"of '{info.name}' ({info.size_bytes} bytes); predicate the access off there")
        if (offsets % num_bytes).any():
            raise SimulatedFailure(f"{place}: a {num_bytes}-byte global access must be {num_bytes}-byte aligned, "
                                   f"got byte {int(offsets[offsets % num_bytes != 0][0])} of '{info.name}'")


def _check_names(program: Program, inputs: Mapping[str, np.ndarray], ignore: Collection[str]) -> None:
    names = [info.name for info in program.tensors]
    for name in (*inputs, *ignore):
        if name not in names:
            raise UserError("an input must be a tensor of the program", place=program.name, got=f"'{name}'",
                            suggestion=did_you_mean(name, names))
    for info in program.tensors:
        if not (info.is_output or info.is_scratch) and info.name not in inputs:
            raise UserError("every input tensor needs data", place=program.name, got=f"none for '{info.name}'",
                            suggestion="see gpusim.verify.random_inputs")


def _num_elements(info: TensorInfo) -> int:
    return info.size_bytes * 8 // dtype_bits(info.dtype)


def _buffer(info: TensorInfo, values: np.ndarray | None) -> np.ndarray:
    buffer = np.zeros(-(-info.size_bytes // _GRANULE_BYTES) * _GRANULE_BYTES, np.uint8)
    if values is None:
        return buffer
    if values.shape != tuple(info.shape):
        raise UserError("an input must have its tensor's shape", place=info.name, got=values.shape,
                        suggestion=f"make it {tuple(info.shape)}")
    flat = np.zeros(_num_elements(info), values.dtype)
    flat[element_offsets(info)] = values
    data = encode(flat, info.dtype)
    buffer[:len(data)] = data
    return buffer


def _unit(num_bytes: int) -> np.dtype:
    return np.dtype(f"<u{min(num_bytes, 8)}")
