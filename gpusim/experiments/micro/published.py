"""Models published tables: ldmatrix and ld.shared on the A100, memory instructions on GA102.
Leaves out cp.async that hits L1, whose kind is not told; written by hand, as the authors' binaries are not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gpusim.arch import GpuSpec
from gpusim.experiments.micro.compiled import HARDWARE
from gpusim.experiments.micro.probe import NoProgram, Probe, cycles_between
from gpusim.program import NO_BARRIER, CtaClass, Launch, Program, RoleProgram, Static, TensorInfo, empty_ops
from gpusim.program.access_builder import Access, build_access_table

__all__ = ["published_probes"]

MNEMONICS = {"LDS32": "LDS", "LDS64": "LDS.64", "LDS128": "LDS.128", "STS32": "STS", "STS64": "STS.64",
             "STS128": "STS.128", "LDSM1": "LDSM.16.M88", "LDSM2": "LDSM.16.M88.2", "LDSM4": "LDSM.16.M88.4",
             "LDG32": "LDG.E", "LDG64": "LDG.E.64", "LDG128": "LDG.E.128", "STG32": "STG.E", "STG64": "STG.E.64",
             "STG128": "STG.E.128", "CPA16": "LDGSTS.E.BYPASS.128"}
LANE_BYTES = {"LDSM": 16, "CPA": 16}
ITERATIONS = 64
SHARED_BYTES, TENSOR_BYTES, TENSOR_ADDRESS = 32768, 4096, 1 << 32
REGISTERS = 32
QUEUED, STEADY_FIRST, STEADY_LAST = 5, 11, 15
"""The sixth instruction is the first that waits; from the twelfth on the interval is steady."""
BARRIERS = 6
A100, GA102 = "a100", "rtx3090"


@dataclass(frozen=True)
class _Op:
    """One instruction of a hand-written kernel."""

    pc: int
    wait_mask: int = 0
    write_barrier: int = NO_BARRIER
    read_barrier: int = NO_BARRIER
    access: bool = True


def published_probes() -> Iterator[Probe]:
    """A probe per row of both tables."""
    for row in pd.read_csv(HARDWARE / "published/a100_shared.csv").to_dict("records"):
        yield _iteration(row)
    for row in pd.read_csv(HARDWARE / "published/ga102_memory.csv").to_dict("records"):
        yield _issue(row) if row["kind"] in ("sixth", "steady") else _release(row)


def _iteration(row: dict[str, Any]) -> Probe:
    """Independent instructions over and over, each into the same register as in the iteration before."""
    ilp = int(row["ilp"])
    body = [_Op(i, 1 << i, i) for i in range(ilp)]
    access = _access(row["operation"], int(row["warps"]), _addresses(row["operation"], int(row["wavefronts"])))
    marks = [_Op(ilp, access=False), *body * ITERATIONS, _Op(ilp, wait_mask=(1 << ilp) - 1, access=False)]
    statics = [MNEMONICS[row["operation"]]] * ilp + ["CS2R.32"]
    mechanism = "A100 ldmatrix, warps x ILP" if row["kind"] != "latency" else "A100 shared-memory latency"
    what = f"{row['operation']}, {row['warps']} warps, ILP {ilp}, {row['wavefronts']} wavefronts"
    return Probe(mechanism, what, "latency" if row["kind"] == "latency" else "throughput", row["cycles"],
                 partial(_program, ops=marks, mnemonics=statics, access=access),
                 partial(cycles_between, pcs=(ilp,), per=ITERATIONS), gpu=A100)


def _release(row: dict[str, Any]) -> Probe:
    """One memory instruction, and one that waits until its source may be overwritten or its result be read.

    A result is awaited twice: the first time brings the data into L1.
    """
    needs_result, operation = row["kind"] == "raw", str(row["operation"])
    first = _Op(0, write_barrier=0) if needs_result else _Op(0, read_barrier=0)
    ops = [first, _Op(1, wait_mask=1, access=False)] * (2 if needs_result else 1)
    access = _access(operation, 1, np.zeros(32, np.int32))
    probe = Probe(f"GA102 {'result' if needs_result else 'release of the source'}", operation, "latency", row["cycles"],
                  partial(_program, ops=ops, mnemonics=[MNEMONICS[operation], "IADD3"], access=access),
                  partial(cycles_between, pcs=(0, 1)), gpu=GA102)
    return replace(probe, build=_refuse) if needs_result and operation.startswith("CPA") else probe


def _refuse(spec: GpuSpec) -> Program:
    raise NoProgram("its data came from L1, where cp.async.cg does not look")


def _issue(row: dict[str, Any]) -> Probe:
    """Back-to-back loads of one warp per active sub-core; the first sub-core's issue cycles."""
    ops = [_Op(i) for i in range(STEADY_LAST + 1)]
    pcs, per = ((0, QUEUED), 1) if row["kind"] == "sixth" else ((STEADY_FIRST, STEADY_LAST), STEADY_LAST - STEADY_FIRST)
    access = _access(row["operation"], int(row["sub_cores"]), np.zeros(32, np.int32))
    what = "cycles to the sixth instruction" if row["kind"] == "sixth" else "steady interval"
    return Probe("GA102 memory issue", f"{what}, {row['sub_cores']} sub-cores", "latency", row["cycles"],
                 partial(_program, ops=ops, mnemonics=[MNEMONICS[row["operation"]]] * len(ops), access=access),
                 partial(cycles_between, pcs=pcs, per=per), gpu=GA102)


def _lane_bytes(operation: str) -> int:
    name = operation.rstrip("0123456789")
    return LANE_BYTES.get(name) or int(operation.removeprefix(name)) // 8


def _addresses(operation: str, wavefronts: int) -> np.ndarray:
    """(32,) byte addresses that take so many wavefronts: as many lanes of a phase share a bank as that needs."""
    width, number = _lane_bytes(operation), int(operation.lstrip("LDSM"))
    phases = number if operation.startswith("LDSM") else number // 32
    ways, lanes = wavefronts // phases, 128 // width
    lane, phase = np.arange(32) % lanes, np.arange(32) // lanes
    return (lane % (lanes // ways) * width + lane // (lanes // ways) * 128 + phase * 128 * ways).astype(np.int32)


def _access(operation: str, warps: int, shared: np.ndarray) -> Access:
    is_global, is_async = operation.startswith(("LDG", "STG")), operation.startswith("CPA")
    in_global = np.tile(np.arange(32, dtype=np.int64) * _lane_bytes(operation), (warps, 1))
    return Access(operation, operation, _lane_bytes(operation), None if is_global else np.tile(shared, (warps, 1)),
                  in_global if is_global or is_async else None, 0 if is_global or is_async else -1,
                  np.full(warps, 0xFFFF_FFFF, np.uint32), np.zeros(warps, np.uint32))


def _program(spec: GpuSpec, *, ops: Sequence[_Op], mnemonics: Sequence[str], access: Access) -> Program:
    """One CTA of the access's warps that runs ``ops`` and leaves."""
    table = empty_ops(len(ops) + 1)
    for row, op in zip(table, ops, strict=False):
        row["pc"], row["wait_mask"], row["access"] = op.pc, op.wait_mask, 0 if op.access else -1
        row["write_barrier"], row["read_barrier"] = op.write_barrier, op.read_barrier
    table["pc"][-1] = len(mnemonics)
    warps = len(access.lane_mask)
    role = RoleProgram("all", 0, warps, table, build_access_table([access]))
    return Program(
        name="published microbenchmark", statics=tuple(map(Static, (*mnemonics, "EXIT"))),
        classes=(CtaClass("all", (role,)),), launch=Launch((1, 1, 1), 32 * warps, REGISTERS, SHARED_BYTES),
        cta_class=np.zeros(1, np.int32), cta_bases=np.full((1, 1), TENSOR_ADDRESS, np.int64),
        cta_index=np.zeros((1, 3), np.int32),
        tensors=(TensorInfo("p", "u8", (TENSOR_BYTES,), (1,), TENSOR_ADDRESS, TENSOR_BYTES),),
    )
