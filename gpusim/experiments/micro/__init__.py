"""Models the microbenchmark comparison: measured rows of single mechanisms, each replayed and set beside its number.
Leaves out whole kernels (gpusim.experiments.validate)."""

from gpusim.experiments.micro.probe import Probe
from gpusim.experiments.micro.validate import MicroResult, all_probes, chosen_probes, validate_micro

__all__ = ["MicroResult", "Probe", "all_probes", "chosen_probes", "validate_micro"]
