"""Models the roofline of a run: what pipes and memories could deliver, and where the kernel stands below them.
Leaves out latency, launch and tail: a kernel may be far below the roof without being bound by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpusim.report.metric import Run, per_sm_cycle, seconds
from gpusim.report.peaks import main_math, math_peak_flops_per_cycle, mma_name, tensor_peak_flops_per_cycle
from gpusim.report.style import UNIT_COLORS, figure

__all__ = ["Ceiling", "Level", "Roofline", "draw_roofline", "roofline"]

SECTOR_BYTES = 32
_WIDTH_INCHES, _HEIGHT_INCHES = 6.2, 4.4


@dataclass(frozen=True)
class Ceiling:
    """A peak of arithmetic."""

    title: str
    tflops: float


@dataclass(frozen=True)
class Level:
    """A memory: its peak bandwidth, and the run's operations per byte that it moved there (None: it moved none)."""

    name: str
    title: str
    gbytes_per_second: float
    flops_per_byte: float | None


@dataclass(frozen=True)
class Roofline:
    """Ceilings from the lowest up, memories from the outermost in, and what the run achieved."""

    ceilings: tuple[Ceiling, ...]
    levels: tuple[Level, ...]
    tflops: float


def roofline(run: Run) -> Roofline | None:
    """The roofline of a run; None for a program that does no floating-point work or took no time."""
    mnemonic = main_math(run.program)
    if not run.program.flops or not run.result.cycles or mnemonic is None:
        return None
    return Roofline(_ceilings(run, mnemonic), _levels(run), 1e-12 * run.program.flops / seconds(run))


def _ceilings(run: Run, mnemonic: str) -> tuple[Ceiling, ...]:
    to_tflops = run.result.clock_mhz * 1e-6
    own = math_peak_flops_per_cycle(run.program, run.spec) or 0.0
    tensor = tensor_peak_flops_per_cycle(run.program, run.spec)
    found = [Ceiling(f"{mma_name(mnemonic) if tensor else mnemonic.split('.')[0]} peak", own * to_tflops)]
    if tensor and tensor > own:
        found.append(Ceiling("wgmma peak", tensor * to_tflops))
    return tuple(found)


def _levels(run: Run) -> tuple[Level, ...]:
    spec, counters, flops = run.spec, run.result.counters, run.program.flops
    gigahertz = run.result.clock_mhz * 1e-3
    dram_bytes = counters.get("dram_bytes_read", 0.0) + counters.get("dram_bytes_written", 0.0)
    l2_bytes = SECTOR_BYTES * (counters.get("l2_sectors_read", 0.0) + counters.get("l2_sectors_write", 0.0))
    shared_peak = spec.sm.count * spec.shared.bytes_per_wavefront * spec.shared.wavefronts_per_cycle
    shared_bytes = spec.shared.bytes_per_wavefront * counters.get("data_stage_cycles", 0.0)
    rows = (("dram", "DRAM", per_sm_cycle(run, spec.dram.read_bytes_per_cycle), dram_bytes),
            ("l2", "L2", per_sm_cycle(run, spec.l2.read_bytes_per_cycle), l2_bytes),
            ("shared", "shared memory", shared_peak, shared_bytes))
    return tuple(Level(name, title, peak * gigahertz, flops / moved if moved else None)
                 for name, title, peak, moved in rows)


def draw_roofline(data: Roofline) -> Figure:
    """Both axes logarithmic; each memory has a slope, and a mark of its colour at the run's operations per byte."""
    low, high, top = _limits(data)
    with figure(_WIDTH_INCHES, _HEIGHT_INCHES) as drawn:
        axes = drawn.add_subplot()
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(min(top / 300, data.tflops / 4), top * 2.2))
        axes.grid(True, which="major", color="#e8e8e8", linewidth=0.6)
        for ceiling in data.ceilings:
            _draw_ceiling(axes, ceiling, high)
        for level in data.levels:
            _draw_level(axes, level, data.tflops, top, low)
        axes.set_xlabel("arithmetic intensity (FLOP per byte moved at that level)")
        axes.set_ylabel("performance (TFLOP/s)")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,g}")
        drawn.legend(loc="outside lower left", ncols=1, title="slope: peak bandwidth; mark: this run", title_fontsize=8,
                     alignment="left")
    return drawn


def _limits(data: Roofline) -> tuple[float, float, float]:
    """Least and largest intensity, and the highest ceiling."""
    top = max(ceiling.tflops for ceiling in data.ceilings)
    ridges = [1000 * top / level.gbytes_per_second for level in data.levels]
    marks = [level.flops_per_byte for level in data.levels if level.flops_per_byte]
    return min([*ridges, *marks]) / 6, max([*ridges, *marks]) * 8, max(top, data.tflops)


def _draw_ceiling(axes: Axes, ceiling: Ceiling, right: float) -> None:
    axes.axhline(ceiling.tflops, color="#333333", linewidth=1.0)
    axes.annotate(f"{ceiling.title} {ceiling.tflops:,.0f} TFLOP/s", (right, ceiling.tflops), xytext=(-4, 3),
                  textcoords="offset points", ha="right", va="bottom", fontsize=8, color="#333333")


def _draw_level(axes: Axes, level: Level, tflops: float, top: float, low: float) -> None:
    ridge = 1000 * top / level.gbytes_per_second
    color = UNIT_COLORS[level.name]
    intensity = np.array([low, ridge])
    axes.plot(intensity, intensity * level.gbytes_per_second / 1000, color=color, linewidth=1.4,
              label=f"{level.title}: {level.gbytes_per_second:,.0f} GB/s" + _at(level))
    if level.flops_per_byte:
        axes.plot([level.flops_per_byte], [tflops], marker="o", markersize=8, color=color, markeredgecolor="black",
                  markeredgewidth=0.7, linestyle="none", zorder=5)


def _at(level: Level) -> str:
    return f", {level.flops_per_byte:,.1f} FLOP/byte" if level.flops_per_byte else ", not used"
