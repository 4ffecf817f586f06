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
    "#a6cbe3": "#2f78a8",
    "#4a98c9": "#6fbce6",
    "#0f4c81": "#d5effc",
}
# Viridis, from few to many. The ends that a page would swallow are left out: yellow on white, and violet on black.
SEQUENCE = ("#bddf26", "#7ad151", "#44bf70", "#22a884", "#21918c", "#2a788e", "#355f8d", "#414487", "#440154")
DARK_SEQUENCE = ("#4d51a8", "#35608d", "#2b798e", "#20908c", "#23a884", "#45bf70", "#7bd151", "#bcdf26", "#fde725")
FONTS = "'DejaVu Sans', Verdana, sans-serif"


def adaptive(svg: str) -> str:
    """Return an SVG that follows the reader's colour scheme. A program without media queries shows the light one."""
    rules = [
        f'[style*="{attribute}: {light}"] {{{attribute}: {dark} !important}}'
        for light, dark in (*DARK.items(), *zip(SEQUENCE, DARK_SEQUENCE, strict=True))
        for attribute in ("fill", "stroke")
        if f"{attribute}: {light}" in svg
    ]
    sheet = f"text {{font-family: {FONTS}}} @media (prefers-color-scheme: dark) {{{' '.join(rules)}}}"
    return svg.replace(" font-family: 'DejaVu Sans';", "").replace("</style>", f" {sheet}</style>", 1)
