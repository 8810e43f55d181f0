"""The test case `JaxTestCase`, and its comparisons of numbers."""

from __future__ import annotations

import functools
import os
import re
import textwrap
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from absl.testing import absltest, parameterized

import primax
from primax import tree
from primax.core.config import config
from primax.core.option import options
from primax.extend.core import get_aval
from primax.plugins.calls import jit
from primax.porting.private.numpy_util import promote_dtypes, promote_dtypes_inexact
from primax.porting.private.public_test_util import _assert_numpy_allclose, default_tolerance, tolerance
from primax.porting.private.test_util.blocks import global_config_context, thread_local_config_context
from primax.porting.private.test_util.programs import (
    count_jit_and_pmap_lowerings,
    count_jit_compilation_cache_miss,
    count_jit_tracing_cache_miss,
    count_primitive_compiles,
)

__all__ = [
    "BufferDonationTestCase",
    "JIT_IMPLEMENTATION",
    "JaxTestCase",
    "JaxTestLoader",
    "check_eq",
    "check_raises",
    "check_raises_regexp",
    "is_sequence",
    "join_tolerance",
    "num_float_bits",
    "promote_like_jnp",
    "strict_promotion_if_dtypes_match",
    "to_default_dtype",
    "with_config",
    "with_global_config",
    "with_jax_dtype_defaults",
]

Test = Callable[..., Any]


def num_float_bits(dtype: Any) -> int:
    """The number of bits of floats of a dtype, in the current mode."""
    return int(primax.dtypes.finfo(primax.dtypes.canonicalize_dtype(dtype)).bits)


def to_default_dtype(arr: Any) -> np.ndarray[Any, Any]:
    """The array in the default dtype of its kind of numbers."""
    array = np.asarray(arr)
    kinds = {"i": int, "u": np.uint64, "f": float, "c": complex}
    if array.dtype.kind not in kinds:
        return array
    return array.astype(primax.dtypes.canonicalize_dtype(kinds[array.dtype.kind]))


def with_jax_dtype_defaults(func: Test, use_defaults: Any = True) -> Test:
    """A function whose results have default dtypes: all of them, or those marked in a pytree of booleans."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        if isinstance(use_defaults, bool):
            return tree.map(to_default_dtype, out) if use_defaults else out
        return tree.map(lambda x, change: to_default_dtype(x) if change else x, out, use_defaults)

    return call


def promote_like_jnp(fun: Test, inexact: bool = False) -> Test:
    """A function of NumPy whose arguments are promoted as those of `jax.numpy`; to floats if `inexact`."""
    promote = promote_dtypes_inexact if inexact else promote_dtypes

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten(args)
        return fun(*tree.unflatten(structure, promote(*leaves)), **kwargs)

    return call


def strict_promotion_if_dtypes_match(dtypes: Sequence[Any]) -> Any:
    """A `with` block of strict promotion if all dtypes are equal, and of the standard one otherwise."""
    return options["numpy_dtype_promotion"]("strict" if all(d == dtypes[0] for d in dtypes) else "standard")


def _by_dtype(tol: Any) -> dict[Any, float]:
    if isinstance(tol, Mapping):
        return {np.dtype(dtype): value for dtype, value in tol.items()}
    return dict.fromkeys(default_tolerance(), tol or 0)


def join_tolerance(tol1: Any, tol2: Any) -> dict[Any, float]:
    """For each dtype, the larger of two tolerances, which are numbers or dictionaries by dtype."""
    first, second = _by_dtype(tol1), _by_dtype(tol2)
    return {dtype: max(first.get(dtype, 0), second.get(dtype, 0)) for dtype in {**first, **second}}


def is_sequence(x: Any) -> bool:
    """Whether a value can be iterated over."""
    try:
        iter(x)
    except TypeError:
        return False
    return True


def check_eq(xs: Any, ys: Any, err_msg: str = "") -> None:
    """Check that two pytrees have equal numbers.

    Raises:
      AssertionError: they do not.
    """
    tree.map(lambda x, y: _assert_numpy_allclose(np.asarray(x), np.asarray(y), err_msg=err_msg), xs, ys)


def check_raises(thunk: Callable[[], Any], err_type: type[Exception], msg: str) -> None:
    """Check that a call raises an error whose text begins with a message."""
    check_raises_regexp(thunk, err_type, re.escape(msg))


def check_raises_regexp(thunk: Callable[[], Any], err_type: type[Exception], pattern: str) -> None:
    """Check that a call raises an error whose text begins with a pattern."""
    try:
        thunk()
    except err_type as error:
        text = str(error)
    else:
        raise AssertionError(f"{err_type.__name__} should be raised, nothing was")
    assert re.match(pattern, text), f"the text should begin with {pattern!r}, is {text}"


def _with_options(kind: str, kwds: dict[str, Any]) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        assert issubclass(cls, JaxTestCase), f"must be a subclass of JaxTestCase, got {cls!r}"
        inherited = [getattr(base, kind, {}) for base in cls.__bases__]
        setattr(cls, kind, functools.reduce(lambda a, b: {**a, **b}, [*inherited, kwds]))
        return cls

    return decorate


def with_config(**kwds: Any) -> Callable[[type], type]:
    """A decorator of test cases that sets options for the thread while a test runs."""
    return _with_options("_default_thread_local_config", kwds)


def with_global_config(**kwds: Any) -> Callable[[type], type]:
    """A decorator of test cases that sets options for the process while a test runs."""
    return _with_options("_default_global_config", kwds)


class JaxTestCase(parameterized.TestCase):
    """A test case that compares numbers with tolerances by dtype, and runs with strict promotion by default."""

    _default_global_config: Mapping[str, Any] = {}
    _default_thread_local_config: Mapping[str, Any] = {
        "jax_enable_checks": True,
        "jax_numpy_dtype_promotion": "strict",
        "jax_numpy_rank_promotion": "raise",
    }

    def setUp(self) -> None:
        """Set the options of the class, and seed the random numbers by the name of the test."""
        super().setUp()
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        self.enterContext(global_config_context(**self._default_global_config))
        self.enterContext(thread_local_config_context(**self._default_thread_local_config))

    def rng(self) -> np.random.RandomState:
        """The random numbers of this test."""
        return self._rng

    def assertArraysEqual(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        err_msg: str = "",
        allow_object_dtype: bool = False,
        verbose: bool = True,
    ) -> None:
        """Check that two arrays are equal; NaN is equal to NaN."""
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        first, second = np.asarray(actual), np.asarray(desired)
        if not allow_object_dtype and object in (first.dtype, second.dtype):
            raise TypeError(f"assertArraysEqual: arrays must have numbers, got {type(actual)} and {type(desired)}")
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(first, second, err_msg=err_msg, verbose=verbose)

    def assertArraysAllClose(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        atol: Any = None,
        rtol: Any = None,
        err_msg: str = "",
    ) -> None:
        """Check that two arrays are close: within numbers, or within those of their dtypes."""
        self.assertEqual(actual.shape, desired.shape)
        kinds = (actual.dtype, desired.dtype)
        _assert_numpy_allclose(
            actual,
            desired,
            atol=max(tolerance(kind, atol) for kind in kinds),
            rtol=max(tolerance(kind, rtol) for kind in kinds),
            err_msg=err_msg,
        )
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)

    def assertDtypesMatch(self, actual: Any, desired: Any, *, canonicalize_dtypes: bool = True) -> None:
        """Check that two arrays have the same dtype; without `enable_x64`, after narrowing to 32 bits."""
        kinds = [get_aval(x).dtype if not hasattr(x, "dtype") else x.dtype for x in (actual, desired)]
        if canonicalize_dtypes and not config.enable_x64:
            kinds = [primax.dtypes.canonicalize_dtype(kind, allow_extended_dtype=True) for kind in kinds]
        self.assertEqual(*kinds)

    def assertAllClose(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        atol: Any = None,
        rtol: Any = None,
        canonicalize_dtypes: bool = True,
        err_msg: str = "",
    ) -> None:
        """Check that two arrays, or two dictionaries or sequences of arrays, are close, and have equal dtypes."""
        rest: Any = {
            "check_dtypes": check_dtypes,
            "atol": atol,
            "rtol": rtol,
            "canonicalize_dtypes": canonicalize_dtypes,
            "err_msg": err_msg,
        }
        array, other_array = hasattr(actual, "__array__"), hasattr(desired, "__array__")
        if isinstance(actual, dict):
            self.assertIsInstance(desired, dict)
            self.assertEqual(set(actual), set(desired))
            for key, value in actual.items():
                self.assertAllClose(value, desired[key], **rest)
        elif is_sequence(actual) and not array and not isinstance(actual, str):
            if not is_sequence(desired) or other_array:
                self.fail(f"a sequence is expected, got {desired}")
            self.assertEqual(len(actual), len(desired))
            for value, other in zip(actual, desired, strict=True):
                self.assertAllClose(value, other, **rest)
        elif array or (np.isscalar(actual) and not isinstance(actual, str)):
            if not (other_array or np.isscalar(desired)):
                self.fail(f"an array is expected, got {desired}")
            if check_dtypes:
                self.assertDtypesMatch(actual, desired, canonicalize_dtypes=canonicalize_dtypes)
            self.assertArraysAllClose(
                np.asarray(actual), np.asarray(desired), check_dtypes=False, atol=atol, rtol=rtol, err_msg=err_msg
            )
        elif actual != desired:
            raise TypeError(f"assertAllClose: values must be arrays, got {type(actual)} and {type(desired)}")

    def assertMultiLineStrippedEqual(self, expected: str, what: str) -> None:
        """Check that two texts are equal, except for the indentation of lines."""

        def clean(text: str) -> str:
            return re.sub(r"\s*\n\s*", "\n", textwrap.dedent(text).strip())

        texts: Any = (clean(expected), clean(what))
        self.assertEqual(*texts)

    @contextmanager
    def assertNoWarnings(self) -> Iterator[None]:
        """A `with` block in which warnings are errors."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield

    @contextmanager
    def _warned(self, warning: Any, expected: str, matches: Callable[[str], bool]) -> Iterator[None]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield
        if not any(isinstance(w.message, warning) and matches(str(w.message)) for w in seen):
            self.fail(f"{expected} is expected, got {[str(w.message) for w in seen]}")

    def assertWarns(self, warning: Any, *, msg: str | None = None) -> Any:  # type: ignore[override]
        """A `with` block that must warn; the text must contain `msg`."""
        return self._warned(warning, f"{warning} with {msg!r}", lambda text: msg is None or msg in text)

    def assertWarnsRegex(self, warning: Any, regex: Any) -> Any:  # type: ignore[override]
        """A `with` block that must warn; the text must match a pattern."""
        return self._warned(
            warning, f"{warning} with {regex!r}", lambda text: regex is None or bool(re.search(regex, text))
        )

    def assertDeprecationWarnsOrRaises(
        self, deprecation_id: str, message: str, *, error_class: type[Exception] = ValueError
    ) -> Any:
        """A `with` block that must warn of a deprecation."""
        return self.assertWarnsRegex(DeprecationWarning, message)

    def _CompileAndCheck(
        self,
        fun: Test,
        args_maker: Callable[[], Any],
        *,
        check_dtypes: bool = True,
        tol: Any = None,
        rtol: Any = None,
        atol: Any = None,
        check_cache_misses: bool = True,
    ) -> None:
        """Check that a function and its compiled form agree, and that second calls compile nothing."""
        close = functools.partial(self.assertAllClose, check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol)
        tracing = True

        def traced(*args: Any) -> Any:
            self.assertTrue(tracing, "the function must not be traced again")
            return fun(*args)

        args = args_maker()
        out = fun(*args)
        self.assertEqual(tree.map(np.shape, out), tree.map(lambda x: np.shape(np.asarray(x)), out))
        with count_primitive_compiles() as count:
            out = fun(*args)
        if check_cache_misses:
            self.assertEqual(count(), 0, f"the second call of {fun} compiled programs")
        compiled = jit(traced)
        close(compiled(*args), out)
        tracing = False
        close(compiled(*args), out)
        args = args_maker()
        close(compiled(*args), fun(*args))

    def _CheckAgainstNumpy(
        self,
        numpy_reference_op: Test,
        lax_op: Test,
        args_maker: Callable[[], Any],
        check_dtypes: bool = True,
        tol: Any = None,
        atol: Any = None,
        rtol: Any = None,
        canonicalize_dtypes: bool = True,
    ) -> None:
        """Check that a function and one of NumPy agree."""
        args = args_maker()
        self.assertAllClose(
            lax_op(*args),
            numpy_reference_op(*args),
            check_dtypes=check_dtypes,
            atol=atol or tol,
            rtol=rtol or tol,
            canonicalize_dtypes=canonicalize_dtypes,
        )

    def assertCacheMisses(
        self,
        func: Callable[[], Any],
        *,
        cpp: int | None = None,
        aot_call: int | None = None,
        tracing: int | None = None,
        lowering: int | None = None,
        compilation_after_persistent_cache_miss: int | None = None,
    ) -> None:
        """Check how many programs a call traces, lowers and compiles."""
        with (
            count_jit_tracing_cache_miss() as traced,
            count_jit_and_pmap_lowerings() as lowered,
            count_jit_compilation_cache_miss() as compiled,
        ):
            func()
        counted = (cpp, traced), (tracing, traced), (lowering, lowered)
        for expected, count in (*counted, (compilation_after_persistent_cache_miss, compiled)):
            if expected is not None:
                self.assertEqual(expected, count())


class BufferDonationTestCase(JaxTestCase):
    """A test case for donated arrays."""

    def assertDeleted(self, x: Any) -> None:
        """Check that an array is deleted."""
        self.assertTrue(x.is_deleted())

    def assertNotDeleted(self, x: Any) -> None:
        """Check that an array is not deleted."""
        self.assertFalse(x.is_deleted())


_loader: Any = absltest.TestLoader  # it has no types


class JaxTestLoader(absltest.TestLoader):
    """A loader of the tests whose names `JAX_TEST_TARGETS` matches, and `JAX_EXCLUDE_TEST_TARGETS` does not."""

    def getTestCaseNames(self, testCaseClass: Any) -> list[str]:
        """The names of the tests of a test case."""
        names: list[str] = list(_loader.getTestCaseNames(self, testCaseClass))
        wanted = os.environ.get("JAX_TEST_TARGETS", "")
        unwanted = os.environ.get("JAX_EXCLUDE_TEST_TARGETS", "")

        def is_chosen(name: str) -> bool:
            path = f"{testCaseClass.__name__}.{name}"
            return bool(re.search(wanted, path)) and not (unwanted and re.search(unwanted, path))

        return [name for name in names if is_chosen(name)]


def _called_as_is(fun: Test, *args: Any, **kwargs: Any) -> Test:
    return fun


_called_as_is._name = "noop"  # type: ignore[attr-defined]


def _compiled(fun: Test, *args: Any, **kwargs: Any) -> Any:
    return jit(fun, *args, **kwargs)


_compiled._name = "jit"  # type: ignore[attr-defined]

JIT_IMPLEMENTATION = (_compiled, _called_as_is)
