"""Models the global side of a warp access: distinct 128-byte lines and the 32-byte sectors touched in each.
Leaves out caches and timing (gpusim.engine)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from gpusim.memory.operations import LANES

__all__ = ["LINE", "SectorStatistics", "WarpLines", "lines_in_part", "sectors_per_request", "warp_lines",
           "words_written"]

LINE_BYTES = 128
SECTOR_BYTES = 32
WORD_BYTES = 4
MAX_BYTES_PER_LANE = 255
PIECES = 1 << 20  # more than there are numbers of pieces
MAX_LINES = LANES * (2 + MAX_BYTES_PER_LANE // LINE_BYTES)

LINE = np.dtype([("line_offset", "<i8"), ("sector_mask", "u1")])
"""One line: byte offset (a multiple of 128) and which of its four sectors are touched."""


@dataclass(frozen=True)
class WarpLines:
    """Lines of N accesses: access i owns ``requests[first[i] : first[i] + count[i]]``."""

    first: np.ndarray  # (N,) i4
    count: np.ndarray  # (N,) i4
    requests: np.ndarray  # (R,) LINE


@dataclass(frozen=True)
class SectorStatistics:
    """How well the accesses of one kind use their sectors."""

    requests: int  # accesses with an active lane
    sectors: int
    ideal_sectors: int  # sectors if the active lanes' bytes were packed

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def coalescing_efficiency(self) -> float:
        return self.ideal_sectors / self.sectors if self.sectors else 1.0


def warp_lines(
    offsets: np.ndarray, bytes_per_lane: int, lane_mask: np.ndarray, pieces: np.ndarray | None = None
) -> WarpLines:
    """Distinct 128-byte lines of N warp accesses, in order of the first lane that touches them.

    Args:
        offsets: (N, 32) byte offsets; they need no alignment, so a lane may straddle sectors and lines.
        bytes_per_lane: 1..255; more than 16 are rows of a bulk copy.
        lane_mask: (N,) lanes that take part.
        pieces: (N, 32) number of the piece each lane copies (`gpusim.memory.async_copy.bypass_pieces`); a line is asked
            for once per piece. Default: one piece.
    """
    if not 1 <= bytes_per_lane <= MAX_BYTES_PER_LANE:
        raise ValueError(f"bytes_per_lane must be 1..{MAX_BYTES_PER_LANE}, got {bytes_per_lane}")
    offsets = np.ascontiguousarray(offsets, dtype=np.int64).reshape(-1, LANES)
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    numbers = np.zeros(offsets.shape, np.int64) if pieces is None else np.ascontiguousarray(pieces, dtype=np.int64)
    count = _count_lines(offsets, numbers, bytes_per_lane, mask)
    first = np.zeros(len(count), np.int32)
    np.cumsum(count[:-1], out=first[1:])
    requests = np.zeros(int(count.sum()), LINE)
    requests["line_offset"], requests["sector_mask"] = _list_lines(
        offsets, numbers, bytes_per_lane, mask, len(requests))
    return WarpLines(first, count, requests)


def sectors_per_request(lines: WarpLines, bytes_per_lane: int, lane_mask: np.ndarray) -> SectorStatistics:
    """Statistics of the accesses that `warp_lines` analysed with the same ``bytes_per_lane`` and ``lane_mask``.

    The ideal packs the active lanes' bytes, but never beats what lanes save by reading the same sector.
    """
    active = np.bitwise_count(np.asarray(lane_mask, np.uint32).reshape(-1)).astype(np.int64)
    owner = np.repeat(np.arange(len(lines.count)), lines.count)
    sectors = np.bincount(owner, np.bitwise_count(lines.requests["sector_mask"]), len(lines.count)).astype(np.int64)
    ideal = np.minimum(sectors, -(-active * bytes_per_lane // SECTOR_BYTES))
    return SectorStatistics(int((active > 0).sum()), int(sectors.sum()), int(ideal.sum()))


@njit(cache=True)
def _lines_of_access(
    offsets: np.ndarray, pieces: np.ndarray, width: int, mask: int, lines: np.ndarray, sectors: np.ndarray
) -> int:
    # A key is line * PIECES + piece.
    used = 0
    for lane in range(LANES):
        if (mask >> lane) & 1:
            last = (offsets[lane] + width - 1) // SECTOR_BYTES
            for sector in range(offsets[lane] // SECTOR_BYTES, last + 1):
                line = sector // (LINE_BYTES // SECTOR_BYTES) * PIECES + pieces[lane]
                slot = 0
                while slot < used and lines[slot] != line:
                    slot += 1
                if slot == used:
                    lines[slot], sectors[slot] = line, 0
                    used += 1
                sectors[slot] |= 1 << (sector % (LINE_BYTES // SECTOR_BYTES))
    return used


@njit(cache=True)
def _count_lines(offsets: np.ndarray, pieces: np.ndarray, width: int, mask: np.ndarray) -> np.ndarray:
    lines, sectors = np.empty(MAX_LINES, np.int64), np.empty(MAX_LINES, np.uint8)
    count = np.zeros(offsets.shape[0], np.int32)
    for i in range(offsets.shape[0]):
        count[i] = _lines_of_access(offsets[i], pieces[i], width, mask[i], lines, sectors)
    return count


@njit(cache=True)
def _list_lines(
    offsets: np.ndarray, pieces: np.ndarray, width: int, mask: np.ndarray, total: int
) -> tuple[np.ndarray, np.ndarray]:
    lines, sectors = np.empty(MAX_LINES, np.int64), np.empty(MAX_LINES, np.uint8)
    all_lines, all_sectors = np.empty(total, np.int64), np.empty(total, np.uint8)
    at = 0
    for i in range(offsets.shape[0]):
        used = _lines_of_access(offsets[i], pieces[i], width, mask[i], lines, sectors)
        for slot in range(used):
            all_lines[at], all_sectors[at] = lines[slot] // PIECES * LINE_BYTES, sectors[slot]
            at += 1
    return all_lines, all_sectors


def words_written(
    offsets: np.ndarray, bytes_per_lane: int, lane_mask: np.ndarray, lines: WarpLines
) -> np.ndarray:
    """The 4-byte words of its lines that an access touches whole: (R,) u4, a bit each, rows of ``lines.requests``,
    which are `warp_lines` of the same arguments without pieces."""
    offsets = np.ascontiguousarray(offsets, dtype=np.int64).reshape(-1, LANES)
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    starts = np.ascontiguousarray(lines.requests["line_offset"])
    return _words_written(offsets, bytes_per_lane, mask, lines.first, lines.count, starts)


def lines_in_part(sectors: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Whether a line has a sector that is touched but not filled, of its sectors and words."""
    filled = [(words >> np.uint32(8 * sector) & np.uint32(0xFF)) == 0xFF
              for sector in range(LINE_BYTES // SECTOR_BYTES)]
    return np.any([sectors >> sector & 1 & ~whole for sector, whole in enumerate(filled)], axis=0)


@njit(cache=True)
def _words_written(
    offsets: np.ndarray, width: int, mask: np.ndarray, first: np.ndarray, count: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    words, written = np.zeros(len(starts), np.uint32), np.zeros(LINE_BYTES, np.bool_)
    for i in range(len(mask)):
        for row in range(first[i], first[i] + count[i]):
            written[:] = False
            for lane in range(LANES):
                if (mask[i] >> lane) & 1:
                    begin = offsets[i, lane] - starts[row]
                    written[max(begin, 0) : max(0, min(begin + width, LINE_BYTES))] = True
            for word in range(LINE_BYTES // WORD_BYTES):
                if written[word * WORD_BYTES : (word + 1) * WORD_BYTES].all():
                    words[row] |= np.uint32(1) << np.uint32(word)
    return words
