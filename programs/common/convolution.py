"""Models the forward convolution of NHWC tensors as a matrix product (implicit GEMM): sizes, filter loop, reference.
Leaves out groups, and filters turned round: y[p, q] = sum of x[p * stride - padding + r * dilation, ...] * w[r, s].

| GEMM | convolution |
| --- | --- |
| M | N * P * Q: pixels of the output |
| N | K: filters |
| K | R * S * C: filter positions x channels, a tile of channels at a time, s before r before c |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

import gpusim as gs
from gpusim import GmemTensor, KRange

__all__ = ["Conv2d", "FilterRange", "conv2d", "convolve", "tensors"]

Pair = tuple[int, int]


@dataclass(frozen=True)
class Conv2d:
    """Sizes by cuDNN's letters; pairs are (height, width)."""

    N: int
    H: int
    W: int
    C: int
    K: int
    R: int
    S: int
    padding: Pair = (0, 0)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)

    def __post_init__(self) -> None:
        if min(*self.stride, *self.dilation) < 1 or min(self.padding) < 0 or min(self.P, self.Q) < 1:
            raise gs.UserError("a convolution has positive strides and dilations, and an output", got=self,
                               suggestion="more padding or a smaller filter")

    @property
    def P(self) -> int:
        return self._output(self.H, self.R, 0)

    @property
    def Q(self) -> int:
        return self._output(self.W, self.S, 1)

    def _output(self, extent: int, filter_extent: int, axis: int) -> int:
        reach = extent + 2 * self.padding[axis] - self.dilation[axis] * (filter_extent - 1)
        return (reach - 1) // self.stride[axis] + 1

    @property
    def pixels(self) -> int:
        return self.N * self.P * self.Q

    @property
    def alignment(self) -> int:
        """Channels of an access of at most 16 bytes."""
        return gcd(8, self.C)

    def corners(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n, h, w) of the input under filter position (0, 0), for output pixels; h and w may be in the padding."""
        n, rest = np.divmod(pixels, self.P * self.Q)
        p, q = np.divmod(rest, self.Q)
        return n, p * self.stride[0] - self.padding[0], q * self.stride[1] - self.padding[1]

    def elements(self, pixels: np.ndarray) -> np.ndarray:
        """Where those corners are in the input, in elements; pixels behind the last count as the last."""
        n, h, w = self.corners(np.minimum(pixels, self.pixels - 1))
        return ((n * self.H + h) * self.W + w) * self.C

    def reaches(self, pixels: np.ndarray, position: int) -> np.ndarray:
        """Whether filter position r * S + s meets the input, not the padding; False behind the last pixel."""
        _, h, w = self.corners(pixels)
        r, s = divmod(position, self.S)
        h, w = h + r * self.dilation[0], w + s * self.dilation[1]
        return (h >= 0) & (h < self.H) & (w >= 0) & (w < self.W) & (pixels < self.pixels)

    def shift(self, position: int) -> int:
        """Elements from filter position (0, 0) to another."""
        r, s = divmod(position, self.S)
        return (r * self.dilation[0] * self.W + s * self.dilation[1]) * self.C

    def pitch(self, tile: int) -> int:
        """Elements from a pixel to the next that make tiles of pixels alike, as far as one number can."""
        first, second = self.elements(np.array([0, min(tile, self.pixels - 1)])).tolist()
        step, rest = divmod(second - first, tile)
        return self.C if rest or step < 1 else step

    def alike(self, tile: int) -> np.ndarray:
        """Per tile of pixels, the first one whose addresses, from its own base, and whose padding are the same."""
        pixels = np.arange(-(-self.pixels // tile) * tile).reshape(-1, tile)
        bases = np.arange(len(pixels))[:, None] * tile * self.pitch(tile)
        met = np.stack([self.reaches(pixels, position) for position in range(self.R * self.S)])
        places = np.where(met.any(axis=0), self.elements(pixels) - bases, 0)
        looks = np.concatenate([places, *met.astype(np.int64)], axis=1)
        _, first, which = np.unique(looks, axis=0, return_index=True, return_inverse=True)
        return first[which.reshape(-1)]


@dataclass(frozen=True)
class FilterRange(KRange):
    """The k loop of a convolution: (channels, r, s), s fastest; the last tile of channels may be partial."""

    conv: Conv2d | None = None

    @property
    def geometry(self) -> Conv2d:
        assert self.conv is not None
        return self.conv

    @property
    def positions(self) -> int:
        return self.geometry.R * self.geometry.S

    @property
    def tiles(self) -> int:
        return self.positions * -(-self.geometry.C // self.tile)

    def place(self, number: int) -> Pair:
        """(filter position, first channel) of tile ``number``; behind the last tile, of the last one."""
        block, position = divmod(max(0, min(number, self.tiles - 1)), self.positions)
        return position, block * self.tile

    def start(self, number: int) -> int:
        position, channel = self.place(number)
        return position * self.geometry.C + channel

    def valid(self, number: int) -> int:
        inside = 0 <= number < self.tiles
        return min(self.tile, self.geometry.C - self.place(number)[1]) if inside else 0


def conv2d(X: GmemTensor | np.ndarray, W: GmemTensor | np.ndarray, padding: Pair, stride: Pair,
           dilation: Pair) -> Conv2d:
    """The convolution of X (N, H, W, C) and W (K, R, S, C), tensors or arrays."""
    (batch, height, width, channels), (filters, rows, columns, _) = X.shape, W.shape
    return Conv2d(batch, height, width, channels, filters, rows, columns, padding, stride, dilation)


def tensors(conv: Conv2d) -> dict[str, GmemTensor]:
    shapes = {"X": (conv.N, conv.H, conv.W, conv.C), "W": (conv.K, conv.R, conv.S, conv.C),
              "Y": (conv.N, conv.P, conv.Q, conv.K)}
    return {name: gs.tensor(name, gs.f16, shape) for name, shape in shapes.items()}


def convolve(inputs: Mapping[str, Any], padding: Pair, stride: Pair, dilation: Pair) -> np.ndarray:
    """The same sum position by position, in f32."""
    x, w = inputs["X"].astype("f4"), inputs["W"].astype("f4")
    conv = conv2d(x, w, padding, stride, dilation)
    x = np.pad(x, ((0, 0), (padding[0],) * 2, (padding[1],) * 2, (0, 0)))
    y = np.zeros((conv.N, conv.P, conv.Q, conv.K), "f4")
    for r, s in np.ndindex(conv.R, conv.S):
        top, left = r * dilation[0], s * dilation[1]
        rows = slice(top, top + (conv.P - 1) * stride[0] + 1, stride[0])
        columns = slice(left, left + (conv.Q - 1) * stride[1] + 1, stride[1])
        y += x[:, rows, columns] @ w[:, r, s].T
    return y.astype("f2")
