"""What a user sees when a YAML file is wrong: every mistake at once, with its line, the rule, the value and a fix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from gpusim.errors import UserError
from gpusim.validation import ConfigError, apply_settings, load_yaml_model, read_yaml, validate_mapping


class Wheel(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size_cm: int = Field(gt=0)
    spokes: int = 36


class Bike(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    front: Wheel
    spare: list[Wheel] = []
    tyres: tuple[int, int] | None = None


def load(tmp_path, text, settings=()):
    path = tmp_path / "bike.yaml"
    path.write_text(text)
    return load_yaml_model(path, Bike, settings=settings)


def test_a_correct_file_becomes_a_model(tmp_path):
    bike = load(tmp_path, "name: tourer\nfront: {size_cm: 70}\nspare:\n  - size_cm: 0x20\n")
    assert (bike.name, bike.front.size_cm, bike.spare[0].size_cm) == ("tourer", 70, 32)


def test_all_mistakes_of_a_file_come_at_once_with_their_lines(tmp_path):
    text = "name: tourer\nfront:\n  size_cm: many\n  spoks: 3\nspare:\n  - size_cm: 3\n  - size_cm: -1\ncolour: red\n"
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.errors) == 4
    assert lines[0].startswith("bike.yaml:3:3: front.size_cm: Input should be a valid integer")
    assert lines[0].endswith("got 'many'")
    assert "bike.yaml:4:3: unknown key 'spoks' in 'front'; did you mean 'spokes'?" in lines
    assert "bike.yaml:7:5: spare.1.size_cm: Input should be greater than 0, got -1" in lines
    assert "bike.yaml:8:1: unknown key 'colour'; known: front, name, spare, tyres" in lines


def test_the_error_is_a_user_error_that_names_its_first_place(tmp_path):
    with pytest.raises(UserError) as caught:
        load(tmp_path, "name: x\nfront: {size_cm: 0}\n")
    assert caught.value.place == "bike.yaml:2:9" and caught.value.got == "0"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: x\n", "bike.yaml:1:1: required key 'front' is missing"),
        ("name: x\nfront: {}\n", "bike.yaml:2:1: required key 'front.size_cm' is missing"),
        ("name: x\nfront: 7\n", "bike.yaml:2:1: front: Input should be a valid dictionary or instance of Wheel, got 7"),
        ("name: [x\nfront: 7\n", "not valid YAML: "),
        ("name: x\nname: y\n", 'bike.yaml:2:1: not valid YAML: found duplicate key "name"'),
        ("", "bike.yaml: the top level should be a mapping of keys to values, got an empty file"),
        ("- 1\n", "bike.yaml: the top level should be a mapping of keys to values, got list"),
        ("name: x\nfront: {size_cm: 1}\ntyres: [1, two]\n", "bike.yaml:3:12: tyres.1: Input should be a valid integer"),
    ],
)
def test_one_sentence_per_kind_of_mistake(tmp_path, text, sentence):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.yaml: the file cannot be read, got 'No such file or directory'"):
        read_yaml(tmp_path / "nothing.yaml")


def test_plain_data_is_validated_too():
    with pytest.raises(ConfigError, match=r"job 3: front\.size_cm: Input should be greater than 0, got 0"):
        validate_mapping({"name": "x", "front": {"size_cm": 0}}, Bike, place="job 3")


def test_settings_are_yaml_values_and_make_mappings():
    data = {"a": {"b": 1}, "c": 2}
    changed = apply_settings(data, ["a.b=[1, 2]", "a.d.e=off", "c=0x10", "f=1.5e3", "g=", "h=a=b"])
    assert changed == {"a": {"b": [1, 2], "d": {"e": "off"}}, "c": 16, "f": 1500.0, "g": None, "h": "a=b"}
    assert data == {"a": {"b": 1}, "c": 2}


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("a", "--set: a setting is KEY=VALUE with dots in KEY, got 'a'; for example --set problem.M=4096"),
        ("a..b=1", "--set: a setting is KEY=VALUE with dots in KEY, got 'a..b=1'"),
        ("c.d.e=1", "--set c.d.e: 'c' is a value and has no keys"),
        ("a=[1", "--set: the value is not valid YAML, got 'a=[1'"),
    ],
)
def test_a_setting_that_cannot_be_applied_is_refused(setting, sentence):
    with pytest.raises(ConfigError) as caught:
        apply_settings({"a": {}, "c": 2}, [setting])
    assert sentence in str(caught.value)


def test_a_wrong_setting_is_blamed_on_the_setting_not_on_the_file(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "name: x\nfront: {size_cm: 3}\n", ["front.size_cm=-2"])
    assert str(caught.value) == "--set front.size_cm=-2: front.size_cm: Input should be greater than 0, got -2"


keys = st.text("abc", min_size=1, max_size=2)
trees = st.dictionaries(keys, st.dictionaries(keys, st.integers()))


@given(trees, st.lists(keys, min_size=1, max_size=2), st.integers())
def test_a_setting_changes_its_key_and_nothing_else(data, path, value):
    changed = apply_settings(data, [f"{'.'.join(path)}={value}"])
    inner = changed
    for key in path:
        inner = inner[key]
    assert inner == value
    assert {k: v for k, v in changed.items() if k != path[0]} == {k: v for k, v in data.items() if k != path[0]}
