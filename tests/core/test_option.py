"""Options: overrides, values from the environment, and contexts of users."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref

import pytest
from processes import HANG

import primax as px
from primax.extend.options import (
    disable_jit,
    enable_x64,
    log_compiles,
    numpy_dtype_promotion,
    strict_plugins,
)

FLAGS = [enable_x64, disable_jit, strict_plugins, log_compiles]


@pytest.mark.parametrize("option", FLAGS, ids=lambda o: o.short_name)
def test_flag_context_manager_overrides_and_restores(option):
    before = option.value
    with option(not before):
        assert option.value is not before
        with option(before):
            assert option.value is before
        assert option.value is not before
    assert option.value is before


@pytest.mark.parametrize("option", FLAGS, ids=lambda o: o.short_name)
def test_flag_called_without_a_value_means_true(option):
    with option():
        assert option.value is True


def test_override_is_restored_when_the_block_raises():
    before = enable_x64.value
    with pytest.raises(KeyError), enable_x64(not before):
        raise KeyError
    assert enable_x64.value is before


def test_one_override_may_be_entered_again():
    before = enable_x64.value
    flipped = enable_x64(not before)
    with flipped:
        with enable_x64(before), flipped:
            assert enable_x64.value is not before
        assert enable_x64.value is not before
    assert enable_x64.value is before
    with flipped:
        assert enable_x64.value is not before
    assert enable_x64.value is before


def test_override_decorates_a_function():
    @enable_x64(True)
    def inner(x, *, y):
        """Doc."""
        return x, y, enable_x64.value

    before = enable_x64.value
    assert inner(1, y=2) == (1, 2, True)
    assert inner.__name__ == "inner"
    assert enable_x64.value is before


def test_override_is_seen_by_its_own_thread_alone():
    before = enable_x64.value
    seen = []
    shared = enable_x64(not before)
    entered, leave = threading.Event(), threading.Event()

    def work():
        seen.append(enable_x64.value)
        with shared:
            entered.set()
            leave.wait(HANG)
            seen.append(enable_x64.value)
        seen.append(enable_x64.value)

    thread = threading.Thread(target=work)
    with shared:
        thread.start()
        assert entered.wait(HANG)
    assert enable_x64.value is before
    leave.set()
    thread.join()
    assert seen == [before, not before, before]


def test_option_without_shorthand_requires_a_value():
    with pytest.raises(TypeError, match="numpy_dtype_promotion: the new value must be given"):
        numpy_dtype_promotion()


def test_option_has_no_truth_value():
    with pytest.raises(TypeError, match=r"read enable_x64\.value"):
        bool(enable_x64)


def test_options_pickle_by_name():
    assert pickle.loads(pickle.dumps(enable_x64)) is enable_x64


def test_contexts_of_users_and_meshes_are_freed_with_the_programs_that_depend_on_them():
    def use():
        context = px.make_user_context(0)
        with context(3):
            assert float(px.jit(lambda x: x + context.value)(1.0)) == 4
        mesh = px.make_mesh((1,), ("alone",))
        with px.set_mesh(mesh):
            assert float(px.jit(lambda x: x * 2)(1.0)) == 2
        return weakref.ref(context), weakref.ref(mesh)

    kept = use()
    px.clear_caches()
    gc.collect()
    assert [each() for each in kept] == [None, None]


def test_a_context_may_be_made_while_another_thread_reads_them():
    failures = []

    def attempt(work):
        try:
            for _ in range(2000):
                work()
        except RuntimeError as error:
            failures.append(error)

    def make():
        with px.make_user_context(0)(1):
            pass

    def use():
        with enable_x64(True):
            pass

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=attempt, args=(work,)) for work in (make, make, use, use)]
        for thread_ in threads:
            thread_.start()
        for thread_ in threads:
            thread_.join()
    finally:
        sys.setswitchinterval(before)
    assert not failures
