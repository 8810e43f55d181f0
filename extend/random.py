"""Generators of random bits: their functions, their names, and the dtypes of their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primax.core import undo_log
from primax.core.arguments import among, nearest
from primax.core.avals import get_aval
from primax.core.diagnostics import of_call
from primax.core.dtypes import ExtendedDType, extended, is_integer
from primax.core.errors import PluginError
from primax.core.lazy_tables import Table
from primax.core.primitive import Primitive
from primax.extend.core import primitives
from primax.extend.host.plugin_host import host
from primax.extend.host.registry import Registry
from primax.extend.options import default_prng_impl

__all__ = [
    "KeyDType",
    "PRNGImpl",
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "register_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]
__dir__ = __all__.copy

# Names that plugins define; see __getattr__.
rbg_prng_impl: PRNGImpl
threefry2x32_p: Primitive
threefry_prng_impl: PRNGImpl
unsafe_rbg_prng_impl: PRNGImpl

_BUILT_IN = {"rbg_prng_impl": "rbg", "threefry_prng_impl": "threefry2x32", "unsafe_rbg_prng_impl": "unsafe_rbg"}


class prng_key(extended):
    """The scalar type of the keys of all generators; an abstract class for `issubdtype`."""

    def __new__(cls, *args: Any) -> Any:
        raise TypeError(f"an array of keys has no elements that are numbers{of_call()}")


@dataclass(frozen=True, eq=False)
class PRNGImpl:
    """A generator of random bits, as functions of the data of one key: an array of 32-bit words.

    Attributes:
      key_shape: the shape of that array, of uint32.
      seed: `(integer) -> key`.
      split: `(key, shape) -> keys`, uint32[*shape, *key_shape].
      random_bits: `(key, bit_width, shape) -> bits`, unsigned integers of 8, 16, 32 or 64 bits.
      fold_in: `(key, data) -> key`, for a uint32 of rank 0.
      name: the name for users.
      tag: a few letters for the name of its dtype.

    Examples:
      >>> import primax as px
      >>> from primax.extend.random import PRNGImpl
      >>> impl = px.random.key(0).dtype.impl
      >>> impl, type(impl) is PRNGImpl, impl.key_shape
      (<generator threefry2x32>, True, (2,))
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str = "<unnamed>"
    tag: str = "?"

    @cached_property
    def dtype(self) -> KeyDType:
        """The dtype of arrays of its keys."""
        return KeyDType(self)

    @property
    def is_registered(self) -> bool:
        """Whether the generator is registered by name."""
        return _named.get(self.name) is self

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        return f"<generator {self.name}>"

    def __reduce__(self) -> Any:
        if not self.is_registered:
            raise TypeError(f"keys of generator {self.name!r} cannot be pickled, since it is not registered by name")
        return find_prng_impl, (self.name,)


class KeyDType(ExtendedDType):
    """The dtype of the keys of a generator, `impl.dtype`; different generators have different dtypes.

    Examples:
      >>> import primax as px
      >>> from primax.extend.random import KeyDType
      >>> key = px.random.key(0)
      >>> key.dtype, isinstance(key.dtype, KeyDType), key.dtype == px.random.key(0, impl="rbg").dtype
      (key<fry>, True, False)
    """

    type = prng_key
    element_dtype = np.dtype(np.uint32)
    how_to_read = "primax.random.key_data gives the words of its keys"
    how_to_compute = (
        "primax.random.split and fold_in make new keys, bits makes random integers, and key_data gives the words"
    )

    def __init__(self, impl: PRNGImpl) -> None:
        self.impl = impl

    @property
    def name(self) -> str:
        return f"key<{self.impl.tag}>"

    @property
    def element_shape(self) -> tuple[int, ...]:
        return self.impl.key_shape

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is KeyDType and other.impl is self.impl)

    def __hash__(self) -> int:
        return hash(self.impl)

    def __reduce__(self) -> Any:
        return getattr, (self.impl, "dtype")


def define_prng_impl(
    *,
    key_shape: Sequence[int],
    seed: Callable[[Any], Any],
    split: Callable[[Any, tuple[int, ...]], Any],
    random_bits: Callable[[Any, int, tuple[int, ...]], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGImpl:
    """A generator of random bits, from functions that are written in primax operations.

    The functions get one key at a time, as an array uint32[*key_shape]; primax maps them over arrays of keys. The
    generator can be passed as `impl` to `primax.random.key`. With `register_prng_impl` its name can be passed, too.

    Args:
      key_shape: the shape of the words of a key.
      seed: `(integer) -> key`.
      split: `(key, shape) -> keys`, uint32[*shape, *key_shape].
      random_bits: `(key, bit_width, shape) -> bits`, unsigned integers of 8, 16, 32 or 64 bits.
      fold_in: `(key, data) -> key`, for a uint32 of rank 0.
      name: the name in messages and for users.
      tag: a few letters, which programs print: `key<tag>[]`.

    Raises:
      TypeError: an argument has the wrong type; the message names it.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> from primax.extend.random import define_prng_impl
      >>> counter = define_prng_impl(
      ...     key_shape=(1,),
      ...     seed=lambda seed: pnp.uint32(seed)[None],
      ...     split=lambda key, shape: key + pnp.arange(np.prod(shape), dtype=np.uint32).reshape(*shape, 1),
      ...     random_bits=lambda key, width, shape: pnp.full(shape, key[0]),
      ...     fold_in=lambda key, data: key + data,
      ...     name="counter",
      ...     tag="ctr",
      ... )
      >>> px.random.split(px.random.key(3, impl=counter))
      Array((2,), dtype=key<ctr>) overlaying:
      [[3]
       [4]]
    """
    try:
        shape = tuple(size.__index__() for size in key_shape)
    except (AttributeError, TypeError):
        raise TypeError(f"define_prng_impl: key_shape must be a sequence of integers, got {key_shape!r}") from None
    functions = {"seed": seed, "split": split, "random_bits": random_bits, "fold_in": fold_in}
    for argument, function in functions.items():
        if not callable(function):
            raise TypeError(f"define_prng_impl: {argument} must be a function, got {function!r}")
    for argument, text in (("name", name), ("tag", tag)):
        if not isinstance(text, str) or not text:
            raise TypeError(f"define_prng_impl: {argument} must be a non-empty string, got {text!r}")
    return PRNGImpl(shape, seed, split, random_bits, fold_in, name, tag)


_named = Table("generator", __name__)
_loose: set[str] = set()  # names that belong to no plugin


def register_prng_impl(impl: PRNGImpl, registry: Registry | None = None) -> None:
    """Register a generator by its name.

    Args:
      impl: the result of `define_prng_impl`.
      registry: the argument of `primax_register`. With None the generator belongs to no plugin, and replaces another
        one of the same name without a plugin; this is for scripts and notebooks.

    Raises:
      TypeError: an argument has the wrong type.
      PluginError: the name belongs to a plugin's generator.

    Examples:
      >>> import primax as px
      >>> from primax.extend.random import register_prng_impl
      >>> register_prng_impl(px.random.key(0).dtype.impl)
      Traceback (most recent call last):
          ...
      primax.errors.PluginError: register_prng_impl: the name of impl must be new, got 'threefry2x32' of an
      existing plugin
    """
    if not isinstance(impl, PRNGImpl):
        raise TypeError(f"register_prng_impl: impl must be what define_prng_impl returned, got {impl!r}")
    if registry is not None:
        registry.enter("generator", _named, impl.name, impl)
        return
    if impl.name in _named and impl.name not in _loose:
        raise PluginError(f"register_prng_impl: the name of impl must be new, got {impl.name!r} of an existing plugin")
    if impl.name not in _loose:
        _loose.add(impl.name)
        undo_log.note(lambda: _loose.discard(impl.name))
    _named[impl.name] = impl


def find_prng_impl(impl: Any = None, function: str = "find_prng_impl") -> PRNGImpl:
    """The generator for a user's argument.

    Args:
      impl: the generator, its name, or the dtype of its keys; None is the default, `config.default_prng_impl`.
      function: the name of the called function, for messages.

    Raises:
      ValueError: no active plugin has a generator of this name.
      TypeError: `impl` is not one of these.
    """
    if impl is None:
        impl = default_prng_impl.value
    if isinstance(impl, str):
        if not among(impl, _named):
            known = ", ".join(sorted(_named)) or "none"
            family = host.record("random")
            why = f"\n{family.reason}" if family.reason else ""
            raise ValueError(
                f"{function}: impl must be a generator of an active plugin, one of {known}, "
                f"got {impl!r}{nearest(impl, _named)}{why}"
            )
        prng: PRNGImpl = _named[impl]
        return prng
    if isinstance(impl, KeyDType):
        return impl.impl
    if isinstance(impl, PRNGImpl):
        return impl
    raise TypeError(f"{function}: impl must be a generator, its name or the dtype of its keys, got {impl!r}")


def random_seed(seeds: Any, impl: Any = None) -> Any:
    """Keys of a generator, one for each integer.

    Args:
      seeds: an integer, or an array of integers.
      impl: the generator.

    Raises:
      TypeError: `seeds` are not integers.
      OverflowError: a Python int does not fit 64 bits.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.random import random_seed
      >>> random_seed(np.arange(3), impl="threefry2x32").shape
      (3,)
      >>> random_seed(1.0)
      Traceback (most recent call last):
          ...
      TypeError: random_seed: a seed must be an integer, got f32[]
    """
    return _bind("random_seed", canonical_seeds(seeds, "random_seed"), impl=find_prng_impl(impl))


def seed_with_impl(impl: Any, seed: Any) -> Any:
    """A key of a generator from an integer seed.

    Examples:
      >>> from primax.extend.random import seed_with_impl
      >>> seed_with_impl("rbg", 0).dtype
      key<rbg>
    """
    return random_seed(seed, impl)


def canonical_seeds(seeds: Any, function: str) -> Any:
    """Seeds as integers of a dtype; Python integers lose their upper half unless `enable_x64` is set.

    Raises:
      TypeError: they are not integers.
      OverflowError: a Python int does not fit 64 bits.
    """
    if isinstance(seeds, int):
        try:
            return np.int64(seeds)
        except OverflowError:
            raise OverflowError(f"{function}: a seed must fit an integer of 64 bits, got {seeds}") from None
    aval = get_aval(seeds)
    if not is_integer(getattr(aval, "dtype", None)):
        raise TypeError(f"{function}: a seed must be an integer, got {aval.str_short()}")
    return seeds


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Bits of threefry2x32 for counts. The first half of the counts are first words, the second half second words.

    Args:
      keypair: a key, uint32[2].
      count: counts, an array of uint32.

    Returns:
      As many words, in the shape of `count`.

    Raises:
      TypeError: the arguments are not arrays of uint32.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.random import threefry_2x32
      >>> threefry_2x32(np.uint32([0, 0]), np.uint32([0, 0]))
      Array([1797259609, 2579123966], dtype=uint32)
    """
    avals = [get_aval(x) for x in (keypair, count)]
    if any(aval.dtype != np.uint32 for aval in avals):
        shown = " and ".join(aval.str_short() for aval in avals)
        raise TypeError(f"threefry_2x32: keypair and count must be uint32, got {shown}")
    if avals[0].shape != (2,):
        raise TypeError(f"threefry_2x32: keypair must have shape (2,), got {avals[0].str_short()}")
    size = avals[1].size
    half = -(-size // 2)
    bind = _bind
    words = [
        bind(
            "squeeze", bind("slice", keypair, start_indices=(i,), limit_indices=(i + 1,), strides=None), dimensions=(0,)
        )
        for i in (0, 1)
    ]
    flat = bind("reshape", count, new_sizes=(size,), dimensions=None)
    flat = bind("pad", flat, np.uint32(0), padding_config=((0, 2 * half - size, 0),))
    halves = [bind("slice", flat, start_indices=(i,), limit_indices=(i + half,), strides=None) for i in (0, half)]
    mixed = bind("concatenate", *bind("threefry2x32", *words, *halves), dimension=0)
    kept = bind("slice", mixed, start_indices=(0,), limit_indices=(size,), strides=None)
    return bind("reshape", kept, new_sizes=avals[1].shape, dimensions=None)


def _bind(name: str, /, *args: Any, **params: Any) -> Any:
    return getattr(primitives, f"{name}_p").bind(*args, **params)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names that plugins define: the primitive of threefry2x32, and the generators of primax."""
        if name == "threefry2x32_p":
            return getattr(primitives, name)
        if name in _BUILT_IN:
            return find_prng_impl(_BUILT_IN[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
