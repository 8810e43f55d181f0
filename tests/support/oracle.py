"""The release of jax for comparisons, and the differences between it and other releases.

Where releases differ, primax follows the newest, apart from the exceptions below.
"""

from __future__ import annotations

from importlib import metadata

__all__ = ["CHANGES", "jax_does", "lacking"]

# Each behavior of jax, and the first release with it among those of the matrix of environments.
CHANGES = {
    "several arrays come in tuples, from meshgrid, broadcast_arrays and atleast_1d": (0, 12),
    "sinc is zero at infinity": (0, 11),
    "log2 of weak types is of weak type": (0, 11),
    "positions that count from the end are allowed with promise_in_bounds": (0, 11),
    "the modulus of a complex number with an infinite part is infinite": (0, 12),
    "the derivative of acosh is NaN where acosh is": (0, 11),
    # primax uses XLA's function, whose error is about 1e-7 near 1 and 2.
    "lgamma of 32 and fewer bits has an algorithm of its own": (0, 12),
    "the surface for authors is that of 0.11": (0, 11),
    "gumbel in mode high stays away from zero by half a step squared": (0, 11),
    "the shape of multinomial leaves out the outcomes": (0, 12),
    # primax scales normal numbers after drawing them, as a user would; the difference is 1 ulp.
    "initializers scale normal numbers while drawing them": (0, 11),
    "gamma variables and counts may be approximate": (0, 12),
    # primax computes the third component, as NumPy 2 does.
    "cross takes no vectors of length 2": (0, 12),
}

# Parameters that functions of jax have and some functions of primax lack.
_LACKING = {
    "out_sharding": (),  # in all functions
}
_APPROXIMATE = ("beta", "chisquare", "gamma", "loggamma", "poisson")


def lacking(function: str) -> list[str]:
    """The parameters that a function of jax or of primax lacks."""
    names = [name for name, functions in _LACKING.items() if not functions or function in functions]
    if function in _APPROXIMATE and not jax_does("gamma variables and counts may be approximate"):
        names.append("method")
    return names


def jax_does(change: str) -> bool:
    """Whether the installed jax has a behavior in the table."""
    try:
        version = metadata.version("jax")
    except metadata.PackageNotFoundError:
        return True  # tests that compare with it are skipped
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) >= CHANGES[change]
