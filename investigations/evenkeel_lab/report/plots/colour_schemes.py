"""Colours of an SVG in the light and the dark scheme of a reader's system."""

from __future__ import annotations

# Each colour of a plot, and the colour that has the same role on a dark page.
DARK = {
    "#ffffff": "#12171c",
    "#1a1a1a": "#e3e8ed",
    "#6b6b6b": "#9aa4ae",
    "#dcdcdc": "#36414b",
    "#0072b2": "#5eb1f0",
    "#d55e00": "#ff8a3d",
    "#009e73": "#2fc79a",
    "#cc79a7": "#e39cc4",
    "#e69f00": "#f0b429",
    "#56b4e9": "#8fd0ff",
    "#a6cbe3": "#27506b",
    "#4a98c9": "#4a98c9",
    "#0f4c81": "#a6d8f5",
}
# From few to many. On a dark page, the light end means many.
SEQUENCE = ("#fde725", "#aadc32", "#5cc863", "#27ad81", "#21908d", "#2c718e", "#3b518b", "#472c7a", "#440154")
FONTS = "'DejaVu Sans', Verdana, sans-serif"


def adaptive(svg: str) -> str:
    """Return an SVG that follows the reader's colour scheme. A program without media queries shows the light one."""
    rules = [
        f'[style*="{attribute}: {light}"] {{{attribute}: {dark} !important}}'
        for light, dark in (*DARK.items(), *zip(SEQUENCE, reversed(SEQUENCE), strict=True))
        for attribute in ("fill", "stroke")
        if f"{attribute}: {light}" in svg
    ]
    sheet = f"text {{font-family: {FONTS}}} @media (prefers-color-scheme: dark) {{{' '.join(rules)}}}"
    return svg.replace(" font-family: 'DejaVu Sans';", "").replace("</style>", f" {sheet}</style>", 1)
