"""Models which shared-memory banks each access needs, phase by phase: the picture behind its bank conflicts.
Leaves out time, and every warp but the one whose execution of the access costs most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpusim.memory import explain
from gpusim.memory.async_copy import async_width_bytes
from gpusim.memory.operations import ASYNC_OPERATIONS
from gpusim.program import AccessTable, Program
from gpusim.report.executions import roles
from gpusim.report.style import figure

__all__ = ["BankUse", "bank_map", "draw_bank_map"]

BANKS, WORD_BYTES, ROW_BYTES = 32, 4, 128
_MOST_ACCESSES, _MOST_ROWS = 16, 8
_BOUNDS = (0, 1, 2, 3, 5, 9, 64)
_COLORS = ("#f4f6f8", "#c6dbef", "#fdd49e", "#fc8d59", "#d7301f", "#7f0000")
_MEANINGS = ("bank idle", "1 word: free", "2 words: 2-way", "3 or 4", "5 to 8", "9 or more")
_WIDTH_INCHES, _ROW_INCHES, _FIXED_INCHES, _GAP_ROWS = 9.6, 0.165, 1.0, 0.5


@dataclass(frozen=True)
class BankUse:
    """The most expensive execution of one access. ``words[r, b]``: different words that row ``r`` wants of bank ``b``.

    A row is a phase of lanes; of an asynchronous copy, the bytes that go from one 128-byte global line to one
    128-byte row of shared memory. At most 8 rows are kept of ``num_rows``.
    """

    label: str
    line: int
    operation: str
    warp: int
    wavefronts: int
    ideal_wavefronts: int
    num_rows: int
    words: np.ndarray  # (rows, 32)

    @property
    def height(self) -> int:
        """Rows in the picture: room for a title of two lines."""
        return max(len(self.words), 2)

    @property
    def title(self) -> str:
        """What a reader sees beside the rows."""
        more = f" ({len(self.words)} of {self.num_rows} rows)" if self.num_rows > len(self.words) else ""
        return (f"{self.label}, line {self.line}, warp {self.warp}{more}\n"
                f"{self.wavefronts} wavefronts, ideal {self.ideal_wavefronts}")


def bank_map(program: Program) -> tuple[BankUse, ...]:
    """Bank use of the program's shared-memory accesses in order of the source, of at most 16: those worst off."""
    worst: dict[tuple[str, int, str], BankUse] = {}
    for use in _all_uses(program):
        key = (use.label, use.line, use.operation)
        if key not in worst or use.wavefronts > worst[key].wavefronts:
            worst[key] = use
    kept = sorted(worst.values(), key=lambda use: use.ideal_wavefronts - use.wavefronts)[:_MOST_ACCESSES]
    return tuple(sorted(kept, key=lambda use: (use.line, use.label)))


def _all_uses(program: Program) -> Iterator[BankUse]:
    for item in roles(program):
        table, ops = item.role.accesses, item.role.ops
        used = ops[(ops["access"] >= 0) & (ops["active"] != 0)]
        for row, first in zip(*np.unique(used["access"], return_index=True), strict=True):
            if (table.shared_address[row] >= 0).any():
                yield _use(table, int(row), item.role.first_warp, program.statics[used["pc"][first]].line)


def _use(table: AccessTable, row: int, first_warp: int, line: int) -> BankUse:
    warp = int(np.argmax(table.wavefronts[row]))
    operation, mask = table.operation[row], int(table.lane_mask[row, warp])
    addresses, offsets = table.shared_address[row, warp], table.global_offset[row, warp]
    is_copy = operation in ASYNC_OPERATIONS
    words = _copied_words(operation, addresses, offsets, mask) if is_copy else _phase_words(operation, addresses, mask)
    return BankUse(table.label[row], line, operation, first_warp + warp, int(table.wavefronts[row, warp]),
                   int(table.ideal_wavefronts[row, warp]), len(words), words[:_MOST_ROWS])


def _phase_words(operation: str, addresses: np.ndarray, mask: int) -> np.ndarray:
    phases = explain(operation, addresses, mask)
    return np.array([[len(phase.banks.get(bank, ())) for bank in range(BANKS)] for phase in phases], np.int64)


def _copied_words(operation: str, addresses: np.ndarray, offsets: np.ndarray, mask: int) -> np.ndarray:
    """(pairs of global line and shared row, 32) words written to each bank."""
    lanes = np.flatnonzero(mask >> np.arange(32) & 1)
    width = async_width_bytes(operation)
    pairs = np.stack([offsets[lanes] // ROW_BYTES, addresses[lanes] // ROW_BYTES])
    _, which = np.unique(pairs, axis=1, return_inverse=True)
    words = np.zeros((int(which.max(initial=-1)) + 1, BANKS), np.int64)
    for part in range(0, width, WORD_BYTES):
        np.add.at(words, (which.reshape(-1), (addresses[lanes] + part) // WORD_BYTES % BANKS), 1)
    return words


def draw_bank_map(uses: tuple[BankUse, ...]) -> Figure:
    """A column per bank, a block of rows per access; the colour says how many words meet in a bank."""
    rows = sum(use.height + _GAP_ROWS for use in uses)
    with figure(_WIDTH_INCHES, _FIXED_INCHES + _ROW_INCHES * rows) as drawn:
        axes, top = drawn.add_subplot(), 0.0
        centres = []
        for use in uses:
            _draw_use(axes, use, top)
            centres.append(top + len(use.words) / 2)
            top += use.height + _GAP_ROWS
        axes.set(xlim=(0, BANKS), ylim=(top, -_GAP_ROWS), xlabel="shared-memory bank (4 bytes wide)")
        axes.set_yticks(centres, [use.title for use in uses], fontsize=8)
        axes.set_xticks(np.arange(0, BANKS, 4) + 0.5, [str(bank) for bank in range(0, BANKS, 4)])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        handles = [Patch(facecolor=color, edgecolor="#999999", linewidth=0.4, label=text)
                   for color, text in zip(_COLORS, _MEANINGS, strict=True)]
        drawn.legend(handles=handles, loc="outside upper right", ncols=len(handles), handlelength=1.2)
    return drawn


def _draw_use(axes: Axes, use: BankUse, top: float) -> None:
    edges = top + np.arange(len(use.words) + 1)
    axes.pcolormesh(np.arange(BANKS + 1), edges, use.words, cmap=ListedColormap(_COLORS), edgecolors="white",
                    norm=BoundaryNorm(_BOUNDS, len(_COLORS)), linewidth=0.6)
    for row, bank in np.argwhere(use.words > 1).tolist():
        count = int(use.words[row, bank])
        axes.text(bank + 0.5, top + row + 0.52, str(count), ha="center", va="center", fontsize=6.5,
                  color="white" if count >= _BOUNDS[4] else "black")
