"""Results that are of weak type in one of the two."""

from __future__ import annotations

import re

from fuzz.differences.entry import Meant

WEAK_TYPES: tuple[Meant, ...] = (
    Meant(
        r"numpy\.(unique\w*|union1d|setdiff1d)",
        "weak type",
        "Elements are weak where those given are, complex ones too.",
        message=r"primax: True.*complex",
    ),
    Meant(
        r"scipy\.(stats|special)\..*",
        "weak type",
        "The type of the result is strong if that of an array argument is, whatever constants a formula holds.",
        text=r"\b(A|array)\(|True|False",
        message="primax: False",
    ),
    Meant(
        r"scipy\.(stats|special)\..*",
        "weak type",
        "The type of the result is weak if those of all arguments are, whatever constants a formula holds.",
        message="primax: True",
        when=lambda text: not re.search(r"\bA\(|array\(", text),
    ),
    Meant(
        r".*",
        "weak type",
        "Whether booleans are of weak type tells nothing: they promote to every other dtype anyway.",
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
        "Booleans that are converted to floats are floats of no weak type, as integers are.",
        text=r"'bool'",
        message="primax: False",
    ),
    Meant(
        r"numpy\.(unique\w*|union1d|setdiff1d|setxor1d|intersect1d)",
        "weak type",
        "Integers that together are floats have the dtype of NumPy's result, which is not weak.",
        text=r"(?=.*'uint64')(?=.*'int)",
        message=r"primax: False.*float64",
    ),
)
