"""Which lines of a traceback are hidden, and what the option `traceback_filtering` does with them."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import traceback
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from processes import HANG

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.source_info import is_internal
from primax.extend import core
from primax.extend.interpreters import ad
from primax.extend.options import traceback_filtering
from primax.extend.provisional import tracebacks


def frames(error: BaseException) -> list[Any]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def names(error: BaseException) -> list[str]:
    return [frame.f_code.co_name for frame in frames(error)]


def step(h: Any, x: Any) -> Any:
    return h @ pnp.ones((3, 4)) + x, x


def loss(h: Any, xs: Any) -> Any:
    return pnp.sum(lax.scan(step, h, xs)[0])


def mean_loss(h: Any, batch: Any) -> Any:
    return pnp.mean(px.vmap(loss, in_axes=(None, 0))(h, batch))


def train() -> Any:
    return px.jit(px.value_and_grad(mean_loss))(pnp.ones(3), pnp.ones((2, 2, 3)))


def caught(function: Any, *args: Any, mode: str = "auto") -> BaseException:
    with traceback_filtering(mode):
        try:
            function(*args)
        except Exception as error:
            return error
    raise AssertionError("no error")


def test_only_the_users_lines_remain() -> None:
    error = caught(train)
    assert names(error) == ["caught", "train", "mean_loss", "loss", "step"]
    assert len(traceback.format_exception(error)) == 7


@pytest.mark.parametrize("mode", ["off", "tracebackhide"])
def test_all_lines_remain_with_these_values(mode: str) -> None:
    error = caught(train, mode=mode)
    assert len(frames(error)) > 30
    marked = [bool(frame.f_locals.get("__tracebackhide__")) for frame in frames(error)]
    inside = [is_internal(frame.f_code.co_filename) for frame in frames(error)]
    assert marked == (inside if mode == "tracebackhide" else [False] * len(inside))


def test_ipython_gets_marks_and_no_line_within_the_users_innermost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: object()))
    error = caught(train)
    shown = [frame.f_code.co_name for frame in frames(error) if not frame.f_locals.get("__tracebackhide__")]
    assert shown == ["caught", "train", "mean_loss", "loss", "step"]
    assert len(frames(error)) > 20
    assert names(error)[-1] == "step"


@pytest.mark.slow
def test_ipython_shows_a_short_traceback() -> None:
    pytest.importorskip("IPython")
    program = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance(colors='NoColor')\n"
        "shell.run_cell('import primax as px\\n@px.jit\\ndef f(x):\\n    if x > 0:\\n        return x\\nf(1.0)')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=HANG)
    assert "skipping hidden" in done.stdout
    assert "primax/" not in done.stdout
    assert len(done.stdout.splitlines()) <= 22


def test_lines_of_others_plugins_remain() -> None:
    twice_p = core.Primitive("twice")
    twice_p.def_abstract_eval(lambda x: x)

    def twice_jvp(primals: Any, tangents: Any) -> Any:
        return pnp.reshape(primals[0], (2, 2)), tangents[0]

    ad.primitive_jvps[twice_p] = twice_jvp
    error = caught(px.jvp, twice_p.bind, (1.0,), (1.0,))
    assert names(error) == ["caught", "twice_jvp"]


def test_decorators_and_context_managers_of_python_go_with_lines_of_primax_only() -> None:
    @contextlib.contextmanager
    def of_the_user() -> Any:
        raise ValueError("the user's")
        yield

    def enter() -> None:
        with of_the_user():
            pass

    assert names(caught(px.jit(enter))) == ["caught", "enter", "__enter__", "of_the_user"]
    dispatched = functools.singledispatch(lambda x: pnp.dot(x, x, x, x, x))
    assert names(caught(dispatched, 1.0))[:2] == ["caught", "wrapper"]


def test_exceptions_that_are_linked_or_in_groups_are_shortened_too() -> None:
    def wrong() -> None:
        pnp.dot(pnp.ones(2), pnp.ones(3))

    def linked() -> None:
        try:
            wrong()
        except TypeError as error:
            raise ExceptionGroup("several", [caught(wrong, mode="off")]) from error

    error = caught(px.jit(linked))
    assert isinstance(error, ExceptionGroup)
    assert names(error) == ["caught", "linked"]
    assert names(error.__cause__) == ["linked", "wrong"]  # type: ignore[arg-type]
    assert names(error.exceptions[0]) == ["caught", "wrong"]


def test_what_primax_has_handled_is_no_context() -> None:
    def fails(x: Any) -> Any:
        try:
            return {}[x]
        except KeyError:
            raise ValueError("the user's") from None

    error = caught(px.jit(lambda: fails(0)))
    assert "KeyError" not in "".join(traceback.format_exception(error))

    def handles() -> None:
        try:
            float("no number")
        except ValueError:
            pnp.dot(pnp.ones(2), pnp.ones(3))

    assert "no number" in "".join(traceback.format_exception(caught(handles)))


def test_messages_of_xla_have_no_lines_of_primax() -> None:
    def host(x: Any) -> Any:
        raise ValueError("no")

    error = caught(px.jit(lambda x: px.pure_callback(host, px.ShapeDtypeStruct((), np.float32), x)), 1.0)
    assert isinstance(error, px.XlaError)
    assert type(error).__name__ == px.XlaError.__name__
    assert "ValueError: no" in str(error)
    assert not any(is_internal(line.split('"')[1]) for line in str(error).splitlines() if line.startswith("  File"))


def test_how_to_see_all_lines_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracebacks, "_said", [])
    monkeypatch.setattr(tracebacks, "_under_pytest", lambda: False)
    assert not hasattr(caught(pnp.dot, mode="quiet_remove_frames"), "__notes__")
    assert "PRIMAX_TRACEBACK_FILTERING=off" in caught(pnp.reshape, 1.0, (2, 2)).__notes__[0]
    assert not hasattr(caught(pnp.reshape, 1.0, (2, 2)), "__notes__")


def test_the_option_can_be_read_from_the_environment_under_either_name() -> None:
    assert traceback_filtering.env == "PRIMAX_TRACEBACK_FILTERING"
    with pytest.raises(ValueError, match="'remove_frames'"):
        traceback_filtering("none")
