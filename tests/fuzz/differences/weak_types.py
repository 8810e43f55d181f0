"""Results that are of weak type in one of the two."""

from __future__ import annotations

import re

from fuzz.differences.entry import Meant

WEAK_TYPES: tuple[Meant, ...] = (
    Meant(
        r"numpy\.(unique\w*|union1d|setdiff1d)",
        "weak type",
        "The result is weak if the argument is, also if it is complex.",
        message=r"primax: True.*complex",
    ),
    Meant(
        r"scipy\.(stats|special)\..*",
        "weak type",
        "The result is strong if an array argument is, whatever constants the formula has.",
        text=r"\b(A|array)\(|True|False",
        message="primax: False",
    ),
    Meant(
        r"scipy\.(stats|special)\..*",
        "weak type",
        "The result is weak if all arguments are, whatever constants the formula has.",
        message="primax: True",
        when=lambda text: not re.search(r"\bA\(|array\(", text),
    ),
    Meant(
        r".*",
        "weak type",
        "The weak type of booleans has no effect: they promote to every other dtype.",
        message=r"\(bool\)",
    ),
    Meant(
        r"nn\.squareplus",
        "weak type|dtype",
        "Booleans and a number of Python have the default float dtype, as in other activations.",
        text=r"'bool'|True|False",
    ),
    Meant(
        r"lax\.linalg\..*",
        "weak type",
        "Booleans are converted to strong floats, as integers are.",
        text=r"'bool'",
        message="primax: False",
    ),
    Meant(
        r"numpy\.(unique\w*|union1d|setdiff1d|setxor1d|intersect1d)",
        "weak type",
        "The common type of uint64 and int64 is a strong float64, as in NumPy.",
        text=r"(?=.*'uint64')(?=.*'int)",
        message=r"primax: False.*float64",
    ),
)
