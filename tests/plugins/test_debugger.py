"""`debug.breakpoint`: what a user sees of a program that has stopped."""

from __future__ import annotations

import io

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax


def session(f, *args, commands=("c",), around=px.jit):
    """What is printed while a function runs that stops, and these commands are given."""
    out = io.StringIO()
    source = io.StringIO("".join(f"{line}\n" for line in commands))
    around(lambda *xs: f(*xs, stdin=source, stdout=out))(*args)
    px.effects_barrier()
    return out.getvalue()


def inner(y, **files):
    doubled = {"twice": y * 2, "name": "a"}
    px.debug.breakpoint(num_frames=1, **files)
    return doubled["twice"]


def outer(x, **files):
    label = "label"
    return inner(x + 1, **files), label[:0] or x


@pytest.mark.parametrize("around", [px.jit, lambda f: f], ids=["jit", "eager"])
def test_variables_have_the_values_of_the_run(around):
    printed = session(outer, np.float32(2), commands=["p doubled", "p y + 1", "p np.ones(1)", "c"], around=around)
    answers = printed.split("(jdb) ")
    assert answers[0] == "Entering jdb:\n"
    assert "'name': 'a'" in answers[1]
    assert "6." in answers[1]
    assert "4." in answers[2]
    assert answers[3] == "array([1.])\n"


def test_callers_are_gone_to_and_back():
    printed = session(outer, np.float32(2), commands=["l", "u", "p label", "u", "d", "p y", "d", "bt", "c"])
    here, up, label, top, down, y, bottom, where = printed.split("(jdb) ")[1:-1]
    assert "->      px.debug.breakpoint(num_frames=1, **files)\n" in here
    assert "return inner(x + 1, **files)" in up
    assert label == "'label'\n"
    assert top == bottom == "*** there is no further frame\n"
    assert down == here
    assert "3." in y
    assert where.index("in outer") < where.index("in inner")


def test_mistakes_are_told_and_asked_again():
    printed = session(outer, 1.0, commands=["foo", "p unknown", "p 1 / 0", "", "pp y", "help", "help p", "c"])
    assert "*** there is no command 'foo'" in printed
    assert "*** NameError: name 'unknown' is not defined" in printed
    assert "*** ZeroDivisionError: division by zero" in printed
    assert "p EXPRESSION: print its value." in printed


@pytest.mark.parametrize("command", ["q", None])
def test_the_user_may_end_the_program(command):
    with pytest.raises(Exception, match="the user has ended the program"):
        session(outer, 1.0, commands=[command] if command else [])


def test_a_breakpoint_may_stand_in_branches_loops_and_mapped_functions():
    def f(x, **files):
        def stop(x):
            px.debug.breakpoint(**files)
            return x

        return lax.cond(x > 1, stop, lambda x: x, x)

    commands = ["p x", "c"]
    assert session(f, 2.0, commands=commands).count("Entering") == 1
    assert session(f, 0.0, commands=commands) == ""
    mapped = session(
        lambda x, **files: px.vmap(lambda x: f(x, **files))(x), np.float32([2, 0, 3]), commands=commands * 2
    )
    assert mapped.count("Entering") == 2


def test_a_token_is_returned():
    token = {"a": pnp.ones(2)}
    out = io.StringIO()
    assert px.debug.breakpoint(token=token, stdin=io.StringIO("c\n"), stdout=out) is token
    assert out.getvalue() == "Entering jdb:\n(jdb) "


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"debug.breakpoint: backend must be 'cli' or None, got 'web'"):
        px.debug.breakpoint(backend="web")
    with pytest.raises(TypeError, match="keywords must be stdin or stdout, got file"):
        px.debug.breakpoint(file=1)
    with pytest.raises(ValueError, match="num_frames"):
        px.debug.breakpoint(num_frames=-1)


def test_variables_that_are_no_pytrees_are_shown_as_they_are():
    def f(x, **files):
        holds_itself = []
        holds_itself.append(holds_itself)
        mixed = {1: 0, "a": x}
        running = (i for i in range(2))
        px.debug.breakpoint(num_frames=0, **files)
        return x, mixed, running

    out = session(
        lambda x, **files: f(x, **files)[0], 1.0, commands=["p holds_itself", "p mixed", "p next(running)", "c"]
    )
    assert "[[...]]" in out
    assert "{1: 0, 'a': " in out
    assert "(jdb) 0\n" in out
