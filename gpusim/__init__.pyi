"""What type checkers see of the package: the names that gpusim/__init__.py loads when they are first used."""

from gpusim.arch import load_gpu as load_gpu
from gpusim.dsl.atoms import copy as copy
from gpusim.dsl.atoms import mma as mma
from gpusim.dsl.dtypes import DType as DType
from gpusim.dsl.dtypes import bf16 as bf16
from gpusim.dsl.dtypes import cf32 as cf32
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
from gpusim.dsl.hopper.mma import tiled_mma as tiled_mma
from gpusim.dsl.kernel import Kernel as Kernel
from gpusim.dsl.kernel import kernel as kernel
from gpusim.dsl.mma_copies import tiled_copy_A as tiled_copy_A
from gpusim.dsl.mma_copies import tiled_copy_B as tiled_copy_B
from gpusim.dsl.mma_copies import tiled_copy_C as tiled_copy_C
from gpusim.dsl.partitions import retile as retile
from gpusim.dsl.pieces import KRange as KRange
from gpusim.dsl.registry import load_program as load_program
from gpusim.dsl.registry import program_names as program_names
from gpusim.dsl.source import device_function as device_function
from gpusim.dsl.tensors import tensor as tensor
from gpusim.dsl.tiled import tiled_copy as tiled_copy
from gpusim.errors import SimulatedFailure as SimulatedFailure
from gpusim.errors import UserError as UserError
from gpusim.experiments.library import simulate as simulate
from gpusim.experiments.library_result import Result as Result

__version__: str
_HOMES: dict[str, str]

def __dir__() -> list[str]: ...
