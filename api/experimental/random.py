"""A stateful generator of random numbers, like NumPy's."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import primax as px
import primax.numpy as pnp
from primax import random
from primax.extend.core import Array, current_trace
from primax.extend.provisional.arguments import read_size
from primax.extend.provisional.typing import ArrayLike
from primax.extend.random import PRNGImpl

__all__ = ["StatefulPRNG", "stateful_rng"]
__dir__ = __all__.copy


@px.tree_util.register_pytree_node_class
class StatefulPRNG:
    """A generator that returns new numbers at each call: its keys are the seed's key, folded with a counter.

    The counter is a reference. Functions that are compiled, mapped or differentiated may take generators and close over
    them, but not return them. `split` makes generators to map over.
    """

    def __init__(self, base_key: Any, counter: Any = 0) -> None:
        self._base_key = base_key
        self._counter = counter if isinstance(counter, px.Ref) else px.new_ref(pnp.asarray(counter, "int32"))

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        """The key and the counter."""
        return (self._base_key, self._counter), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Sequence[Any]) -> StatefulPRNG:
        """A generator with another key and another counter."""
        made = cls.__new__(cls)
        made._base_key, made._counter = children
        return made

    def __repr__(self) -> str:
        return f"StatefulPRNG({self._base_key!r}, counter={self._counter!r})"

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """A new key, different from all earlier keys.

        Args:
          shape: the shape of the array of keys.

        Raises:
          ValueError: the generator has several keys, as `split` makes them; map over it.
        """
        if pnp.ndim(self._base_key):
            raise ValueError(
                f"StatefulPRNG.key: a generator of shape {pnp.shape(self._base_key)} draws numbers inside of vmap "
                "only, whose in_axes map over it"
            )
        new_key = random.fold_in(self._base_key, self._counter[...])
        self._counter[...] += 1
        return new_key if shape == () else random.split(new_key, shape if isinstance(shape, int) else tuple(shape))

    def random(self, size: int | Sequence[int] | None = None, dtype: Any = float) -> Array:
        """Uniform numbers in [0, 1)."""
        return self.uniform(0, 1, size, dtype=dtype)

    def uniform(
        self, low: Any = 0, high: Any = 1, size: int | Sequence[int] | None = None, *, dtype: Any = float
    ) -> Array:
        """Uniform numbers in [low, high)."""
        return random.uniform(self.key(), _shape(size, low, high), dtype, minval=low, maxval=high)

    def normal(
        self, loc: Any = 0, scale: Any = 1, size: int | Sequence[int] | None = None, *, dtype: Any = float
    ) -> Array:
        """Normal numbers with mean `loc` and standard deviation `scale`."""
        drawn = random.normal(self.key(), _shape(size, loc, scale), dtype)
        return pnp.asarray(loc, drawn.dtype) + pnp.asarray(scale, drawn.dtype) * drawn

    def integers(
        self, low: Any, high: Any = None, size: int | Sequence[int] | None = None, *, dtype: Any = int
    ) -> Array:
        """Integers in [low, high), or in [0, low) if `high` is None."""
        if high is None:
            low, high = 0, low
        return random.randint(self.key(), _shape(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Independent generators as one object, which `vmap` maps over.

        Args:
          num: the shape of the generators.

        >>> import primax as px
        >>> from primax.experimental.random import stateful_rng
        >>> px.vmap(lambda rng: rng.uniform())(stateful_rng(1).split(3)).shape
        (3,)
        """
        keys = self.key(num if isinstance(num, int) else tuple(num))
        return StatefulPRNG(keys, pnp.zeros(keys.shape, "int32"))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of independent generators."""
        count = read_size("StatefulPRNG.spawn", "n_children", n_children)
        return [StatefulPRNG(key) for key in self.key((count,))]


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return pnp.broadcast_shapes(*map(pnp.shape, parameters))
    return (size,) if isinstance(size, int) else tuple(size)


def stateful_rng(seed: ArrayLike | None = None, *, impl: str | PRNGImpl | None = None) -> StatefulPRNG:
    """A generator with a state.

    Args:
      seed: an integer or a key; None takes a seed from the operating system.
      impl: the algorithm of its keys, as for `primax.random.key`.

    Raises:
      TypeError: `seed` is not an integer, a key or None.
      ValueError: `seed` is None, and a function is being traced.

    >>> from primax.experimental.random import stateful_rng
    >>> rng = stateful_rng(1701)
    >>> bool((rng.uniform(size=3) == rng.uniform(size=3)).any())
    False
    """
    if seed is None:
        if current_trace().tracing:
            raise ValueError("stateful_rng: seed must be given inside of traced functions, got None")
        seed = secrets.randbits(32)
    is_key = hasattr(seed, "dtype") and pnp.issubdtype(seed.dtype, px.dtypes.prng_key)
    return StatefulPRNG(seed if is_key else random.key(seed, impl=impl))
