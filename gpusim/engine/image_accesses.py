"""Models accesses as the compiled code sees them: one row per (access, warp), with what it takes of every unit.
Leaves out the ops that name them (gpusim.engine.image)."""

from __future__ import annotations

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.memory import WarpLines, lines_in_part, words_written
from gpusim.memory.async_copy import BYPASS_OPERATION
from gpusim.memory.copy_writes import LINE_CLASSES, classes_written, write_turns
from gpusim.memory.l1_crossing import l1_crossings
from gpusim.memory.operations import ASYNC_OPERATIONS
from gpusim.program import REQUEST, AccessTable, RoleProgram

__all__ = ["IMAGE_ACCESS", "IMAGE_REQUEST", "access_rows"]

IMAGE_REQUEST = np.dtype([*REQUEST.descr, ("word_mask", "<u4")], align=True)
"""REQUEST, and which words of its line a store to global memory writes whole, a bit each."""

IMAGE_ACCESS = np.dtype([
    ("first", "<i4"), ("count", "<i4"), ("tensor", "<i4"), ("wavefronts", "<u2"), ("ideal", "<u2"),
    ("registers", "<i4"), ("conflicts", "<f4"), ("data_cycles", "<i4"), ("early_cycles", "<i4"),
    ("tag_cycles", "<i4"), ("ask_cycles", "<i4"), ("copy_cycles", "<i4"), ("copy_lag", "<i4"),
    ("bulk_bytes", "<i4"), ("cta_mask", "<i4"), ("shared_last", "<i4"), ("line_reads", "<f4"),
], align=True)
"""One access of one warp; first and count name rows of the requests, registers those of a lane that it loads from
shared memory, data_cycles what its data take of the data stage when they come from memory, or of the SM's port when
they go there; early_cycles how many of these are over when the last data come, as lines pass one by one and half of
them take as long as whole ones; tag_cycles what its lines take of the tag stage, ask_cycles for how long its requests
leave behind it; copy_cycles how long writing the data of a copy that bypasses L1 takes; copy_lag by how much later it
is seen to have left; shared_last: highest shared address, behind the op's shared_offset; line_reads: how long a store's
lines are read on their way to the port.
Of a bulk copy: bulk_bytes in shared memory, wavefronts and tag_cycles what it takes of the data stage and of the TMA
unit. Of an mbarrier op: bulk_bytes is the number of lanes that take part. cta_mask: as AccessTable has it."""

BULK_OPERATIONS, MBARRIER_OPERATION, BULK_STORE, STORE = ("TMALDG", "TMASTG"), "MBAR", "TMASTG", "STG"
STORE_PREFIXES = (STORE, BULK_STORE)  # operations of stores to global memory
WHOLE_LINE_SECTORS = 15
REGISTER_BYTES = 4
MATRIX_LETTERS = "LDSMT"  # of an ldmatrix, transposed or not, in front of the number of its matrices
ROUNDING = 1e-6  # of sums


def access_rows(roles: list[RoleProgram], spec: GpuSpec) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """All roles' accesses one behind the other, a row per warp; their requests; the first row of each role."""
    rows, requests, first, base, total = [], [], [], 0, 0
    for role in roles:
        table = role.accesses
        bypasses = np.array([operation == BYPASS_OPERATION for operation in table.operation], bool)
        part = np.zeros((len(table), role.num_warps), IMAGE_ACCESS)
        part["first"], part["count"] = table.request_first + base, table.request_count
        part["tensor"] = table.tensor[:, None]
        part["wavefronts"], part["ideal"] = table.wavefronts, table.ideal_wavefronts
        part["conflicts"] = table.bank_conflicts
        part["registers"] = _registers(table)
        data_bytes = np.bitwise_count(table.lane_mask).astype(np.int64) * table.bytes_per_lane[:, None]
        full = -(-data_bytes // spec.shared.bytes_per_wavefront)
        part["data_cycles"] = np.maximum(part["count"], full)
        part["early_cycles"] = np.where(_loads(table)[:, None], part["data_cycles"] - full, 0)
        _crossings(table, part, bypasses)
        lines = _request_rows(table)
        _write_cycles(table, part, lines, spec)
        part["tag_cycles"], part["ask_cycles"] = _tag_cycles(table, bypasses, spec)
        _copy_writes(table, part, bypasses, spec)
        _bulk_costs(table, part, spec)
        part["shared_last"] = table.shared_address.max(-1)
        first.append(total)
        rows.append(part.reshape(-1))
        requests.append(lines)
        base, total = base + len(table.requests), total + part.size
    return np.concatenate(rows), np.concatenate(requests), first


def _loads(table: AccessTable) -> np.ndarray:
    return np.array([operation.startswith("LDG") for operation in table.operation], bool)


def _registers(table: AccessTable) -> np.ndarray:
    """That each lane loads from shared memory: ldmatrix one for each matrix."""
    each = [int(operation.lstrip(MATRIX_LETTERS)) if operation.startswith("LDSM") else
            -(-int(table.bytes_per_lane[row]) // REGISTER_BYTES) * operation.startswith("LDS")
            for row, operation in enumerate(table.operation)]
    return np.array(each, np.int64)[:, None] * (table.wavefronts > 0)


def _tag_cycles(table: AccessTable, bypasses: np.ndarray, spec: GpuSpec) -> tuple[np.ndarray, np.ndarray]:
    """Cycles that accesses take of the tag stage, line by line, and of what asks L2, request by request; copies that
    bypass L1 are faster at whole lines.

    A copy's requests are what one wavefront can write (`gpusim.memory.async_copy.bypass_pieces`), so that it may ask
    for a line several times.
    """
    requests, first, last = table.requests, table.request_first, table.request_first + table.request_count
    every = np.full(len(requests), float(spec.l1.tag_interval_cycles))
    bypass = np.where(requests["sector_mask"] == WHOLE_LINE_SECTORS, spec.l1.whole_line_cycles, every)
    again = np.zeros(len(requests), bool)
    again[1:] = requests["line_offset"][1:] == requests["line_offset"][:-1]
    again[first[first < len(requests)]] = False
    asked, taken = (np.where(bypasses[:, None], _sums(bypass, first, last), _sums(every, first, last)),
                    _sums(bypass * ~again, first, last))
    return np.ceil(np.where(bypasses[:, None], taken, asked) - ROUNDING), np.ceil(asked - ROUNDING)


def _sums(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    sums = np.append(0.0, np.cumsum(values))
    return sums[last] - sums[first]


def _copy_writes(table: AccessTable, accesses: np.ndarray, bypasses: np.ndarray, spec: GpuSpec) -> None:
    """How long the data of copies that bypass L1 are written, and how late they are, as their lines are of few classes:
    0 for all else, and for lanes that fetch nothing."""
    for row in np.flatnonzero(bypasses):
        shared, fetched = table.shared_address[row], table.lane_mask[row] & ~table.zfill_mask[row]
        turns = write_turns(shared, table.global_offset[row], fetched)
        unwritten = LINE_CLASSES - classes_written(shared, fetched)
        accesses["copy_cycles"][row] = np.where(fetched, turns + spec.l1.copy_write_lead_cycles, 0)
        accesses["copy_lag"][row] = np.where(fetched, unwritten * spec.l1.class_lag_cycles, 0)


def _crossings(table: AccessTable, accesses: np.ndarray, bypasses: np.ndarray) -> None:
    """Data of copies that bypass L1 are written beside what else the data stage does (predicated.csv); those of others
    are read from L1's lines."""
    accesses["data_cycles"][bypasses] = 0
    for row, operation in enumerate(table.operation):
        if operation in ASYNC_OPERATIONS and not bypasses[row]:
            accesses["data_cycles"][row] = l1_crossings(
                int(table.bytes_per_lane[row]), table.shared_address[row], table.global_offset[row],
                table.lane_mask[row])


def _request_rows(table: AccessTable) -> np.ndarray:
    rows = np.zeros(len(table.requests), IMAGE_REQUEST)
    for name in REQUEST.names or ():
        rows[name] = table.requests[name]
    stores = np.array([operation.startswith(STORE) for operation in table.operation], bool)
    for width in np.unique(table.bytes_per_lane[stores]).tolist():
        of_width = stores & (table.bytes_per_lane == width)
        lines = WarpLines(table.request_first[of_width].reshape(-1), table.request_count[of_width].reshape(-1),
                          table.requests)
        rows["word_mask"] |= words_written(table.global_offset[of_width], width, table.lane_mask[of_width], lines)
    return rows


def _write_cycles(table: AccessTable, accesses: np.ndarray, lines: np.ndarray, spec: GpuSpec) -> None:
    """Cycles that stores take of the SM's port: sectors one by one, and more for a line with one that is not filled;
    and of the data array, where the port reads them."""
    stores = np.array([operation.startswith(STORE_PREFIXES) for operation in table.operation], bool)
    first, last = table.request_first[stores], table.request_first[stores] + table.request_count[stores]
    sectors = _sums(np.bitwise_count(lines["sector_mask"]), first, last)
    partly = _sums(lines_in_part(lines["sector_mask"], lines["word_mask"]), first, last)
    for i, row in enumerate(np.flatnonzero(stores).tolist()):
        if table.operation[row] == BULK_STORE:
            room = sectors[i] * spec.l2.sector_bytes - table.bulk_bytes[row]
            partly[i] = np.minimum(table.request_count[row], -(-room // (spec.l2.sector_bytes // 2)))
    read = np.where(np.bitwise_count(lines["sector_mask"]) > 1, spec.l1.line_read_cycles, spec.l1.sector_read_cycles)
    accesses["line_reads"][stores] = _sums(read, first, last)
    data_cycles = sectors * spec.l2.sector_bytes / spec.noc.sm_write_bytes_per_cycle
    accesses["data_cycles"][stores] = np.ceil(data_cycles + partly * spec.noc.unfilled_line_cycles)


def _bulk_costs(table: AccessTable, accesses: np.ndarray, spec: GpuSpec) -> None:
    """Bulk copies move a line a turn, and at least as many as their bytes fill. mbarrier ops: who takes part."""
    accesses["bulk_bytes"], accesses["cta_mask"] = table.bulk_bytes, table.cta_mask
    for row, operation in enumerate(table.operation):
        if operation in BULK_OPERATIONS and spec.tma is not None:
            turns = np.maximum(table.request_count[row], -(-table.bulk_bytes[row] // spec.shared.bytes_per_wavefront))
            accesses["wavefronts"][row] = turns
            accesses["tag_cycles"][row] = np.ceil(table.request_count[row] * spec.tma.line_interval_cycles)
            if operation not in STORE_PREFIXES:
                accesses["data_cycles"][row] = turns
        elif operation == MBARRIER_OPERATION:
            accesses["bulk_bytes"][row] = np.bitwise_count(table.lane_mask[row])
