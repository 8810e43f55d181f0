"""Generated cases of tests: samples of products of arguments."""

from __future__ import annotations

import functools
import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from absl.testing import parameterized

__all__ = [
    "NUM_GENERATED_CASES",
    "SKIP_SLOW_TESTS",
    "TEST_NUM_THREADS",
    "TEST_WITH_PERSISTENT_COMPILATION_CACHE",
    "cases_from_gens",
    "complex_plane_sample",
    "named_cases_from_sampler",
    "parameterized_filterable",
    "sample_product",
    "sample_product_testcases",
    "sanitize_test_name",
]

Test = Callable[..., Any]
_absl: Any = parameterized  # it has no types


class _Flag:
    """A setting of tests, which an environment variable gives."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value


NUM_GENERATED_CASES = _Flag("jax_num_generated_cases", int(os.environ.get("JAX_NUM_GENERATED_CASES", "10")))
SKIP_SLOW_TESTS = _Flag(
    "jax_skip_slow_tests", os.environ.get("JAX_SKIP_SLOW_TESTS", "").lower() in ("1", "true", "yes")
)
TEST_NUM_THREADS = _Flag("jax_test_num_threads", int(os.environ.get("JAX_TEST_NUM_THREADS", "0")))
TEST_WITH_PERSISTENT_COMPILATION_CACHE = _Flag("jax_test_with_persistent_compilation_cache", False)

_SEED = 42  # for the choice of cases; JAX's value, so that the same cases run


def sanitize_test_name(s: str) -> str:
    """A name that selects a test with `-k`."""
    return re.sub(r"[ \"'\[\](){}<>=,._]+", "_", s)


@functools.cache
def _chosen(count: int, most: int) -> Sequence[int]:
    numbers: Sequence[int] = np.random.RandomState(_SEED).choice(count, size=most, replace=False).tolist()
    return numbers


def sample_product_testcases(*args: Any, **kw: Any) -> list[dict[str, Any]]:
    """A sample of the product of lists of arguments.

    Args:
      args: lists of dictionaries of arguments that belong together.
      kw: for each argument, a list of its values.

    Returns:
      `JAX_NUM_GENERATED_CASES` dictionaries of arguments; all if there are fewer.
    """
    factors: list[list[dict[str, Any]]] = [list(choices) for choices in args]
    factors += [[{name: value} for value in values] for name, values in kw.items()]
    count = math.prod(map(len, factors))
    cases = []
    for number in _chosen(count, min(count, NUM_GENERATED_CASES.value)):
        case: dict[str, Any] = {}
        for choices in factors:
            number, i = divmod(number, len(choices))
            case |= choices[i]
        cases.append(case)
    return cases


def sample_product(*args: Any, **kw: Any) -> Callable[[Test], Test]:
    """A decorator of test methods that runs them with a sample of the product of lists of arguments."""
    decorator: Callable[[Test], Test] = _absl.parameters(*sample_product_testcases(*args, **kw))
    return decorator


def parameterized_filterable(
    *,
    kwargs: Sequence[dict[str, Any]],
    testcase_name: Callable[[dict[str, Any]], str] | None = None,
    one_containing: str | None = None,
) -> Callable[[Test], Test]:
    """A decorator of test methods that runs them with each of several dictionaries of arguments.

    Args:
      kwargs: the dictionaries; `testcase_name` in one is its name, by which `-k` selects the test.
      testcase_name: a function that gives a case its name.
      one_containing: a part of a name, to run only the first such case.
    """

    def name_of(case: dict[str, Any]) -> str:
        if testcase_name is not None:
            return testcase_name(case)
        return case.get("testcase_name") or "_".join(f"{key}={case[key]}" for key in sorted(case))

    cases = [{**case, "testcase_name": sanitize_test_name(str(name_of(case)))} for case in kwargs]
    if one_containing is not None:
        chosen = [case for case in cases if one_containing in case["testcase_name"]]
        assert chosen, f"no name has {one_containing!r}: {[case['testcase_name'] for case in cases]}"
        cases = [{**chosen[0], "testcase_name": ""}]
    decorator: Callable[[Test], Test] = _absl.named_parameters(*cases)
    return decorator


def cases_from_gens(*gens: Callable[[int], Any]) -> Iterator[tuple[Any, ...]]:
    """Cases of sizes 1, 3 and 10, each with a name and one value of each function of a size."""
    for size, i in itertools.product((1, 3, 10), range(NUM_GENERATED_CASES.value // 3 + 1)):
        yield (f"_{size}_{i}", *(gen(size) for gen in gens))


def named_cases_from_sampler(gen: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """Different cases of a generator, whose argument is a function that samples from a list of choices."""
    rng = np.random.RandomState(_SEED)
    names: set[str] = set()

    def choose(x: Any) -> list[Any]:
        x = x if isinstance(x, list | tuple) else list(x)
        return [x[rng.randint(len(x))]]

    vain = 0
    while len(names) < NUM_GENERATED_CASES.value and vain < 100:
        vain += 1
        for case in gen(choose):
            if case["testcase_name"] not in names:
                names.add(case["testcase_name"])
                vain = 0
                yield case


def complex_plane_sample(dtype: Any, size_re: int = 10, size_im: int | None = None) -> np.ndarray[Any, Any]:
    """A grid of the complex plane: zero, infinities, and points from the smallest normal number to the largest.

    Args:
      dtype: a complex dtype.
      size_re: the number of finite points on each side of zero of the real axis.
      size_im: the number for the imaginary axis; `size_re` if None.
    """
    kind = np.zeros((), dtype).real.dtype
    info = np.finfo(kind)

    def axis(size: int) -> np.ndarray[Any, Any]:
        positive = np.exp(np.linspace(np.log(float(info.tiny)), np.log(float(info.max)), size)[:-1]).astype(kind)
        positive = np.concatenate([positive, np.full(min(size, 1), info.max if size > 1 else info.tiny, kind)])
        positive[:1] = info.tiny
        positive = np.append(positive, np.array(np.inf, kind))
        return np.concatenate([-positive[::-1], np.zeros(1, kind), positive])

    real, imaginary = axis(size_re), axis(size_re if size_im is None else size_im)
    grid = np.zeros((imaginary.size, real.size), dtype)
    grid.real, grid.imag = real[None, :], imaginary[:, None]
    return grid
