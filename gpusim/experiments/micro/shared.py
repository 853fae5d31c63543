"""Models mio.csv, mixes.csv, mix_ends.csv and the shared part of lsu.csv: streams by conflicts, issue windows, mixes.
Leaves out cp.async alone (gpusim.experiments.micro.copies)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, key_values, replay
from gpusim.experiments.micro.probe import OVERWRITTEN, Probe, Quantity, cycles_between, refused
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["shared_probes"]

REPEATS, MIO_UNROLLED, LSU_UNROLLED = 64, 8, 16
WARPS_PER_WINDOW = 4
STREAM_BYTES, MIX_BYTES, APART_BYTES = 65536, 131072, 196608
REGISTERS, MIX_REGISTERS = 64, 128
MIO_OPERATIONS = ("lds32", "lds64", "lds128", "ldsm1", "ldsm2", "ldsm4", "sts32", "sts128")
LSU_OPERATIONS = ("lds32", "lds64", "lds128", "ldsm1", "ldsm2", "ldsm4", "sts32", "sts64", "sts128")
"""Template arguments of mio.cu and lsu.cu."""
CYCLES, SINK = TensorPointer("cyc", "i64", (1,), True), TensorPointer("sink", "u32", (2048,), True)
WINDOWS = TensorPointer("out", "u32", (WARPS_PER_WINDOW,), True)
SOURCE = TensorPointer("g", "u8", (4 << 20,))
ENDS, END_TURNS, END_ROW_BYTES = TensorPointer("out", "u32", (16,), True), 48, 64
ENDED_MIX = ["hmma", "ldsm4", "ldgsts", "ways", "warps"]
Parameter = TensorPointer | Scalar


def shared_probes() -> Iterator[Probe]:
    """Probes of all four tables."""
    for row in _rows("mio"):
        yield _mio_stream(row) if row["kind"] == "stream" else _mix(row, "mio", MIX_BYTES)
    for row in _rows("mixes"):
        yield _mix(row, "copy_ca", APART_BYTES)
    yield from _ended_mixes()
    for row in _rows("lsu"):
        if row["kind"] == "stream16":
            yield _lsu_stream(row)
        elif row["kind"] == "issue_window":
            yield _window(row)


def _rows(table: str) -> list[dict[str, Any]]:
    rows = pd.read_csv(HARDWARE / f"h200/{table}.csv", keep_default_na=False).to_dict("records")
    return [row | {"key": key_values(*(row[name] for name in ("what", "p1", "p2", "p3")))} for row in rows]


def _probe(
    row: dict[str, Any], mechanism: str, quantity: Quantity, kernel: CompiledKernel, launch: SassLaunch, per: float
) -> Probe:
    what = ", ".join(str(row[name]) for name in ("what", "p1", "p2", "p3") if row[name])
    return Probe(mechanism, what, quantity, row["cycles"], partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=per))


def _launch(warps: int, parameters: tuple[Parameter, ...], shared_bytes: int, registers: int = REGISTERS) -> SassLaunch:
    return SassLaunch((1, 1, 1), (32 * warps, 1, 1), parameters, shared_bytes, registers)


def _mio_stream(row: dict[str, Any]) -> Probe:
    key = row["key"]
    parameters = (Scalar(key["ways"]), Scalar(key["subpartitions"]), Scalar(REPEATS), Scalar(0), CYCLES, SINK)
    kernel = CompiledKernel("mio", f"streamILi{MIO_OPERATIONS.index(row['what'])}E")
    return _probe(row, f"stream of {row['what']}", "throughput", kernel,
                  _launch(4 * key["warps_per_sub"], parameters, STREAM_BYTES), REPEATS * MIO_UNROLLED)


def _lsu_stream(row: dict[str, Any]) -> Probe:
    key = row["key"]
    parameters = (Scalar(key["ways"]), Scalar(key["subpartitions"]), Scalar(REPEATS), CYCLES, SINK)
    kernel = CompiledKernel("lsu", f"streamILi{LSU_OPERATIONS.index(row['what'])}E")
    return _probe(row, f"stream of {row['what']}, 16 in flight", "throughput", kernel,
                  _launch(4 * key["warps_per_sub"], parameters, STREAM_BYTES), REPEATS * LSU_UNROLLED)


def _window(row: dict[str, Any]) -> Probe:
    key = row["key"]
    kernel = CompiledKernel("lsu", f"windowILi{LSU_OPERATIONS.index(row['what'])}ELi{key['n']}E")
    parameters = (Scalar(key["ways"]), Scalar(key["subpartitions"]), WINDOWS, SINK)
    return _probe(row, f"issue window of {row['what']}", "latency", kernel,
                  _launch(WARPS_PER_WINDOW, parameters, STREAM_BYTES), 1.0)


def _mix(row: dict[str, Any], source: str, shared_bytes: int) -> Probe:
    key = row["key"]
    kernel = CompiledKernel(source, f"mixILi{key['hmma']}ELi{key['ldsm4']}ELi{key['ldgsts']}E")
    parameters = (Scalar(key["ways"]), Scalar(key["rowbytes"]), Scalar(REPEATS), Scalar(0), SOURCE, CYCLES, SINK)
    used = _used(key)
    if key["ldgsts"] and source == "mio":
        what = ", ".join(str(row[name]) for name in ("what", "p1", "p2", "p3"))
        return refused(f"mix of {used}", what, row["cycles"], OVERWRITTEN)
    return _probe(row, f"mix of {used}" + (", places apart" if source != "mio" else ""), "throughput", kernel,
                  _launch(key["warps"], parameters, shared_bytes, MIX_REGISTERS), REPEATS)


def _used(numbers: dict[str, int]) -> str:
    return "+".join(name for name in ("hmma", "ldsm4", "ldgsts") if numbers[name])


def _ended_mixes() -> Iterator[Probe]:
    """Mixes whose warps start together, as the first warp sees them; launches are not alike, so their mean counts."""
    launches = pd.read_csv(HARDWARE / "h200/mix_ends.csv").query("late == 0")
    for key, rows in launches.groupby(ENDED_MIX, sort=False):
        hmma, ldsm4, ldgsts, ways, warps = (int(number) for number in key)
        kernel = CompiledKernel("mix_ends", f"mixeILi{hmma}ELi{ldsm4}ELi{ldgsts}E")
        parameters = (Scalar(ways), Scalar(END_ROW_BYTES), Scalar(END_TURNS), Scalar(0), SOURCE, ENDS, SINK, Scalar(0))
        row = {"what": f"hmma={hmma} ldsm4={ldsm4} ldgsts={ldgsts}", "p1": f"ways={ways}", "p2": f"warps={warps}",
               "p3": "", "cycles": rows.cycles.mean() / END_TURNS}
        used = _used(dict(zip(ENDED_MIX, key, strict=True)))
        yield _probe(row, f"mix of {used}, {END_TURNS} turns", "throughput", kernel,
                     _launch(warps, parameters, APART_BYTES, MIX_REGISTERS), END_TURNS)
