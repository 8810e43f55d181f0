"""What an entry of the table of differences says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from types import SimpleNamespace

import numpy as np

from fuzz.compare import Difference

JAX = tuple(int(part) for part in metadata.version("jax").split(".")[:3] if part.isdigit())


def refused_by_numpy(text: str) -> bool:
    """Whether NumPy raises in a call of one of its functions."""
    scope = {"m": SimpleNamespace(numpy=np), "A": np.array, "np": np, "array": np.array, "nan": np.nan, "inf": np.inf}
    try:
        eval(text, scope)
    except Exception:
        return True
    return False


def eigenvalues_cancel(text: str) -> bool:
    """Whether an eigenvalue of A and one of B in `solve_sylvester(A, B, C)` have the sum zero, but for rounding."""

    def cancel(a: np.ndarray, b: np.ndarray, *_: object, **__: object) -> bool:
        sums = np.abs(np.linalg.eigvals(np.asarray(a, complex))[:, None] + np.linalg.eigvals(np.asarray(b, complex)))
        return bool(sums.min() <= 1e-5 * max(1.0, sums.max()))

    return _said_of_arguments(text, solve_sylvester=cancel)


def no_upper_triangle(text: str) -> bool:
    """Whether a matrix in `expm(A, upper_triangular=True)` is not upper triangular."""

    def differs(a: np.ndarray, *_: object, **__: object) -> bool:
        return not np.array_equal(np.triu(np.asarray(a)), np.asarray(a), equal_nan=True)

    return _said_of_arguments(text, expm=differs)


def too_few_squarings(text: str) -> bool:
    """Whether a norm in `expm(A, max_squarings=n)` needs more squarings in 32 bits."""

    def exceeds(a: np.ndarray, *_: object, max_squarings: int = 16, **__: object) -> bool:
        return bool((np.linalg.norm(np.asarray(a, complex), 1, (-2, -1)) > 3.9 * 2.0**max_squarings).any())

    return _said_of_arguments(text, expm=exceeds)


def squares_wrap_around(text: str) -> bool:
    """Whether squares of integers in `standardize(x, axis, mean)` exceed their dtype, in words of 32 bits."""

    def exceeds(x: np.ndarray, axis: object = None, mean: object = None, *_: object, **__: object) -> bool:
        integers = [np.asarray(a) for a in (x, mean) if a is not None and np.asarray(a).dtype.kind in "iu"]
        return any(
            (a.astype(float) ** 2).max(initial=0.0) > min(np.iinfo(a.dtype).max, np.iinfo(np.int32).max)
            for a in integers
        )

    return _said_of_arguments(text, standardize=exceeds)


def _said_of_arguments(text: str, **functions: Callable[..., bool]) -> bool:
    """What the text of a call gives if these functions stand in for those of nn and scipy.linalg."""
    room = SimpleNamespace(**functions)
    scope = {"m": SimpleNamespace(nn=room, scipy=SimpleNamespace(linalg=room)), "A": np.array, "np": np}
    return bool(eval(text, scope | {"array": np.array, "nan": np.nan, "inf": np.inf}))


def apart(message: str) -> float:
    """How far the two values are apart that the message of a difference names."""
    mine, other = (complex(text) for text in re.findall(r"(?:primax|jax): np\.\w+\(([^()]+)\)", message))
    return abs(mine - other)


@dataclass(frozen=True)
class Meant:
    """A difference that is meant.

    Args:
      functions: a regular expression that the whole path of a function matches.
      sort: a regular expression that the whole sort of difference matches, such as "primax raises" or "nan|value".
      reason: why primax does otherwise, in a sentence.
      text: a regular expression found in the text of the call; every call where empty.
      message: a regular expression found in the message of the difference, and in such a message for each element
        that differs.
      when: a further condition on the text of the call.
      within: how far values may be apart.
      right: which values are right: a condition on the text of the call and the difference; see `right.py`.
      since: the first release of jax that differs.
      before: the first release of jax that does not differ any more.
    """

    functions: str
    sort: str
    reason: str
    text: str = ""
    message: str = ""
    when: Callable[[str], bool] | None = None
    within: float = math.inf
    right: Callable[[str, Difference], bool] | None = None
    since: tuple[int, ...] = (0,)
    before: tuple[int, ...] = (99,)

    @property
    def accepts_any_value(self) -> bool:
        """Whether it is of values, and does not say which."""
        of_values = any(re.fullmatch(self.sort, sort) for sort in ("value", "nan"))
        return of_values and not self.message and self.within == math.inf and self.right is None

    def holds(self, path: str, text: str, difference: Difference) -> bool:
        """Whether a difference of a call is this one."""
        return bool(
            self.since <= JAX < self.before
            and re.fullmatch(self.sort, difference.sort)
            and re.fullmatch(self.functions, path)
            and re.search(self.text, text)
            and all(re.search(self.message, said) for said in difference.sentences())
            and (self.when is None or self.when(text))
            and (self.within == math.inf or all(apart(said) <= self.within for said in difference.sentences()))
            and self._is_right(text, difference)
        )

    def _is_right(self, text: str, difference: Difference) -> bool:
        try:
            return self.right is None or self.right(text, difference)
        except Exception:  # a reference that refuses the call confirms nothing
            return False
