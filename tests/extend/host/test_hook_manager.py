"""The hooks of plugins: which are found and called, and which are refused."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from primax.extend import hookimpl
from primax.extend.host.hook_manager import HookManager
from primax.extend.host.registry import RefusedError

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def plugin(name: str = "primax_register", hook: Any = None, **more: Any) -> ModuleType:
    module = ModuleType("kepler")
    vars(module).update({name: hook, **more} if hook is not None else more)
    return module


@hookimpl
def register(registry: Any) -> None:
    registry.append("called")


def test_the_hook_of_the_plugin_alone_is_called_and_it_is_withdrawn() -> None:
    manager = HookManager()
    first, second = plugin(hook=register), plugin(hook=register)
    calls: list[str] = []
    manager.call_register("first", first, calls)
    manager.call_register("second", second, calls)
    assert calls == ["called", "called"]
    manager.withdraw("first", second)
    assert manager.get_plugin("first") is first
    manager.withdraw("first", first)
    assert [name for name, _ in manager.list_name_plugin()] == ["second"]


def test_other_names_of_a_module_are_not_looked_at() -> None:
    class Strange:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(f"{name} was looked at")

    calls: list[str] = []
    HookManager().call_register("kepler", plugin(hook=register, strange=Strange()), calls)
    assert calls == ["called"]


def test_an_object_may_have_hooks_as_a_module_does() -> None:
    class Plugin:
        primax_register = staticmethod(register)

    calls: list[str] = []
    HookManager().call_register("kepler", Plugin(), calls)
    assert calls == ["called"]


@hookimpl
def without_argument() -> None: ...


@hookimpl
def with_default(registry: Any = None) -> None: ...


@hookimpl
def generates(registry: Any) -> Any:
    yield


@hookimpl
async def waits(registry: Any) -> None: ...


@hookimpl
def of_more(registry: Any, further: Any) -> None: ...


@pytest.mark.parametrize(
    "module, reason",
    [
        (plugin(), "it has no function that is marked with @hookimpl"),
        (plugin(hook=lambda registry: None), "its primax_register is not marked with @hookimpl"),
        (plugin(hook=without_argument), "its primax_register must take registry, without a default"),
        (plugin(hook=with_default), "its primax_register must take registry, without a default"),
        (plugin(hook=generates), "its primax_register must be a plain function, got a generator, whose code"),
        (plugin(hook=waits), "its primax_register must be a plain function, got a coroutine, whose code"),
        (
            plugin("primax_regster", register),
            "'primax_regster' is not a hook of primax; did you mean",
        ),
        (plugin(hook=of_more), "further"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_plugin_with_wrong_hooks_is_refused(module: ModuleType, reason: str) -> None:
    with pytest.raises(RefusedError) as error:
        HookManager().call_register("kepler", module, [])
    assert reason in str(error.value)


def test_one_object_is_not_two_plugins() -> None:
    manager = HookManager()
    module = plugin(hook=register)
    manager.call_register("one", module, [])
    with pytest.raises(RefusedError, match=r"^the same object is already plugin 'one'$"):
        manager.call_register("two", module, [])
