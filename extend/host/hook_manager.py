"""The hooks of plugins: pluggy finds them, and plugins with wrong ones are refused."""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pluggy

from primax.core.arguments import nearest
from primax.extend.host import hookspec
from primax.extend.host.registry import RefusedError

__all__ = ["HookManager"]

_MARK = "primax_impl"  # the attribute of functions that `hookimpl` has marked


class HookManager(pluggy.PluginManager):
    """pluggy's manager, except that in modules it examines only marked functions, not every name."""

    def __init__(self) -> None:
        super().__init__("primax")
        self.add_hookspecs(hookspec)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if isinstance(plugin, ModuleType):
            attribute = vars(plugin).get(name)
            if not isinstance(attribute, FunctionType | MethodType) or not hasattr(attribute, _MARK):
                return None
        return super().parse_hookimpl_opts(plugin, name)

    def call_register(self, name: str, plugin: Any, registry: Any) -> None:
        """Find the hooks of a plugin, and call its `primax_register`.

        Raises:
          RefusedError: the plugin has no hook, or one that is unknown, or whose arguments are wrong.
        """
        self._enlist(name, plugin)
        others = [other for _, other in self.list_name_plugin() if other is not plugin]
        self.subset_hook_caller("primax_register", others)(registry=registry)

    def withdraw(self, name: str, plugin: Any) -> None:
        """Forget the hooks of a plugin, if this is the plugin of that name."""
        if self.get_plugin(name) is plugin:
            self.unregister(name=name)

    def _enlist(self, name: str, plugin: Any) -> None:
        for other, enlisted in self.list_name_plugin():
            if enlisted is plugin:
                raise RefusedError(f"the same object is already plugin {other!r}")
        try:
            self.register(plugin, name)
            self.check_pending()
        except pluggy.PluginValidationError as error:
            hooks = vars(self.hook)
            known = [hook for hook, caller in hooks.items() if caller.has_spec()]
            for hook, caller in hooks.items():
                if not caller.has_spec() and any(impl.plugin is plugin for impl in caller.get_hookimpls()):
                    raise RefusedError(
                        f"{hook!r} is not a hook of primax{nearest(hook, known)} (there is {', '.join(known)})"
                    ) from error
            raise RefusedError(" ".join(str(error).split())) from error
        for caller in self.get_hookcallers(plugin) or ():
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    _require_callable_hook(caller, implementation)
        if not self.get_hookcallers(plugin):
            unmarked = callable(getattr(plugin, "primax_register", None))
            raise RefusedError(
                "its primax_register is not marked with @hookimpl"
                if unmarked
                else "it has no function that is marked with @hookimpl"
            )


def _require_callable_hook(caller: Any, implementation: Any) -> None:
    """Check that a hook is a plain function that takes all the arguments of its specification.

    Raises:
      RefusedError: the hook is not such a function.
    """
    missing = [argument for argument in caller.spec.argnames if argument not in implementation.argnames]
    if missing:
        raise RefusedError(f"its {caller.name} must take {', '.join(missing)}, without a default")
    function = implementation.function
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        kind = "a generator" if inspect.isgeneratorfunction(function) else "a coroutine"
        raise RefusedError(f"its {caller.name} must be a plain function, got {kind}, whose code a call does not run")
