"""The compiler's stall counts, an independent witness: no kernel of h200/sass lets a reader come before the latency of
the table, and many let it come exactly then."""

from __future__ import annotations

import pytest

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.program import PREDICATE_BASE
from gpusim.sass import read_sass
from gpusim.sass.registers import register_groups

KERNELS = sorted(find_data("gpusim/data/hardware/h200/sass").glob("*.gz"))[::5]
LEAVES_BLOCK = ("BRA", "EXIT", "BSYNC", "BRX", "BAR")
NO_BARRIER = 7


def dependences(function):
    """(writer, reader, whether by the reader's guard, cycles between their issues) inside basic blocks."""
    now, written = 0, {}
    for instruction in function.instructions:
        target, sources = register_groups(instruction)
        guard = instruction.guard
        for start, count in sources:
            for register in range(start, start + count):
                if register in written:
                    by_guard = guard is not None and PREDICATE_BASE <= register == PREDICATE_BASE + guard.number
                    yield *written[register][:1], instruction, by_guard, now - written[register][1]
        if instruction.base in LEAVES_BLOCK:
            written.clear()
        for register in range(target[0], sum(target)):
            written.pop(register, None)
            if instruction.control.write_barrier == NO_BARRIER:
                written[register] = (instruction, now)
        now += max(instruction.control.stall, 1)


@pytest.fixture(scope="module")
def waits():
    """Cycles beyond the latency of the table, by writer and reader."""
    table, found = load_gpu("h200").instruction_table, {}
    for path in KERNELS:
        for function in read_sass(path):
            for writer, reader, by_guard, cycles in dependences(function):
                entry = table.lookup(writer.mnemonic)
                if entry.variable_latency:
                    continue
                least = entry.latency_to_cycles(table.lookup(reader.mnemonic), guard=by_guard)
                found.setdefault((writer.mnemonic, reader.base, by_guard), []).append(cycles - least)
    return found


def test_no_reader_comes_before_the_latency(waits):
    # The low half of a 64-bit product is there early, which a table with one latency per instruction cannot say.
    early = {key: min(slack) for key, slack in waits.items() if min(slack) < 0 and not key[0].startswith("IMAD.WIDE")}
    assert early == {}
    assert sum(map(len, waits.values())) > 5000


def test_common_dependences_are_issued_as_soon_as_the_table_allows(waits):
    common = {key: min(slack) for key, slack in waits.items() if len(slack) >= 20 and key[1] not in ("HMMA", "STG")}
    tight = [key for key, slack in common.items() if slack <= 0]
    assert len(tight) >= 0.6 * len(common), sorted(set(common) - set(tight))
