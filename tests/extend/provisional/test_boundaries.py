"""The handler at the end of a function's code, and which functions have it."""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
from types import FunctionType
from typing import Any

import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.source_info import is_internal
from primax.extend.provisional import boundaries


class Leaving(Exception):
    pass


def plain(x: Any) -> Any:
    return 1 / x


def keeps_exceptions(x: Any) -> Any:
    try:
        return 1 / x
    except ZeroDivisionError:
        return "zero"
    finally:
        x = None


def raises_in_handlers(x: Any) -> Any:
    for i in range(3):
        try:
            try:
                1 / x
            except ZeroDivisionError as error:
                raise Leaving(i) from error
        except Leaving:
            if i == 2:
                raise
    return x


def has_cells(x: Any, *more: Any, scale: Any = 2, **named: Any) -> Any:
    def inner(y: Any) -> Any:
        return scale / (x + y)

    return inner(sum(more)) + len(named)


def uses_contexts(x: Any) -> Any:
    with pytest.raises(ZeroDivisionError):
        plain(0)
    return [1 / y for y in (x, 1)]


many_constants: Any = None
exec(  # with more constants than fit into one byte
    "def many_constants(x):\n    if x is None:\n        return [" + ", ".join(f"x or {i}.5" for i in range(300)) + "]\n"
    "    return 1 / x"
)
FUNCTIONS = [plain, keeps_exceptions, raises_in_handlers, has_cells, uses_contexts, many_constants]


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception as error:
        lines = []
        place = error.__traceback__.tb_next
        while place is not None:
            lines.append(place.tb_lineno)
            place = place.tb_next
        return type(error), str(error), repr(error.__cause__), lines


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_with_the_handler_does_what_it_did(function: Any) -> None:
    changed = FunctionType(
        boundaries._with_handler(function.__code__), function.__globals__, function.__name__, None, function.__closure__
    )
    changed.__kwdefaults__ = function.__kwdefaults__
    assert changed.__code__ != function.__code__
    for _ in range(20):  # the interpreter specializes what runs often
        for x in (0, 2, "text"):
            assert outcome(changed, x) == outcome(function, x), x
    assert list(changed.__code__.co_positions())[: len(function.__code__.co_code) // 2] == list(
        function.__code__.co_positions()
    )


def test_tables_of_exceptions_are_read_and_written() -> None:
    tables = [value.__code__.co_exceptiontable for value in vars(inspect).values() if isinstance(value, FunctionType)]
    assert sum(map(bool, tables)) > 10
    for table in tables:
        assert b"".join(boundaries._entry(*entry) for entry in boundaries._entries(table)) == table


def test_generators_and_functions_of_others_stay_unchanged() -> None:
    def generator() -> Any:
        yield 1

    assert boundaries._with_handler(generator.__code__).co_code == generator.__code__.co_code
    before = plain.__code__
    assert boundaries.api_boundary(plain) is plain
    assert plain.__code__ is before


class Anything:
    """An argument that no function expects."""


def left(error: BaseException) -> list[str]:
    """The lines of primax in the traceback of an error."""
    names = []
    place = error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if is_internal(code.co_filename) and "contextlib" not in code.co_filename:
            names.append(code.co_qualname)
        place = place.tb_next
    return names


MODULES = """
    numpy numpy.fft numpy.linalg lax lax.linalg nn nn.initializers random tree tree_util image ops export sharding
    dtypes custom_batching custom_derivatives flatten_util ode ffi dlpack stages scipy.linalg scipy.special scipy.stats
    scipy.optimize scipy.integrate scipy.interpolate scipy.ndimage scipy.signal experimental.checkify experimental.jet
    experimental.sparse example_libraries.optimizers
""".split()


@pytest.mark.any_word_size
@pytest.mark.filterwarnings("ignore")
def test_an_error_of_any_public_function_shows_no_line_of_primax() -> None:
    leaks = {}
    errors = 0
    for module in (px, *(importlib.import_module(f"primax.{name}") for name in MODULES)):
        for name in getattr(module, "__all__", ()):
            function = getattr(module, name)
            if callable(function) and name not in ("clear_caches", "print_environment_info"):
                for count in (1, 2, 3):
                    try:
                        function(*[Anything() for _ in range(count)])
                    except Exception as error:
                        errors += 1
                        if left(error):
                            leaks[f"{module.__name__}.{name}"] = left(error)
    assert errors > 3000
    assert not leaks


def test_what_functions_return_shows_no_line_of_primax() -> None:
    x = pnp.arange(3.0)
    pull = px.vjp(lambda x: x, x)[1]
    attempts = [
        lambda: x + pnp.ones(2),
        lambda: x.at[0].set("a"),
        lambda: x.reshape(2, 2),
        lambda: x.no_such_attribute,
        lambda: x["a"],
        lambda: pull(1.0),
        lambda: px.linearize(lambda x: x, x)[1](1.0),
        lambda: px.jit(lambda x: x)("a"),
        lambda: px.jit(lambda x: x).lower("a"),
        lambda: px.value_and_grad(lambda x: x, has_aux=True)(1.0),
        lambda: px.hessian(lambda x: x)(3),
        lambda: px.checkpoint(lambda x: pnp.zeros(2) + x)(x),
        lambda: px.config.update("no_such_option", 1),
        lambda: pnp.vectorize(lambda x: x, signature="(n)->(m)")(1.0),
        lambda: px.random.key(0) + 1,
        lambda: pnp.no_such_name,
        lambda: lax.no_such_name,
        lambda: px.no_such_name,
        lambda: pnp.float32("a"),
        lambda: lax.sin_p.bind("a"),
    ]
    for attempt in attempts:
        with pytest.raises((TypeError, ValueError, AttributeError)) as error:
            attempt()
        assert not left(error.value), inspect.getsource(attempt)


def test_names_are_there_before_their_first_use() -> None:
    assert "tanh" in dir(pnp)
    assert "tanh" in pnp.__all__
    assert pnp.tanh is pnp.tanh
    names: dict[str, Any] = {}
    exec("from primax.numpy import *", names)
    assert names["tanh"] is pnp.tanh


def test_a_recursion_without_end_is_one_short_error() -> None:
    def forever(x: Any) -> Any:
        return lax.cond(True, forever, forever, x)

    with pytest.raises(RecursionError) as error:
        forever(1.0)
    assert not left(error.value)


def test_a_function_of_primax_may_be_the_first_of_a_thread() -> None:
    seen = []
    before = threading.excepthook
    threading.excepthook = lambda args: seen.append(args.exc_value)
    try:
        thread = threading.Thread(target=pnp.dot, args=(pnp.ones(2), pnp.ones(3)))
        thread.start()
        thread.join()
    finally:
        threading.excepthook = before
    (error,) = seen
    assert not left(error)


def test_the_finder_is_there_once() -> None:
    boundaries.mark_modules()
    assert sys.meta_path.count(boundaries._Finder) == 1
