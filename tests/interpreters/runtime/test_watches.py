"""Watches: functions that examine programs before and after they run, while an option is on."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.core import undo_log
from primax.extend.provisional.runtime import register_watch


@pytest.fixture
def seen():
    """What a watch of `debug_infs` sees: names, arguments and results."""
    seen, undos = [], []

    def watch(name, closed, args):
        seen.append((name, [float(x) for x in args]))
        return None if name == "cos" else lambda outs: seen.append([round(float(x), 3) for x in outs])

    with undo_log.recording(undos):
        register_watch(px.debug_infs, watch)
    yield seen
    undo_log.undo_all(undos)


def twice(x):
    return x + x


def test_a_watch_sees_every_call_while_its_option_is_on(seen):
    f = px.jit(twice)
    f(np.float32(1.0))
    assert seen == []
    with px.debug_infs(True):
        f(np.float32(1.0))
        f(np.float32(2.0))
        px.lax.cos(np.float32(0.0))
        px.jit(twice).lower(np.float32(3.0)).compile()(np.float32(3.0))
    assert seen == [
        ("jit_twice", [1.0]),
        [2.0],
        ("jit_twice", [2.0]),
        [4.0],
        ("cos", [0.0]),
        ("jit_twice", [3.0]),
        [6.0],
    ]
    f(np.float32(1.0))
    assert len(seen) == 7


def test_the_donated_arguments_of_a_watched_program_stay(seen):
    f = px.jit(twice, donate_argnums=0)
    x = px.numpy.asarray(np.float32(1.0))
    with px.debug_infs(True):
        assert float(f(x)) == 2.0
    assert seen == [("jit_twice", [1.0]), [2.0]]
    assert float(x) == 1.0


def test_a_watch_is_removed_with_its_plugin():
    undos, seen = [], []
    with undo_log.recording(undos):
        register_watch(px.debug_infs, lambda *args: seen.append(args))
    undo_log.undo_all(undos)
    with px.debug_infs(True):
        px.lax.sin(1.0)
    assert seen == []
