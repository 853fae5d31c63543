"""Models CUTLASS 2.x: matrix layouts, the XOR layouts of tensor-core operands, and thread maps of loads and epilogues.
Leaves out iterators with predicates and pointers, which programs build from these maps.

Coordinates may be NumPy arrays; offsets are in elements.
"""

from __future__ import annotations

from gpusim.cute.cutlass2.layouts import (
    AffineRankN,
    ColumnMajor,
    ColumnMajorInterleaved,
    PitchLinear,
    RowMajor,
    RowMajorInterleaved,
)
from gpusim.cute.cutlass2.output_tile import OutputTileShape, OutputTileThreadMap, optimal_thread_map
from gpusim.cute.cutlass2.tensor_op import (
    ColumnMajorTensorOpMultiplicand,
    RowMajorTensorOpMultiplicand,
    TensorOpMultiplicand,
    congruous_crosswise,
)
from gpusim.cute.cutlass2.tensor_op_lds import (
    TensorOpMultiplicand32bCongruous,
    TensorOpMultiplicand64bCongruous,
    TensorOpMultiplicand64bCrosswise,
)
from gpusim.cute.cutlass2.thread_maps import PitchLinearThreadMap, stripmined, transposed, warp_raked, warp_striped

__all__ = [
    "AffineRankN",
    "ColumnMajor",
    "ColumnMajorInterleaved",
    "ColumnMajorTensorOpMultiplicand",
    "OutputTileShape",
    "OutputTileThreadMap",
    "PitchLinear",
    "PitchLinearThreadMap",
    "RowMajor",
    "RowMajorInterleaved",
    "RowMajorTensorOpMultiplicand",
    "TensorOpMultiplicand",
    "TensorOpMultiplicand32bCongruous",
    "TensorOpMultiplicand64bCongruous",
    "TensorOpMultiplicand64bCrosswise",
    "congruous_crosswise",
    "optimal_thread_map",
    "stripmined",
    "transposed",
    "warp_raked",
    "warp_striped",
]
