"""Tests of the wheel's contents: programs, configurations, templates and calibration tables travel with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim

setuptools = pytest.importorskip("setuptools", minversion="77")

ROOT = Path(gpusim.__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that setuptools would put into a wheel."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("needs a checkout")
    target = tmp_path_factory.mktemp("build")
    from gpusim._build import BuildWithData

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        distribution = setuptools.Distribution({"script_name": "build"})
        distribution.parse_config_files()
        command = BuildWithData(distribution)
        command.build_lib = str(target)
        command.ensure_finalized()
        command.run()
    return target


def test_every_program_and_configuration_is_in_the_wheel(built: Path):
    from gpusim._build import data_files

    names = {str(path) for path in data_files(ROOT)}
    assert {"programs/hgemm_multistage.py", "configs/runs/hgemm.yaml", "configs/gpus/h200.yaml"} <= names
    carried = built / "gpusim" / "_data"
    assert {str(path.relative_to(carried)) for path in carried.rglob("*.*")} == names


def test_every_module_template_and_table_of_the_package_is_in_the_wheel(built: Path):
    kept = {".py", ".pyi", ".typed", ".j2", ".csv", ".gz", ".md", ".cu"}
    source = {path.relative_to(ROOT) for path in (ROOT / "gpusim").rglob("*") if path.suffix in kept}
    missing = {path for path in source if not (built / path).exists()}
    assert not {path for path in missing if "_data" not in path.parts}


def test_an_editable_install_is_a_path_that_type_checkers_follow():
    """With the root named, setuptools writes the checkout's path instead of an import hook, which mypy cannot see."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("needs a checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        distribution = setuptools.Distribution({"script_name": "build"})
        distribution.parse_config_files()
    assert distribution.package_dir == {"": "."}
