"""The Python side of functions that are compiled for each signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core.cache import Cache
from primax.extend.provisional.runtime import CompiledFunction, trace_call
from primax.interpreters.call_signature import Signature, StaticArguments

NONE = StaticArguments((), ())


class Recorded(CompiledFunction):
    """Records what subclasses are asked for."""

    __slots__ = ("bound", "explained")

    def bind(self, program: Any, leaves: list[Any], donated: tuple[bool, ...]) -> list[Any]:
        self.bound = leaves, donated
        return [leaf * 10 for leaf in leaves]

    def explain_miss(self, signature: Signature, programs: Cache) -> None:
        self.explained = signature, len(programs)


def test_a_call_outside_of_transformations_runs_the_program() -> None:
    function = Recorded(lambda x, n: {"out": x * n}, "test", StaticArguments((1,), ()), NONE)
    out, fast, forgets = function.miss(np.float32(2), 3)
    assert float(out["out"]) == 6
    assert fast is not None
    assert not forgets
    program, leaves = trace_call(function, (np.float32(2), 3), {})
    assert leaves == [2]
    assert trace_call(function, (np.float32(5), 3), {})[0] is program
    assert trace_call(function, (np.float32(2), 4), {})[0] is not program


def test_a_call_inside_of_a_transformation_is_bound() -> None:
    function = Recorded(lambda x: x + 1, "test", NONE, StaticArguments((0,), ()))

    def outer(x: Any) -> Any:
        out, fast, _ = function.miss(x)
        assert fast is None
        return out

    closed = px.make_jaxpr(outer)(1.0)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["mul"]
    assert function.bound[1] == (True,)


def test_disable_jit_calls_the_function_itself() -> None:
    function = Recorded(lambda x: [x], "test", NONE, NONE)
    with px.disable_jit():
        assert function.miss(3) == ([3], None, False)


def test_donated_arguments_are_told_by_position_and_name_without_static_ones() -> None:
    function = Recorded(lambda n, x, y: x, "test", StaticArguments((0,), ()), StaticArguments((1,), ("y",)))
    x, y = pnp.ones(2), pnp.zeros(3)
    assert function.donated((5, (x, x)), {"y": y}) == (True, True, True)
    assert function.donated((5, x, y), {}) == (True, False)
    assert function.donated_leaves((5, (x, x)), {"y": y}) == [x, x, y]
    assert Recorded(abs, "test", NONE, NONE).donation is None


def test_a_donated_constant_of_the_program_is_copied() -> None:
    x = pnp.ones(3)
    function = Recorded(lambda y: x + y, "test", NONE, StaticArguments((0,), ()))
    out, fast, _ = function.miss(x)
    assert out.tolist() == [2, 2, 2]
    assert fast is None
    assert x.is_deleted()  # the argument; the program has the value
    assert function.miss(pnp.zeros(3))[0].tolist() == [1, 1, 1]


def test_functions_without_a_hash_keep_their_programs_themselves() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, x: Any) -> Any:
            return x + 1

    function = Recorded(Unhashable(), "test", NONE, NONE)
    program, _ = trace_call(function, (1.0,), {})
    assert trace_call(function, (2.0,), {})[0] is program
    assert function.programs().held() == 1


def test_a_miss_is_explained_if_the_option_is_on() -> None:
    function = Recorded(lambda x: x + 1, "test", NONE, NONE)
    trace_call(function, (1.0,), {})
    with px.explain_cache_misses(True):
        trace_call(function, (np.ones(2, np.float32),), {})
    signature, count = function.explained
    assert signature.avals[0].shape == (2,)
    assert count == 1


def test_a_device_and_committed_arguments_determine_where_it_runs() -> None:
    device = px.devices()[-1]
    function = Recorded(lambda x: x + 1, "test", NONE, NONE, device=device)
    assert function.miss(np.float32(1))[0].devices() == {device}
    with pytest.raises(TypeError, match="<lambda>: argument"):
        function.miss("text")
