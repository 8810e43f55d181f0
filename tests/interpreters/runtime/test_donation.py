"""Donated arrays are marked as deleted, and what has several owners is copied first."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from processes import HANG

import primax as px
import primax.numpy as pnp
from primax.interpreters.runtime.donation import (
    Donation,
    copy_if_shared,
    donating_call,
    donation_lock,
    explain_buffer_error,
    has_shared_buffer,
    is_copy_needed,
    mark_donated,
    shared,
)


def over_mesh(x: Any) -> Any:
    mesh = px.make_mesh((len(px.devices()),), ("i",))
    return px.device_put(x, px.NamedSharding(mesh, px.P("i")))


needs_devices = pytest.mark.skipif(len(px.devices()) < 2, reason="needs several devices")


def test_only_a_shared_array_is_copied() -> None:
    x = pnp.ones(3)
    assert copy_if_shared(x) is x
    assert copy_if_shared(x, constant=True) is not x
    other = shared(x)
    assert other is not x
    assert has_shared_buffer(other)
    assert has_shared_buffer(x)
    copy = copy_if_shared(x)
    assert copy is not x
    assert copy.tolist() == [1, 1, 1]
    assert not has_shared_buffer(copy)
    assert is_copy_needed("f", [x, pnp.ones(2)], ())
    assert not is_copy_needed("f", [copy, 1.0], ())


def test_an_array_is_marked_if_its_buffer_was_taken() -> None:
    x, y = pnp.ones(3), pnp.ones(3)
    taken = pnp.zeros(3)
    taken.delete()
    mark_donated([x, y, 1.0], "f", [taken, y, 1.0])
    assert x.is_deleted()
    assert not y.is_deleted()
    with pytest.raises(px.errors.DeletedArrayError, match=r"was donated to f \(donate_argnums\)"):
        x + 1


def test_a_call_marks_what_it_has_taken_or_computes_with_copies() -> None:
    ways = []

    def dispatched(x: Any) -> str:
        ways.append("dispatched")
        x._b.delete()
        return "result"

    def miss(x: Any) -> tuple[Any, Any, bool]:
        ways.append("missed")
        return "result", None, False

    call = donating_call(dispatched, miss, Donation("f", lambda args, kwargs: (True,), lambda args, kwargs: [*args]))
    x, y = pnp.ones(3), shared(pnp.ones(3))
    assert (call(x), call(y)) == ("result", "result")
    assert ways == ["dispatched", "missed"]
    assert x.is_deleted()
    assert not y.is_deleted()


def test_errors_about_buffers_are_explained_and_others_left() -> None:
    x = pnp.ones(3)
    explain_buffer_error(ValueError("another"), "f", [x])
    with pytest.raises(ValueError, match=r"f: an array that is donated .* must not be another argument"):
        explain_buffer_error(ValueError("INVALID_ARGUMENT: donated in the same call to Execute()"), "f", [x])
    x.delete()
    with pytest.raises(px.errors.DeletedArrayError):
        explain_buffer_error(px.errors.JaxRuntimeError("INTERNAL: failed"), "f", [x])


@needs_devices
def test_one_thread_donates_an_array_on_several_devices() -> None:
    x = over_mesh(np.arange(len(px.devices()), dtype=np.float32))
    errors: list[BaseException] = []

    def donate() -> None:
        try:
            with donation_lock([x], "g"):
                pass
        except px.errors.DeletedArrayError as error:
            errors.append(error)

    with donation_lock([x], "f"):
        thread = threading.Thread(target=donate)
        thread.start()
        thread.join(HANG)
    assert len(errors) == 1
    donate()
    assert len(errors) == 1


@needs_devices
def test_an_array_on_several_devices_must_not_be_another_argument() -> None:
    x = over_mesh(np.arange(len(px.devices()), dtype=np.float32))
    with pytest.raises(ValueError, match="f: an array that is donated"):
        is_copy_needed("f", [x], ((x, x), {}))
    assert not is_copy_needed("f", [x], ((x,), {}))
