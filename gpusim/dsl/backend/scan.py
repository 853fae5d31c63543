"""Models the knowledge one warp has about finished instructions as it walks through its ops, and finds what it lacks.
Leaves out names and messages (gpusim.dsl.backend.checker)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

__all__ = ["FOUND", "HAZARD_KINDS", "Stream", "scan_stream"]

HAZARD_KINDS = ("RAW", "WAW", "WAR")
FOUND = np.dtype([("kind", "<i8"), ("first", "<i8"), ("second", "<i8"), ("unit", "<i8")])

_RAW, _WAW, _WAR = 0, 1, 2
_NUM_BARRIERS = 6
_NUM_CLASSES = 4
_WAIT_SEES_AFTER_CYCLES = 2  # a wait in the very next cycle does not see a barrier being set yet
_PAIRS = 64  # (read barrier, write barrier), 7 in either: none


class Stream(NamedTuple):
    """N rows. Reads of row i: ``read_unit[read_first[i]:read_first[i + 1]]``; writes alike; U register units."""

    cycle: np.ndarray  # (N,) i8: least issue cycle
    active: np.ndarray  # (N,) bool
    sets_barriers: np.ndarray  # (N,) bool: active, or passes the queue in order all the same
    wait_mask: np.ndarray  # (N,) i8
    write_barrier: np.ndarray  # (N,) i8
    read_barrier: np.ndarray  # (N,) i8
    latency_cycles: np.ndarray  # (N,) i8
    is_variable: np.ndarray  # (N,) bool
    order_class: np.ndarray  # (N,) i8: instructions of one class other than 0 finish in order
    read_first: np.ndarray  # (N + 1,) i8
    read_unit: np.ndarray
    write_first: np.ndarray  # (N + 1,) i8
    write_unit: np.ndarray
    is_vector: np.ndarray  # (U,) bool
    unit_names: np.ndarray  # (U,) i8


class _Known(NamedTuple):
    """What has been waited for so far, as row numbers."""

    waited: np.ndarray  # (barrier,): every row before this one that set the barrier is done
    result_set: np.ndarray  # (class, barrier): last row that set it as its write barrier
    operand_set: np.ndarray  # (class, barrier): last row that set it at all
    results: np.ndarray  # (class,): results of the class's rows up to this one are there
    operands: np.ndarray  # (class,): operands up to this one have been read


class _Registers(NamedTuple):
    """Per register unit, rows that may not be done with it; -1: none."""

    fixed_writer: np.ndarray  # (unit,)
    variable_writer: np.ndarray  # (unit,)
    ordered_reader: np.ndarray  # (unit, class): last of each in-order class
    other_reader: np.ndarray  # (unit, barrier pair): last with this pair of barriers


def scan_stream(stream: Stream, limit: int) -> np.ndarray:
    """At most ``limit`` FOUND rows, in program order."""
    found = np.zeros((limit, len(FOUND.names or ())), np.int64)
    units = len(stream.unit_names)
    known = _Known(_none(_NUM_BARRIERS), _none(_NUM_CLASSES, _NUM_BARRIERS), _none(_NUM_CLASSES, _NUM_BARRIERS),
                   _none(_NUM_CLASSES), _none(_NUM_CLASSES))
    registers = _Registers(_none(units), _none(units), _none(units, _NUM_CLASSES), _none(units, _PAIRS))
    count = _scan(stream, known, registers, found)
    return np.ascontiguousarray(found[:count]).view(FOUND)[:, 0] if count else np.zeros(0, FOUND)


def _none(*shape: int) -> np.ndarray:
    return np.full(shape, -1, np.int64)


_njit: Any = numba.njit(cache=True)


@_njit
def _scan(stream, known, registers, found):
    count = 0
    for row in range(len(stream.cycle)):
        _wait(stream, known, row)
        if not stream.active[row]:
            continue
        for i in range(stream.read_first[row], stream.read_first[row + 1]):
            count = _check_result(stream, known, registers, row, stream.read_unit[i], 0, _RAW, found, count)
        for i in range(stream.write_first[row], stream.write_first[row + 1]):
            unit = stream.write_unit[i]
            slack = stream.latency_cycles[row] - 1
            count = _check_result(stream, known, registers, row, unit, slack, _WAW, found, count)
            count = _check_readers(stream, known, registers, row, unit, found, count)
        if count == len(found):
            break
        _note(stream, known, registers, row)
    return count


@_njit
def _report(found, count, kind, first, second, unit):
    if count == len(found):
        return count
    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = kind, first, second, unit
    return count + 1


@_njit
def _wait(stream, known, row):
    """Learns what the row's wait mask tells; the row before is too close unless it leaves a cycle in between."""
    seen = row
    if row and stream.cycle[row] - stream.cycle[row - 1] < _WAIT_SEES_AFTER_CYCLES:
        seen = row - 1
    if row and seen == row:
        _publish(stream, known, row - 1)
    for barrier in range(_NUM_BARRIERS):
        if stream.wait_mask[row] >> barrier & 1:
            known.waited[barrier] = seen
            for order in range(1, _NUM_CLASSES):
                known.results[order] = max(known.results[order], known.result_set[order, barrier])
                known.operands[order] = max(known.operands[order], known.operand_set[order, barrier])
    if row and seen != row:
        _publish(stream, known, row - 1)


@_njit
def _publish(stream, known, row):
    """From now on a wait for its barriers tells that the row is done."""
    order, write, read = stream.order_class[row], stream.write_barrier[row], stream.read_barrier[row]
    if not stream.sets_barriers[row] or not order:
        return
    if write < _NUM_BARRIERS:
        known.result_set[order, write] = row
        known.operand_set[order, write] = row
    if read < _NUM_BARRIERS:
        known.operand_set[order, read] = row


@_njit
def _check_result(stream, known, registers, row, unit, slack, kind, found, count):
    """The unit's last result must be there; ``slack`` cycles later is soon enough."""
    writer = registers.fixed_writer[unit]
    if writer >= 0 and stream.cycle[row] - stream.cycle[writer] < stream.latency_cycles[writer] - slack:
        count = _report(found, count, kind, writer, row, unit)
    writer = registers.variable_writer[unit]
    overtakes = kind == _RAW or not _same_class(stream, writer, row)
    if writer >= 0 and overtakes and not _has_result(stream, known, writer):
        count = _report(found, count, kind, writer, row, unit)
    return count


@_njit
def _same_class(stream, first, second):
    """The second finishes after the first by itself."""
    return stream.order_class[first] > 0 and stream.order_class[first] == stream.order_class[second]


@_njit
def _has_result(stream, known, row):
    barrier, order = stream.write_barrier[row], stream.order_class[row]
    if barrier < _NUM_BARRIERS and known.waited[barrier] > row:
        return True
    return order > 0 and known.results[order] >= row


@_njit
def _check_readers(stream, known, registers, row, unit, found, count):
    """Everybody must have read the unit's old value."""
    for order in range(1, _NUM_CLASSES):
        reader = registers.ordered_reader[unit, order]
        if reader >= 0 and order != stream.order_class[row] and known.operands[order] < reader:
            count = _report(found, count, _WAR, reader, row, unit)
    for pair in range(_PAIRS):
        reader = registers.other_reader[unit, pair]
        if reader >= 0 and not _waited_for_either(known, pair // 8, pair % 8, reader):
            count = _report(found, count, _WAR, reader, row, unit)
    return count


@_njit
def _waited_for_either(known, read, write, row):
    if read < _NUM_BARRIERS and known.waited[read] > row:
        return True
    return write < _NUM_BARRIERS and known.waited[write] > row


@_njit
def _note(stream, known, registers, row):
    """Enters the row's own reads and writes."""
    if stream.is_variable[row]:
        pair = stream.read_barrier[row] * 8 + stream.write_barrier[row]
        for i in range(stream.read_first[row], stream.read_first[row + 1]):
            unit = stream.read_unit[i]
            if stream.is_vector[unit] and stream.order_class[row]:
                registers.ordered_reader[unit, stream.order_class[row]] = row
            elif stream.is_vector[unit]:
                registers.other_reader[unit, pair] = row
    for i in range(stream.write_first[row], stream.write_first[row + 1]):
        unit = stream.write_unit[i]
        registers.fixed_writer[unit] = -1 if stream.is_variable[row] else row
        registers.variable_writer[unit] = row if stream.is_variable[row] else -1
        registers.ordered_reader[unit, :] = -1
        registers.other_reader[unit, :] = -1
