"""What the CUTLASS 2.x pipelines of this directory share: operands, warp fragments, epilogues."""
