"""Models a launch of compiled code: grid, block, parameters; device memory for the tensors and the constant bank.
Leaves out tensor contents; loads return unknown values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpusim.errors import UserError
from gpusim.program import TensorInfo

__all__ = ["ABIS", "Abi", "SassLaunch", "Scalar", "Struct", "TensorPointer", "abi_of", "allocate", "constant_bank"]

ALLOCATION_BYTES = 2 << 20
"""cudaMalloc hands out 2 MiB pages; a free page between tensors makes an overrun visible."""
FIRST_ADDRESS = 1 << 32
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "tf32": 4, "e4m3": 1, "e5m2": 1,
                 "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8}
BANK_BYTES = 0x1000
POINTER_BYTES = 8
BLOCK_DIM, GRID_DIM, STACK_TOP = 0x0, 0xC, 0x28
STACK_BYTES = 1 << 20


@dataclass(frozen=True)
class TensorPointer:
    """A kernel parameter that points to a tensor in global memory, row-major and packed."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_output: bool = False

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape) * ELEMENT_BYTES[self.dtype]


@dataclass(frozen=True)
class Scalar:
    """An integer kernel parameter."""

    value: int
    bytes: int = 4


@dataclass(frozen=True)
class Struct:
    """A kernel parameter passed by value, such as CUTLASS's Params, as its bytes; its pointers point into ``tensors``.

    Tensors stand from 4 GiB on in the order of the parameters, each at a multiple of 2 MiB with 2 MiB at least free
    behind it, so a host program that fills the struct has to take its pointers from there.
    """

    data: bytes
    tensors: tuple[TensorPointer, ...]
    alignment: int = POINTER_BYTES


Parameter = TensorPointer | Scalar | Struct


@dataclass(frozen=True)
class SassLaunch:
    """What ``<<<grid, block, shared>>>(params...)`` says; parameters in the order of the kernel's signature."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: tuple[Parameter, ...]
    shared_bytes: int  # dynamic + static, without the driver's reservation
    registers: int  # per thread

    @property
    def threads(self) -> int:
        return math.prod(self.block)

    @property
    def parameter_bytes(self) -> int:
        return sum(_size(param) for param in self.params)


@dataclass(frozen=True)
class Abi:
    """Where an architecture keeps what a kernel finds at its start."""

    parameters: int  # byte offset of the first parameter in constant bank 0
    shared_start: int  # address of a kernel's first shared byte; the driver owns what lies below


ABIS = {75: Abi(0x160, 0), 80: Abi(0x160, 0), 86: Abi(0x160, 0), 89: Abi(0x160, 0),
        90: Abi(0x210, 0x400)}
"""Source: code that nvcc 13.0 makes for these architectures (constant operands, base of shared addresses)."""


def abi_of(architecture: int) -> Abi:
    """Raises UserError for an architecture whose constant bank is not described."""
    if architecture not in ABIS:
        raise UserError("the constant bank of this architecture is not described", got=f"sm_{architecture}",
                        suggestion=f"described: {', '.join(f'sm_{a}' for a in ABIS)}")
    return ABIS[architecture]


def allocate(params: tuple[Parameter, ...]) -> tuple[TensorInfo, ...]:
    """Tensors of the parameters, in their order, in disjoint 2 MiB pages."""
    tensors, address = [], FIRST_ADDRESS
    for tensor in (tensor for param in params for tensor in _tensors(param)):
        _check_dtype(tensor)
        strides = tuple(math.prod(tensor.shape[i + 1:]) for i in range(len(tensor.shape)))
        tensors.append(TensorInfo(tensor.name, tensor.dtype, tensor.shape, strides, address, tensor.size_bytes,
                                  tensor.is_output))
        address += (math.ceil(tensor.size_bytes / ALLOCATION_BYTES) + 1) * ALLOCATION_BYTES
    return tuple(tensors)


def _tensors(param: Parameter) -> tuple[TensorPointer, ...]:
    if isinstance(param, Struct):
        return param.tensors
    return (param,) if isinstance(param, TensorPointer) else ()


def _size(param: Parameter) -> int:
    if isinstance(param, Struct):
        return len(param.data)
    return param.bytes if isinstance(param, Scalar) else POINTER_BYTES


def _check_dtype(param: TensorPointer) -> None:
    if param.dtype not in ELEMENT_BYTES:
        raise UserError("unknown element type", place=f"parameter {param.name}", got=f"'{param.dtype}'",
                        suggestion=f"known: {', '.join(ELEMENT_BYTES)}")


def constant_bank(launch: SassLaunch, tensors: tuple[TensorInfo, ...], abi: Abi) -> np.ndarray:
    """(bytes,) u1: constant bank 0; parameters stand at multiples of their size, as the CUDA ABI lays them out."""
    bank = np.zeros(BANK_BYTES, np.uint8)
    pointers = iter(tensors)
    _put(bank, BLOCK_DIM, launch.block, 4)
    _put(bank, GRID_DIM, launch.grid, 4)
    _put(bank, STACK_TOP, (STACK_BYTES,), 4)
    at = abi.parameters
    for param in launch.params:
        size = _size(param)
        alignment = param.alignment if isinstance(param, Struct) else size
        at = -(-at // alignment) * alignment
        addresses = [next(pointers).base_address for _ in _tensors(param)]
        if isinstance(param, Struct):
            _fill(bank, at, param)
        else:
            _put(bank, at, (param.value if isinstance(param, Scalar) else addresses[0],), size)
        at += size
    return bank


def _fill(bank: np.ndarray, at: int, param: Struct) -> None:
    if at + len(param.data) > len(bank):
        raise UserError("parameters do not fit into the constant bank", got=f"{at + len(param.data)} bytes",
                        suggestion=f"{len(bank)} bytes are there, {at} before this one")
    bank[at:at + len(param.data)] = np.frombuffer(param.data, np.uint8)


def _put(bank: np.ndarray, offset: int, values: tuple[int, ...], size: int) -> None:
    raw = b"".join((value % (1 << 8 * size)).to_bytes(size, "little") for value in values)
    bank[offset:offset + len(raw)] = np.frombuffer(raw, np.uint8)
