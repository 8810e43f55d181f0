"""Which kind of drawing, and which template if any, a function has."""

from __future__ import annotations

import enum
import random
import re
from functools import cache

from fuzz.draw import KINDS, Draw
from fuzz.pairs import Pair
from fuzz.templates_arrays import ARRAYS
from fuzz.templates_libraries import LIBRARIES
from fuzz.templates_numpy import NUMPY
from fuzz.templates_programs import PROGRAMS, Template

MATRICES = re.compile(r"(numpy\.linalg|scipy\.linalg|lax\.linalg)\..*|numpy\.(matmul|dot|trace|tri[lu]|inner|vdot)")
VECTORS = re.compile(
    r"numpy\.(poly.*|roots|cumulative_.*|vander|trim_zeros|union1d|intersect1d|setdiff1d|setxor1d|ediff1d|convolve|correlate)"
)
PLANES = re.compile(r"numpy\.fft\..*2")
# The shares of calls that follow a template; the others have arguments by signature, which are refused more often.
SHARES = ((PROGRAMS, 1.0), (LIBRARIES, 0.9), (ARRAYS, 0.8), (NUMPY, 0.8))


def drawing(pair: Pair, rng: random.Random, reached: bool = True) -> Draw:
    """What the arguments of a call of a function are drawn from; of one kind of dtype while no call has succeeded."""
    kinds = None if reached else [rng.choice(["float", "int", "bool", "complex"])]
    if MATRICES.fullmatch(pair.path):
        return Draw(rng, matrices=True, kinds=kinds or ["float"] * 8 + ["complex"] * 4 + ["int", "bool"])
    if pair.module == "lax":  # no promotion there
        return Draw(rng, kinds=kinds or ["float"] * 6 + ["int"] * 5 + ["bool"] * 2 + ["complex", "narrow"], alike=0.8)
    shapes = None
    if VECTORS.fullmatch(pair.path) and rng.random() < 0.8:
        shapes = [(3,), (4,), (2,), (1,), (0,)]
    if PLANES.fullmatch(pair.path):
        shapes = [(2, 3), (3, 4), (1, 1), (2, 2, 3), (0, 2)]
    return Draw(rng, kinds=kinds or KINDS, shapes=shapes)


@cache
def template_of(path: str) -> tuple[Template, float] | None:
    """The template of a function, and how often to use it."""
    for table, share in SHARES:
        for pattern, made in table.items():
            if re.fullmatch(pattern, path):
                return made, share
    return None


def template(pair: Pair, rng: random.Random) -> str | None:
    """The text of a call, where the function has a template."""
    function = f"m.{pair.path}"
    if isinstance(pair.function, type) and hasattr(pair.function, "__members__"):
        return f"int({function}({function}.{rng.choice(sorted(pair.function.__members__))}.value) is not None)"
    if isinstance(pair.function, type) and issubclass(pair.function, enum.Enum):
        return f"{function}({function}.{rng.choice([member.name for member in pair.function])}.value).name"
    found = template_of(pair.path)
    if found is None or rng.random() > found[1]:
        return None
    try:
        return found[0](drawing(pair, rng), function)
    except KeyError as missing:
        if missing.args != (pair.name,):
            raise
        return None  # a new function of a library, of which the template has no text: by its signature
