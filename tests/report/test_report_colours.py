"""Colours that stand beside each other can be told apart, also by colour-blind readers (one man in twelve)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from gpusim.report.states import STATES
from gpusim.report.style import CLASS_COLORS, STAGE_COLORS, UNIT_COLORS

EYES = {
    "all cones": np.eye(3),
    "no long cones": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                               [-0.003882, -0.048116, 1.051998]]),
    "no middle cones": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                                 [-0.011820, 0.042940, 0.968881]]),
}
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""
PALETTES = {"warp states": [state.color for state in STATES.values()], "issue classes": CLASS_COLORS,
            "units": list(UNIT_COLORS.values()), "stages": list(STAGE_COLORS.values())}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
LEAST = 6.0
"""Distance in CIELAB; about 2 is just noticed side by side. Nineteen states leave no more room."""


def perceived(color: str, eye: str) -> np.ndarray:
    """CIELAB of a colour as such an eye sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    relative = TO_XYZ @ np.clip(EYES[eye] @ linear, 0, 1) / WHITE
    root = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("palette", PALETTES)
def test_no_two_colours_of_a_figure_look_alike(palette: str, eye: str):
    seen = {color: perceived(color, eye) for color in PALETTES[palette]}
    assert len(seen) == len(PALETTES[palette])
    alike = [(first, second) for first, second in itertools.combinations(seen, 2)
             if np.linalg.norm(seen[first] - seen[second]) < LEAST]
    assert alike == []
