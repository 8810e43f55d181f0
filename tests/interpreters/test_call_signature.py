"""The arguments of a call: positions, static ones, and the signature that selects a program."""

from __future__ import annotations

import numpy as np
import pytest

from primax.core.avals import ShapeDtypeStruct
from primax.interpreters.call_signature import StaticArguments, argument_positions, read_call, shaped_abstractify


def test_static_arguments_are_split_off_and_merged_again() -> None:
    static = StaticArguments((1,), ("mode",))
    dynamic, keywords, record = static.split((1.0, "a", 2.0), {"mode": "b", "scale": 3.0}, "f")
    assert (dynamic, keywords) == ((1.0, 2.0), {"scale": 3.0})
    assert StaticArguments.merge(dynamic, keywords, record) == ((1.0, "a", 2.0), {"scale": 3.0, "mode": "b"})


def test_an_unhashable_static_argument_is_refused_by_position_and_type() -> None:
    with pytest.raises(ValueError, match=r"f: Non-hashable static .*, got \[1\] of type list as argument 0"):
        StaticArguments((0,), ()).split(([1],), {}, "f")


def test_equal_static_arguments_of_different_types_have_different_records() -> None:
    static = StaticArguments((0,), ())
    records = [static.split((value,), {}, "f")[2] for value in (1, 1.0, True, -0.0, 0.0)]
    assert len(set(records)) == len(records)
    assert static.split((1,), {}, "f")[2] == records[0]


def test_told_apart_arguments_are_given_back() -> None:
    static = StaticArguments((0,), ("k",))
    args, kwargs = static.wrapped((0.0, 2.0), {"k": -0.0, "x": 1.0})
    assert args[0] != static.wrapped((-0.0, 2.0), {})[0][0]
    assert static.unwrapped(tuple(args), kwargs) == ((0.0, 2.0), {"k": -0.0, "x": 1.0})


@pytest.mark.parametrize("wrong", [1.5, "x", [0, None]])
def test_positions_are_integers(wrong: object) -> None:
    with pytest.raises(TypeError, match="argnums"):
        argument_positions("grad", wrong)  # type: ignore[arg-type]


def test_equal_signatures_are_those_of_equal_types_and_structures() -> None:
    static = StaticArguments((), ())

    def signature(*args: object, **kwargs: object) -> object:
        return read_call("jit", static, args, kwargs, "f")[0]

    x = np.ones(3, np.float32)
    assert signature(x, {"a": 1.0}) == signature(2 * x, {"a": 2.0})
    assert len({signature(x), signature(x.astype(np.int32)), signature([x]), signature(x=x), signature(x[:2])}) == 5


def test_an_object_with_a_shape_and_a_dtype_stands_for_an_array() -> None:
    assert shaped_abstractify(ShapeDtypeStruct((2,), np.float32)) == shaped_abstractify(np.ones(2, np.float32))
    with pytest.raises(TypeError):
        shaped_abstractify("text")
