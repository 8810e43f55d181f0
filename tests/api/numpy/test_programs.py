"""Functions of several operations are one program outside of programs, and their equations inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rulecheck import equations

import primax as px
import primax.nn
import primax.numpy as pnp
import primax.scipy.linalg
import primax.scipy.special
import primax.scipy.stats
from primax.interpreters.runtime.eval import EvalTrace
from primax.numpy.programs import one_program

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]


def test_a_function_is_traced_once_outside_of_programs() -> None:
    seen = []

    @one_program(static=1)
    def scaled(x: Any, factor: float) -> Any:
        seen.append(type(x).__name__)
        return pnp.sin(x) * factor

    x = pnp.ones(3)
    for _ in range(3):
        scaled(x, 2.0)
    assert seen == ["StagingTracer"]
    np.testing.assert_allclose(scaled(x, 3.0), 3 * np.sin(np.ones(3, np.float32)), rtol=1e-6)
    assert len(seen) == 2


def test_programs_hold_the_equations_of_small_functions() -> None:
    x = np.ones((2, 3), np.float32)
    assert equations(pnp.mean, x) == ["reduce_sum", "div"]
    assert equations(lambda x: pnp.clip(x, 0, 1), x) == ["max", "min"]
    assert equations(lambda x: pnp.where(x, x, 1.0), x) == ["ne", "broadcast_in_dim", "select_n"]


def test_derivatives_outside_of_programs_see_the_equations_too() -> None:
    x = pnp.asarray([1.0, 2.0, 4.0])
    gradient = px.grad(lambda x: pnp.var(x) + pnp.where(x > 1, x, 0).sum() + (x % 3).sum())(x)
    np.testing.assert_allclose(
        gradient, np.array([2 * (1 - 7 / 3) / 3 + 1, 2 * (2 - 7 / 3) / 3 + 2, 2 * (4 - 7 / 3) / 3 + 2]), rtol=1e-5
    )
    assert px.vmap(pnp.mean)(pnp.ones((2, 3))).tolist() == [1.0, 1.0]


MODULES = ["numpy", "numpy.fft", "numpy.linalg", "nn", "scipy.linalg", "scipy.special", "scipy.stats"]
# Functions that are several operations in eager mode, and why.
SEVERAL = {
    "numpy.atleast_2d": "takes any number of arrays",
    "numpy.atleast_3d": "takes any number of arrays",
    "numpy.column_stack": "takes a sequence, here the rows of an array",
    "numpy.delete": "the shape of the result depends on the positions",
    "numpy.dstack": "takes a sequence, here the rows of an array",
    "numpy.histogram2d": "edges may be given for each dimension",
    "numpy.histogram_bin_edges": "numbers of bins may be computed from values",
    "numpy.histogramdd": "edges may be given for each dimension",
    "numpy.hstack": "takes a sequence, here the rows of an array",
    "numpy.ix_": "takes any number of arrays",
    "numpy.meshgrid": "takes any number of arrays",
    "numpy.polydiv": "the shape of the remainder depends on values",
    "numpy.repeat": "the shape of the result depends on values",
    "numpy.roots": "the shape of the result depends on values",
    "numpy.select": "takes sequences, here the rows of arrays",
    "numpy.setdiff1d": "the shape of the result depends on values",
    "numpy.union1d": "the shape of the result depends on values",
    "numpy.vstack": "takes a sequence, here the rows of an array",
    "numpy.linalg.eig": "LAPACK computes it on the host",
    "numpy.linalg.pinv": "a call of a function with a derivative of its own",
    "scipy.linalg.block_diag": "takes any number of arrays",
    "scipy.linalg.companion": "checks a value",
    "scipy.linalg.fiedler_companion": "checks a value",
    "scipy.linalg.hankel": "made of two arrays that are joined first",
    "scipy.linalg.qr_multiply": "a product after a factorization",
    "scipy.linalg.toeplitz": "made of two arrays that are joined first",
}


def operations_of(f: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that counts the operations that the second call of f evaluates one by one."""
    count = 0
    process = EvalTrace.process

    def counting(self: Any, *args: Any) -> Any:
        nonlocal count
        count += 1
        return process(self, *args)

    def operations(*args: Any) -> int:
        nonlocal count
        f(*args)
        with monkeypatch.context() as patch:
            patch.setattr(EvalTrace, "process", counting)
            count = 0
            f(*args)
        return count

    return operations


@pytest.mark.parametrize("kind", ["floats", pytest.param("integers", marks=pytest.mark.slow)])
@pytest.mark.parametrize("module", MODULES)
def test_functions_of_arrays_are_one_program_and_perhaps_a_conversion(module, kind, monkeypatch):
    x = pnp.asarray(np.random.RandomState(0).rand(3, 3).astype(np.float32))
    v, i = x[0], pnp.arange(9).reshape(3, 3)
    room = px
    for part in module.split("."):
        room = getattr(room, part)
    reached, several = 0, {}
    for name in sorted(set(room.__all__)):
        f = getattr(room, name)
        if isinstance(f, type) or not callable(f) or f"{module}.{name}" in SEVERAL or name in ("save", "savez"):
            continue
        for args in [(x,), (x, x), (x, 1)] if kind == "floats" else [(i,), (i, i), (v, 3)]:
            try:
                count = operations_of(f, monkeypatch)(*args)
            except Exception:
                continue
            reached += 1
            if count > 2:
                several[name, tuple(map(str, map(px.typeof, args)))] = count
    assert reached > 2
    assert not several


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: pnp.std(x, axis=5), ValueError, "std: axis"),
        (lambda x: pnp.polyval([1, 2], x), TypeError, "polyval"),
        (lambda x: pnp.cross(x, x[:, :1]), ValueError, "cross"),
        (lambda x: pnp.median("no"), TypeError, "median"),
        (lambda x: pnp.take_along_axis(x, x), TypeError, "take_along_axis"),
    ],
)
def test_errors_are_those_of_the_operations(call, error, says):
    with pytest.raises(error, match=says) as caught:
        call(pnp.ones((2, 3)))
    assert "Tracer" not in str(caught.value)


def test_arguments_that_are_no_constants_of_a_program_are_taken() -> None:
    x = pnp.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(pnp.std(x, axis=np.int64(1)), np.std(np.arange(6.0).reshape(2, 3), axis=1), rtol=1e-6)
    np.testing.assert_allclose(pnp.sum(x, where=x > 2), 12)
    np.testing.assert_allclose(pnp.pad(x, [(1, 0), (0, 0)])[0], np.zeros(3))


def test_lists_are_constants_of_a_program_too(monkeypatch):
    x = pnp.arange(6.0).reshape(2, 3)
    assert operations_of(pnp.pad, monkeypatch)(x, [(1, 0), [0, 2]]) == 0
    assert operations_of(pnp.std, monkeypatch)(x, [0, 1]) == 0
    assert operations_of(lambda x: pnp.std(x, axis=[0, 1]), monkeypatch)(x) == 0
    assert pnp.pad(x, [(1, 0), [0, 2]]).shape == (3, 5)


def test_a_function_is_read_in_the_settings_of_its_call() -> None:
    x = pnp.arange(3)
    assert pnp.mean(x).dtype == np.float32
    with px.enable_x64(True):
        assert pnp.mean(pnp.arange(3)).dtype == np.float64
    assert pnp.mean(x).dtype == np.float32
