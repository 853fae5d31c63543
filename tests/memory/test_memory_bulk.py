"""The lines of a bulk copy cover exactly the bytes of its rows, in order, row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.memory.bulk import bulk_lines

ROWS = st.lists(st.tuples(st.integers(0, 4096).map(lambda x: 16 * x), st.integers(0, 64).map(lambda x: 16 * x)),
                max_size=12)


def naive(rows):
    found = []
    for offset, count in rows:
        lines = {}
        for byte in range(offset, offset + count):
            lines[byte // 128] = lines.get(byte // 128, 0) | 1 << byte % 128 // 32
        found += [(128 * line, mask) for line, mask in sorted(lines.items())]
    return found


@given(ROWS)
def test_lines_are_those_of_a_walk_over_bytes(rows):
    offsets, counts = np.array(rows, np.int64).reshape(-1, 2).T
    assert [tuple(line) for line in bulk_lines(offsets, counts).tolist()] == naive(rows)


def test_a_swizzled_box_asks_for_a_line_per_row_and_a_plain_copy_for_its_lines():
    box = bulk_lines(np.arange(64) * 8192, np.full(64, 128))
    assert len(box) == 64 and (box["sector_mask"] == 15).all()
    assert len(bulk_lines(np.array([64]), np.array([16384]))) == 129
