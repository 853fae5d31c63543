"""Models how a row of kernels.csv names a program: configuration columns in; program, sizes and parameters out.
Leaves out the measured columns (gpusim.experiments.quantities)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusim.dsl.clusters import LARGEST
from gpusim.errors import UserError
from gpusim.experiments.batch import Job

__all__ = ["CONFIGURATION_COLUMNS", "OPTIONAL_COLUMNS", "Unbuilt", "job_for_row"]

Row = Mapping[str, Any]

CONFIGURATION_COLUMNS = (
    "kernel", "source", "family", "a_dtype", "b_dtype", "acc_dtype", "out_dtype", "layout_a", "layout_b", "tile_m",
    "tile_n", "tile_k", "warp_m", "warp_n", "warp_k", "inst_m", "inst_n", "inst_k", "stages", "smem_swizzle",
    "epilogue", "split_k", "raster_log", "cluster_m", "cluster_n", "M", "N", "K",
)
OPTIONAL_COLUMNS = ("problem",)
"""What M, N and K do not say: "N=8 H=56 W=56 C=64 K=64 R=3 S=3 padding=1 stride=1" of a convolution."""


class Unbuilt(UserError):
    """No program of the library is the kernel of this row; ``str(error)`` is the reason."""


@dataclass(frozen=True)
class _Family:
    """A family of kernels that a program can be: what its columns must be (a tuple: one of several), the parameters it
    takes, its problem sizes and their columns, or where they come from."""

    program: str
    needs: Mapping[str, object]
    parameters: Callable[[Row], dict[str, object]]
    sizes: Mapping[str, str] | Callable[[Row], Mapping[str, int]] = field(
        default_factory=lambda: {size: size for size in ("M", "N", "K")})

    def problem(self, row: Row) -> Mapping[str, int]:
        if callable(self.sizes):
            return self.sizes(row)
        return {size: int(row[column]) for size, column in self.sizes.items()}


def _multistage_parameters(row: Row) -> dict[str, object]:
    return {
        "tile": [int(row["tile_m"]), int(row["tile_n"]), int(row["tile_k"])],
        "warps": [_warps(row, "m"), _warps(row, "n")],
        "num_stages": int(row["stages"]),
        "swizzle": str(row["smem_swizzle"]),
    }


def _threadblock(row: Row) -> dict[str, object]:
    """Parameters that CUTLASS's pipelines have in common."""
    letters = {("a", "row"): "t", ("a", "col"): "n", ("b", "row"): "t", ("b", "col"): "n"}
    return {
        "tile": [int(row["tile_m"]), int(row["tile_n"]), int(row["tile_k"])],
        "warp": [int(row["warp_m"]), int(row["warp_n"]), int(row["warp_k"])],
        "layouts": "".join(letters[operand, str(row[f"layout_{operand}"])] for operand in "ab"),
        "raster_log": int(row["raster_log"]),
    }


def _tensor_op(row: Row) -> dict[str, object]:
    return {
        **_threadblock(row), "instruction": [int(row["inst_m"]), int(row["inst_n"]), int(row["inst_k"])],
        "input_type": str(row["a_dtype"]), "accumulator_type": str(row["acc_dtype"]),
        "output_type": str(row["out_dtype"]),
    }


def _staged(parameters: Callable[[Row], dict[str, object]]) -> Callable[[Row], dict[str, object]]:
    return lambda row: {**parameters(row), "num_stages": int(row["stages"])}


def _warps(row: Row, axis: str) -> int:
    """Warps along an axis of the tile."""
    tile, warp = int(row[f"tile_{axis}"]), int(row[f"warp_{axis}"])
    if warp <= 0 or tile % warp:
        raise Unbuilt(f"tile_{axis} is no multiple of warp_{axis}", got=f"{tile} and {warp}")
    return tile // warp


def _split_k(row: Row) -> dict[str, object]:
    return {**_staged(_tensor_op)(row), "slices": _slices(row)}


def _split_k_parallel(row: Row) -> dict[str, object]:
    """Along n first, as CUTLASS's swizzle for it has it, unless a row asks for bands."""
    return {**_split_k(row), "raster": "m" if int(row["raster_log"]) else "n"}


def _stream_k(row: Row) -> dict[str, object]:
    parameters = {**_staged(_tensor_op)(row), "split_factor": _slices(row)}
    return {name: value for name, value in parameters.items() if name != "raster_log"}


def _batched(row: Row) -> dict[str, object]:
    """Batches run along z, tiles of one always along m first."""
    return {name: value for name, value in _staged(_tensor_op)(row).items() if name != "raster_log"}


def _sm90(kernel_schedule: str) -> Callable[[Row], dict[str, object]]:
    """Warpgroups and stages of an sm90 collective; one wgmma covers the tile along n."""
    def parameters(row: Row) -> dict[str, object]:
        for column, needed in (("inst_n", row["tile_n"]), ("b_dtype", row["a_dtype"])):
            if str(row[column]) != str(needed):
                raise Unbuilt(f"gemm_sm90 has {column} {needed} here only", got=row[column])
        shape = _threadblock(row)
        return {"tile": shape["tile"], "cluster": _cluster(row), "layouts": shape["layouts"],
                "num_stages": int(row["stages"]), "input_type": str(row["a_dtype"]),
                "kernel_schedule": kernel_schedule}
    return parameters


def _cluster(row: Row) -> list[int]:
    """1, 2 or 4 CTAs along m and n, 8 of them at most."""
    cluster = [int(row["cluster_m"]), int(row["cluster_n"])]
    if not set(cluster) <= {1, 2, 4} or cluster[0] * cluster[1] > LARGEST:
        raise Unbuilt(f"gemm_sm90 has clusters of 1, 2 or 4 CTAs along m and n, {LARGEST} at most",
                      got="x".join(map(str, cluster)))
    return cluster


def _slices(row: Row) -> int:
    return max(1, int(row["split_k"]))


def _array(row: Row) -> dict[str, object]:
    return {**_batched(row), "mode": "array"}


def _grouped(row: Row) -> dict[str, object]:
    """As many problems of one size as ``split_k`` says."""
    return {**_batched(row), "problems": ", ".join(["x".join(str(int(row[size])) for size in "MNK")] * _slices(row))}


def _indexed(which: str) -> Callable[[Row], dict[str, object]]:
    """Rows of A ("a"), of D ("d") or of both through indices."""
    return lambda row: {**_staged(_tensor_op)(row), "gather_a": "a" in which, "scatter_d": "d" in which}


def _interleaved(row: Row) -> dict[str, object]:
    """Layouts are those of the program, all types but the accumulator's that of A."""
    _require_alike(row, "a_dtype", "b_dtype", "out_dtype")
    names = ("tile", "warp", "instruction", "raster_log", "input_type", "num_stages")
    named = {**row, "layout_a": "row", "layout_b": "col"}
    parameters = _staged(_tensor_op)(named)
    return {name: parameters[name] for name in names}


def _sparse(row: Row) -> dict[str, object]:
    parameters = _staged(_tensor_op)(row)
    return {name: value for name, value in parameters.items() if name != "instruction"}


def _wmma(row: Row) -> dict[str, object]:
    parameters = _tensor_op(row)
    return {name: value for name, value in parameters.items() if name != "instruction"}


def _simt(row: Row) -> dict[str, object]:
    _require_alike(row, "a_dtype", "b_dtype", "acc_dtype", "out_dtype")
    return {**_threadblock(row), "input_type": str(row["a_dtype"])}


def _dp4a(row: Row) -> dict[str, object]:
    return {**_threadblock(row), "output_type": str(row["out_dtype"])}


def _complex(row: Row) -> dict[str, object]:
    return {**_staged(_threadblock)(row), "instruction": [int(row["inst_m"]), int(row["inst_n"]), int(row["inst_k"])]}


def _convolution(iterator: str) -> Callable[[Row], dict[str, object]]:
    """Padding (0), stride and dilation (1) are those of the column ``problem``, the same along both axes."""
    def parameters(row: Row) -> dict[str, object]:
        shape, stated = _threadblock(row), _problem_of(row)
        lengths = {name: [stated.get(name, usual)] * 2 for name, usual in _FILTER_STEPS.items()}
        return {"tile": shape["tile"], "warp": shape["warp"], "raster_log": shape["raster_log"],
                "num_stages": int(row["stages"]), "iterator": iterator, **lengths}
    return parameters


def _image(row: Row) -> dict[str, int]:
    """Sizes of a convolution."""
    stated = _problem_of(row)
    missing = [size for size in "NHWCKRS" if size not in stated]
    if missing:
        raise Unbuilt("M, N and K do not say the image, the filter and the padding of a convolution",
                      got=f"no {', '.join(missing)} in column 'problem'", suggestion=_EXAMPLE)
    return {size: stated[size] for size in "NHWCKRS"}


def _problem_of(row: Row) -> dict[str, int]:
    """Numbers by name of the column ``problem``."""
    stated: dict[str, int] = {}
    for word in str(row.get("problem") or "").split():
        name, _, number = word.partition("=")
        if (name not in _FILTER_STEPS and name not in tuple("NHWCKRS")) or not number.isdecimal():
            raise Unbuilt("column 'problem' has sizes NAME=NUMBER", got=f"'{word}'", suggestion=_EXAMPLE)
        stated[name] = int(number)
    return stated


def _require_alike(row: Row, first: str, *others: str) -> None:
    for column in others:
        if row[column] != row[first]:
            raise Unbuilt(f"{column} is {first}", got=f"{row[column]} and {row[first]}")


_CUTLASS = {"smem_swizzle": "cutlass", "epilogue": "cutlass", "split_k": 1, "cluster_m": 1, "cluster_n": 1}
_SCALAR = {**_CUTLASS, "inst_m": 1, "inst_n": 1, "inst_k": 1}
_FFMA = {**_SCALAR, "a_dtype": ("f32", "f64")}
_BYTES = {**_CUTLASS, "inst_m": 1, "inst_n": 1, "inst_k": 4, "stages": 2, **dict.fromkeys(("a_dtype", "b_dtype"), "s8"),
          "acc_dtype": "s32"}
_COMPLEX = {**_CUTLASS, **dict.fromkeys(("a_dtype", "b_dtype", "acc_dtype", "out_dtype"), "cf32"), "inst_m": (1, 16)}
_WMMA = {**_CUTLASS, "inst_m": 16, "inst_n": 16, "inst_k": 16, "stages": 2}
_MMA_SP = {**_CUTLASS, "a_dtype": ("f16", "bf16"), "inst_m": 16, "inst_n": 8, "inst_k": 32}
_FPROP = {**_CUTLASS, **dict.fromkeys(("a_dtype", "b_dtype", "out_dtype"), "f16"), "acc_dtype": "f32", "inst_m": 16,
          "inst_n": 8, "inst_k": 16}
_FILTER_STEPS = {"padding": 0, "stride": 1, "dilation": 1}
_EXAMPLE = "N=8 H=56 W=56 C=64 K=64 R=3 S=3 padding=1 stride=1"
_SM90 = {**{name: needed for name, needed in _CUTLASS.items() if not name.startswith("cluster")}, "acc_dtype": "f32",
         "out_dtype": "f16", "inst_m": 64, "inst_k": 16}
_SPLIT = {name: needed for name, needed in _CUTLASS.items() if name != "split_k"}
_SPLIT_FAMILIES = {
    "splitkserial": ("gemm_splitk_serial", _split_k), "splitkparallel": ("gemm_splitk_parallel", _split_k_parallel),
    "streamk": ("gemm_streamk", _stream_k),
}
_PIPELINES: dict[str, dict[str, object]] = {
    "multistage": {}, "multistageslicedk": {}, "pipelined": {"stages": 2}, "simt": {"inst_k": 1},
    "simtmultistage": {"inst_k": 1}, "simtpipelined": {"inst_k": 1, "stages": 2},
}
"""What cuts k, by the end of a family's name, and the main loops in front of it; underscores do not count."""

_FAMILIES: dict[tuple[str, str], _Family] = {
    ("hand", "multistage"): _Family(
        "hgemm_multistage",
        {
            "a_dtype": "f16", "b_dtype": "f16", "acc_dtype": "f32", "out_dtype": "f16", "layout_a": "row",
            "layout_b": "col", "inst_m": 16, "inst_n": 8, "inst_k": 16, "epilogue": "direct", "split_k": 1,
            "raster_log": 0, "cluster_m": 1, "cluster_n": 1,
        },
        _multistage_parameters,
    ),
}
"""By source and family; a new program that is a kernel of kernels.csv adds its row here or below."""

_CUTLASS_FAMILIES: dict[str, _Family] = {
    **dict.fromkeys(("multistage", "multistageslicedk"), _Family("gemm_multistage", _CUTLASS, _staged(_tensor_op))),
    "pipelined": _Family("gemm_pipelined", {**_CUTLASS, "stages": 2}, _tensor_op),
    "batched": _Family("gemm_batched", _SPLIT, _batched, {**{n: n for n in "MNK"}, "batches": "split_k"}),
    "array": _Family("gemm_batched", _SPLIT, _array, {**{n: n for n in "MNK"}, "batches": "split_k"}),
    "grouped": _Family("gemm_grouped", {**_SPLIT, "raster_log": 0}, _grouped, {}),
    **{name: _Family("gemm_gather_scatter", _CUTLASS, _indexed(which))
       for name, which in (("gather", "a"), ("scatter", "d"), ("gatherscatter", "ad"))},
    "interleaved": _Family("gemm_interleaved", {**_CUTLASS, "acc_dtype": "s32"}, _interleaved),
    "sparse": _Family("gemm_sparse", _MMA_SP, _sparse),
    "sm90ws": _Family("gemm_sm90", {**_SM90, "raster_log": -1}, _sm90("warp_specialized")),
    "sm90coop": _Family("gemm_sm90", {**_SM90, "raster_log": 0}, _sm90("cooperative")),
    "sm90pingpong": _Family("gemm_sm90", {**_SM90, "raster_log": 0}, _sm90("pingpong")),
    "wmma": _Family("wmma_gemm", _WMMA, _wmma),
    "simtpipelined": _Family("sgemm_pipelined", {**_FFMA, "stages": 2}, _simt),
    "simtmultistage": _Family("sgemm_multistage", _FFMA, _staged(_simt)),
    "dp4a": _Family("igemm_dp4a", _BYTES, _dp4a),
    "complex": _Family("complex_gemm", _COMPLEX, _complex),
    "conv2dfprop": _Family("conv2d_fprop", _FPROP, _convolution("optimized"), _image),
    "conv2dfpropanalytic": _Family("conv2d_fprop", _FPROP, _convolution("analytic"), _image),
}
"""CUTLASS's by the name of the family without underscores, and without the main loop in front where it is no other."""
_BY_TYPE = {("simtpipelined", "s8"): "dp4a", **{(name, "cf32"): "complex" for name in (
    "simt", "simtpipelined", "simtmultistage", "multistage")}}
"""Families that go by the type of A, too."""

def _family_of(row: Row) -> _Family | None:
    source, family = str(row["source"]), str(row["family"])
    if source != "cutlass":
        return _FAMILIES.get((source, family))
    plain = family.replace("_", "")
    for ending, (program, parameters) in _SPLIT_FAMILIES.items():
        pipeline = plain.removesuffix(ending)
        if pipeline != plain and (pipeline in _PIPELINES or not pipeline):
            return _Family(program, {**_SPLIT, **_PIPELINES.get(pipeline, {})}, parameters)
    plain = _BY_TYPE.get((plain, str(row["a_dtype"])), plain)
    return _CUTLASS_FAMILIES.get(plain) or _CUTLASS_FAMILIES.get(_without_pipeline(plain))


def _without_pipeline(family: str) -> str:
    """multistagebatched is batched, simtdp4a dp4a, complexmultistage complex."""
    for word in ("multistage", "pipelined", "tensorop", "simt"):
        family = family.removeprefix(word).removesuffix(word)
    return family


def job_for_row(row: Row, *, gpu: str, fidelity: str) -> Job:
    """The job that simulates a row, with a cold L2 and nothing recorded. Raises Unbuilt with the reason."""
    family = _family_of(row)
    if family is None:
        raise Unbuilt(f"no program for family '{row['family']}' of source '{row['source']}'")
    for column, needed in family.needs.items():
        allowed = [str(value) for value in (needed if isinstance(needed, tuple) else (needed,))]
        if str(row[column]) not in allowed:
            raise Unbuilt(f"{family.program} has {column} {' or '.join(allowed)} only", got=row[column])
    settings = [f"problem.{size}={number}" for size, number in family.problem(row).items()]
    settings += [f"parameters.{key}={value}" for key, value in family.parameters(row).items()]
    settings += [f"gpu={gpu}", f"fidelity={fidelity}", "l2=cold", "flush=true", "launch_overhead=true",
                 "timeline.cycles=0"]
    return Job(family.program, tuple(settings))
