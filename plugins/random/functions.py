"""Public functions that make, split and read keys, and draw bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_shape, integer
from primax.extend.provisional.random import find_prng_impl
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.extend.random import KeyDType, PRNGImpl, canonical_seeds
from primax.plugins.random.arguments import as_keys, check_key, is_keys, one_key
from primax.plugins.random.keys import (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
)
from primax.plugins.resharding import resharded
from primax.plugins.structural import convert_element_type_p


def key(seed: ArrayLike, *, impl: str | PRNGImpl | None = None, dtype: DTypeLike | None = None) -> Array:
    """A key, from which random numbers are computed.

    Args:
      seed: an integer.
      impl: the generator, by name such as `"threefry2x32"`, `"rbg"` or `"unsafe_rbg"`, or a result of
        `primax.extend.random.define_prng_impl`; by default `config.default_prng_impl`.
      dtype: the dtype of the generator's keys, instead of `impl`.

    Returns:
      An array of rank 0 and of dtype `key<...>`.

    Raises:
      TypeError: `seed` is not an integer, or is an array of several; map over them with `primax.vmap`.
      ValueError: there is no such generator, or both `impl` and `dtype` are given.

    >>> import primax as px
    >>> px.random.key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return random_seed_p.bind(_one_seed(seed, "key"), impl=_chosen(impl, dtype, "key"))


def PRNGKey(seed: ArrayLike, *, impl: str | PRNGImpl | None = None) -> Array:
    """A raw key: the words of `key(seed, impl=impl)`, an array of uint32.

    Functions accept raw keys wherever they accept keys, and treat them as keys of the default generator.

    >>> import primax as px
    >>> px.random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    return random_unwrap_p.bind(random_seed_p.bind(_one_seed(seed, "PRNGKey"), impl=find_prng_impl(impl, "PRNGKey")))


def split(key: KeyLike, num: int | tuple[int, ...] = 2) -> Array:
    """New keys, practically independent of each other and of numbers from the old key.

    Args:
      key: a key, which must not be used again.
      num: the number of keys, or the shape of the array of keys.

    Raises:
      TypeError: `key` is not a key, or `num` is neither a number nor a shape.
      ValueError: `key` is an array of keys.

    >>> import primax as px
    >>> first, second = px.random.split(px.random.key(0))
    """
    one, raw = one_key(key, "split")
    shape = canonical_shape(num if isinstance(num, tuple | list) else (integer("split", "num", num),), "split", "num")
    keys = random_split_p.bind(one, shape=shape)
    return random_unwrap_p.bind(keys) if raw else keys


def fold_in(key: KeyLike, data: ArrayLike) -> Array:
    """A new key, from a key and a number.

    Args:
      key: a key.
      data: an integer of 32 bits, such as the number of a step.

    Raises:
      TypeError: `key` is not a key, or `data` is not of rank 0.
      ValueError: `key` is an array of keys.
      OverflowError: `data` is a Python int that does not fit into uint32.

    >>> import primax as px
    >>> key = px.random.key(0)
    >>> keys = [px.random.fold_in(key, step) for step in range(3)]
    """
    one, raw = one_key(key, "fold_in")
    folded = random_fold_in_p.bind(one, _as_uint32(data))
    return random_unwrap_p.bind(folded) if raw else folded


def bits(
    key: KeyLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Unsigned integers, all of whose bits are random.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: uint8, uint16, uint32 or uint64; by default uint64 with `enable_x64`, otherwise uint32.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types
        determine.

    Raises:
      TypeError: `key` is not a key, or `shape` is not a shape.
      ValueError: `key` is an array of keys, or `dtype` is another dtype.

    >>> import primax as px
    >>> px.random.bits(px.random.key(0), (2,), "uint8")
    Array([167, 146], dtype=uint8)
    """
    if out_sharding is not None:
        return resharded("bits", bits(key, shape, dtype), out_sharding)
    one = check_key(key, "bits")
    dtype = dtypes.default_uint_dtype() if dtype is None else dtypes.check_user_dtype(dtype, "dtype", "bits")
    if not among(dtype, _UINTS):
        raise ValueError(f"bits: dtype must be uint8, uint16, uint32 or uint64, got {dtype}")
    return random_bits_p.bind(one, bit_width=8 * dtype.itemsize, shape=_shape(shape, "bits"))


def clone(key: KeyLike) -> Array:
    """The same key again, as a sign to readers that the reuse is intended.

    Raises:
      TypeError: `key` is not a key.

    Examples:
      >>> import primax as px
      >>> key = px.random.key(0)
      >>> with px.debug_key_reuse(True):
      ...     x, y = px.random.bits(key), px.random.bits(px.random.clone(key))  # no error
      >>> x == y
      Array(True, dtype=bool)
    """
    keys, raw = as_keys(key, "clone")
    copies = random_clone_p.bind(keys)
    return random_unwrap_p.bind(copies) if raw else copies


def key_data(keys: ArrayLike) -> Array:
    """The words of keys: an array of uint32 with the axes of the words of one key last.

    Args:
      keys: an array of keys; raw keys are returned unchanged.

    Raises:
      TypeError: `keys` are not keys.

    >>> import primax as px
    >>> px.random.key_data(px.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return random_unwrap_p.bind(as_keys(keys, "key_data", "keys")[0])


def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: str | PRNGImpl | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Keys with the given words; the inverse of `key_data`.

    Args:
      key_bits_array: an array of uint32 with the axes of the words of one key last.
      impl: the generator, as for `key`.
      dtype: the dtype of the generator's keys, instead of `impl`.

    Raises:
      TypeError: `key_bits_array` are not words of keys of the generator.
      ValueError: there is no such generator.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> key = px.random.wrap_key_data(np.uint32([0, 42]))
      >>> key == px.random.key(42)
      Array(True, dtype=bool)
      >>> px.random.wrap_key_data(np.uint32([0]))
      Traceback (most recent call last):
          ...
      TypeError: wrap_key_data: key_bits_array must be words of generator 'threefry2x32', uint32 in a shape that
      ends with (2,); got u32[1]
    """
    generator = _chosen(impl, dtype, "wrap_key_data")
    if is_keys(key_bits_array):
        raise TypeError(
            f"wrap_key_data: key_bits_array must be words, got keys already, {get_aval(key_bits_array).str_short()}"
        )
    return as_keys(key_bits_array, "wrap_key_data", "key_bits_array", generator)[0]


def key_impl(keys: ArrayLike) -> str:
    """The generator of keys: its name, or the generator itself if it has no name for users.

    Raises:
      TypeError: `keys` are not keys.

    >>> import primax as px
    >>> px.random.key_impl(px.random.key(0))
    'threefry2x32'
    """
    impl = as_keys(keys, "key_impl", "keys")[0].dtype.impl
    return impl.name if impl.is_registered else impl


def key_dtype(impl_spec: str | PRNGImpl | None = None) -> KeyDType:
    """The dtype of a generator's keys, an argument of `key`.

    Raises:
      ValueError: there is no such generator.

    >>> import primax as px
    >>> px.random.key_dtype("threefry2x32")
    key<fry>
    """
    return find_prng_impl(impl_spec, "key_dtype").dtype


_UINTS = frozenset(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
_UINT32 = np.dtype(np.uint32)


def _chosen(impl: Any, dtype: Any, function: str) -> PRNGImpl:
    if dtype is None:
        return find_prng_impl(impl, function)
    if impl is not None:
        raise ValueError(f"{function}: impl and dtype must not both be given, got {impl!r} and {dtype!r}")
    if not isinstance(dtype, KeyDType):
        raise TypeError(f"{function}: dtype must be that of keys, got {dtype!r}")
    return dtype.impl


def _one_seed(seed: Any, function: str) -> Any:
    seed = canonical_seeds(seed, function)
    shape = get_aval(seed).shape
    if shape:
        raise TypeError(f"{function}: seed must be one integer, got shape {shape}; map over several with primax.vmap")
    return seed


def _shape(shape: Any, function: str) -> tuple[int, ...]:
    if type(shape) is not tuple and hasattr(shape, "__index__"):
        shape = (shape,)
    return canonical_shape(shape, function)


def _as_uint32(data: Any) -> Any:
    if isinstance(data, int):
        if not 0 <= data < 2**32:
            raise OverflowError(f"fold_in: data must fit uint32, got {data}")
        return np.uint32(data)
    aval = get_aval(data)
    if aval.shape:
        raise TypeError(f"fold_in: data must be of rank 0, got {aval.str_short()}; map over several with primax.vmap")
    if dtypes.is_complex(aval.dtype) or not (dtypes.is_numeric(aval.dtype) or dtypes.is_bool(aval.dtype)):
        raise TypeError(f"fold_in: data must be an integer, got {aval.str_short()}")
    return data if aval.dtype == _UINT32 else convert_element_type_p.bind(data, new_dtype=_UINT32, weak_type=False)
