"""Suggestions: the winner is free of conflicts, costs least, agrees with the closed formula; refusals are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim.arch import load_gpu
from gpusim.cute import Swizzle, minimal_swizzle, smem_swizzle
from gpusim.errors import UserError
from gpusim.experiments.candidates import candidate_swizzles, swizzle_parameters
from gpusim.experiments.config import list_configs, load_plan
from gpusim.experiments.proof import Proof, prove
from gpusim.experiments.run import record_plan
from gpusim.experiments.suggest import Suggestion, Trial, suggest
from gpusim.experiments.swizzle_search import Search, search
from gpusim.report.executions import static_executions
from gpusim.report.tables import shared_memory_table

SMALL = ["M=64", "N=64", "K=128", "tile=[64,64,32]", "timeline.cycles=0"]


@pytest.fixture(scope="module")
def searches() -> dict[int, Search]:
    """By tile depth: 32 and 64 elements make rows of 64 and 128 bytes."""
    plans = {k: load_plan("hgemm", [*SMALL, f"tile=[64,64,{k}]", "swizzle=none"]) for k in (32, 64)}
    return {k: search(plan, "swizzle", load_gpu("h200")) for k, plan in plans.items()}


@pytest.mark.parametrize("depth", [32, 64])
def test_the_winner_is_what_the_closed_formula_says(searches: dict[int, Search], depth: int):
    best = searches[depth].best
    assert best.conflict_free
    assert best.text == {32: "64B", 64: "128B"}[depth]
    assert smem_swizzle(best.text).in_elements(16) == minimal_swizzle(16, depth, 3)


@pytest.mark.parametrize("depth", [32, 64])
def test_no_swizzle_of_fewer_bits_and_nothing_cheaper_is_free(searches: dict[int, Search], depth: int):
    found = searches[depth]
    best = smem_swizzle(found.best.text).swizzle
    assert best is not None
    for candidate in found.conflict_free:
        swizzle = smem_swizzle(candidate.text).swizzle
        assert swizzle is None or swizzle.bits >= best.bits
        assert candidate.price >= found.best.price


def test_what_the_kernel_refuses_is_listed_with_its_rule(searches: dict[int, Search]):
    refusals = searches[32].refusals
    assert refusals["cp.async needs addresses aligned to 16 bytes"] == ["pad:4B", "pad:8B"]
    low_bases = refusals["cp.async of 16 bytes needs a swizzle with base >= 4"]
    assert "S<1,3,1>" in low_bases and all(Swizzle.parse(text).base < 4 for text in low_bases)


@pytest.mark.parametrize("text", ["none", "32B", "S<1,5,2>", "64B", "pad:32B"])
def test_a_candidate_costs_what_recording_it_says(searches: dict[int, Search], text: str):
    candidate = next(candidate for candidate in searches[32].candidates if candidate.text == text)
    program = record_plan(load_plan("hgemm", [*SMALL, f"swizzle={text}"]), load_gpu("h200"))
    table = shared_memory_table(program)
    assert candidate.bank_conflicts == table["bank_conflicts"].sum()
    assert candidate.wavefronts == table["wavefronts"].sum()
    assert candidate.price == (program.launch.shared_bytes, static_executions(program).sum())


def test_candidates_are_distinct_layouts_that_move_banks_within_the_tile():
    texts = candidate_swizzles(4096)
    swizzles = [swizzle for text in texts if (swizzle := smem_swizzle(text).swizzle)]
    assert len(set(texts)) == len(texts) and len(set(swizzles)) == len(swizzles)
    assert all(s.zzz_msk < 128 and s.yyy_msk < 4096 for s in swizzles)
    assert len(swizzles) == sum(max(0, 12 - base - 2 * bits + 1) for base in range(7) for bits in range(1, 8 - base))


def test_only_parameters_that_choose_a_swizzle_are_searched():
    parameters = {"swizzle": "64B", "clear": "none", "swizzle_B": "S<1,4,3>", "swizzle_log": 2, "raster_swizzle": "m"}
    assert swizzle_parameters(parameters) == ["swizzle", "swizzle_B"]


def test_a_suggestion_is_proved_and_worth_cycles(instant_engine):
    found = suggest("hgemm", [*SMALL, "swizzle=none"])
    assert found.after.values == {"swizzle": "64B"} and found.before.values == {"swizzle": "none"}
    assert found.proof.conflict_free and found.saved_cycles is not None and found.saved_cycles > 0
    assert found.verdict().startswith(f"swizzle=64B saves {found.saved_cycles:,} cycles against swizzle=none: ")
    assert list(found.proof.formulas.values()) == ["S<2,4,3>"]
    assert [trial.values for trial in found.alternatives] == [{"swizzle": "pad:16B"}]
    assert len(instant_engine) == 3


def test_the_best_value_is_kept_and_compared_with_none(instant_engine):
    found = suggest("hgemm", [*SMALL, "swizzle=S<2,4,3>"], simulate=False)
    assert found.already_best and found.after.values == {"swizzle": "S<2,4,3>"}
    assert found.before.values == {"swizzle": "none"}
    assert instant_engine == [] and found.saved_cycles is None
    assert found.verdict() == "swizzle=S<2,4,3> instead of swizzle=none"


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (Trial({"swizzle": "none"}, 300), Trial({"swizzle": "64B"}, 200),
         "swizzle=64B saves 100 cycles against swizzle=none: 1.50x faster"),
        (Trial({"swizzle": "none"}, 200), Trial({"swizzle": "64B"}, 300),
         "swizzle=64B costs 100 cycles against swizzle=none: 1.50x slower"),
        (Trial({"swizzle": "none"}), Trial({"swizzle": "none"}), "swizzle=none is the best there is"),
    ],
)
def test_the_verdict_is_one_sentence(before: Trial, after: Trial, sentence: str):
    assert Suggestion("k", (), Proof(()), before, after, ()).verdict() == sentence


def test_an_alternative_that_is_faster_is_named():
    trials = [Trial({"swizzle": text}, cycles) for text, cycles in (("none", 300), ("64B", 200), ("pad:16B", 150))]
    found = Suggestion("k", (), Proof(()), trials[0], trials[1], (trials[2], Trial({"swizzle": "pad:48B"}, 220)))
    assert found.faster() == ["swizzle=pad:16B takes 50 cycles fewer than swizzle=64B, at the price shown above"]


def test_the_proof_of_conflicts_names_the_accesses():
    program = record_plan(load_plan("hgemm", [*SMALL, "swizzle=none"]), load_gpu("h200"))
    proof = prove(program, program)
    assert not proof.conflict_free
    assert "bank conflicts remain in ldmatrix sA at hgemm_multistage.py:" in proof.sentence()
    loads = [access for access in proof.accesses if not access.is_copy]
    assert all(access.rank is not None and access.wavefronts == access.phases * access.rank.ways for access in loads)


def test_a_kernel_that_chooses_its_layouts_itself_is_proved_as_it_is(instant_engine, tmp_path: Path):
    source = (list_configs()["hgemm"].parents[2] / "programs" / "hgemm_multistage.py").read_text()
    fixed = source.replace(', swizzle="64B"', "").replace("swizzle=swizzle", 'swizzle="64B"')
    (tmp_path / "fixed.py").write_text(fixed)
    found = suggest(str(tmp_path / "fixed.py"), ["M=128", "N=128", "K=64"])
    assert found.verdict() == "fixed has no swizzle parameter; its own layouts are free of bank conflicts"
    assert found.searches == () and len(found.proof.accesses) == 4 and instant_engine == []


def test_an_unknown_parameter_is_one_sentence():
    with pytest.raises(UserError, match=r"no parameter of this name chooses a swizzle, got 'swizle'; did you mean"):
        suggest("hgemm", SMALL, parameters=["swizle"])


def test_a_kernel_that_nothing_makes_acceptable_says_why():
    with pytest.raises(UserError, match="shared memory of a CTA is limited to"):
        suggest("hgemm", ["num_stages=64"])
