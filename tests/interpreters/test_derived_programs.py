"""Derived programs are traced once each, however many rules ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax as px
from primax import lax
from primax.interpreters.staging import StagingTrace

X, XS = np.float32(1), np.ones(3, np.float32)


def branches(x: Any, which: Any = True) -> Any:
    return lax.cond(which, lambda x: lax.sin(x) * x, lambda x: lax.cos(x) * 2, x)


def branches_by_element(x: Any) -> Any:
    return branches(x, x > 0)


def steps(x: Any) -> Any:
    return lax.scan(lambda carry, y: (lax.sin(carry) * y, carry), x, np.ones(3, np.float32))[0]


def loop(x: Any) -> Any:
    return lax.while_loop(lambda carry: carry[0] < 3, lambda carry: (carry[0] + 1, lax.sin(carry[1])), (0, x))[1]


@px.checkpoint
def recomputed(x: Any) -> Any:
    return lax.sin(lax.sin(x) * x)


@px.custom_jvp
def own_jvp(x: Any) -> Any:
    return lax.sin(x) * x


own_jvp.defjvp(lambda primals, tangents: (own_jvp(*primals), lax.cos(*primals) * tangents[0]))


@px.custom_vjp
def own_vjp(x: Any) -> Any:
    return lax.sin(x) * x


own_vjp.defvjp(lambda x: (own_vjp(x), x), lambda x, ct: (ct * lax.cos(x),))

grad_of_vmap = lambda f: px.grad(lambda xs: px.vmap(f)(xs).sum())  # noqa: E731


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the programs that are staged during a test."""
    texts: list[str] = []
    close = StagingTrace.close

    def recorded(self: StagingTrace, outs: Any) -> Any:
        closed = close(self, outs)
        texts.append(str(closed))
        return closed

    monkeypatch.setattr(StagingTrace, "close", recorded)
    px.clear_caches()
    return texts


@pytest.mark.parametrize(
    ("transform", "fun", "argument", "count"),
    [
        (lambda f: px.vmap(px.grad(f)), branches_by_element, XS, 11),  # 15 if each rule's two steps trace
        (lambda f: px.vmap(px.grad(f)), branches, XS, 12),  # 19
        (lambda f: px.grad(px.grad(f)), branches, X, 17),  # 27
        (grad_of_vmap, branches, XS, 9),  # 15
        (lambda f: px.jacfwd(grad_of_vmap(f)), branches, XS, 19),  # 31
        (lambda f: px.vmap(px.grad(f)), steps, XS, 7),  # 8
        (lambda f: px.jacfwd(grad_of_vmap(f)), steps, XS, 11),  # 13
        (px.vmap, loop, XS, 4),
        (lambda f: lambda x: px.jvp(f, (x,), (x,)), loop, X, 3),
        (lambda f: px.vmap(px.grad(f)), recomputed, XS, 6),
        (lambda f: px.vmap(px.grad(f)), own_jvp, XS, 1),
        (lambda f: px.vmap(px.grad(f)), own_vjp, XS, 1),
    ],
)
def test_no_program_is_traced_twice(
    programs: list[str], transform: Callable[[Any], Any], fun: Callable[[Any], Any], argument: Any, count: int
) -> None:
    px.make_jaxpr(transform(fun))(argument)
    assert len(set(programs)) == len(programs)
    assert len(programs) - 1 == count  # besides that of make_jaxpr
