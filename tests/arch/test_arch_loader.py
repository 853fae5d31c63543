"""A GPU file: values and sources apart, inheritance, settings, and what a user reads when it is wrong."""

from __future__ import annotations

import pickle

import pytest
from pydantic import ValidationError

from gpusim.arch import GpuSpec, Source, gpu_names, load_gpu, occupancy
from gpusim.arch.paths import data_roots, find_data, list_data
from gpusim.errors import UserError
from gpusim.validation import ConfigError


@pytest.fixture(scope="module")
def h200_text():
    return find_data("configs/gpus/h200.yaml").read_text()


def write(tmp_path, text, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_h200_is_what_its_driver_reports():
    spec = load_gpu("h200")
    sm = spec.sm
    assert (sm.count, sm.registers, sm.max_threads, sm.max_ctas) == (132, 65536, 2048, 32)
    assert (sm.shared_bytes, sm.shared_bytes_per_cta_max) == (233472, 232448)
    assert (spec.l2.capacity_bytes, spec.compute_capability) == (62914560, 90)


def numbers_of(values: dict, place: str) -> set[str]:
    """Dotted keys of the numbers of a section and of the sections in it."""
    inner = {key: value for key, value in values.items() if isinstance(value, dict)}
    own = {f"{place}.{key}" for key, value in values.items() if key not in inner and not isinstance(value, str)}
    return own.union(*(numbers_of(value, f"{place}.{key}") for key, value in inner.items()))


def test_every_number_of_every_gpu_says_where_it_comes_from():
    for name in gpu_names():
        spec = load_gpu(name)
        for section in set(GpuSpec.model_fields) - {"name", "product", "architecture", "instructions"}:
            if getattr(spec, section) is None:
                continue
            given = getattr(spec, section).model_dump()
            assert numbers_of(given, section) <= set(spec.provenance), (name, section)
        assert all(source.ref for source in spec.provenance.values() if source.kind != "setting"), name


def test_another_architecture_inherits_no_units():
    hopper, ampere = load_gpu("h100"), load_gpu("a100")
    assert hopper.wgmma == load_gpu("h200").wgmma and hopper.provenance["tma.start_cycles"].kind == "guess"
    assert ampere.wgmma is ampere.tma is ampere.mbarrier is None


def test_a_spec_is_frozen():
    with pytest.raises(ValidationError):
        load_gpu("h200").sm.count = 1


def test_a_spec_travels_to_worker_processes():
    spec = load_gpu("h200")
    twin = pickle.loads(pickle.dumps(spec))
    assert twin == spec and twin.provenance == spec.provenance
    assert pickle.loads(pickle.dumps(occupancy(spec, 128, 168, 49152))) == occupancy(spec, 128, 168, 49152)


def test_a_setting_changes_the_value_and_its_source():
    spec = load_gpu("h200", ["sm.count=66"])
    assert (spec.sm.count, spec.provenance["sm.count"]) == (66, Source("setting"))
    assert load_gpu("h200").sm.count == 132


def test_an_unknown_gpu_gets_the_list():
    with pytest.raises(UserError, match=r"gpu: no such GPU, got 'h20'; did you mean 'h200'\? known: .*h200"):
        load_gpu("h20")


def test_mistakes_of_a_file_come_at_once(tmp_path, h200_text):
    text = h200_text.replace("  count: {value: 132,", "  count: {value: many,").replace("  max_warps:", "  max_warp:")
    with pytest.raises(ConfigError) as caught:
        load_gpu(write(tmp_path, text))
    line = 1 + next(i for i, row in enumerate(text.splitlines()) if row.startswith("  count:"))
    assert f"mine.yaml:{line}:3: sm.count: Input should be a valid integer, got 'many'" in str(caught.value)
    assert "unknown key 'max_warp' in 'sm'; did you mean 'max_warps'?" in str(caught.value)
    assert "required key 'sm.max_warps' is missing" in str(caught.value)


def test_a_number_in_quotes_is_text(tmp_path, h200_text):
    with pytest.raises(ConfigError, match=r"sm\.count: Input should be a valid integer, got '132'"):
        load_gpu(write(tmp_path, h200_text.replace("  count: {value: 132,", "  count: {value: '132',")))


@pytest.mark.parametrize(
    ("leaf", "sentence"),
    [
        ("132", "sm.count: a number needs its source, got 132; write {value: 132, source: measured"),
        ("{value: 132}", "sm.count: source should be one of measured, paper, datasheet, guess, got None"),
        ("{value: 132, source: rumour}", "got 'rumour'"),
        ("{value: 132, source: guess, reff: x}", "unknown key 'reff' in 'sm.count'; did you mean 'ref'?"),
    ],
)
def test_a_number_without_its_source_is_an_error(tmp_path, h200_text, leaf, sentence):
    old = next(row for row in h200_text.splitlines() if row.startswith("  count:"))
    with pytest.raises(ConfigError) as caught:
        load_gpu(write(tmp_path, h200_text.replace(old, f"  count: {leaf}")))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("l2.lookahead_cycles=900", "l2: lookahead_cycles exceeds hit_latency_cycles"),
        ("l2.own_clock_cycles=900", "l2: own_clock_cycles exceeds hit_latency_cycles, of which it is a part"),
        ("dram.groups=7", "dram: groups is odd or less than four, but two blocks side by side take two pairs of them"),
        ("dram.channels=7", "dram: channels is odd, but refresh comes to two at a time"),
        ("dram.block_bytes=768", "dram: block_bytes is not a power of two of at least four runs"),
        ("dram.block_share_pct=100", "dram: block_share_pct leaves nothing for the second group"),
        ("l2.round_pages=3", "l2.round_pages: must be a power of two, got 3"),
        ("l2.piece_bytes=256", "l2: piece_bytes is not between four lines and page_bytes"),
        ("sm.shared_bytes_per_cta_max=233472", "sm: shared_bytes_per_cta_max and what is reserved exceed shared_bytes"),
        ("issue.policy=random",
         "issue.policy: Input should be 'gto', 'lrr', 'oldest', 'youngest' or 'grr', got 'random'"),
        ("architecture=hopper", "architecture: String should match pattern"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(setting, sentence):
    with pytest.raises(ConfigError) as caught:
        load_gpu("h200", [setting])
    assert sentence in str(caught.value)


CHILD = """\
base: h200
name: mine
clock:
  sm_mhz: {value: 1000, source: guess, ref: test}
instructions:
  - {patterns: [FFMA], kind: alu, pipe: fma, issue_interval_cycles: {value: 7, source: guess, ref: test},
     latency_cycles: {value: 9, source: guess, ref: test}}
"""


def test_a_child_inherits_what_it_does_not_say(tmp_path):
    child, base = load_gpu(write(tmp_path, CHILD)), load_gpu("h200")
    assert (child.name, child.clock.sm_mhz) == ("mine", 1000)
    assert child.clock.memory_mhz == base.clock.memory_mhz and child.sm == base.sm
    assert child.instruction_table.lookup("FFMA").issue_interval_cycles == 7
    assert child.instruction_table.lookup("FADD") == base.instruction_table.lookup("FADD")
    assert child.provenance["clock.sm_mhz"] == Source("guess", "test")


def test_what_was_measured_on_the_base_is_a_guess_about_the_child(tmp_path):
    child, base = load_gpu(write(tmp_path, CHILD)), load_gpu("h200")
    assert base.provenance["sm.max_warps"] == Source("measured", "memory.csv")
    assert child.provenance["sm.max_warps"] == Source("guess", "as on the h200 (measured memory.csv)")


def test_another_architecture_inherits_no_instructions(tmp_path):
    other = CHILD.replace("name: mine", "name: mine\narchitecture: sm_80")
    assert load_gpu(write(tmp_path, other)).instruction_table.patterns == ("FFMA",)
    with pytest.raises(ConfigError, match="required key 'instructions' is missing"):
        load_gpu(write(tmp_path, "base: h200\nname: mine\narchitecture: sm_80\n"))


def test_mistakes_are_found_in_the_file_that_makes_them(tmp_path, h200_text):
    write(tmp_path, h200_text.replace("pipe: xu", "pipe: tensors", 1), "parent.yaml")
    sentence = r"parent\.yaml:\d+:5: instructions\.\d+\.pipe: no such pipe; did you mean 'tensor'"
    with pytest.raises(ConfigError, match=sentence):
        load_gpu(write(tmp_path, CHILD.replace("h200", "parent")))


def test_inheritance_is_one_level(tmp_path):
    write(tmp_path, CHILD, "parent.yaml")
    with pytest.raises(ConfigError, match=r"child\.yaml:1:1: a base may not have a base itself.*inherit from 'h200'"):
        load_gpu(write(tmp_path, "base: parent\nname: child\n", "child.yaml"))


def test_data_is_found_in_a_checkout_and_in_a_wheel(tmp_path, monkeypatch):
    checkout, wheel = tmp_path / "checkout", tmp_path / "wheel"
    for root, names in ((checkout, ("a",)), (wheel, ("a", "b"))):
        (root / "configs").mkdir(parents=True)
        for name in names:
            (root / "configs" / f"{name}.yaml").write_text("")
    monkeypatch.setattr("gpusim.arch.paths.data_roots", lambda: (checkout, wheel))
    assert find_data("configs/a.yaml") == checkout / "configs/a.yaml"
    assert find_data("configs/b.yaml") == wheel / "configs/b.yaml"
    assert list_data("configs", ".yaml") == {"a": checkout / "configs/a.yaml", "b": wheel / "configs/b.yaml"}
    with pytest.raises(UserError, match=r"configs/c\.yaml: no such file in this installation"):
        find_data("configs/c.yaml")


def test_the_wheel_keeps_its_data_inside_the_package():
    checkout, wheel = data_roots()
    assert wheel.parent.name == "gpusim" and wheel.parent.parent == checkout


def test_the_schema_describes_the_file(h200_text):
    schema = GpuSpec.model_json_schema()
    leaf = schema["$defs"]["Sm"]["properties"]["count"]
    assert set(leaf["properties"]) == {"value", "source", "ref"} and leaf["required"] == ["value", "source"]
    undescribed = [
        f"{name}.{key}"
        for name, part in schema["$defs"].items()
        for key, field in part["properties"].items()
        if "description" not in field
    ]
    assert undescribed == []
