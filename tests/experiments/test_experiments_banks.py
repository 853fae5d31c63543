"""Files and texts of addresses in, tables of conflicts out; mistakes come with file and line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import gpusim
from gpusim.errors import UserError
from gpusim.experiments.banks import banks_access, banks_csv

HARDWARE = Path(gpusim.__file__).parent / "data/hardware/h200"
A = ",".join(f"a{lane}" for lane in range(32))
G = ",".join(f"g{lane}" for lane in range(32))


def row(operation: str, step: int, mask: str = "0xffffffff", first: str = "0") -> str:
    return ",".join(["7", operation, mask, first, *(str(lane * step) for lane in range(1, 32))])


def write(folder: Path, *rows: str, header: str = f"idx,op,mask,{A}") -> Path:
    path = folder / "mine.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_reads_the_measured_tables_as_they_are() -> None:
    for name in ("smem", "ldgsts"):
        measured = pd.read_csv(HARDWARE / f"{name}_patterns.csv")
        found = banks_csv(HARDWARE / f"{name}_patterns.csv")
        pd.testing.assert_frame_equal(found, measured[["idx", "wavefronts", "bank_conflicts"]])


def test_mixed_operations_keep_the_order_of_the_file(tmp_path: Path) -> None:
    source = "," + ",".join(str(lane * 16) for lane in range(32))
    path = write(tmp_path, row("LDS32", 256) + "," * 32, row("CPA16", 16) + source, row("LDSM4", 16) + "," * 32,
                 header=f"idx,op,mask,{A},{G}")
    assert banks_csv(path)["wavefronts"].tolist() == [32, 4, 4]


def test_blank_lines_at_the_end_are_no_rows(tmp_path: Path) -> None:
    assert len(banks_csv(write(tmp_path, row("LDS32", 4), "", ""))) == 1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (row("LDS32", 4, first="-4"), "mine.csv:3, a0: an address must not be negative, got -4"),
        (row("LDS128", 8), "mine.csv:3, a1: a 16-byte access needs an address that is a multiple of 16, got 8"),
        (row("LDS33", 4), "mine.csv:3: unknown memory operation, got 'LDS33'; did you mean"),
        (row("LDS32", 4, first="x"), "mine.csv:3, a0: an address should be a whole number, got 'x'"),
        (row("LDS32", 4, first=""), "mine.csv:3, a0: an address should be a whole number, got ''"),
        (
            row("LDS32", 4, mask="all"),
            "mine.csv:3: a mask should be a 32-bit whole number such as 0xffffffff, got 'all'",
        ),
        (row("LDS32", 4, mask="0x1ffffffff"), "mine.csv:3: a mask should be a 32-bit"),
        (row("CPA16", 16), "mine.csv: column 'g0' is missing; needed: idx, op, mask, a0..a31, and g0..g31"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        banks_csv(write(tmp_path, row("STS32", 4), line))
    assert str(error.value).startswith(sentence)


def test_missing_column_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mine\.csv: column 'op' is missing"):
        banks_csv(write(tmp_path, "1", header="idx"))
    with pytest.raises(UserError, match=r"nowhere\.csv: the file cannot be read as CSV, got 'No such file"):
        banks_csv(tmp_path / "nowhere.csv")


def test_a_swizzle_frees_ldmatrix_of_its_conflicts() -> None:
    plain = banks_access("LDSM4", "(8,4):(64,16)")
    assert plain["wavefronts"].tolist() == [4] * 4
    assert plain["lanes_in_worst_bank"][0] == "0 | 2 | 4 | 6"
    for swizzled in (
        banks_access("LDSM4", "(8,4):(64,16)", swizzle="S<2,4,3>"),
        banks_access("LDSM4", "S<2,4,3> o 0 o (8,4):(64,16)"),
    ):
        assert swizzled["wavefronts"].tolist() == [1] * 4
        assert swizzled["conflicting_banks"].tolist() == [""] * 4


def test_lanes_that_are_off_do_not_count() -> None:
    one_phase = banks_access("LDS32", "32:128", lane_mask=0xF0)
    assert one_phase[["lanes", "wavefronts", "lanes_in_worst_bank"]].iloc[0].tolist() == ["4-7", 4, "4 | 5 | 6 | 7"]


def test_a_copy_needs_both_sides() -> None:
    assert banks_access("CPA16", "32:16", global_layout="(4,8):(16,8192)")["wavefronts"].tolist() == [8]
    with pytest.raises(UserError, match=r"CPA16: cp\.async needs global offsets as well"):
        banks_access("CPA16", "32:16")


def test_a_layout_must_give_every_lane_an_address() -> None:
    assert len(banks_access("LDSM1", "8:128")) == 1
    with pytest.raises(UserError, match="the layout needs a coordinate for each of 16 lanes, got 8"):
        banks_access("LDSM2", "8:128")
    with pytest.raises(UserError, match="unknown memory operation, got 'LDSM3'"):
        banks_access("LDSM3", "32:16")
