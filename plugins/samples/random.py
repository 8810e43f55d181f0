"""Samples of generators and of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.random import find_prng_impl
from primax.extend.provisional.sampling import samples
from primax.plugins.random import (
    RandomAlgorithm,
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_gamma_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    rng_bit_generator_p,
    threefry2x32_p,
)


def _gamma_samples() -> list[core.Sample]:
    words = np.array([[5, 6], [7, 8]], np.uint32)
    keys = random_wrap_p.bind(words, impl=find_prng_impl("threefry2x32"))
    alpha = np.array([[0.4, 1.7, 3.2], [2.1, 0.8, 5.3]], np.float32)
    rejection = "numbers jump where others are rejected; their derivative is that of the distribution"
    skip = {
        "own_dtype": "in each dtype it draws other numbers",
        "jvp": rejection,
        "transpose": rejection,
        "dtypes": "others are rejected in other precisions",
        "second_derivatives": "those of random_gamma_grad are not known in closed form",
    }
    return [core.Sample([keys, alpha], {"log_space": log_space}, skip=skip) for log_space in (False, True)]


_WORDS = np.arange(8, dtype=np.uint32).reshape(2, 2, 2) + 5


def _key_samples(
    *ways: dict[str, Any], others: Sequence[Any] = (), skip: Mapping[str, str] = MappingProxyType({})
) -> Callable[[], list[core.Sample]]:
    """Samples with one key and with an array of keys, followed by other arguments."""

    def make() -> list[core.Sample]:
        impl = find_prng_impl("threefry2x32")
        keys = [random_wrap_p.bind(words, impl=impl) for words in (_WORDS[0, 0], _WORDS)]
        return [core.Sample([x, *others], way, skip=skip) for way in ways for x in keys]

    return make


def _samples_by_impl(*args: Any) -> Callable[[], list[core.Sample]]:
    """A sample for each argument, for a primitive whose parameter is a generator."""
    return lambda: [core.Sample([x], {"impl": find_prng_impl("threefry2x32")}) for x in args]


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def _threefry2x32_reference(*args: Any) -> list[Any]:
    key0, key1, x, y = np.broadcast_arrays(*args)
    schedule = (key0, key1, key0 ^ key1 ^ _PARITY)
    x, y = x + key0, y + key1
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            x = x + y
            y = (y << np.uint32(distance) | y >> np.uint32(32 - distance)) ^ x
        x, y = x + schedule[(i + 1) % 3], y + schedule[(i + 2) % 3] + np.uint32(i + 1)
    return [x, y]


SAMPLES = {
    random_gamma_p: _gamma_samples,
    random_seed_p: _samples_by_impl(np.int32(7), np.array([[3, -1], [8, 5]], np.int32)),
    random_split_p: _key_samples({"shape": (3,)}, {"shape": ()}),
    random_fold_in_p: _key_samples({}, others=[np.uint32(7)]),
    random_bits_p: _key_samples({"bit_width": 32, "shape": (3,)}, {"bit_width": 8, "shape": ()}),
    random_wrap_p: _samples_by_impl(_WORDS[0, 0], _WORDS),
    random_unwrap_p: _key_samples({}, skip={"key_use": "its numbers are the key itself, and not drawn from it"}),
    random_clone_p: _key_samples({}),
    rng_bit_generator_p: samples(
        [(4,)],
        {"shape": (3,), "dtype": np.dtype(np.uint32), "algorithm": RandomAlgorithm.RNG_DEFAULT},
        {"shape": (2, 2), "dtype": np.dtype(np.uint8), "algorithm": RandomAlgorithm.RNG_THREE_FRY},
        dtype=np.uint32,
        skip={"batch": "the bits of all come from the first key"},
    ),
    threefry2x32_p: [
        samples([(3,)] * 4, {}, dtype=np.uint32, reference=_threefry2x32_reference),
        samples([(), (), (2, 3), (2, 3)], {}, dtype=np.uint32, reference=_threefry2x32_reference),
    ],
}
