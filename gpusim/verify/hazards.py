"""Models what can be wrong with the order of shared-memory accesses: hazards, each with place, rule and a fix.
Leaves out how they are found (gpusim.verify.tracker) and hazards between registers (gpusim.dsl.backend)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

from gpusim.program import Static

__all__ = ["RULES", "Hazard", "HazardLog", "place_of"]

RULES: dict[str, tuple[str, str]] = {
    "raw_async": (
        "are read by {warp} while the asynchronous copy of {other} that fills them is still in flight",
        "wait_group for that copy, then __syncthreads, before reading",
    ),
    "raw_async_unpublished": (
        "are read by {warp} after {other} waited for its copy, but no barrier published them",
        "__syncthreads between the wait_group and the read",
    ),
    "raw": (
        "are read by {warp}, but no barrier published the store of {other}",
        "__syncthreads between the store and the read",
    ),
    "war": (
        "are overwritten by {warp} in the same barrier interval in which {other} reads them",
        "__syncthreads between the last read and the overwrite, or one more stage",
    ),
    "war_async": (
        "are overwritten by {warp} while a wgmma or bulk store of {other} may still read them",
        "wait for its group before the release or barrier that lets others write",
    ),
    "proxy": (
        "are read by a wgmma or bulk store of {warp} without a fence behind the store of {other}",
        "fence_async between the store and the barrier",
    ),
    "group": (
        "belong to a wgmma of {other} when {warp} uses them",
        "warpgroup_wait(0) before accumulators are used",
    ),
    "wgmma_fence": (
        "are given to a wgmma of {warp} without a fence behind what wrote them",
        "warpgroup_arrive before the first wgmma, and after any other use of its accumulators",
    ),
    "waw": (
        "are written by {warp} and by {other} with no barrier or wait between",
        "let one warp write each byte, or put a barrier between",
    ),
    "uninitialised": (
        "are read by {warp} before anything wrote them",
        "fill them first, or zero-fill the copies that are predicated off",
    ),
}
"""Kind -> (rule, suggestion). ``raw_async_unpublished`` is of kind raw_async too: only the missing step differs."""


def place_of(static: Static) -> str:
    """``file:line`` of a static instruction, as far as known."""
    where = PurePath(static.file).name or static.scope or "kernel"
    return f"{where}:{static.line}" if static.line else where


@dataclass(frozen=True)
class Hazard:
    """One pair of source lines that race, with the first occurrence and the number of them (per CTA)."""

    kind: str  # raw_async, raw, war, waw, uninitialised, war_async, proxy, group, wgmma_fence
    rule: str
    suggestion: str
    place: str  # file:line of the instruction at which it shows
    mnemonic: str
    other_place: str  # file:line of the earlier access, "": none
    other_mnemonic: str
    cta_class: str
    cta: int  # launch-order number of the first CTA
    warp: int
    other_warp: int  # -1: none
    first_byte: int  # shared-memory bytes [first_byte, last_byte] of the first occurrence, -1: registers
    last_byte: int
    copy_group: int  # number of the cp.async group of the copy (the stage it fills is this modulo the stages), -1: none
    count: int = 1  # pairs of executed instructions, in that CTA, at which it showed

    @property
    def sentence(self) -> str:
        """``place: rule, got value; suggestion``, as gpusim's errors read."""
        against = f" (the other access: {self.other_mnemonic} at {self.other_place})" if self.other_place else ""
        what = "registers" if self.first_byte < 0 else f"shared bytes {self.first_byte}..{self.last_byte}"
        return (f"{self.place}: {self.kind}: {what} {self.rule}{against}, "
                f"got {self.count} such pairs in CTA {self.cta} ({self.cta_class}); {self.suggestion}")


class HazardLog:
    """Collects hazards, one per rule, pair of source lines, and CTA class."""

    def __init__(self, statics: tuple[Static, ...]) -> None:
        self._statics = statics
        self._found: dict[tuple[str, ...], Hazard] = {}

    @property
    def hazards(self) -> list[Hazard]:
        return list(self._found.values())

    def add(self, rule: str, pc: int, other_pc: int, *, cta_class: str, cta: int, warp: int, other_warp: int,
            first_byte: int, last_byte: int, copy_group: int) -> None:
        """Note that ``rule`` was broken at instruction ``pc`` against ``other_pc`` (-1: none)."""
        place, mnemonic = self._where(pc)
        other_place, other_mnemonic = self._where(other_pc)
        key = (rule, place, mnemonic, other_place, other_mnemonic, cta_class)
        if key in self._found:
            known = self._found[key]
            self._found[key] = replace(known, count=known.count + (known.cta == cta))
            return
        text, suggestion = RULES[rule]
        group = f" (copy group {copy_group})" if copy_group >= 0 else ""
        self._found[key] = Hazard(
            rule.removesuffix("_unpublished"), text.format(warp=f"warp {warp}", other=f"warp {other_warp}{group}"),
            suggestion, place, mnemonic, other_place, other_mnemonic, cta_class, cta, warp, other_warp, first_byte,
            last_byte, copy_group)

    def _where(self, pc: int) -> tuple[str, str]:
        """Place and mnemonic of an instruction; empty for none."""
        return (place_of(self._statics[pc]), self._statics[pc].mnemonic) if pc >= 0 else ("", "")
