"""What some releases of jax do, and others do not."""

from __future__ import annotations

from fuzz.differences.entry import Meant
from fuzz.differences.right import is_polar_factor

# tests/support/oracle.py has the same for the other tests.
RELEASES: tuple[Meant, ...] = (
    Meant(
        r"lax\.lgamma|scipy\.special\.(gammaln|multigammaln|betaln)",
        "value",
        "As in older releases of jax, XLA computes the logarithm of the gamma function, less accurate near 1 and 2.",
        message="primax: np.float32",
        within=4e-6,
        since=(0, 12),
    ),
    Meant(
        r"numpy\.(meshgrid|broadcast_arrays|atleast_[123]d)",
        "type",
        "Several arrays are a tuple, as in newer releases of jax and NumPy.",
        message="primax: tuple.*jax: list",
        before=(0, 12),
    ),
    Meant(
        r"numpy\.sinc",
        "nan",
        "It is 0 at infinity.",
        text=r"\binf\b|1e\+30",
        message=r"primax: \S*\(-?0",
        before=(0, 11),
    ),
    Meant(
        r"lax\.abs|numpy\.(abs|absolute)|Array\.__abs__",
        "nan|value",
        "The modulus of a number with an infinite part is infinite.",
        text=r"\binf\b|1e\+30",
        message=r"primax: \S*inf\S*, jax: \S*nan",
        before=(0, 12),
    ),
    Meant(r"numpy\.log2", "weak type", "It keeps weak types.", message="primax: True", before=(0, 11)),
    Meant(
        r"random\.multinomial", "shape|.* raises", "The shape leaves out the outcomes.", text="shape=", before=(0, 12)
    ),
    Meant(
        r"experimental\.compute_on\.compute_on",
        "jax raises",
        "It takes the kind of computation as a positional argument, as before.",
        message="missing 2 required keyword-only arguments",
        since=(0, 11),
    ),
    Meant(
        r"numpy\.polyfit",
        "jax raises",
        "Integers are converted to floats.",
        message="not compatible with finfo|not inexact",
    ),
    Meant(
        r"lax\.linalg\.qdwh",
        "nan|value",
        "The result is as exact as the tolerance says; with one of 1 or more it is arbitrary.",
        text=r"eps=([1-9]|0\.[1-9])",
        right=is_polar_factor,
    ),
    Meant(
        r"numpy\.cross",
        "jax raises",
        "Vectors of length 2 lie in a plane.",
        message="must be 3|Dimension",
        since=(0, 12),
    ),
)
