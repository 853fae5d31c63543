"""Models the shared memory of a CTA: an allocation per staged tensor, one after another, within the GPU's limit.
Leaves out banks (gpusim.memory) and the driver's reservation (gpusim.arch.occupancy)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from gpusim.cute import Swizzle
from gpusim.cute.gmma import GmmaLayout
from gpusim.cute.presets import smem_swizzle
from gpusim.dsl.dtypes import DType
from gpusim.dsl.hopper.operands import SmemOperand
from gpusim.dsl.tensors import SmemArray, SmemTensor
from gpusim.errors import UserError

__all__ = ["SharedMemory"]

NO_SWIZZLE = Swizzle(0, 0, 0)
Placed = TypeVar("Placed", SmemTensor, SmemArray, SmemOperand)


@dataclass
class SharedMemory:
    """Allocations so far, in bytes from the CTA's shared-memory base."""

    limit_bytes: int
    tensors: list[SmemTensor | SmemArray | SmemOperand] = field(default_factory=list)

    @property
    def used_bytes(self) -> int:
        return max((tensor.base_address + tensor.size_bytes for tensor in self.tensors), default=0)

    def number(self, name: str) -> int:
        """Of a tensor among the CTA's."""
        return next(number for number, tensor in enumerate(self.tensors) if tensor.name == name)

    def allocate(self, name: str, dtype: DType, shape: tuple[int, int, int], swizzle: str,
                 over: SmemTensor | None = None) -> SmemTensor:
        """A tensor (rows, columns, stages); ``over``: it begins where that one does. Raises UserError for a taken name,
        an empty shape, an over-full memory."""
        if any(tensor.name == name for tensor in self.tensors):
            raise UserError("a shared tensor needs a name of its own", got=f"'{name}'")
        if len(shape) != 3 or min(shape) < 1:
            raise UserError(f"shared tensor {name} has the shape (rows, columns, stages)", got=shape)
        row_bytes = shape[1] * dtype.bytes
        spelled = smem_swizzle(swizzle, row_bytes)
        tensor = SmemTensor(name, dtype, shape, row_bytes + spelled.pad_bytes, spelled.swizzle or NO_SWIZZLE, 0)
        return self._place(tensor, over)

    def array(self, name: str, dtype: DType, elements: int, over: SmemArray | None) -> SmemArray:
        """An array in the order a layout gives it; ``over``: it begins where that one does, and takes its place. The
        next tile of a CTA finds the arrays of the last one under their names."""
        known = next((t for t in self.tensors if isinstance(t, SmemArray) and t.name == name), None)
        if known is not None and known.elements == elements:
            return known
        base = over.base_address if over else -(-self.used_bytes // SmemArray.period_bytes) * SmemArray.period_bytes
        return self._keep(SmemArray(name, dtype, elements, base, len(self.tensors)))

    def operand(self, name: str, dtype: DType, layout: GmmaLayout, stages: int,
                over: SmemTensor | SmemOperand | None) -> SmemOperand:
        """Staged tiles of wgmma; ``over``: they begin where that tensor does."""
        if any(tensor.name == name for tensor in self.tensors) or stages < 1:
            raise UserError("a shared tensor needs a name of its own and a stage", got=f"'{name}', {stages} stages")
        base = over.base_address if over else -(-self.used_bytes // layout.alignment_bytes) * layout.alignment_bytes
        return self._keep(SmemOperand(name, dtype, layout, stages, base))

    def _place(self, tensor: SmemTensor, over: SmemTensor | None) -> SmemTensor:
        end = over.base_address if over else self.used_bytes
        base = -(-end // tensor.period_bytes) * tensor.period_bytes
        return self._keep(SmemTensor(tensor.name, tensor.dtype, tensor.shape, tensor.row_bytes, tensor.swizzle, base))

    def _keep(self, placed: Placed) -> Placed:
        self.tensors.append(placed)
        if self.used_bytes > self.limit_bytes:
            parts = " + ".join(f"{t.name} {t.size_bytes}" for t in self.tensors)
            raise UserError(f"shared memory of a CTA is limited to {self.limit_bytes} bytes",
                            got=f"{self.used_bytes} ({parts})", suggestion="fewer stages or a smaller tile")
        return placed
