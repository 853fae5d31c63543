"""MMA instructions against matrix products: the PTX ISA's fragments written out by hand, then every atom there is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.arch.atoms import MMA_ATOMS, MmaAtom
from gpusim.errors import UserError
from gpusim.verify import execute
from gpusim.verify.atoms import fragments_of
from gpusim.verify.dtypes import decode, encode, unit_roundoff
from gpusim.verify.fragments import make_fragments
from gpusim.verify.inputs import random_values

LANE = np.arange(32)
Place = Callable[[int, int], tuple[int, int]]
"""(lane, value) -> (row, column), as the PTX ISA prints it."""


def a_16816(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + (8 if i in (2, 3, 6, 7) else 0), lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)


def b_16816(lane: int, i: int) -> tuple[int, int]:
    return lane // 4, lane % 4 * 2 + (i & 1) + (8 if i >= 2 else 0)


def b_sparse(lane: int, i: int) -> tuple[int, int]:
    return lane // 4, lane % 4 * 2 + (i & 1) + 8 * (i // 2)


def a_16832(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + (8 if 4 <= i < 8 or i >= 12 else 0), lane % 4 * 4 + (i & 3) + (16 if i >= 8 else 0)


def b_16832(lane: int, i: int) -> tuple[int, int]:
    return lane // 4, lane % 4 * 4 + (i & 3) + (16 if i >= 4 else 0)


def a_1688_tf32(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + (8 if i in (1, 3) else 0), lane % 4 + (4 if i >= 2 else 0)


def b_1688_tf32(lane: int, i: int) -> tuple[int, int]:
    return lane // 4, lane % 4 + 4 * i


def c_16x8(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def registers_of(matrix: np.ndarray, place: Place, dtype: str, lanes: int = 32) -> np.ndarray:
    """(lanes, registers) of a matrix, element by element."""
    values = matrix.size // lanes
    fragment = np.array([[matrix[place(lane, i)] for i in range(values)] for lane in range(lanes)])
    data = encode(fragment, dtype)
    return np.ascontiguousarray(np.pad(data, [(0, 0), (0, -data.shape[1] % 4)])).view(np.uint32)


def run_mma(mnemonic: str, a: np.ndarray, b: np.ndarray, c: np.ndarray | None, d_registers: int,
            e: np.ndarray | None = None, immediate: int = 0) -> np.ndarray:
    """Load register dumps (32, n), execute one MMA, return the dump of D. ``e``: of metadata."""
    role, start = RoleBuilder(), 0
    infos, inputs, groups = [], {}, []
    for tensor, (name, dump) in enumerate({"A": a, "B": b, "C": c, **({} if e is None else {"E": e})}.items()):
        if dump is None:
            groups.append(None)
            continue
        count = dump.shape[1]
        for register in range(count):
            role.load_global((start + register, 1), (LANE * count + register) * 4, tensor=tensor)
        infos.append((name, "u32", dump.shape))
        inputs[name] = dump
        groups.append((start, count))
        start += count
    role.op(mnemonic, (start, d_registers), *groups, operand=immediate)
    for register in range(d_registers):
        role.store_global((start + register, 1), (LANE * d_registers + register) * 4, tensor=len(infos))
    program = make_program(tensors(*infos, ("D", "u32", (32, d_registers))), role)
    return execute(program, inputs).outputs["D"]


@pytest.mark.parametrize(("mnemonic", "dtype", "c_dtype", "shape", "a_place", "b_place"), [
    ("HMMA.16816.F32", "f16", "f32", (16, 8, 16), a_16816, b_16816),
    ("HMMA.16816.F32.BF16", "bf16", "f32", (16, 8, 16), a_16816, b_16816),
    ("HMMA.16816.F16", "f16", "f16", (16, 8, 16), a_16816, b_16816),
    ("HMMA.1688.F32.TF32", "tf32", "f32", (16, 8, 8), a_1688_tf32, b_1688_tf32),
    ("IMMA.16832.S8.S8", "s8", "s32", (16, 8, 32), a_16832, b_16832),
])
def test_mma_with_the_fragments_of_the_ptx_isa(mnemonic: str, dtype: str, c_dtype: str, shape: tuple[int, int, int],
                                               a_place: Place, b_place: Place) -> None:
    m, n, k = shape
    generator = np.random.default_rng(3)
    a, b, c = (random_values(generator, t, s, exact=True)
               for t, s in ((dtype, (m, k)), (dtype, (n, k)), (c_dtype, (m, n))))
    dump = run_mma(mnemonic, registers_of(a, a_place, dtype), registers_of(b, b_place, dtype),
                   registers_of(c, c_16x8, c_dtype), 2 if c_dtype == "f16" else 4)
    np.testing.assert_array_equal(dump, registers_of(a @ b.T + c, c_16x8, c_dtype))


WARP_ATOMS = [atom for atom in MMA_ATOMS.values() if atom.thr_id.size() == 32 and atom.sparsity == 1]


def placed(layout: Callable[[int, int], int], rows: int) -> Place:
    return lambda t, v: (layout(t, v) % rows, layout(t, v) // rows)


@pytest.mark.parametrize("atom", WARP_ATOMS, ids=lambda atom: atom.name)
def test_every_atom_multiplies_matrices(atom: MmaAtom) -> None:
    m, n, k = atom.shape_mnk
    generator = np.random.default_rng(5)
    a, b, c = (random_values(generator, t, s)
               for t, s in ((atom.dtype_a, (m, k)), (atom.dtype_b, (n, k)), (atom.dtype_c, (m, n))))
    fragments = [registers_of(matrix, placed(layout, rows), dtype)
                 for matrix, layout, rows, dtype in ((a, atom.A_tv, m, atom.dtype_a), (b, atom.B_tv, n, atom.dtype_b),
                                                     (c, atom.C_tv, m, atom.dtype_c))]
    dump = run_mma(atom.mnemonic, *fragments, fragments[2].shape[1])
    got = np.zeros((m, n))
    numbers = decode(np.ascontiguousarray(dump).view(np.uint8), atom.dtype_d)
    for lane in range(32):
        for value in range(m * n // 32):
            got[placed(atom.C_tv, m)(lane, value)] = numbers[lane, value]
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    product = wide_a @ wide_b.T
    if "XOR" in atom.mnemonic:
        product = (a[:, None, :] != b[None, :, :]).sum(-1)
    error = k * unit_roundoff("f32" if atom.dtype_d == "f16" else atom.dtype_d) * k + unit_roundoff(atom.dtype_d) * k
    np.testing.assert_allclose(got, product + c, rtol=0, atol=error)


@pytest.mark.parametrize("selector", [0, 1])
@pytest.mark.parametrize("kind", ["F32", "F32.BF16", "F16"])
def test_a_sparse_mma_multiplies_what_its_metadata_name(kind: str, selector: int) -> None:
    """Threads 2 s and 2 s + 1 of a quad hold two bits per element of A: PTX ISA, sparse mma.m16n8k32."""
    dtype, c_dtype = ("bf16" if "BF16" in kind else "f16"), kind[:3].lower()
    generator = np.random.default_rng(9)
    held, b, c = (random_values(generator, t, s, exact=True)
                  for t, s in ((dtype, (16, 16)), (dtype, (8, 32)), (c_dtype, (16, 8))))
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])[generator.integers(0, 6, (16, 8))]
    a, words = np.zeros((16, 32)), np.full((32, 1), 0xDEADBEEF, np.uint32)
    words.reshape(8, 4)[:, 2 * selector : 2 * selector + 2] = 0
    for row in range(16):
        for column, index in enumerate(pairs[row].reshape(-1).tolist()):
            a[row, column // 2 * 4 + index] = held[row, column]
            lane = row % 8 * 4 + 2 * selector + column // 8
            words[lane] |= np.uint32(index << (16 * (row // 8) + 2 * (column % 8)))
    fragments = [registers_of(held, a_16816, dtype), registers_of(b, b_sparse, dtype), registers_of(c, c_16x8, c_dtype)]
    dump = run_mma(f"HMMA.SP.16832.{kind}", *fragments, 2 if c_dtype == "f16" else 4, words, selector)
    np.testing.assert_array_equal(dump, registers_of(a @ b.T + c, c_16x8, c_dtype))


def test_a_sparse_mma_needs_metadata_that_name_two_elements_in_order() -> None:
    fragments = [registers_of(np.ones(shape), place, "f16")
                 for shape, place in (((16, 16), a_16816), ((8, 32), b_sparse))]
    with pytest.raises(UserError, match="takes a register of metadata behind a, b and c"):
        run_mma("HMMA.SP.16832.F32", *fragments, None, 4)
    with pytest.raises(UserError, match="metadata name two elements of four, the first one first"):
        run_mma("HMMA.SP.16832.F32", *fragments, np.zeros((32, 4), np.uint32), 4, np.zeros((32, 1), np.uint32))


def test_an_empty_group_c_is_zero() -> None:
    a, b = np.ones((16, 16)), np.ones((8, 16))
    dump = run_mma("HMMA.16816.F32", registers_of(a, a_16816, "f16"), registers_of(b, b_16816, "f16"), None, 4)
    assert (dump.view(np.float32) == 16).all()


@pytest.mark.parametrize(("mnemonic", "expected"), [("IMMA.16832.S8.S8", -(2**31) + 32 * 127**2 - 1),
                                                    ("IMMA.16832.S8.S8.SAT", 2**31 - 1)])
def test_integers_wrap_or_saturate(mnemonic: str, expected: int) -> None:
    a, b = np.full((16, 32), 127), np.full((8, 32), 127)
    c = np.full((16, 8), 2**31 - 1)
    dump = run_mma(mnemonic, registers_of(a, a_16832, "s8"), registers_of(b, b_16832, "s8"),
                   registers_of(c, c_16x8, "s32"), 4)
    assert (dump.view(np.int32) == expected).all()


def test_a_half_precision_accumulator_is_rounded_once_per_instruction() -> None:
    """2048 + 1 is a tie that goes to even (2048); 2048 + sixteen ones added before rounding is exact."""
    b, c = np.zeros((8, 16)), np.full((16, 8), 2048.0)
    for ones, expected in ((1, 2048), (16, 2064)):
        b[:, :ones] = 1
        dump = run_mma("HMMA.16816.F16", registers_of(np.ones((16, 16)), a_16816, "f16"),
                       registers_of(b, b_16816, "f16"), registers_of(c, c_16x8, "f16"), 2)
        assert (dump.view(np.float16) == expected).all()


def test_quad_pairs_multiply_side_by_side() -> None:
    """Volta's m8n8k4: 8 threads each, lanes t..t+3 and t+16..t+19; the tables cover every lane's values once."""
    atom = MMA_ATOMS["SM70_8x8x4_F32F16F16F32_TN"]
    fragments = fragments_of(atom)
    assert fragments.a.shape == (4, 8, 4)
    for table in (fragments.a, fragments.b, fragments.c):
        np.testing.assert_array_equal(np.sort(table.ravel()), np.arange(table.size))
    lanes_of_pair_1 = set((fragments.a[1] // 4).ravel().tolist())
    assert lanes_of_pair_1 == {4, 5, 6, 7, 20, 21, 22, 23}


def test_refusals_name_the_instruction() -> None:
    one = np.ones((32, 1), np.uint32)
    with pytest.raises(UserError, match=r"must be one of gpusim.arch's atoms, got HMMA\.16817\.F32; did you mean"):
        run_mma("HMMA.16817.F32", one, one, None, 4)
    with pytest.raises(UserError, match=r"HMMA\.16816\.F32 takes registers \(a, b, d\) = \(4, 2, 4\), got \(1, 1, 4\)"):
        run_mma("HMMA.16816.F32", one, one, None, 4)
    with pytest.raises(UserError, match=r"must say which fragment layout it takes, got HMMA\.884\.F32\.F32"):
        run_mma("HMMA.884.F32.F32", one, one, None, 8)
    with pytest.raises(ValueError, match="cover its whole tile"):
        make_fragments((16, 8, 16), ("f16", "f16", "f32"), (lambda t, v: 0, lambda t, v: 0, lambda t, v: 0),
                       np.arange(32)[None])
