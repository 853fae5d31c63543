"""Models CuTe's hierarchical integer tuples: shapes, strides, coordinates and the maps between them.
Leaves out layouts (gpusim.cute.layout) and every notion of memory.

An IntTuple is an ``int`` or a tuple of IntTuples. Coordinates may also be NumPy arrays of integers, so that one call
maps many coordinates; strides may also be basis elements (gpusim.cute.basis). Names and meaning are those of pycute.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gpusim.errors import UserError

__all__ = [
    "IntTuple",
    "Integer",
    "ceil_div",
    "congruent",
    "crd2crd",
    "crd2idx",
    "depth_of",
    "dice_",
    "elem_scale",
    "flatten",
    "has_none",
    "idx2crd",
    "inner_product",
    "is_int",
    "is_tuple",
    "normalized",
    "prefix_product",
    "product",
    "shape_div",
    "signum",
    "slice_",
    "tuple_max",
]

IntTuple: TypeAlias = Any  # int | tuple[IntTuple, ...]; strides may hold basis elements, coordinates arrays and None


class Integer(ABC):  # noqa: B024 (pycute's way to name a set of types)
    """Abstract base of what counts as an integer here: Python's and NumPy's, but not ``bool``."""

    @classmethod
    def __subclasshook__(cls, candidate: type) -> bool:
        return candidate is not bool and issubclass(candidate, (int, np.integer))


def is_int(x: object) -> bool:
    return type(x) is int or isinstance(x, Integer)


def is_tuple(x: object) -> bool:
    return isinstance(x, tuple)


def normalized(x: Any) -> IntTuple:
    """``x`` with lists as tuples and NumPy integers as ``int``; leaves that are not integers stay as they are."""
    if isinstance(x, (tuple, list)):
        return tuple(normalized(item) for item in x)
    return int(x) if isinstance(x, np.integer) else x


def flatten(t: IntTuple) -> tuple[Any, ...]:
    """The leaves of ``t`` from left to right; an integer is a tuple of one."""
    if not isinstance(t, tuple):
        return (t,)
    return tuple(leaf for item in t for leaf in flatten(item))


def depth_of(t: IntTuple) -> int:
    """Levels of nesting: 0 for an integer, 1 for a flat tuple."""
    return 1 + max((depth_of(item) for item in t), default=0) if isinstance(t, tuple) else 0


def signum(a: Any) -> int:
    return int(a > 0) - int(a < 0)


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def product(a: IntTuple) -> int:
    if not isinstance(a, tuple):
        return a
    result = 1
    for item in a:
        result *= product(item)
    return result


def tuple_max(a: IntTuple) -> int:
    return max(flatten(a))


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Whether ``a`` and ``b`` have the same nesting."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(congruent(x, y) for x, y in zip(a, b, strict=True))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def _pairs(a: tuple[Any, ...], b: Any, what: str) -> zip[tuple[Any, Any]]:
    """Corresponding modes of two tuples, refusing a different rank."""
    if not isinstance(b, tuple) or len(a) != len(b):
        raise UserError("both tuples must have the same rank", place=what, got=f"{a} and {b}")
    return zip(a, b, strict=True)


def inner_product(a: IntTuple, b: IntTuple) -> Any:
    if isinstance(a, tuple):
        return sum(inner_product(x, y) for x, y in _pairs(a, b, "inner_product"))
    if isinstance(b, tuple):
        raise UserError("both tuples must have the same nesting", place="inner_product", got=f"{a} and {b}")
    return a * b


def elem_scale(a: IntTuple, b: IntTuple) -> IntTuple:
    """``a`` scaled mode by mode; where ``a`` is an integer, by the product of ``b``'s mode."""
    if isinstance(a, tuple):
        return tuple(elem_scale(x, y) for x, y in _pairs(a, b, "elem_scale"))
    return a * product(b)


def shape_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """Divide shape ``a`` by ``b`` from the left, rounding an exhausted mode up to 1.

    Raises UserError where neither extent divides the other.
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(shape_div(x, y) for x, y in _pairs(a, b, "shape_div"))
    divisor = product(b)
    if isinstance(a, tuple):
        quotient = []
        for mode in a:
            quotient.append(shape_div(mode, divisor))
            divisor = shape_div(divisor, product(mode))
        return tuple(quotient)
    if a % divisor and divisor % a:
        raise UserError("one extent must divide the other", place="shape_div", got=f"{a} and {divisor}")
    return ceil_div(a, divisor)


def prefix_product(a: IntTuple, init: IntTuple = 1) -> IntTuple:
    """Compact column-major strides of shape ``a``, starting at ``init``."""
    if not isinstance(a, tuple):
        return init
    if isinstance(init, tuple):
        return tuple(prefix_product(x, start) for x, start in _pairs(a, init, "prefix_product"))
    strides = []
    for mode in a:
        strides.append(prefix_product(mode, init))
        init *= product(mode)
    return tuple(strides)


def idx2crd(idx: Any, shape: IntTuple, stride: IntTuple = None) -> Any:
    """The coordinate in ``shape`` of index ``idx`` (column-major unless ``stride`` says otherwise)."""
    if stride is None:
        stride = prefix_product(shape)
    if isinstance(idx, tuple):
        if not isinstance(shape, tuple) or len(idx) != len(shape):
            raise UserError("an index tuple must have the rank of the shape", place="idx2crd", got=f"{idx} in {shape}")
        return tuple(idx2crd(i, s, d) for i, s, d in zip(idx, shape, stride, strict=True))
    if isinstance(shape, tuple):
        return tuple(idx2crd(idx, s, d) for s, d in zip(shape, stride, strict=True))
    return idx * 0 if shape == 1 or stride == 0 else (idx // stride) % shape


def crd2idx(crd: Any, shape: IntTuple, stride: IntTuple = None) -> Any:
    """The offset of coordinate ``crd`` (nested or linear, None counts as 0) in ``shape`` with ``stride``.

    A linear coordinate runs column-major through the modes; the last mode is not bounded, as in CuTe.
    """
    if stride is None:
        stride = prefix_product(shape)
    if isinstance(crd, tuple):
        if not isinstance(shape, tuple) or len(crd) != len(shape):
            raise UserError("a coordinate must have the rank of the shape", place="crd2idx", got=f"{crd} in {shape}")
        return sum(map(crd2idx, crd, shape, stride))
    if crd is None:
        crd = 0
    if not isinstance(shape, tuple):
        return crd * stride
    index: Any = 0
    for s, d in zip(shape[:-1], stride[:-1], strict=True):
        extent = product(s)
        index = index + crd2idx(crd % extent, s, d)
        crd = crd // extent
    return index + crd2idx(crd, shape[-1], stride[-1]) if shape else index


def crd2crd(crd: Any, dst_shape: IntTuple, src_shape: IntTuple = None) -> Any:
    """Coordinate ``crd`` of ``src_shape`` seen in ``dst_shape``."""
    if isinstance(crd, tuple):
        if isinstance(dst_shape, tuple):
            return tuple(crd2crd(x, y) for x, y in _pairs(crd, dst_shape, "crd2crd"))
        if src_shape is None:
            raise UserError("a tuple becomes an integer only with src_shape", place="crd2crd", got=crd)
        return crd2idx(crd, src_shape)
    if isinstance(dst_shape, tuple):
        return idx2crd(crd, dst_shape)
    if crd >= dst_shape:
        raise UserError(f"the coordinate must be below {dst_shape}", place="crd2crd", got=crd)
    return crd


def _filtered(crd: Any, target: Any, keep: Callable[[Any], bool], what: str) -> tuple[Any, ...]:
    """The leaves of ``target`` whose coordinate satisfies ``keep``, subtrees kept whole."""
    if isinstance(crd, tuple):
        return tuple(kept for c, t in _pairs(crd, target, what) for kept in _filtered(c, t, keep, what))
    return (target,) if keep(crd) else ()


def slice_(crd: Any, trg: IntTuple) -> Any:
    """The modes of ``trg`` that are paired with None in ``crd``."""
    return _filtered(crd, trg, lambda c: c is None, "slice_")


def dice_(crd: Any, trg: IntTuple) -> Any:
    """The modes of ``trg`` that are paired with an index in ``crd`` (what slice_ drops)."""
    return _filtered(crd, trg, lambda c: c is not None, "dice_")


def has_none(a: Any) -> bool:
    return any(has_none(item) for item in a) if isinstance(a, tuple) else a is None
