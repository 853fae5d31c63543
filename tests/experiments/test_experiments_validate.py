"""Tests of validation: rows become programs or keep a reason, errors have the stated scale, statistics are right."""

from __future__ import annotations

import json
from importlib.resources import files

import pandas as pd
import pytest

from gpusim.errors import UserError
from gpusim.experiments.accuracy import accuracy_summary, dominant_stall_of
from gpusim.experiments.families import Unbuilt, job_for_row
from gpusim.experiments.quantities import errors_pct
from gpusim.experiments.validate import read_kernels, validate
from gpusim.report.accuracy import write_accuracy

KERNELS = files("gpusim") / "data" / "hardware" / "h200" / "kernels.csv"


@pytest.fixture(scope="module")
def kernels() -> pd.DataFrame:
    return read_kernels(str(KERNELS))


@pytest.fixture
def few_rows(kernels, tmp_path):
    """The two smallest hand-written kernels and one that no program stands for."""
    hand = kernels[kernels["source"] == "hand"]
    small = hand.assign(work=hand["M"] * hand["N"] * hand["K"]).sort_values("work").drop(columns="work").head(2)
    path = tmp_path / "kernels.csv"
    other = kernels[kernels["family"].str.startswith("sm90_")].head(1).assign(family="sm90_array")
    pd.concat([small, other]).to_csv(path, index=False)
    return path


def test_every_hand_written_row_names_a_program(kernels):
    for row in kernels[kernels["source"] == "hand"].to_dict("records"):
        job = job_for_row(row, gpu="h200", fidelity="full")
        assert job.target == "hgemm_multistage"
        assert f"parameters.tile=[{row['tile_m']}, {row['tile_n']}, {row['tile_k']}]" in job.settings
        assert "l2=cold" in job.settings and f"problem.M={row['M']}" in job.settings


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"family": "stream_k"}, "no program for family 'stream_k' of source 'hand'"),
        ({"layout_b": "row"}, "hgemm_multistage has layout_b col only, got row"),
        ({"split_k": 4}, "hgemm_multistage has split_k 1 only, got 4"),
        ({"warp_m": 48}, "tile_m is no multiple of warp_m, got 128 and 48"),
    ],
)
def test_a_row_that_cannot_be_built_says_why(kernels, change: dict[str, object], reason: str):
    row = kernels.iloc[0].to_dict() | change
    with pytest.raises(Unbuilt, match=reason):
        job_for_row(row, gpu="h200", fidelity="full")


@pytest.mark.parametrize(("change", "reason"), [
    ({"cluster_m": 3}, "clusters of 1, 2 or 4 CTAs along m and n, 8 at most, got 3x1"),
    ({"inst_n": 64}, "gemm_sm90 has inst_n 128 here only, got 64"),
    ({"b_dtype": "bf16"}, "gemm_sm90 has b_dtype f16 here only, got bf16"),
    ({"raster_log": 1}, "gemm_sm90 has raster_log 0 only, got 1"),
])
def test_an_sm90_row_that_cannot_be_built_says_why(kernels, change: dict[str, object], reason: str):
    row = kernels[kernels["family"] == "sm90_coop"].iloc[0].to_dict() | change
    with pytest.raises(Unbuilt, match=reason):
        job_for_row(row, gpu="h200", fidelity="full")


def test_no_row_is_dropped(instant_engine, few_rows):
    shares: list[float] = []
    result = validate(few_rows, progress=shares.append)
    assert result.summary["rows_total"] == 3 and result.summary["rows_built"] == 2
    assert [bool(row["reason"]) for row in result.rows] == [False, False, True]
    assert shares == [0.5, 1.0]
    assert json.dumps(result.to_json())


def test_errors_follow_from_measured_and_simulated(instant_engine, few_rows):
    row = validate(few_rows).rows[0]
    measured, simulated, errors = row["measured"], row["simulated"], row["error_pct"]
    assert errors["cycles"] == pytest.approx(100 * (simulated["cycles"] / measured["cycles"] - 1))
    assert errors["hmma_instructions"] == 0.0
    stalls = sum(value for name, value in measured.items() if name.startswith("stall_"))
    assert errors["stall_wait"] == pytest.approx(100 * (simulated["stall_wait"] - measured["stall_wait"]) / stalls)


def test_conflicts_of_a_kind_whose_wavefronts_nobody_counted_have_no_error():
    """A user's table need not have every column of kernels.csv."""
    values = {"bank_conflicts_ldgsts": 0.0}
    assert errors_pct(values, values) == {"bank_conflicts_ldgsts": 0.0}
    assert errors_pct(values, {"bank_conflicts_ldgsts": 5.0}) == {"bank_conflicts_ldgsts": None}


EXACT = ["sp_128x64x64_w64x32x64_s4_tn", "s8_64x64x64_w32x32x64_s5_interleaved", "dp4a_64x64x32_w32x32x32_s2_tn",
         "wmma_64x64x32_w32x32x32_s2_tn"]


def test_kernels_that_nothing_was_read_from_access_shared_memory_as_counted(tmp_path):
    """Sparse, interleaved, IDP.4A and WMMA GEMMs: fragment loads, copies that any lane takes part in, wavefronts."""
    table = pd.read_csv(KERNELS.parent / "kernels_other.csv")
    chosen = table[table.kernel.isin(EXACT) & (table.M == 512) & (table.K == 2048)]
    chosen.to_csv(tmp_path / "chosen.csv", index=False)
    rows = validate(tmp_path / "chosen.csv").rows
    assert len(rows) == len(EXACT)
    for row in rows:
        errors = row["error_pct"]
        assert errors["ldsm_instructions"] == errors["ldgsts_instructions"] == 0, row["name"]
        assert abs(errors["smem_wavefronts_load"]) < 0.2 and abs(errors["smem_wavefronts_store"]) < 0.2, row["name"]
        assert abs(errors["bank_conflicts_load"]) < 0.2, row["name"]


def test_an_error_against_nothing_is_undefined_unless_both_are_nothing():
    assert errors_pct({"smem_wavefronts_store": 0.0}, {"smem_wavefronts_store": 0.0}) == {"smem_wavefronts_store": 0.0}
    assert errors_pct({"smem_wavefronts_store": 0.0}, {"smem_wavefronts_store": 5.0}) == {"smem_wavefronts_store": None}


def _row(name: str, measured: float, simulated: float) -> dict[str, object]:
    values = {"cycles": measured}, {"cycles": simulated}
    return {"name": name, "measured": values[0], "simulated": values[1], "error_pct": errors_pct(*values)}


def test_statistics_of_known_errors():
    rows = [_row("a", 100, 110), _row("b", 200, 180), _row("c", 400, 520)]
    summary = accuracy_summary([*rows, {"name": "d", "simulated": {}}])
    assert (summary["rows_total"], summary["rows_built"]) == (4, 3)
    assert summary["mape_cycles_pct"] == pytest.approx(50 / 3)
    assert summary["bias_cycles_pct"] == pytest.approx(30 / 3)
    assert summary["geometric_mean_ratio_cycles"] == pytest.approx((1.1 * 0.9 * 1.3) ** (1 / 3))
    assert summary["spearman_cycles"] == pytest.approx(1.0)
    assert (summary["worst_row"], summary["worst_row_error_pct"]) == ("c", pytest.approx(30))


def test_a_reversed_ranking_has_rank_correlation_minus_one():
    summary = accuracy_summary([_row("a", 100, 300), _row("b", 200, 200), _row("c", 300, 100)])
    assert summary["spearman_cycles"] == pytest.approx(-1.0)


def test_orders_of_swizzles_are_compared_where_nothing_else_differs():
    """Of 512 the whole order is right, of 1,024 the best one; a tile that came with one swizzle has no order."""
    rows = [_row(f"{tile} {swizzle}", measured, simulated)
            | {"configuration": {"kernel": f"{tile}_{swizzle}", "tile_m": tile, "M": m, "smem_swizzle": swizzle}}
            for tile, m, swizzle, measured, simulated in (
                ("64", 512, "none", 40, 44), ("64", 512, "pad:16B", 30, 31), ("64", 512, "S<2,4,3>", 10, 12),
                ("64", 1024, "none", 80, 70), ("64", 1024, "pad:16B", 60, 72), ("64", 1024, "S<2,4,3>", 20, 19),
                ("128", 512, "none", 50, 90))]
    summary = accuracy_summary(rows)
    assert (summary["swizzle_sets"], summary["swizzle_best_right"], summary["swizzle_order_right"]) == (2, 2, 1)
    assert "swizzle_sets" not in accuracy_summary(rows[-1:])


@pytest.mark.slow
def test_swizzles_come_in_the_order_of_the_medians_of_six_runs(tmp_path):
    """Twelve sets (a minute or two). Wrong are two pairs that are 0.5 and 2.5 % apart there, 1.2 and 0.2 % here; in
    kernels.csv, a run of each, one of them stands as here."""
    medians = pd.read_csv(KERNELS.parent / "repeats.csv").groupby(["kernel", "M", "N", "K"]).cycles_elapsed.median()
    table = pd.read_csv(KERNELS).set_index(medians.index.names).loc[medians.index]
    table.assign(cycles_elapsed=medians).reset_index().to_csv(tmp_path / "medians.csv", index=False)
    summary = validate(tmp_path / "medians.csv", jobs=2).summary
    assert (summary["swizzle_sets"], summary["swizzle_order_right"]) == (12, 10)


def test_nothing_built_is_no_division_by_zero():
    summary = accuracy_summary([{"name": "d", "simulated": {}}])
    assert summary["rows_built"] == 0 and summary["mape_cycles_pct"] is None


def test_the_dominant_stall_is_never_selected():
    assert dominant_stall_of({"stall_selected": 9.0, "stall_wait": 2.0, "stall_barrier": 3.0}) == "barrier"


def test_files_that_are_no_kernel_tables_are_refused(tmp_path):
    with pytest.raises(UserError, match="the file cannot be read as CSV"):
        read_kernels(tmp_path / "absent.csv")
    (tmp_path / "other.csv").write_text("kernel,source\na,b\n")
    with pytest.raises(UserError, match=r"other\.csv: column 'family' is missing; the schema is that of kernels\.csv"):
        read_kernels(tmp_path / "other.csv")


def test_the_report_lists_every_row_and_draws_it(instant_engine, few_rows, tmp_path):
    result = validate(few_rows)
    path = tmp_path / "reports" / "ACCURACY.md"
    write_accuracy(path, result.to_json(), source="kernels.csv", gpu="h200", fidelity="full")
    text = path.read_text()
    assert all(row["name"] in text for row in result.rows)
    assert "no program for family" in text and "](ACCURACY.svg)" in text
    assert path.with_suffix(".png").exists() and path.with_suffix(".svg").exists()
