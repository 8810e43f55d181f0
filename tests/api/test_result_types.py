"""Functions of the library and of families return what they are annotated with, where type checkers cannot see it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from golden.calls import GROUPS

import primax as px
import primax.numpy as pnp
from primax.extend.core import Array, ShapedArray, Tracer
from primax.extend.provisional.avals import ExtendedArray

pytestmark = pytest.mark.any_release

PRIMAX = Path(px.__file__).parent
# What a value of the host passes through is annotated as if it were an array: operations take it for one.
OF_HOST_VALUES = {"boolean", "broadcast_to_shape", "cast", "convert"}
KINDS: dict[str, Any] = {
    "Array": (Array, ExtendedArray, Tracer),
    "ShapedArray": ShapedArray,
    "bool": bool,
    "int": int,
    "str": str,
    "np.ndarray": np.ndarray,
    "np.dtype[Any]": np.dtype,
    "tuple[Array, Array]": tuple,
    "list[Array]": list,
}


@cache
def _annotations(file: str) -> dict[tuple[int, str], str]:
    """What functions of a file return, by the line that their code begins at, and their name."""
    found = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[line, node.name] = ast.unparse(node.returns)
    return found


@cache
def _expected(code: CodeType) -> str | None:
    path = Path(code.co_filename)
    if not path.is_relative_to(PRIMAX) or path.relative_to(PRIMAX).parts[0] in ("core", "interpreters", "extend"):
        return None
    is_generator = code.co_flags & 0x20
    kind = None if is_generator else _annotations(code.co_filename).get((code.co_firstlineno, code.co_name))
    return kind if kind in KINDS and code.co_name not in OF_HOST_VALUES else None


@contextmanager
def watched() -> Iterator[tuple[set[str], set[str]]]:
    """Sets of the functions that returned something here, and of those that returned something else than they say."""
    seen: set[str] = set()
    wrong: set[str] = set()

    def profile(frame: Any, event: str, value: Any) -> None:
        if event == "return" and value is not None:  # None is what a function that raises returns here
            kind = _expected(frame.f_code)
            if kind is not None:
                name = f"{Path(frame.f_code.co_filename).relative_to(PRIMAX)}: {frame.f_code.co_qualname}"
                seen.add(name)
                if not isinstance(value, KINDS[kind]):
                    wrong.add(f"{name} -> {kind}, got {type(value).__name__}")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield seen, wrong
    finally:
        sys.setprofile(before)


def _golden() -> None:
    for calls in GROUPS.values():
        px.eval_shape(lambda calls=calls: [px.tree.leaves(call(px)) for call in calls().values()])


def _library() -> None:
    x, m = pnp.linspace(0.1, 0.9, 6), pnp.eye(3) + 0.1
    key = px.random.key(0)
    for function in (pnp.sin, pnp.cumsum, pnp.sort, pnp.argsort, pnp.var, pnp.median, pnp.diff, pnp.fft.fft, pnp.flip):
        function(x)
    for function in (pnp.linalg.inv, pnp.linalg.det, pnp.linalg.norm, pnp.trace, px.scipy.linalg.expm, pnp.tril):
        function(m)
    special = px.scipy.special
    for function in (special.gamma, special.erf, special.ndtri, special.i0, special.logit, special.exp1, special.entr):
        function(x)
    for name in ("norm", "expon", "logistic", "cauchy", "uniform"):
        getattr(px.scipy.stats, name).logpdf(x)
    for function in (px.nn.relu, px.nn.gelu, px.nn.softmax, px.nn.log_softmax, px.nn.logsumexp, px.nn.silu):
        function(x)
    for function in (px.random.uniform, px.random.normal, px.random.bits, px.random.gumbel, px.random.exponential):
        function(key, (2,))
    px.random.permutation(key, 5), px.random.randint(key, (2,), 0, 5), px.random.split(key)
    px.grad(lambda x: pnp.where(x > 0.5, x**2, pnp.interp(x, x, x)).sum() * pnp.einsum("i,i", x, x))(x)
    px.vmap(lambda x: pnp.roll(x, 1)[pnp.arange(2)].at[0].set(1.0))(m)


@pytest.mark.parametrize("use", [_golden, _library])
def test_functions_return_what_they_say(use: Callable[[], None]) -> None:
    with watched() as (seen, wrong):
        use()
    assert len(seen) > 100, "few functions are watched"
    assert sorted(wrong) == []


def test_a_function_that_returns_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "Array", str)
    with watched() as (_, wrong):
        pnp.flip(np.arange(3.0))
    assert any(line.endswith(": flip -> Array, got Array") for line in wrong)
