"""Models ``python -m gpusim.cli``, the command line without an installed script.
Leaves out everything else."""

from gpusim.cli.main import main

main()
