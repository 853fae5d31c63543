"""Tests of what-ifs: rules propose what the numbers speak for, each is simulated, and its price is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusim.arch import load_gpu
from gpusim.experiments.config import load_plan
from gpusim.experiments.proposals import Proposal, propose
from gpusim.experiments.run import Outcome, record_plan, simulate_plan
from gpusim.experiments.what_if import Trial, what_if, with_trials, without_conflicts
from gpusim.report.tables import shared_memory_table

SMALL = ["M=64", "N=64", "K=64", "tile=[64,64,32]", "timeline.cycles=0"]
SPEC = load_gpu("h200")


def _outcome(*settings: str) -> Outcome:
    return simulate_plan(load_plan("hgemm", [*SMALL, *settings]), record=False)


def _propose(outcome: Outcome, **changes: object) -> dict[str, Proposal]:
    """Proposals by change, as if the summary said something else."""
    found = propose(outcome.plan, {**outcome.summary, **changes}, outcome.program, outcome.spec)
    return {proposal.change: proposal for proposal in found}


def test_bank_conflicts_propose_the_best_swizzle_and_price_themselves(instant_engine):
    proposals = _propose(_outcome("swizzle=none"))
    assert proposals["swizzle=64B instead of none"].settings == ("parameters.swizzle=64B",)
    bound = proposals["no bank conflicts at all"]
    assert not bound.possible and not bound.settings


def test_a_kernel_without_conflicts_is_offered_no_swizzle(instant_engine):
    assert not any("swizzle" in change or "conflicts" in change for change in _propose(_outcome()))


def test_waiting_for_copies_proposes_another_stage(instant_engine):
    outcome = _outcome()
    waiting = {**dict.fromkeys(outcome.summary["warp_states"], 0.0), "selected": 1.0, "long_scoreboard": 1.0}
    assert "num_stages=4 instead of 3" in _propose(outcome, warp_states=waiting)
    busy = {**waiting, "long_scoreboard": 0.01}
    assert not any("num_stages" in change for change in _propose(outcome, warp_states=busy))


def test_shared_memory_that_limits_occupancy_proposes_fewer_stages(instant_engine):
    outcome = _outcome()
    limited = {**outcome.summary["occupancy"], "limiter": "shared_mem"}
    assert "num_stages=2 instead of 3" in _propose(outcome, occupancy=limited)
    fewest = _outcome("num_stages=2")
    assert not any("num_stages=1" in change for change in _propose(fewest, occupancy=limited))


def test_a_limit_of_registers_is_priced_by_the_fewest_less_that_help(instant_engine):
    outcome = _outcome("M=8192", "N=8192", "tile=[128,128,32]")
    assert outcome.summary["occupancy"]["limiter"] == "registers"
    registers = outcome.program.launch.registers_per_thread
    (proposal,) = [found for change, found in _propose(outcome).items() if "registers" in change]
    assert proposal.change == f"168 registers per thread instead of {registers}" and not proposal.possible


def test_a_cold_start_is_priced_by_a_warm_one(instant_engine):
    outcome = _outcome()
    assert "a warm L2" in _propose(outcome, dram_bytes_read=64.0)
    assert "a warm L2" not in _propose(_outcome("l2=warm"), dram_bytes_read=64.0)


@pytest.fixture
def instant_bound(instant_engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same engine for the run without conflicts."""
    from gpusim.experiments import run

    monkeypatch.setattr("gpusim.experiments.what_if.simulate",
                        lambda program, spec, **options: run.simulate(program, spec, record=None, **options))


def test_trials_come_with_the_most_worthwhile_first_and_their_cycles(instant_bound):
    settings = [*SMALL, "swizzle=none"]
    outcome = simulate_plan(load_plan("hgemm", settings), record=False)
    trials = {trial.change: trial for trial in what_if("hgemm", settings, outcome)}
    swizzled = trials["swizzle=64B instead of none"]
    alone = simulate_plan(load_plan("hgemm", SMALL), record=False).summary
    assert swizzled.cycles == alone["cycles"] and swizzled.cycles_before == outcome.summary["cycles"]
    assert swizzled.speedup_pct == pytest.approx(100 * (outcome.summary["cycles"] / alone["cycles"] - 1))
    speedups = [trial.speedup_pct for trial in trials.values()]
    assert speedups == sorted(speedups, reverse=True)


def test_what_a_change_takes_besides_is_its_price(instant_bound, monkeypatch: pytest.MonkeyPatch):
    outcome = _outcome()
    more = Proposal("num_stages=4 instead of 3", "because", ("parameters.num_stages=4",))
    monkeypatch.setattr("gpusim.experiments.what_if.propose", lambda *_: (more,))
    (trial,) = what_if("hgemm", SMALL, outcome)
    stage_bytes = 2 * 64 * 32 * 2
    assert f"{stage_bytes:,} bytes of shared memory more" in trial.price and "% instructions" in trial.price


def test_a_refused_proposal_keeps_the_reason(instant_bound, monkeypatch: pytest.MonkeyPatch):
    bad = Proposal("num_stages=90 instead of 3", "because", ("parameters.num_stages=90",))
    monkeypatch.setattr("gpusim.experiments.what_if.propose", lambda *_: (bad,))
    (trial,) = what_if("hgemm", SMALL, _outcome())
    assert trial.cycles is None and "shared memory" in trial.failure
    assert str(trial).startswith("INF num_stages=90 instead of 3: not simulated, ")


def test_without_conflicts_every_access_is_ideal_and_nothing_else_changes():
    program = record_plan(load_plan("hgemm", [*SMALL, "swizzle=none"]), SPEC)
    before, after = shared_memory_table(program), shared_memory_table(without_conflicts(program))
    assert before["bank_conflicts"].sum() > 0 == after["bank_conflicts"].sum()
    assert after["wavefronts"].tolist() == before["wavefronts_ideal"].tolist()
    assert after["requests"].tolist() == before["requests"].tolist()
    assert all(old.ops is new.ops for old, new in zip(program.classes[0].roles,
                                                       without_conflicts(program).classes[0].roles, strict=True))


TRIAL = Trial("swizzle=64B instead of none", "because of 7 bank conflicts", True, 1500, 1000, 50.0, "nothing")


@pytest.mark.parametrize(
    ("trial", "sentence"),
    [
        (TRIAL, "OPT Simulated speedup: 50.0% with swizzle=64B instead of none, 1,000 cycles instead of 1,500 "
                "(because of 7 bank conflicts); costs: nothing"),
        (replace(TRIAL, cycles=1600, speedup_pct=-6.25),
         "INF Simulated speedup: -6.2% with swizzle=64B instead of none, 1,600 cycles instead of 1,500 "
         "(because of 7 bank conflicts); costs: nothing"),
        (replace(TRIAL, cycles=1499, speedup_pct=100 / 1499),
         "INF Simulated speedup: 0.1% with swizzle=64B instead of none, 1,499 cycles instead of 1,500 "
         "(because of 7 bank conflicts); costs: nothing"),
        (replace(TRIAL, change="a warm L2", possible=False, reason="what DRAM costs"),
         "INF Simulated bound: 50.0% with a warm L2, 1,000 cycles instead of 1,500 (what DRAM costs)"),
    ],
)
def test_only_a_possible_change_that_is_notably_faster_is_an_optimisation(trial: Trial, sentence: str):
    assert str(trial) == sentence


def test_trials_stand_first_in_the_advice_and_as_data(instant_engine):
    outcome = with_trials(_outcome(), [TRIAL])
    assert outcome.summary["advice"][0] == str(TRIAL)
    assert outcome.summary["what_if"][0]["speedup_pct"] == 50.0
