"""Tests of profiles: every page of ncu --csv gives the same numbers in base units; what is no number is left out."""

from __future__ import annotations

import ncu_files
import pytest

from gpusim.errors import UserError
from gpusim.experiments.comparable import profile_values
from gpusim.experiments.ncu_csv import Profile, choose_profile, read_ncu


@pytest.fixture
def row():
    return ncu_files.measured_row()


@pytest.fixture
def read(tmp_path):
    """Reads text as a profile."""

    def read_text(text: str) -> list[Profile]:
        path = tmp_path / "profile.csv"
        path.write_text(text, encoding="utf-8")
        return read_ncu(path)

    return read_text


@pytest.mark.parametrize("page", [ncu_files.raw_page, ncu_files.metrics_page])
def test_pages_with_metric_names_give_what_was_measured(read, row, page):
    """Thousands separators, a row of units or a column of them, scaled or not: the same counters."""
    (profile,) = read(page(row))
    assert profile.kernel == ncu_files.KERNEL
    values = profile_values(profile)
    for name, column in (
        ("cycles", "cycles_elapsed"), ("warp_instructions", "warp_instructions"), ("l2_hit_pct", "l2_hit_pct"),
        ("bank_conflicts_load", "bank_conflicts_load"), ("shared_wavefronts_load", "smem_wavefronts_load"),
        ("dram_bytes_read", "dram_bytes_read"), ("registers_per_thread", "registers"), ("shared_bytes", "smem_bytes"),
        ("threads_per_cta", "threads"), ("stall_mio_throttle", "stall_mio_throttle"), ("stall_gmma", "stall_gmma"),
    ):
        assert values[name] == pytest.approx(row[column]), name
    assert values["time_us"] == pytest.approx(row["cycles_elapsed"] / 1980)
    assert values["dram_gbytes_per_second"] == pytest.approx(250)
    assert values["num_ctas"] == 256


def test_the_details_page_is_read_by_label_and_unit(read, row):
    """'Memory Throughput' is a share in one section and a rate in another; rules are rows without a metric."""
    (profile,) = read(ncu_files.details_page(row))
    values = profile_values(profile)
    assert values["cycles"] == row["cycles_elapsed"] and values["clock_mhz"] == pytest.approx(1980)
    assert values["dram_gbytes_per_second"] == pytest.approx(201.25)
    assert values["sm_active_cycles"] == pytest.approx(row["sm_cycles_active"])
    assert values["achieved_occupancy_pct"] == row["achieved_occupancy_pct"]
    assert values["shared_bytes"] == pytest.approx(49150)


@pytest.mark.parametrize(("page", "cycles", "fewest"), [("details", 34206, 28), ("raw", 34313, 45)])
def test_a_file_as_the_profiler_wrote_it_is_read(page, cycles, fewest):
    """What the program printed stands before the heading; a launch without clusters has clusters of 0 CTAs."""
    (profile,) = read_ncu(ncu_files.REAL[page])
    values = profile_values(profile)
    assert profile.kernel.startswith("void gemm<128, 128, 32") and profile.launch == "0"
    assert len(values) >= fewest
    assert values["cycles"] == cycles and values["launch_cluster_size"] == 1
    assert (values["threads_per_cta"], values["num_ctas"], values["registers_per_thread"]) == (128, 64, 255)
    assert values["shared_bytes"] == 49152  # and 1,024 of the driver


def test_both_pages_of_a_kernel_say_the_same():
    """They are two launches: their numbers differ by as much as launches do. Labels mean what the metrics mean."""
    details, raw = (profile_values(read_ncu(file)[0]) for file in ncu_files.REAL.values())
    assert len(details.keys() & raw.keys()) == len(details) >= 28
    assert {name: raw[name] for name in details} == {name: pytest.approx(value, rel=0.02)
                                                     for name, value in details.items()}


def test_the_issue_slots_of_the_details_page_are_of_elapsed_cycles():
    """11 %, where the raw page has 25 % of the active ones: the same label as ours, and another number."""
    details, raw = (read_ncu(file)[0] for file in ncu_files.REAL.values())
    assert details.readings["Issue Slots Busy"][0].value == pytest.approx(11.1)
    assert "issue_active_pct" not in profile_values(details)
    assert profile_values(raw)["issue_active_pct"] == pytest.approx(25.28)


def test_a_summary_gives_averages(read, row):
    (profile,) = read(ncu_files.summary_page(row))
    assert profile_values(profile)["cycles"] == row["cycles_elapsed"]
    assert profile.threads_per_cta == 128


def test_text_is_no_number_and_ranges_are_no_metrics(read, row):
    (profile,) = read(ncu_files.raw_page(row))
    assert set(profile.readings) == set(ncu_files.metrics(row))


def test_a_missing_counter_is_absent_and_not_zero(read, row):
    (profile,) = read(ncu_files.raw_page(row).replace(f"{row['bank_conflicts_load']:,}", "n/a"))
    assert "bank_conflicts_load" not in profile_values(profile)


@pytest.mark.parametrize(("unit", "value", "base"), [
    ("cycle/nsecond", 1.98, (1.98e9, "hz")), ("Mhz", 1980, (1.98e9, "hz")), ("usecond", 40, (4e-5, "second")),
    ("ns", 28448, (2.8448e-5, "second")), ("Gbyte/second", 2, (2e9, "byte/second")), ("Kbyte", 3, (3000, "byte")),
    ("msecond", 5, (0.005, "second")), ("inst/cycle", 2, (2, "inst/cycle")), ("%", 7, (7, "%")), ("", 4, (4, "")),
])
def test_units_become_base_units(unit, value, base):
    profile = Profile("k", "0")
    profile.add("m", str(value), unit)
    (reading,) = profile.readings["m"]
    assert (reading.value, reading.unit) == (pytest.approx(base[0]), base[1])


def test_a_decimal_comma_is_refused_because_it_could_be_a_group(read, row):
    text = ncu_files.details_page(row).replace('"64.39"', '"64,39"')
    with pytest.raises(UserError, match="Memory Throughput: numbers need a decimal point, got '64,39'; run ncu with"):
        read(text)


def test_several_launches_want_a_choice(read, row):
    profiles = read(ncu_files.raw_page(row, ("init(float *)", "gemm<128>(int)", "gemm<256>(int)")))
    assert choose_profile(profiles, "1", "p").kernel == "gemm<128>(int)"
    assert choose_profile(profiles, "gemm<2", "p").kernel == "gemm<256>(int)"
    with pytest.raises(UserError, match=r"p: the profile has several launches; choose .* 0: init\(float \*\); 1: gemm"):
        choose_profile(profiles, None, "p")
    with pytest.raises(UserError, match=r"several launches, got 'gemm'; .*--kernel: 1: gemm<128>\(int\); 2: gemm<256>"):
        choose_profile(profiles, "gemm", "p")
    with pytest.raises(UserError, match=r"no launch has that name, got 'cutlass'; .* 0: init"):
        choose_profile(profiles, "cutlass", "p")
    with pytest.raises(UserError, match="the kernel's name is a regular expression"):
        choose_profile(profiles, "gemm(", "p")


def test_a_file_that_is_no_profile_is_refused(read, tmp_path):
    with pytest.raises(UserError, match="no header with a column 'Kernel Name'; write the file with ncu --csv"):
        read("==ERROR== ERR_NVGPUCTRPERM\n")
    with pytest.raises(UserError, match="the profile holds no launch"):
        read(",".join(f'"{name}"' for name in (*ncu_files.IDENTITY, "sm__cycles_elapsed.max")))
    with pytest.raises(UserError, match="the profile cannot be read"):
        read_ncu(tmp_path / "absent.csv")
