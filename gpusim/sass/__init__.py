"""Models compiled kernels: `cuobjdump -sass` text becomes the op table, with the compiler's own control fields.
Leaves out floating-point results, loaded data and time."""

from gpusim.sass.launch import SassLaunch, Scalar, Struct, TensorPointer
from gpusim.sass.load import load_sass
from gpusim.sass.parser import SassFunction, SassInstruction, parse_sass, read_sass

__all__ = ["SassFunction", "SassInstruction", "SassLaunch", "Scalar", "Struct", "TensorPointer", "load_sass",
           "parse_sass", "read_sass"]
