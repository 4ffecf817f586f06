"""Whether two pictures are the same to who looks at them.

Matplotlib puts lines on whole pixels, and smooths edges. Where the last bits of a coordinate differ, as they do from
one processor to another, a line is a pixel further, and an edge is a shade lighter.
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
    """Return whether each pixel of either PNG is found in the other one, at its place or beside it."""
    if first == second:
        return True
    here, there = (imread(BytesIO(told)) for told in (first, second))
    return here.shape == there.shape and _holds(here, there) and _holds(there, here)


def _holds(picture: np.ndarray, other: np.ndarray) -> bool:
    darkest, lightest = minimum_filter(picture, NEIGHBOURS), maximum_filter(picture, NEIGHBOURS)
    return bool(((darkest - SHADE <= other) & (other <= lightest + SHADE)).all())
