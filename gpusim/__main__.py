"""Models ``python -m gpusim``, the command line without an installed script.
Leaves out everything else."""

from gpusim.cli.main import main

main()
