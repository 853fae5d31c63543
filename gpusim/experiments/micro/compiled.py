"""Models the compiled microbenchmarks: disassembly by kernel, what they find in memory, where they read their clock.
Leaves out their parameters, which belong to the tables."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.errors import UserError
from gpusim.program import Program
from gpusim.sass import SassLaunch, load_sass
from gpusim.sass.parser import INSTRUCTION_BYTES

__all__ = ["HARDWARE", "CompiledKernel", "key_values", "last_turn", "replay"]

HARDWARE = Path(__file__).resolve().parents[2] / "data/hardware"
SASS_FOLDER = HARDWARE / "h200/sass_micro"
FUNCTION = "Function : "
SHARED_START = "0x400"
ISSUE = EVENT_KINDS.index("issue")

_CLOCK = re.compile(r"/\*([0-9a-f]{4,})\*/[^;]*\bSR_CLOCKLO\b")
_ZERO_IN_MEMORY = re.compile(r"LDG\.E\.STRONG\.SYS (R\d+), desc\[UR\d+\]\[R\d+\.64\]")
_COUNT_OF_WARPS = re.compile(r"ATOMS\.POPC\.INC\.32 RZ, \[[^\]]+\]")
_CHASE = re.compile(r"\b(LDSM?(?:\.\w+)*) (R\d+), \[R\d+\]")


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel of ``SOURCE.cu``, by its name or a unique part of it, mangled."""

    source: str
    part: str

    @property
    def text(self) -> str:
        """Its disassembly. Raises UserError when no function, or several, fit."""
        functions = _functions(self.source)
        fitting = [self.part] if self.part in functions else [name for name in functions if self.part in name]
        if len(fitting) != 1:
            raise UserError("no such compiled microbenchmark", place=f"{self.source}.sass.gz", got=f"'{self.part}'",
                            suggestion=f"{len(functions)} functions are there, {len(fitting)} fit")
        return functions[fitting[0]]

    @property
    def clock_pcs(self) -> tuple[int, ...]:
        """Instructions that read the clock."""
        return tuple(int(address, 16) // INSTRUCTION_BYTES for address in _CLOCK.findall(self.text))


@lru_cache
def _functions(source: str) -> dict[str, str]:
    text = gzip.decompress((SASS_FOLDER / f"{source}.sass.gz").read_bytes()).decode()
    parts = text.split(FUNCTION)[1:]
    return {part.split("\n", 1)[0].strip(): FUNCTION + part for part in parts}


def replay(spec: GpuSpec, *, kernel: CompiledKernel, launch: SassLaunch, chases_shared: bool = False) -> Program:
    """The program of a compiled microbenchmark.

    Loads of the emulator return unknown values, so what the kernels find in memory is put into the text, where it
    changes no control field: the word ``zero`` is 0; how many warps are done, counted in shared memory, is left
    out, as nobody reads it; with ``chases_shared`` each word of shared memory points to the first one.
    """
    text = _COUNT_OF_WARPS.sub("NOP", _ZERO_IN_MEMORY.sub(r"MOV \1, RZ", kernel.text))
    if chases_shared:
        text = _CHASE.sub(rf"\1 \2, [{SHARED_START}]", text)
    return load_sass(text, launch=launch)


def last_turn(result: SimulationResult, *, pcs: tuple[int, ...], clocks: int, mark: int, begin: int = 0) -> float:
    """Of programs that read so many ``clocks`` a turn, in their last one: cycles from the first warp's number ``begin``
    to the mean warp's number ``mark``."""
    reads = result.events[(result.events["kind"] == ISSUE) & np.isin(result.events["pc"], pcs)]
    last = np.array([np.sort(reads["start"][reads["warp"] == warp])[-clocks:] for warp in np.unique(reads["warp"])])
    return float(last[:, mark].mean() - last[:, begin].min())


def key_values(*fields: str) -> dict[str, int]:
    """``"hmma=32 ldsm4=8", "footprint=64K"`` as numbers by name."""
    pairs = (word.split("=") for field in fields for word in str(field).split() if "=" in word)
    return {name: int(value.removesuffix("K")) << (10 if value.endswith("K") else 0) for name, value in pairs}
