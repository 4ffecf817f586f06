"""Comparison of pictures that tolerates invisible differences.

Matplotlib snaps lines to pixels and smooths edges. If the last bits of a coordinate differ, as they do between
processors, a line may move by one pixel, and an edge may become a shade lighter.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.image import imread
from scipy.ndimage import maximum_filter, minimum_filter

if TYPE_CHECKING:
    import numpy as np

NEIGHBOURS = (3, 3, 1)
SHADE = 4 / 255


def look_the_same(first: bytes, second: bytes) -> bool:
    """Whether each pixel of either PNG has an equal one in the other, at the same position or next to it."""
    if first == second:
        return True
    first_pixels, second_pixels = (imread(BytesIO(png)) for png in (first, second))
    return (
        first_pixels.shape == second_pixels.shape
        and _contains(first_pixels, second_pixels)
        and _contains(second_pixels, first_pixels)
    )


def _contains(picture: np.ndarray, other: np.ndarray) -> bool:
    darkest, lightest = minimum_filter(picture, NEIGHBOURS), maximum_filter(picture, NEIGHBOURS)
    return bool(((darkest - SHADE <= other) & (other <= lightest + SHADE)).all())
