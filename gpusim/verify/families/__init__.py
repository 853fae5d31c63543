"""Models what each family of warp instructions does to registers and memory; gpusim.verify.dispatch lists them all.
Leaves out the loop that calls them (gpusim.verify.executor)."""
