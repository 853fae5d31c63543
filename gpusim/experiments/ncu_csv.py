"""Models what ``ncu --csv`` writes: details page, ``--page raw``, ``--metrics`` and ``--print-summary``, per launch.
Leaves out which of its numbers a simulation has too (gpusim.experiments.comparable)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpusim.errors import UserError

__all__ = ["Profile", "Reading", "choose_profile", "read_ncu"]

_IDENTITY = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size",
    "Grid Size", "Device", "CC", "Section Name", "Invocations",
)
"""Columns that are no metrics; NVTX ranges add some with a colon in the name."""
_GROUPED = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?([eE][-+]?\d+)?")
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "n": 1e-9, "u": 1e-6, "m": 1e-3}
_BASES = ("second", "byte", "hz", "cycle")
_SHORT = {"s": "second", "ns": "nsecond", "us": "usecond", "ms": "msecond"}


@dataclass(frozen=True)
class Reading:
    """A number in base units: bytes, seconds, hertz, or what it counts."""

    value: float
    unit: str


@dataclass
class Profile:
    """One launch. ``readings`` by metric name (sm__cycles_elapsed.max) or label (Elapsed Cycles), as the file has."""

    kernel: str
    launch: str
    block: str = ""
    grid: str = ""
    readings: dict[str, list[Reading]] = field(default_factory=dict)

    def add(self, name: str, text: str, unit: str) -> None:
        """Keep a number; text, such as a cache configuration, is none."""
        value = _number(text, name)
        if value is not None:
            factor, base = _base_unit(unit)
            self.readings.setdefault(name, []).append(Reading(value * factor, base))

    @property
    def threads_per_cta(self) -> int | None:
        return _product(self.block)

    @property
    def num_ctas(self) -> int | None:
        return _product(self.grid)


def read_ncu(path: str | Path) -> list[Profile]:
    """The launches of a file, in its order. Raises UserError for a file that is none, or numbers in another locale."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError("the profile cannot be read", place=str(path), got=f"'{error}'") from None
    first = next((i for i, line in enumerate(lines) if "Kernel Name" in line and line.count(",") >= 2), None)
    if first is None:
        raise UserError("no header with a column 'Kernel Name'", place=str(path),
                        suggestion="write the file with ncu --csv, or ncu --csv --page raw")
    heading, *rows = csv.reader(line for line in lines[first:] if line.strip() and not line.startswith("=="))
    profiles = _details(heading, rows) if "Metric Name" in heading else _raw(heading, rows)
    if not profiles:
        raise UserError("the profile holds no launch", place=str(path))
    return profiles


def choose_profile(profiles: Sequence[Profile], kernel: str | None, place: str) -> Profile:
    """The only launch, or the one whose ID is ``kernel``, or the only one whose name matches that expression.

    Raises UserError naming the launches where it is not one.
    """
    try:
        named = [one for one in profiles if kernel is None or re.search(kernel, one.kernel)]
        found = [one for one in profiles if one.launch == kernel] or named
    except re.error as error:
        raise UserError("the kernel's name is a regular expression", place=place, got=f"'{kernel}': {error}") from None
    if len(found) == 1:
        return found[0]
    known = "; ".join(f"{one.launch}: {_short(one.kernel)}" for one in found or profiles)
    rule = "the profile has several launches" if found else "no launch has that name"
    raise UserError(rule, place=place, got=f"'{kernel}'" if kernel else None,
                    suggestion=f"choose one by ID or name with --kernel: {known}")


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:57]}..."


def _profile(row: dict[str, str]) -> Profile:
    return Profile(row["Kernel Name"], row.get("ID", ""), row.get("Block Size", ""), row.get("Grid Size", ""))


def _details(heading: list[str], rows: list[list[str]]) -> list[Profile]:
    """A row per metric and launch; summaries have averages over launches of the same kernel.

    Rows of metrics end where the columns of rules begin; what ends before its value was printed by the program.
    """
    value_column = "Metric Value" if "Metric Value" in heading else "Average"
    least = heading.index(value_column) + 1
    profiles: dict[tuple[str, ...], Profile] = {}
    for row in (dict(zip(heading, values, strict=False)) for values in rows if least <= len(values) <= len(heading)):
        key = tuple(row.get(name, "") for name in ("Process ID", "ID", "Kernel Name", "Grid Size"))
        if row["Metric Name"]:
            profiles.setdefault(key, _profile(row)).add(row["Metric Name"], row[value_column], row["Metric Unit"])
    return list(profiles.values())


def _raw(heading: list[str], rows: list[list[str]]) -> list[Profile]:
    """A row per launch; the first row holds units."""
    names = [name for name in heading if name not in _IDENTITY and ":" not in name]
    units: dict[str, str] = {}
    profiles = []
    for row in (dict(zip(heading, values, strict=True)) for values in rows if len(values) == len(heading)):
        if not row["Kernel Name"]:
            units = row
            continue
        profile = _profile(row)
        for name in names:
            profile.add(name, row[name], units.get(name, ""))
        profiles.append(profile)
    return profiles


def _number(text: str, name: str) -> float | None:
    """``1,234.5`` -> 1234.5; None for text. Raises UserError for ``12,65``, which is ambiguous."""
    text = text.strip()
    if not text or not _is_number(text.replace(",", "")):
        return None
    if not _GROUPED.fullmatch(text):
        raise UserError("numbers need a decimal point", place=name, got=f"'{text}'",
                        suggestion="run ncu with LC_ALL=C in its environment")
    return float(text.replace(",", ""))


def _is_number(text: str) -> bool:
    try:
        return float(text) - float(text) == 0
    except ValueError:
        return False


def _base_unit(unit: str) -> tuple[float, str]:
    """``Mbyte/usecond`` -> (1e12, byte/second); what is not known stays as it is."""
    factor, parts = 1.0, []
    for position, part in enumerate(unit.split("/")):
        scale, base = _scaled(_SHORT.get(part, part))
        factor *= 1 / scale if position else scale
        parts.append(base)
    text = "/".join(parts)
    return factor, "hz" if text == "cycle/second" else text


def _scaled(part: str) -> tuple[float, str]:
    for base in _BASES:
        prefix = part.lower().removesuffix(base)
        if part.lower().endswith(base) and part[: len(prefix)] in _PREFIXES:
            return _PREFIXES[part[: len(prefix)]], base
    return 1.0, part


def _product(text: str) -> int | None:
    """``(16, 16, 1)`` -> 256."""
    numbers: Iterator[int] = (int(digits) for digits in re.findall(r"\d+", text))
    total, found = 1, False
    for number in numbers:
        total, found = total * number, True
    return total if found else None
