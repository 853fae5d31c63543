"""MMA and copy atoms: the fragment tables of the PTX ISA, CuTe's traits, and who executes what."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.arch.atoms import COPY_ATOMS, DTYPE_BITS, MMA_ATOMS, copy_atom, mma_atom, mma_atoms_of
from gpusim.cute import Layout
from gpusim.errors import UserError

H200 = load_gpu("h200")


def covered(layout: Layout) -> list[int]:
    return sorted(layout.offsets().ravel().tolist())


@pytest.mark.parametrize("name", MMA_ATOMS)
def test_every_element_of_a_tile_has_one_owner(name):
    atom = MMA_ATOMS[name]
    m, n, k = atom.shape_mnk
    for layout, elements in ((atom.A_tv, m * k // atom.sparsity), (atom.B_tv, n * k), (atom.C_tv, m * n)):
        assert covered(layout) == list(range(elements))
        assert layout[0].size() == atom.thr_id.size()
    lanes = covered(atom.thr_id)
    assert len(set(lanes)) == len(lanes) and max(lanes) < 32


CUTE = {  # MMA_Traits of CUTLASS, (thread, value) layouts of A, B, C
    "SM80_16x8x16_F32F16F16F32_TN": (
        "((4,8),(2,2,2)):((32,1),(16,8,128))",
        "((4,8),(2,2)):((16,1),(8,64))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM80_16x8x8_F16F16F16F16_TN": (
        "((4,8),(2,2)):((32,1),(16,8))",
        "((4,8),2):((16,1),8)",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM80_16x8x4_F32TF32TF32F32_TN": ("((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", "((4,8),(2,2)):((32,1),(16,8))"),
    "SM80_16x8x8_F32TF32TF32F32_TN": (
        "((4,8),(2,2)):((16,1),(8,64))",
        "((4,8),2):((8,1),32)",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM80_8x8x4_F64F64F64F64_TN": ("((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", "((4,8),2):((16,1),8)"),
    "SM90_16x8x16_F64F64F64F64_TN": (
        "((4,8),(2,4)):((16,1),(8,64))",
        "((4,8),4):((8,1),32)",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM80_8x8x16_S32S8S8S32_TN": ("((4,8),4):((32,1),8)", "((4,8),4):((32,1),8)", "((4,8),2):((16,1),8)"),
    "SM80_16x8x16_S32S8S8S32_TN": (
        "((4,8),(4,2)):((64,1),(16,8))",
        "((4,8),4):((32,1),8)",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM80_16x8x32_S32S8S8S32_TN": (
        "((4,8),(4,2,2)):((64,1),(16,8,256))",
        "((4,8),(4,2)):((32,1),(8,128))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM80_16x8x256_S32U1U1S32_TN_XORPOPC": (
        "((4,8),(32,2,2)):((512,1),(16,8,2048))",
        "((4,8),(32,2)):((256,1),(8,1024))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ),
    "SM70_8x8x4_F32F16F16F32_NT": (
        "((4,2),4):((8,4),1)",
        "((4,2),4):((8,4),1)",
        "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))",
    ),
    "SM70_8x8x4_F16F16F16F16_TN": ("(8,4):(1,8)", "(8,4):(1,8)", "(8,8):(1,8)"),
}


@pytest.mark.parametrize("name", CUTE)
def test_layouts_are_those_of_cute(name):
    atom = MMA_ATOMS[name]
    assert (atom.A_tv, atom.B_tv, atom.C_tv) == tuple(Layout.parse(text) for text in CUTE[name])


def test_fragments_are_those_of_the_ptx_manual():
    """m16n8k16: row lane / 4 (+ 8 for a2, a3, a6, a7), column 2 (lane % 4) + i % 2 (+ 8 from a4 on)."""
    atom = mma_atom("SM80_16x8x16_F32F16F16F32_TN")
    lane, i = np.meshgrid(np.arange(32), np.arange(8), indexing="ij")
    row, column = lane // 4 + 8 * (i // 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i // 4)
    assert (atom.A_tv.offsets() == row + 16 * column).all()
    lane, i = lane[:, :4], i[:, :4]
    assert (atom.B_tv.offsets() == lane // 4 + 8 * (2 * (lane % 4) + i % 2 + 8 * (i // 2))).all()
    assert (atom.C_tv.offsets() == lane // 4 + 8 * (i // 2) + 16 * (2 * (lane % 4) + i % 2)).all()


@pytest.mark.parametrize("name", [name for name in MMA_ATOMS if name.startswith("SM") and "DP4A" not in name])
def test_a_name_says_what_the_atom_is(name):
    atom = MMA_ATOMS[name]
    shape = "x".join(map(str, atom.shape_mnk))
    types = "".join(dtype.upper() for dtype in atom.dtypes)
    sparse = "_SPARSE" if atom.sparsity == 2 else ""
    assert name[4:].startswith(f"{sparse}_{shape}_{types}_") and atom.min_arch <= int(name[2:4])
    values = atom.A_tv[1].size()
    assert values * DTYPE_BITS[atom.dtype_a] % 32 == 0, "A fills whole registers"


def test_a_shape_the_architecture_lacks_is_refused_with_one_it_has():
    sentence = (
        r"h200: SM80_16x8x64_S32S4S4S32_TN: MMA shape 16x8x64 of s4 x s4 needs sm_80 to sm_89, got sm_90; "
        r"sm_90 has no MMA of these types"
    )
    with pytest.raises(UserError, match=sentence):
        mma_atom("SM80_16x8x64_S32S4S4S32_TN", H200)
    with pytest.raises(UserError, match="needs sm_70 to sm_75, got sm_90; use SM80_16x8x16_F32F16F16F32_TN"):
        mma_atom("SM70_8x8x4_F32F16F16F32_TN", H200)
    with pytest.raises(UserError, match="no such MMA atom, got 'SM80_16x8x16_F32F16F16F32'; did you mean 'SM80_16"):
        mma_atom("SM80_16x8x16_F32F16F16F32")


def test_what_the_h200_executes_includes_hopper_and_excludes_what_it_emulates():
    names = {atom.name for atom in mma_atoms_of(H200)}
    assert {
        "SM90_16x8x16_F64F64F64F64_TN",
        "SM80_16x8x256_S32U1U1S32_TN_ANDPOPC",
        "SM75_16x8x8_F32F16F16F32_TN",
    } <= names
    assert not {
        name for name in names if "S4" in name or "E4M3" in name or "XORPOPC" in name or name.startswith("SM70")
    }


SPARSE = {"a100": {"f16->f32": 624, "bf16->f32": 624}, "rtx3090": {"f16->f32": 142, "f16->f16": 284},
          "a6000": {"f16->f32": 309.7}, "rtx4090": {"f16->f32": 330.4, "f16->f16": 660.6}}
PEAKS = {  # tera-operations per second that the vendor publishes, by operand and accumulator type; SPARSE: 2:4
    "h100": {"f64->f64": 67},
    "a100": {"f16->f32": 312, "bf16->f32": 312, "tf32->f32": 156, "f64->f64": 19.5, "s8->s32": 624, "s4->s32": 1248},
    "rtx3090": {"f16->f32": 71, "f16->f16": 142, "tf32->f32": 35.6, "s8->s32": 284, "s4->s32": 568},
    "a6000": {"f16->f32": 154.8, "tf32->f32": 77.4, "s8->s32": 309.7},
    "rtx4090": {"f16->f32": 165.2, "f16->f16": 330.3, "tf32->f32": 82.6, "s8->s32": 660.6, "e4m3->f32": 330.3},
    "t4": {"f16->f16": 65, "s8->s32": 130, "s4->s32": 260},
    "v100": {"f16->f32": 125},
}


@pytest.mark.parametrize(("gpu", "peaks", "sparsity"), [
    *((gpu, peaks, 1) for gpu, peaks in PEAKS.items()), *((gpu, peaks, 2) for gpu, peaks in SPARSE.items())])
def test_issue_intervals_give_the_published_peak(gpu, peaks, sparsity):
    spec, best = load_gpu(gpu), dict.fromkeys(peaks, 0.0)
    for atom in mma_atoms_of(spec):
        types, per_warp = f"{atom.dtype_a}->{atom.dtype_d}", 32 // atom.thr_id.size()
        if types in best and per_warp < 32 and atom.sparsity == sparsity:
            cycles = spec.instruction_table.lookup(atom.mnemonic).issue_interval_cycles * atom.instructions
            rate = atom.flops * per_warp / cycles * spec.sm.sub_partitions * spec.sm.count * spec.clock.sm_mhz / 1e6
            best[types] = max(best[types], rate)
    assert best == pytest.approx(peaks, rel=0.03)


@pytest.mark.parametrize("name", COPY_ATOMS)
def test_a_copy_moves_every_bit_once(name):
    atom = COPY_ATOMS[name]
    bits = covered(atom.ref_tv)
    assert bits == list(range(len(bits)))
    other = atom.dst_tv if atom.ref_tv == atom.src_tv else atom.src_tv
    assert set(covered(other)) == set(bits)
    assert atom.src_tv[0].size() == atom.dst_tv[0].size() == atom.thr_id.size()


def owner(layout: Layout, bit: int) -> tuple[int, int]:
    thread, value = np.argwhere(layout.offsets() == bit)[0]
    return int(thread), int(value)


def test_ldmatrix_gives_each_thread_two_halves_of_a_row():
    atom = copy_atom("SM75_U32x4_LDSM_N")
    assert atom.dst_tv == Layout.parse("(32,(32,4)):(32,(1,1024))") and atom.src_tv == Layout.parse("(32,128):(128,1)")
    received = {value // 16: owner(atom.src_tv, int(atom.dst_tv.offsets()[0, value])) for value in range(0, 128, 16)}
    assert [received[half][0] for half in range(8)] == [0, 0, 8, 8, 16, 16, 24, 24]


def test_ldmatrix_trans_is_the_transpose():
    """Element (i, j) of matrix x goes where the plain load puts element (j, i)."""
    for count, plain, trans in (
        (1, "SM75_U32x1_LDSM_N", "SM75_U16x2_LDSM_T"),
        (4, "SM75_U32x4_LDSM_N", "SM75_U16x8_LDSM_T"),
    ):
        halves = [copy_atom(name).dst_tv.offsets()[:, ::16] // 16 for name in (plain, trans)]
        matrix, row, column = np.unravel_index(halves[0], (count, 8, 8))
        assert (halves[1] == np.ravel_multi_index((matrix, column, row), (count, 8, 8))).all()


def test_stmatrix_is_ldmatrix_backwards():
    for name in ("U32x1_{}_N", "U32x4_{}_N", "U16x4_{}_T"):
        load, store = copy_atom("SM75_" + name.format("LDSM")), copy_atom("SM90_" + name.format("STSM"))
        assert (load.src_tv, load.dst_tv, load.ref_tv) == (store.dst_tv, store.src_tv, store.ref_tv)


@pytest.mark.parametrize(
    ("bits", "source", "target", "mnemonic", "operation"),
    [
        (128, "shared", "register", "LDS.128", "LDS128"),
        (32, "register", "shared", "STS", "STS32"),
        (64, "global", "register", "LDG.E.64", "LDG64"),
        (16, "register", "global", "STG.E.U16", "STG16"),
    ],
)
def test_a_universal_copy_becomes_the_instruction_of_its_spaces(bits, source, target, mnemonic, operation):
    atom = copy_atom(f"UniversalCopy_{bits}b").bind(source, target)
    assert (atom.mnemonic, atom.operation, atom.bits_per_thread) == (mnemonic, operation, bits)
    assert atom.bind(source, target) == atom
    assert atom.mnemonic in H200.instruction_table


def test_copies_that_do_not_exist_are_refused():
    with pytest.raises(
        UserError, match="UniversalCopy_128b needs registers on one side, got global to shared; copy thro"
    ):
        copy_atom("UniversalCopy_128b").bind("global", "shared")
    with pytest.raises(UserError, match="SM75_U32x4_LDSM_N copies shared to register memory, got global to register"):
        copy_atom("SM75_U32x4_LDSM_N").bind("global", "register")
    with pytest.raises(UserError, match="no such copy atom, got 'SM75_U32x3_LDSM_N'; did you mean 'SM75_U32x"):
        copy_atom("SM75_U32x3_LDSM_N")


def test_cp_async_operations_are_named_as_in_the_tables():
    names = {
        "SM80_CP_ASYNC_CACHEALWAYS_4B": "CPA4",
        "SM80_CP_ASYNC_CACHEALWAYS_8B": "CPA8",
        "SM80_CP_ASYNC_CACHEGLOBAL_16B": "CPA16",
    }
    assert {name: copy_atom(name).operation for name in names} == names
    assert copy_atom("SM80_CP_ASYNC_CACHEGLOBAL_16B").mnemonic == "LDGSTS.E.BYPASS.LTC128B.128"
