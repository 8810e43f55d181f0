"""Wrong calls of a primitive are refused by the signature of its type rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from primax.core.call_errors import refuse_call

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def of_two(x: Any, y: Any, *, axis: int) -> Any: ...


def with_default(x: Any, y: Any = 0) -> Any: ...


def of_any_count(x: Any, *xs: Any, size: int = 3) -> Any: ...


def of_none() -> Any: ...


@pytest.mark.parametrize(
    "rule, args, params, message",
    [
        (of_two, (1,), {"axis": 0}, "it must be given 2 operands by position, and parameters by name, got 1"),
        (of_two, (1, 2, 3), {"axis": 0}, "it must be given 2 operands by position, and parameters by name, got 3"),
        (of_two, (1, 2), {}, "parameter axis must be given"),
        (of_two, (1, 2), {"axes": 0}, "parameters must be among axis, got axes; did you mean 'axis'?"),
        (with_default, (), {}, "it must be given 1 to 2 operands by position, and parameters by name, got 0"),
        (with_default, (1,), {"z": 1}, "parameters must be among y, got z"),
        (of_any_count, (), {}, "it must be given 1 or more operands by position, and parameters by name, got 0"),
        (of_any_count, (1, 2, 3), {"sizes": 1}, "parameters must be among size, got sizes; did you mean 'size'?"),
        (of_none, (), {"z": 1}, "it takes no parameters, got z"),
    ],
)
def test_what_does_not_fit_the_signature_is_named(
    rule: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError) as error:
        refuse_call("toy", rule, args, params)
    assert str(error.value) == f"toy: {message}"
    assert error.value.__suppress_context__


@pytest.mark.parametrize(
    "rule, args, params",
    [
        (of_two, (1, 2), {"axis": 0}),
        (with_default, (1,), {"y": 2}),
        (of_any_count, (1, 2, 3), {"size": 3}),
        (max, (), {"anything": 1}),
        (3, (), {}),
    ],
)
def test_what_fits_or_has_no_signature_is_not_refused(rule: Any, args: tuple[Any, ...], params: dict[str, Any]) -> None:
    assert refuse_call("toy", rule, args, params) is None
