"""Models how occupancy would change with registers, shared memory or threads alone, the launch's other needs kept.
Leaves out what a changed kernel would gain from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpusim.arch import GpuSpec, occupancy
from gpusim.program import Launch
from gpusim.report.style import ACCENT, figure

__all__ = ["Curve", "draw_occupancy", "occupancy_curves"]

_KIB = 1024
_WIDTH_INCHES, _HEIGHT_INCHES = 9.6, 2.5
_REGISTER_STEP, _POINTS = 8, 128


@dataclass(frozen=True)
class Curve:
    """Theoretical occupancy over one resource; ``here`` is what the launch takes of it."""

    title: str
    amounts: np.ndarray
    occupancy_pct: np.ndarray  # 0 where the driver refuses the launch
    here: float
    here_pct: float


def occupancy_curves(launch: Launch, spec: GpuSpec) -> tuple[Curve, ...]:
    """Curves over registers per thread, shared memory per CTA (KiB) and threads per CTA; every step of each is hit."""
    sm = spec.sm
    registers = np.arange(_REGISTER_STEP, sm.max_registers_per_thread + _REGISTER_STEP, _REGISTER_STEP)
    shared = np.linspace(0, sm.shared_bytes_per_cta_max, _POINTS + 1).astype(int)
    threads = np.arange(sm.threads_per_warp, sm.max_threads_per_cta + 1, sm.threads_per_warp)
    own = (launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
    rows = (("registers per thread", 1, np.minimum(registers, sm.max_registers_per_thread), 1.0),
            ("shared memory per CTA (KiB)", 2, shared, 1.0 / _KIB),
            ("threads per CTA", 0, threads, 1.0))
    return tuple(_curve(spec, own, *row) for row in rows)


def _curve(
    spec: GpuSpec, own: tuple[int, int, int], title: str, which: int, amounts: np.ndarray, scale: float
) -> Curve:
    def percent(amount: int) -> float:
        needs = [*own[:which], amount, *own[which + 1 :]]
        found = occupancy(spec, *needs)
        return found.theoretical_pct

    return Curve(title, amounts * scale, np.array([percent(int(amount)) for amount in amounts]), own[which] * scale,
                 percent(own[which]))


def draw_occupancy(curves: tuple[Curve, ...]) -> Figure:
    """The curves side by side, a mark where the launch is."""
    with figure(_WIDTH_INCHES, _HEIGHT_INCHES) as drawn:
        for axes, curve in zip(drawn.subplots(1, len(curves), sharey=True), curves, strict=True):
            _draw_curve(axes, curve)
        highest = max(float(curve.occupancy_pct.max()) for curve in curves)
        left = drawn.axes[0]
        left.set(ylabel="theoretical occupancy (%)", ylim=(0, 1.35 * max(highest, 1.0)))
        left.set_yticks([tick for tick in left.get_yticks() if tick <= 100])
    return drawn


def _draw_curve(axes: Axes, curve: Curve) -> None:
    axes.fill_between(curve.amounts, curve.occupancy_pct, step="pre", color=ACCENT, alpha=0.12, linewidth=0)
    axes.step(curve.amounts, curve.occupancy_pct, where="pre", color=ACCENT, linewidth=1.3)
    axes.plot([curve.here], [curve.here_pct], marker="o", markersize=8, color="#d55e00", markeredgecolor="black",
              markeredgewidth=0.7, clip_on=False, zorder=5)
    right = curve.here > curve.amounts[-1] * 0.7
    axes.annotate(f"{curve.here:,.4g}: {curve.here_pct:.1f} %", (curve.here, curve.here_pct), fontsize=8,
                  xytext=(-2 if right else 2, 9), textcoords="offset points", ha="right" if right else "left",
                  bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1})
    axes.set(xlabel=curve.title, xlim=(0, curve.amounts[-1]))
    axes.grid(True, axis="y", color="#e8e8e8", linewidth=0.6)
