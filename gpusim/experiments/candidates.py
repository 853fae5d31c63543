"""Models which shared-memory layouts a search tries: presets, every XOR that can move a bank, and row padding.
Leaves out which of them a kernel or the hardware refuses: recording the kernel tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpusim.cute.presets import SMEM_SWIZZLES, smem_swizzle
from gpusim.errors import UserError
from gpusim.experiments.shared_accesses import BANK_ROW_BYTES

__all__ = ["candidate_swizzles", "swizzle_parameters"]

_PADS_BYTES = (4, 8, 16, 32, 64)


def candidate_swizzles(stage_bytes: int) -> list[str]:
    """Swizzle texts worth trying on a tile of ``stage_bytes``: each layout once, presets under their names.

    The changed bits lie below bit 7 (higher ones do not choose a bank), the bits read within the tile.
    """
    presets = {str(swizzle): name for name, swizzle in SMEM_SWIZZLES.items() if swizzle is not None}
    pads = [f"pad:{size}B" for size in _PADS_BYTES]
    return ["none", *presets.values(), *(text for text in _xors(stage_bytes) if text not in presets), *pads]


def swizzle_parameters(parameters: Mapping[str, Any]) -> list[str]:
    """Names of the kernel parameters that choose a swizzle: they are called so, and their value spells one."""
    return [name for name, value in parameters.items()
            if "swizzle" in name and isinstance(value, str) and _is_swizzle(value)]


def _xors(stage_bytes: int) -> Iterator[str]:
    bank_bits, tile_bits = BANK_ROW_BYTES.bit_length() - 1, (stage_bytes - 1).bit_length()
    for base in reversed(range(bank_bits)):
        for bits in range(1, bank_bits - base + 1):
            yield from (f"S<{bits},{base},{shift}>" for shift in range(bits, tile_bits - base - bits + 1))


def _is_swizzle(text: str) -> bool:
    try:
        return bool(smem_swizzle(text, BANK_ROW_BYTES))
    except UserError:
        return False
