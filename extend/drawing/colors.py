"""The colours of drawings: one for each family, always the same, on light and on dark pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple
from zlib import crc32

__all__ = ["Color", "LIGHT_TO_DARK", "Rules", "color_of", "in_dark_mode"]


class Color(NamedTuple):
    """The colours of a family.

    Attributes:
      fill: the background on a light page.
      line: lines and text on a light page.
      dark_fill: the background on a dark page.
      dark_line: lines and text on a dark page.
    """

    fill: str
    line: str
    dark_fill: str
    dark_line: str


# The hue, in degrees, and the strength of families that occur together; others have one by their names.
_HUES = {
    "arithmetic": (28, 1.0),
    "structural": (217, 1.0),
    "comparison": (52, 1.0),
    "exponential": (350, 1.0),
    "trigonometry": (288, 1.0),
    "reductions": (128, 1.0),
    "dot": (178, 1.0),
    "indexing": (252, 1.0),
    "calls": (215, 0.35),
    "control_flow": (40, 0.45),
    "random": (322, 1.0),
    "special": (305, 0.5),
    "convolution": (160, 0.6),
    "linalg": (195, 1.0),
    "cumulative": (95, 1.0),
    "sorting": (75, 1.0),
    "custom_derivatives": (265, 0.45),
    "rounding": (10, 0.5),
    "remat": (235, 0.4),
    "callbacks": (0, 0.15),
    "bitwise": (65, 0.5),
}


@cache
def color_of(family: str) -> Color:
    """The colour of a family, or of another plugin; it depends on the name alone.

    >>> color_of("trigonometry").fill
    '#f7ddfd'
    >>> color_of("kepler") == color_of("kepler") != color_of("newton")
    True
    """
    hash_of_name = crc32(family.encode())
    hue, strength = _HUES.get(family, (hash_of_name % 360, 0.55 + 0.45 * (hash_of_name // 360 % 2)))
    return Color(
        _hex(hue, 0.88 * strength, 0.93),
        _hex(hue, 0.62 * strength, 0.35),
        _hex(hue, 0.40 * strength, 0.20),
        _hex(hue, 0.65 * strength, 0.68),
    )


def _hex(hue: float, saturation: float, lightness: float) -> str:
    """A colour as CSS and Graphviz write it; the formula is that of CSS Color Module Level 4, section 7."""

    def channel(n: float) -> int:
        k = (n + hue / 30) % 12
        amplitude = saturation * min(lightness, 1 - lightness)
        return round(255 * (lightness - amplitude * max(-1.0, min(k - 3, 9 - k, 1.0))))

    return "#" + "".join(f"{channel(n):02x}" for n in (0, 8, 4))


LIGHT_TO_DARK = {
    "#22304a": "#dfe4ee",  # text
    "#6b7690": "#9aa5bd",  # faint text
    "#9aa5b8": "#6f7b92",  # lines
    "#f6f7fa": "#202531",  # the inside of frames
    "#f3f4f6": "#2b3140",  # constants
    "white": "#171b24",  # the page
}
"""The colours of a drawing that belong to no family, and those in their places on a dark page."""

Rules = Callable[[str], str]

# A page is dark if the system asks for it, unless the theme of a notebook is light; or if such a theme is dark.
_LIGHT_THEMES = 'body[data-jp-theme-light="true"], body.vscode-light, html[theme="light"], html[data-theme="light"]'
_DARK_THEMES = 'body[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"], html[data-theme="dark"]'


def in_dark_mode(rules: Rules) -> str:
    """A style sheet for dark pages: of browsers that ask for dark ones, JupyterLab, VS Code, Colab, and Sphinx.

    Args:
      rules: from the text before each selector to the rules.
    """
    system = f":root:not({_LIGHT_THEMES}):not(:has({_LIGHT_THEMES})) "
    return f"@media (prefers-color-scheme: dark) {{{rules(system)}}} {rules(f':is({_DARK_THEMES}) ')}"
