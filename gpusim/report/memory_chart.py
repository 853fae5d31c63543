"""Models Nsight Compute's memory chart: what the kernel asks for, and what moves between SM, L2 and device memory.
Leaves out time."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.report.executions import access_executions
from gpusim.report.metric import Run
from gpusim.report.style import UNIT_COLORS
from gpusim.report.units import SECTOR_BYTES, Unit, memory_units

__all__ = ["Arrow", "Box", "MemoryChart", "Traffic", "memory_chart", "scaled", "traffic"]

_KINDS = {
    "global load": ("LDG", "LD."), "global store": ("STG", "ST."), "atomic": ("ATOM", "RED"), "cp.async": ("CPA",),
    "TMA load": ("TMALDG",), "TMA store": ("TMASTG",),
    "shared load": ("LDS",), "shared store": ("STS",),
}
"""Kinds of access by how their operation starts; LDSM starts as LDS does."""
_ON_SHARED = ("shared load", "shared store")
_WRITES = ("global store", "atomic", "TMA store")
_ROW_HEIGHT, _ROW_GAP, _TOP = 52.0, 12.0, 14.0
_KERNEL, _KINDS_X, _CACHES, _L2, _DRAM = (0.0, 90.0), (230.0, 140.0), (540.0, 150.0), (810.0, 140.0), (1070.0, 130.0)
"""Left edge and width of each column."""


@dataclass(frozen=True)
class Traffic:
    """One kind of access over the whole launch."""

    kind: str
    requests: float
    wavefronts: float
    wavefronts_ideal: float
    sectors: float
    bytes_used: float


@dataclass(frozen=True)
class Box:
    """A place. ``busy_pct`` fills it from below in ``color``, None where no peak is known."""

    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...] = ()
    busy_pct: float | None = None
    color: str = "#ffffff"


@dataclass(frozen=True)
class Arrow:
    """A flow from left to right, or back; ``above`` and ``below`` stand at it."""

    x1: float
    x2: float
    y: float
    above: str
    below: str = ""


@dataclass(frozen=True)
class MemoryChart:
    """Boxes and arrows in pixels of a picture of ``width`` x ``height``."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def traffic(run: Run) -> tuple[Traffic, ...]:
    """Accesses of the launch by kind, those that occur."""
    rows = access_executions(run.program)
    columns = {"requests": rows["requests"], "wavefronts": rows["wavefronts"], "sectors": rows["sectors"],
               "wavefronts_ideal": rows["wavefronts_ideal"], "bytes_used": rows["bytes_used"]}
    found = []
    for kind, stems in _KINDS.items():
        own = rows["operation"].astype(str).str.startswith(stems)
        if own.any():
            found.append(Traffic(kind, **{name: float((values * rows["executions"])[own].sum())
                                          for name, values in columns.items()}))
    return tuple(found)


def scaled(value: float, unit: str = "") -> str:
    """``8388608`` -> ``8.39 M``, with ``unit="B"`` ``8.39 MB``."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= factor:
            return f"{value / factor:.3g} {letter}{unit}"
    return f"{value:.0f} {unit}".rstrip()


def memory_chart(run: Run) -> MemoryChart:
    """The chart of a run."""
    kinds = traffic(run)
    outer = [flow for flow in kinds if flow.kind not in _ON_SHARED]
    above, inner = max(len(outer), 1), len(kinds) - len(outer)
    rows = [*map(_row, range(len(outer))), *map(_row, range(above, above + inner))]
    slots = above + max(inner, 1)
    height = _row(slots) - _ROW_GAP + _TOP
    boxes = [Box(_KERNEL[0], _TOP, _KERNEL[1], height - 2 * _TOP, "Kernel", (f"{run.program.num_ctas:,} CTAs",))]
    boxes += [Box(_KINDS_X[0], y, _KINDS_X[1], _ROW_HEIGHT, flow.kind, (f"{scaled(flow.bytes_used, 'B')} used",))
              for y, flow in zip(rows, kinds, strict=True)]
    boxes += _places(run, height, _row(above) - _ROW_GAP)
    arrows = (*_requests(kinds, rows), *_transfers(run, kinds, height))
    return MemoryChart(_DRAM[0] + _DRAM[1] + 1, height, tuple(boxes), arrows)


def _row(number: int) -> float:
    """Upper edge of a row."""
    return _TOP + number * (_ROW_HEIGHT + _ROW_GAP)


def _places(run: Run, height: float, l1_end: float) -> list[Box]:
    counters, units = run.result.counters, {unit.name: unit for unit in memory_units(run)}
    shared_top, bottom = l1_end + _ROW_GAP, height - _TOP
    return [
        _place(_CACHES, _TOP, l1_end, "L1 / TEX", units["l1"], (
            f"hit rate {counters.get('l1_hit_pct', 0.0):.1f} %",)),
        _place(_CACHES, shared_top, bottom, "Shared Memory", units["shared"], ()),
        _place(_L2, _TOP, bottom, "L2 Cache", units["l2"], (
            f"hit rate {counters.get('l2_hit_pct', 0.0):.1f} %",
            f"{scaled(counters.get('l2_sectors_fabric', 0.0))} sectors", "between its halves")),
        _place(_DRAM, _TOP, bottom, "Device Memory", units["dram"], ()),
    ]


def _place(column: tuple[float, float], y: float, end: float, title: str, unit: Unit, lines: tuple[str, ...]) -> Box:
    return Box(column[0], y, column[1], end - y, title, (f"{unit.busy_pct:.1f} % of peak", *lines), unit.busy_pct,
               UNIT_COLORS[unit.name])


def _requests(kinds: tuple[Traffic, ...], rows: list[float]) -> list[Arrow]:
    """Kernel to kinds of access, and on to L1 or shared memory."""
    arrows = []
    for y, flow in zip(rows, kinds, strict=True):
        middle = y + _ROW_HEIGHT / 2
        arrows.append(Arrow(_KERNEL[1], _KINDS_X[0], middle, f"{scaled(flow.requests)} requests"))
        arrows.append(Arrow(_KINDS_X[0] + _KINDS_X[1], _CACHES[0], middle, *_cost(flow)))
    return arrows


def _cost(flow: Traffic) -> tuple[str, str]:
    wavefronts = f"{scaled(flow.wavefronts)} wavefronts"
    ideal = f"ideal {scaled(flow.wavefronts_ideal)}"
    if flow.kind in _ON_SHARED:
        return wavefronts, ideal
    sectors = f"{scaled(flow.sectors)} sectors"
    return (sectors, f"{wavefronts}, {ideal}") if flow.wavefronts else (sectors, "")


def _transfers(run: Run, kinds: tuple[Traffic, ...], height: float) -> list[Arrow]:
    """SM to L2 to device memory, reads and writes."""
    counters = run.result.counters
    received, asked = counters.get("sectors_to_sms", 0.0), counters.get("l2_sectors_read", 0.0)
    stored = sum(flow.sectors for flow in kinds if flow.kind in _WRITES)
    upper, lower = height * 0.3, height * 0.7
    left, right = (_CACHES[0] + _CACHES[1], _L2[0]), (_L2[0] + _L2[1], _DRAM[0])
    return [
        Arrow(left[1], left[0], upper, f"{scaled(SECTOR_BYTES * received, 'B')} read", f"{scaled(asked)} sectors"),
        Arrow(left[0], left[1], lower, f"{scaled(SECTOR_BYTES * stored, 'B')} write", f"{scaled(stored)} sectors"),
        Arrow(right[1], right[0], upper, f"{scaled(counters.get('dram_bytes_read', 0.0), 'B')} read"),
        Arrow(right[0], right[1], lower, f"{scaled(counters.get('dram_bytes_written', 0.0), 'B')} write"),
    ]
