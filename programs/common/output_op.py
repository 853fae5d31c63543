"""Models CUTLASS's LinearCombination and LinearCombinationRelu: D = activation(alpha * accumulator + beta * C).
Leaves out pointers to scalar alpha and beta in global memory.

An output of 8 bits saturates, as LinearCombinationClamp has it. Source: cutlass/epilogue/thread/linear_combination*.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

import gpusim as gs
from common.channels import ChannelFactors
from common.conversion import Conversions, Vector, immediate
from gpusim import Context, GmemTensor, Group, Line

__all__ = ["PLAIN", "LinearCombination", "OutputOp", "float_bits"]

SCALES = ("default", "no_beta_scaling", "only_alpha_scaling", "per_channel_scaling", "only_alpha_per_channel_scaling",
          "nothing")
CHANNELS = {"per_channel_scaling": ("alphas", "betas"), "only_alpha_per_channel_scaling": ("alphas",)}
"""Vectors that stand for alpha and beta."""
ACTIVATIONS = ("none", "relu")
MULTIPLY = {"f64": "DMUL", "f32": "FMUL", "f16": "HMUL2", "s32": "IMAD"}
MULTIPLY_ADD = {"f64": "DFMA", "f32": "FFMA", "f16": "HFMA2", "s32": "IMAD"}
MAXIMUM = {"f32": "FMNMX.NAN", "f16": "HMNMX2.NAN"}
TAKE_GREATER = 1  # the predicate operand of FMNMX: !PT


@dataclass(frozen=True)
class LinearCombination:
    """``scale``: CUTLASS's ScaleType. default: alpha * acc + beta * C, whose C is not read where beta is 0;
    no_beta_scaling: alpha * acc + C; only_alpha_scaling: alpha * acc; nothing: acc; per_channel_scaling and
    only_alpha_per_channel_scaling: alpha and beta are vectors along n. ``activation``: none or relu."""

    alpha: complex = 1.0
    beta: complex = 0.0
    scale: str = "default"
    activation: str = "none"

    def __post_init__(self) -> None:
        for value, known, what in ((self.scale, SCALES, "scale type"), (self.activation, ACTIVATIONS, "activation")):
            if value not in known:
                raise gs.UserError(f"no such {what}", got=f"'{value}'", suggestion=f"one of {', '.join(known)}")

    @property
    def source_needed(self) -> bool:
        return self.scale in ("no_beta_scaling", "per_channel_scaling") or (self.scale == "default" and self.beta != 0)

    @property
    def channels(self) -> tuple[str, ...]:
        """Tensors with a factor for every column of D."""
        return CHANNELS.get(self.scale, ())

    @property
    def factors(self) -> dict[str, complex]:
        """The factors that it multiplies with."""
        found = {} if self.scale == "nothing" or self.channels else {"alpha": self.alpha}
        return {**found, "beta": self.beta} if self.source_needed and self.scale == "default" else found

    @property
    def parameters(self) -> tuple[str, ...]:
        """Factors whose pointers its constructor looks at, whether they count or not."""
        if self.channels or self.scale == "nothing":
            return ()
        return ("alpha", "beta") if self.scale == "default" else ("alpha",)

    def source(self, output: GmemTensor) -> dict[str, GmemTensor]:
        """Tensor C of a problem, shaped as its output; none where it is not read."""
        return {"C": replace(output, name="C")} if self.source_needed else {}

    def evaluate(self, product: np.ndarray, source: np.ndarray | None, output: gs.DType,
                 channels: Mapping[str, np.ndarray] = MappingProxyType({})) -> np.ndarray:
        """The same by NumPy. For bytes, which saturate, steps are rounded to f32 as there, so that ties fall alike.
        ``channels``: the vectors of factors by name."""
        limits = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15)}.get(output.name)
        exact = (lambda x: x) if limits is None else (lambda x: np.asarray(x, np.float32).astype(np.float64))
        alpha = 1.0 if self.scale == "nothing" else exact(channels.get("alphas", self.alpha))
        result = exact(product) * alpha
        if self.source_needed and source is not None:
            beta = 1.0 if self.scale == "no_beta_scaling" else exact(channels.get("betas", self.beta))
            result = result + exact(source.astype(result.dtype) * beta)
        if self.activation == "relu":
            result = np.maximum(result, 0)
        return result if limits is None else np.clip(np.rint(exact(result)), *limits)


PLAIN = LinearCombination()
"""D = accumulator, scaled by an alpha that happens to be 1."""


def compute_type(accumulator: gs.DType, output: gs.DType) -> gs.DType:
    """CUTLASS's choice: f32, but that of the accumulator where it is f64 or f16, or s32 that stay so."""
    if accumulator.name in ("f64", "f16") or accumulator.name == output.name == "s32":
        return accumulator
    return gs.f32


@dataclass(eq=False)
class OutputOp:
    """The code of a LinearCombination for ``output`` elements from ``accumulator`` ones."""

    ctx: Context
    combination: LinearCombination
    accumulator: gs.DType
    output: gs.DType
    channels: ChannelFactors | None = None
    compute: gs.DType = field(init=False)
    convert: Conversions = field(init=False)
    _constants: dict[str, Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.compute, self.convert = compute_type(self.accumulator, self.output), Conversions(self.ctx)
        if self.combination.activation == "relu" and self.compute.name not in MAXIMUM:
            raise gs.UserError("ReLU computes with f32 or f16", got=self.compute, suggestion="activation=none")
        if self.combination.channels and (self.channels is None or self.compute.name != "f32"):
            raise gs.UserError("factors per channel are for gemm_multistage, and f32 of its output operator",
                               got=f"scale={self.combination.scale}, {self.compute}", suggestion="scale=default")

    def setup(self) -> list[Line]:
        """Constants in registers: compiled code reads them from its parameters."""
        wanted = {name: value.real for name, value in self.combination.factors.items()}
        if self.combination.activation == "relu" or self.compute.name == "s32":
            wanted["zero"] = 0.0
        lines = self.convert.setup(self.output) if self.combination.source_needed else []
        for name, value in wanted.items():
            lines += self._constant(name, value)
        return lines

    def _constant(self, name: str, value: float) -> list[Line]:
        words = _words(value, self.compute.name)
        start, count = self._constants[name] = self.ctx.recorder.registers.vector(len(words))
        return [Line("MOV", (start + n, 1), immediate=immediate(words[n])) for n in range(count)]

    def apply(self, accumulators: Vector, source: Vector | None, number: int = 0) -> Vector:
        """Emit the operator on vector ``number`` of a step; its result in the output's type."""
        lines, value = self.convert(accumulators, self.compute)
        addend: list[Group] | None = None
        if source is not None:
            more, converted = self.convert(source, self.compute)
            lines += more
            addend = converted.registers
        beta, alpha = (self._factors(name, number, len(value.registers)) for name in ("beta", "alpha"))
        if beta and addend is not None:
            scaled = [self.ctx.recorder.registers.vector(width) for _, width in addend]
            lines += self._multiply(beta, addend, scaled)
            addend = scaled
        if alpha:
            lines += self._scaled(alpha, value.registers, addend)
        if self.combination.activation == "relu":
            lines += [Line(MAXIMUM[self.compute.name], register, (register, self._constants["zero"]),
                           immediate=TAKE_GREATER) for register in value.registers]
        more, result = self.convert(value, self.output)
        self.ctx.code([*lines, *more])
        return result

    def _factors(self, name: str, number: int, count: int) -> list[Group]:
        """Registers of alpha or beta for each of a vector's elements; none where it is not multiplied with."""
        if self.channels is not None and f"{name}s" in self.combination.channels:
            return self.channels.of(f"{name}s", number)
        return [self._constants[name]] * count if name in self._constants else []

    def _scaled(self, alpha: list[Group], value: list[Group], addend: list[Group] | None) -> list[Line]:
        if addend is None:
            return self._multiply(alpha, value, value)
        return [Line(MULTIPLY_ADD[self.compute.name], register, (register, factor, other))
                for register, factor, other in zip(value, alpha, addend, strict=True)]

    def _multiply(self, factors: list[Group], sources: list[Group], targets: list[Group]) -> list[Line]:
        zero = (self._constants["zero"],) if self.compute.name == "s32" else ()
        return [Line(MULTIPLY[self.compute.name], to, (source, factor, *zero))
                for to, source, factor in zip(targets, sources, factors, strict=True)]


def float_bits(value: float) -> int:
    """The 32 bits of an f32."""
    return int(np.float32(value).view(np.uint32))


def _words(value: float, dtype: str) -> list[int]:
    """32-bit words of a constant; a packed type holds it twice."""
    if dtype == "s32":
        if value != int(value):
            raise gs.UserError("alpha and beta are integers where an integer output is computed", got=value)
        return [int(value) & 0xFFFFFFFF]
    kind = {"f64": np.float64, "f32": np.float32, "f16": np.float16}[dtype]
    data = np.full(2 if dtype == "f16" else 1, value, kind)
    return [int(word) for word in data.view(np.uint32)]
