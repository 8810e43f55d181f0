"""The values that the options of compilation, execution and devices allow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import primax as px
from primax.core._jaxlib import guard_lib
from primax.interpreters.runtime import options
from primax.interpreters.runtime.options import BYTES, COUNT, DEVICE, NAME, NAMES, PATH, SECONDS, choice

pytestmark = pytest.mark.any_word_size

MODE = choice(None, "fast", "small")


@pytest.mark.parametrize(
    "kind, value, stored",
    [
        (SECONDS, 2, 2.0),
        (BYTES, -1, -1),
        (COUNT, 3, 3),
        (COUNT, -1, -1),
        (NAME, "cpu", "cpu"),
        (NAMES, "", None),
        (NAMES, "cuda,cpu", "cuda,cpu"),
        (PATH, Path("a", "b"), os.path.join("a", "b")),
        (PATH, b"a", "a"),
        (DEVICE, None, None),
        (DEVICE, "cpu", "cpu"),
        (MODE, None, None),
        (MODE, "fast", "fast"),
    ],
)
def test_a_value_that_is_allowed_has_its_stored_form(kind: Any, value: Any, stored: Any) -> None:
    assert kind.check(value) == stored
    assert type(kind.check(value)) is type(stored)


@pytest.mark.parametrize(
    "kind, value",
    [
        (SECONDS, -0.5),
        (SECONDS, float("nan")),
        (SECONDS, True),
        (SECONDS, "1"),
        (BYTES, -2),
        (BYTES, 1.5),
        (COUNT, 0),
        (NAME, ""),
        (NAMES, 3),
        (PATH, 3),
        (DEVICE, 3),
        (MODE, "loose"),
        (MODE, 3),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(kind: Any, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        kind.check(value)


@pytest.mark.parametrize(
    "kind, text, value",
    [
        (SECONDS, "0.5", 0.5),
        (BYTES, "1024", 1024),
        (COUNT, "8", 8),
        (PATH, "", None),
        (NAMES, "", None),
        (MODE, "", None),
    ],
)
def test_a_text_of_the_environment_has_its_value(kind: Any, text: str, value: Any) -> None:
    assert kind.read(text) == value


def test_a_device_is_the_default_of_a_block() -> None:
    device = px.devices()[2]
    with options.default_device(device):
        assert options.default_device.value is device
        assert px.numpy.zeros(2).devices() == {device}


def test_a_guard_is_known_to_jaxlib_in_its_block_and_the_one_of_all_directions_gives_way() -> None:
    state = guard_lib.thread_local_state()
    directions = ("host_to_device", "device_to_device", "device_to_host")

    def levels() -> list[Any]:
        return [getattr(state, direction) for direction in directions]

    before = levels()
    allow, disallow = guard_lib.TransferGuardLevel.ALLOW, guard_lib.TransferGuardLevel.DISALLOW
    with options.transfer_guard("disallow"):
        assert levels() == [disallow] * 3
        with options.transfer_guard_device_to_device("allow"):
            assert levels() == [disallow, allow, disallow]
        assert levels() == [disallow] * 3
    assert levels() == before


@pytest.mark.parametrize("home, folder", [("/caches", "/caches/primax"), ("caches", None)])
@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="the folder has another name there")
def test_programs_are_kept_in_the_users_folder_for_caches(
    monkeypatch: pytest.MonkeyPatch, home: str, folder: str | None
) -> None:
    monkeypatch.setattr(options, "QUIET_LOADING", options.release)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert options._user_cache() == folder
    monkeypatch.setattr(options, "QUIET_LOADING", (options.release[0] + 1,))
    assert options._user_cache() is None
