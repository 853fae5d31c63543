"""Models where kernels are found: by the name of a file in programs/, or by path.
Leaves out recording them (gpusim.dsl.kernel)."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from gpusim.arch import GpuSpec
from gpusim.arch.paths import list_data
from gpusim.dsl.kernel import Kernel
from gpusim.dsl.tensors import GmemTensor
from gpusim.errors import UserError, did_you_mean
from gpusim.program import Program, join_programs

__all__ = ["ProgramFile", "load_program", "program_names"]


@dataclass(frozen=True)
class ProgramFile:
    """A file of programs/: one kernel, and what it takes to launch it.

    ``problem(**sizes)`` gives the tensors by the kernel's argument names (it may take parameters of the kernel too),
    ``flops(**sizes)`` the useful operations, ``reference(inputs)`` the outputs by NumPy (both may take parameters too),
    ``sizes`` the default problem. ``followed_by(...)``, where there is one, names the kernels that are launched after
    it on the same tensors, with the parameters that they share.
    """

    name: str
    summary: str
    kernel: Kernel
    problem: Callable[..., Mapping[str, GmemTensor]]
    flops: Callable[..., float]
    reference: Callable[..., Mapping[str, Any]]
    sizes: Mapping[str, int]
    followed_by: Callable[..., Sequence[Kernel]] | None = None

    def record(self, spec: GpuSpec, sizes: Mapping[str, int] | None = None, **parameters: Any) -> Program:
        """The Program for a problem size; sizes not given are the file's. Raises UserError as Kernel.record does."""
        chosen = {**self.sizes, **self._known(sizes or {})}
        tensors = self.problem(**chosen, **self._shared_parameters(self.problem, parameters))
        required = self.kernel.tensor_names[: self.kernel.required_tensors]
        optional = self.kernel.tensor_names[len(required) :]
        ordered = [tensors[name] for name in (*required, *(name for name in optional if name in tensors))]
        flops = self.flops(**chosen, **self._shared_parameters(self.flops, parameters))
        first = self.kernel.record(spec, *ordered, flops=flops, **parameters)
        return join_programs([first, *(self._further(kernel, spec, ordered, first, parameters)
                                       for kernel in self._kernels_after(parameters))])

    def _kernels_after(self, parameters: Mapping[str, Any]) -> Sequence[Kernel]:
        function = self.followed_by
        return function(**self._shared_parameters(function, parameters)) if function else ()

    @staticmethod
    def _further(kernel: Kernel, spec: GpuSpec, tensors: Sequence[GmemTensor], first: Program,
                 given: Mapping[str, Any]) -> Program:
        """A launch behind the first one: what parameters the kernel knows it has from there."""
        shared: dict[str, Any] = {name: value for name, value in first.parameters.items() if name in kernel.parameters}
        return kernel.record(spec, *tensors, schedule=given.get("schedule", "list"), **shared)

    def expected(self, program: Program, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What ``reference`` says of ``inputs`` under the parameters of ``program``, one of this file's."""
        return self.reference(inputs, **self._shared_parameters(self.reference, program.parameters))

    def _shared_parameters(self, function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of the kernel that a function of the file takes as well, such as element types and orders."""
        taken = inspect.signature(function).parameters
        return {name: given.get(name, default) for name, default in self.kernel.parameters.items() if name in taken}

    def _known(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        for name in sizes:
            if name not in self.sizes:
                raise UserError(f"program {self.name} has no problem size '{name}'",
                                suggestion=did_you_mean(name, self.sizes))
        return sizes


def program_names() -> dict[str, Path]:
    """Program files of this installation by name, microbenchmarks as micro/NAME."""
    found = {**list_data("programs", ".py"),
             **{f"micro/{name}": path for name, path in list_data("programs/micro", ".py").items()}}
    return {name: path for name, path in found.items() if not path.stem.startswith("_")}


def load_program(name_or_path: str | Path) -> ProgramFile:
    """The program of a name in programs/ or of a Python file.

    Raises UserError for an unknown name, or a file without one @kernel and the functions problem, flops, reference.
    """
    path = _find(str(name_or_path))
    module = _import(path)
    kernels = [value for value in vars(module).values() if isinstance(value, Kernel) and value.file == str(path)]
    if len(kernels) != 1:
        raise UserError("a program file defines exactly one @gs.kernel", place=str(path), got=len(kernels))
    problem, flops, reference = (_function(module, path, name) for name in ("problem", "flops", "reference"))
    summary = (module.__doc__ or "").strip().split("\n")[0]
    sizes = dict(getattr(module, "SIZES", {}))
    return ProgramFile(path.stem, summary, kernels[0], problem, flops, reference, sizes,
                       getattr(module, "followed_by", None))


def _find(name: str) -> Path:
    if name.endswith(".py"):
        path = Path(name).resolve()
        if not path.is_file():
            raise UserError("no such program file", place=name)
        return path
    known = program_names()
    if name not in known:
        raise UserError("no such program", got=f"'{name}'", suggestion=did_you_mean(name, known))
    return known[name].resolve()


def _import(path: Path) -> ModuleType:
    """Import a file under a name of its own; its directory is importable while it loads, and so is that of this
    installation's programs (programs/common), for copies of them."""
    spec = importlib.util.spec_from_file_location(f"gpusim_program_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError("a program is a Python file", place=str(path))
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.path[:0] = [str(path.parent), *sorted({str(known.parent) for known in list_data("programs", ".py").values()})]
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UserError("the program is not valid Python", place=f"{path}:{error.lineno}", got=error.msg) from error
    finally:
        sys.path[:] = before
    return module


def _function(module: ModuleType, path: Path, name: str) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if not callable(function):
        raise UserError(f"a program file defines the function {name}()", place=str(path))
    return function
