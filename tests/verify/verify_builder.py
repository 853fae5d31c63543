"""A builder of tiny Programs by hand: one line per warp instruction, lane addresses given as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.program import CtaClass, Launch, Program, RoleProgram, Static, TensorInfo, empty_ops
from gpusim.program.access_builder import Access, build_access_table
from gpusim.verify.dtypes import dtype_bits

FULL = 0xFFFFFFFF


@dataclass
class RoleBuilder:
    """Warp instructions of one role. Every op gets its own source line, so hazards can be told apart."""

    num_warps: int = 1
    first_warp: int = 0
    name: str = "main"
    rows: list[dict[str, Any]] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)

    def op(self, mnemonic: str, dst: tuple[int, int] | None = None, *srcs: tuple[int, int] | None,
           access: int = -1, **fields: Any) -> int:
        """Append an op; registers are (start, count). Returns its source line."""
        self.rows.append({"mnemonic": mnemonic, "dst": dst, "srcs": srcs, "access": access, **fields})
        return self.line(len(self.rows) - 1)

    def line(self, row: int) -> int:
        return 100 * (self.first_warp + 1) + row

    def access(self, operation: str, size: int, *, shared: Any = None, glob: Any = None, tensor: int = -1,
               mask: Any = FULL, zfill: Any = 0) -> int:
        """Add an access; lane arrays broadcast to (warps, 32). Returns its row."""
        def lanes(values: Any) -> np.ndarray | None:
            return None if values is None else np.broadcast_to(values, (self.num_warps, 32)).astype(np.int64)

        def masks(values: Any) -> np.ndarray:
            return np.broadcast_to(np.uint32(values), (self.num_warps,)).copy()

        self.accesses.append(Access(operation, operation, size, lanes(shared), lanes(glob), tensor, masks(mask),
                                    masks(zfill)))
        return len(self.accesses) - 1

    def load_global(self, dst: tuple[int, int], glob: Any, tensor: int, size: int = 4, **how: Any) -> int:
        row = self.access(f"LDG{8 * size}", size, glob=glob, tensor=tensor, **how)
        return self.op("LDG.E", dst, access=row)

    def store_global(self, src: tuple[int, int], glob: Any, tensor: int, size: int = 4, **how: Any) -> int:
        row = self.access(f"STG{8 * size}", size, glob=glob, tensor=tensor, **how)
        return self.op("STG.E", None, src, access=row)

    def load_shared(self, dst: tuple[int, int], shared: Any, size: int = 4, **how: Any) -> int:
        row = self.access(f"LDS{8 * size}", size, shared=shared, **how)
        return self.op("LDS", dst, access=row)

    def store_shared(self, src: tuple[int, int], shared: Any, size: int = 4, **how: Any) -> int:
        row = self.access(f"STS{8 * size}", size, shared=shared, **how)
        return self.op("STS", None, src, access=row)

    def copy_async(self, shared: Any, glob: Any, tensor: int, size: int = 16, **how: Any) -> int:
        row = self.access(f"CPA{size}", size, shared=shared, glob=glob, tensor=tensor, **how)
        return self.op("LDGSTS.E.BYPASS.128", access=row)

    def commit(self) -> int:
        return self.op("LDGDEPBAR", write_barrier=0)

    def wait(self, allowed: int = 0) -> int:
        return self.op("DEPBAR.LE", operand=allowed)

    def barrier(self, number: int = 0, threads: int = 0) -> int:
        return self.op("BAR.SYNC.DEFER_BLOCKING", operand=threads << 8 | number)

    def build(self, first_pc: int) -> tuple[RoleProgram, list[Static]]:
        ops = empty_ops(len(self.rows))
        statics = []
        for i, row in enumerate(self.rows):
            statics.append(Static(row["mnemonic"], self.line(i), "body", "kernel.py"))
            ops[i]["pc"], ops[i]["access"] = first_pc + i, row["access"]
            if row["dst"]:
                ops[i]["dst_start"], ops[i]["dst_count"] = row["dst"]
            for j, group in enumerate(row["srcs"]):
                if group:
                    ops[i]["src_start"][j], ops[i]["src_count"][j] = group
            for name in row.keys() - {"mnemonic", "dst", "srcs", "access"}:
                ops[i][name] = row[name]
        table = build_access_table(self.accesses, self.num_warps)
        return RoleProgram(self.name, self.first_warp, self.num_warps, ops, table), statics


def tensors(*specs: tuple[str, str, tuple[int, ...]], outputs: str = "D") -> tuple[TensorInfo, ...]:
    """Row-major tensors (name, dtype, shape) at disjoint base addresses; names in ``outputs`` are written."""
    infos, base = [], 1 << 20
    for name, dtype, shape in specs:
        strides = tuple(int(np.prod(shape[i + 1:])) for i in range(len(shape)))
        size = int(np.prod(shape)) * dtype_bits(dtype) // 8
        infos.append(TensorInfo(name, dtype, shape, strides, base, size, name in outputs))
        base += -(-size // 256) * 256
    return tuple(infos)


def make_program(infos: tuple[TensorInfo, ...], *roles: RoleBuilder, shared_bytes: int = 4096,
                 cta_offsets: np.ndarray | None = None) -> Program:
    """A launch of one CTA class; ``cta_offsets`` (C, T) bytes from the tensors' starts (default: one CTA at 0)."""
    built, statics = [], []
    for role in roles:
        role.op("EXIT")
        program, more = role.build(len(statics))
        built.append(program)
        statics += more
    offsets = np.zeros((1, len(infos)), np.int64) if cta_offsets is None else cta_offsets
    ctas = len(offsets)
    index = np.stack([np.arange(ctas), np.zeros(ctas), np.zeros(ctas)], axis=1).astype(np.int32)
    threads = 32 * sum(role.num_warps for role in roles)
    return Program("hand_made", tuple(statics), (CtaClass("interior", tuple(built)),),
                   Launch((ctas, 1, 1), threads, 64, shared_bytes), np.zeros(ctas, np.int32),
                   offsets + np.array([info.base_address for info in infos]), index, infos)
