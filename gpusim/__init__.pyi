"""What type checkers see of the package: the names that gpusim/__init__.py loads when they are first used."""

from gpusim.arch import GpuSpec as GpuSpec
from gpusim.arch import load_gpu as load_gpu
from gpusim.arch.atoms import CopyAtom as CopyAtom
from gpusim.arch.occupancy import occupancy as occupancy
from gpusim.dsl.atoms import copy as copy
from gpusim.dsl.atoms import mma as mma
from gpusim.dsl.context import Context as Context
from gpusim.dsl.dtypes import DType as DType
from gpusim.dsl.dtypes import bf16 as bf16
from gpusim.dsl.dtypes import cf32 as cf32
from gpusim.dsl.dtypes import dtype_named as dtype_named
from gpusim.dsl.dtypes import e4m3 as e4m3
from gpusim.dsl.dtypes import e5m2 as e5m2
from gpusim.dsl.dtypes import f16 as f16
from gpusim.dsl.dtypes import f32 as f32
from gpusim.dsl.dtypes import f64 as f64
from gpusim.dsl.dtypes import s4 as s4
from gpusim.dsl.dtypes import s8 as s8
from gpusim.dsl.dtypes import s32 as s32
from gpusim.dsl.dtypes import tf32 as tf32
from gpusim.dsl.dtypes import u1 as u1
from gpusim.dsl.dtypes import u4 as u4
from gpusim.dsl.dtypes import u8 as u8
from gpusim.dsl.gather import global_iterator as global_iterator
from gpusim.dsl.hopper.mma import Accumulators as Accumulators
from gpusim.dsl.hopper.mma import WarpgroupMma as WarpgroupMma
from gpusim.dsl.hopper.mma import tiled_mma as tiled_mma
from gpusim.dsl.hopper.operands import BulkTile as BulkTile
from gpusim.dsl.hopper.operands import OperandTile as OperandTile
from gpusim.dsl.hopper.operands import SmemOperand as SmemOperand
from gpusim.dsl.hopper.order import OrderedGroup as OrderedGroup
from gpusim.dsl.hopper.order import OrderedSequence as OrderedSequence
from gpusim.dsl.hopper.pipeline import Consumer as Consumer
from gpusim.dsl.hopper.pipeline import Pipeline as Pipeline
from gpusim.dsl.hopper.pipeline import Producer as Producer
from gpusim.dsl.hopper.pipeline import Stage as Stage
from gpusim.dsl.hopper.stores import pack_lines as pack_lines
from gpusim.dsl.hopper.stores import subtile_registers as subtile_registers
from gpusim.dsl.iterators import GlobalIterator as GlobalIterator
from gpusim.dsl.iterators import SharedAccess as SharedAccess
from gpusim.dsl.iterators import lane_bits as lane_bits
from gpusim.dsl.kernel import Kernel as Kernel
from gpusim.dsl.kernel import kernel as kernel
from gpusim.dsl.launch import SCHEDULE_COLUMNS as SCHEDULE_COLUMNS
from gpusim.dsl.launch import BlockCoordinate as BlockCoordinate
from gpusim.dsl.lowering.copies import write_key as write_key
from gpusim.dsl.lowering.iterators import TilePointer as TilePointer
from gpusim.dsl.lowering.iterators import chain as _chain
from gpusim.dsl.lowering.iterators import dead_loads as _dead_loads
from gpusim.dsl.lowering.iterators import early_exit as _early_exit
from gpusim.dsl.lowering.iterators import next_stage as _next_stage
from gpusim.dsl.lowering.iterators import prefetching as _prefetching
from gpusim.dsl.lowering.iterators import setup as _setup
from gpusim.dsl.lowering.iterators import stage_step as _stage_step
from gpusim.dsl.lowering.loads import read_key as read_key
from gpusim.dsl.mma_copies import tiled_copy_A as tiled_copy_A
from gpusim.dsl.mma_copies import tiled_copy_B as tiled_copy_B
from gpusim.dsl.mma_copies import tiled_copy_C as tiled_copy_C
from gpusim.dsl.moves import split as _split
from gpusim.dsl.partition import ldmatrix_matrices as ldmatrix_matrices
from gpusim.dsl.partitions import Partition as Partition
from gpusim.dsl.partitions import ThreadFragment as ThreadFragment
from gpusim.dsl.partitions import retile as retile
from gpusim.dsl.pieces import KRange as KRange
from gpusim.dsl.pieces import Pieces as Pieces
from gpusim.dsl.pieces import widest_alignment as widest_alignment
from gpusim.dsl.registers import Group as Group
from gpusim.dsl.registry import load_program as load_program
from gpusim.dsl.registry import program_names as program_names
from gpusim.dsl.source import device_function as device_function
from gpusim.dsl.statements import Code as Code
from gpusim.dsl.statements import Instance as Instance
from gpusim.dsl.statements import Line as Line
from gpusim.dsl.tensors import LINE_BYTES as LINE_BYTES
from gpusim.dsl.tensors import Fragment as Fragment
from gpusim.dsl.tensors import GmemTensor as GmemTensor
from gpusim.dsl.tensors import SmemArray as SmemArray
from gpusim.dsl.tensors import SmemTensor as SmemTensor
from gpusim.dsl.tensors import Tile as Tile
from gpusim.dsl.tensors import tensor as tensor
from gpusim.dsl.tiled import LANES as LANES
from gpusim.dsl.tiled import TiledCopy as TiledCopy
from gpusim.dsl.tiled import TiledMma as TiledMma
from gpusim.dsl.tiled import ldmatrix_origins as ldmatrix_origins
from gpusim.dsl.tiled import tiled_copy as tiled_copy
from gpusim.errors import SimulatedFailure as SimulatedFailure
from gpusim.errors import UserError as UserError
from gpusim.experiments.library import simulate as simulate
from gpusim.experiments.library_result import Result as Result
from gpusim.program import FlagUse as FlagUse
from gpusim.program.access_builder import Access as Access
from gpusim.program.flags import JUMP_ALL_THERE as JUMP_ALL_THERE
from gpusim.program.flags import JUMP_MISSING as JUMP_MISSING

chain_lines = _chain
dead_load_lines = _dead_loads
early_exit_lines = _early_exit
next_stage_lines = _next_stage
prefetching_mnemonic = _prefetching
setup_lines = _setup
stage_step_lines = _stage_step
split_offset = _split

__version__: str
_HOMES: dict[str, str]

def __dir__() -> list[str]: ...
