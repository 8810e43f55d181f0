"""What a module says of the devices that run it."""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace

import pytest

from primax.interpreters.runtime.sharding.spmd import Spmd, all_divided, divides_all, spmd_of

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


@pytest.mark.parametrize(
    "size, divides, partitions, divided",
    [(None, True, 1, False), (1, True, 1, False), (8, True, 8, True), (8, False, 8, False)],
)
def test_only_modules_for_several_devices_are_divided(
    size: int | None, divides: bool, partitions: int, divided: bool
) -> None:
    spmd = Spmd(None if size is None else SimpleNamespace(size=size), divides)
    assert (spmd.partitions, spmd.divides, spmd.manual) == (partitions, divided, None)


def test_a_module_has_one_device_unless_it_says_more_and_is_asked_once() -> None:
    module = SimpleNamespace(spmd=None)
    spmd = spmd_of(module)
    assert spmd.partitions == 1
    assert spmd_of(module) is spmd


def test_all_is_divided_in_one_thread_until_the_block_ends() -> None:
    seen = []
    assert not divides_all()
    with contextlib.suppress(KeyError), all_divided():
        other = threading.Thread(target=lambda: seen.append(divides_all()))
        other.start()
        other.join()
        seen.append(divides_all())
        with all_divided(False):
            seen.append(divides_all())
        seen.append(divides_all())
        raise KeyError
    assert seen == [False, True, False, True]
    assert not divides_all()
