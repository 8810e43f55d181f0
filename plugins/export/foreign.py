"""The plugins that an exported program requires, because it calls their foreign functions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from primax.extend import core
from primax.extend.provisional.ffi import ffi_targets
from primax.extend.provisional.records import load_plugin, plugin_of
from primax.extend.records import plugins
from primax.plugins.export.stablehlo_artifact import artifact_text

Foreign = Mapping[str, str]  # from the names of foreign functions to the plugins or modules that register them

_CALL = re.compile(r'custom_call @(?:"([^"]*)"|([\w.$-]+))')


def foreign_functions(module: bytes) -> dict[str, str]:
    """The foreign functions that an artifact calls, as far as they are registered here."""
    if not ffi_targets:
        return {}
    called = {quoted or plain for quoted, plain in _CALL.findall(artifact_text(module))}
    return {name: plugin_of(ffi_targets[name]) or ffi_targets[name] for name in sorted(called & ffi_targets.keys())}


def primitives_of(closed: core.ClosedJaxpr) -> tuple[str, ...]:
    """The primitives of external plugins in a program, such as `kepler::orbit`."""
    names, waiting, seen = set(), [closed.jaxpr], set()
    while waiting:
        jaxpr = waiting.pop()
        if id(jaxpr) in seen:
            continue
        seen.add(id(jaxpr))
        waiting += core.subjaxprs(jaxpr)
        for eqn in jaxpr.eqns:
            primitive = getattr(eqn.primitive, "form_of", None) or eqn.primitive
            if primitive.plugin is not None and not primitive.module.startswith("primax."):
                names.add(f"{primitive.plugin}::{primitive.name}")
    return tuple(sorted(names))


def require(name: str, foreign: Foreign) -> None:
    """Load the plugins that register the foreign functions of a program.

    Args:
      name: the name of the program, for messages.
      foreign: the foreign functions.

    Raises:
      PluginError: a plugin is not installed, not active, or does not register the function.
    """
    known = {record.name for record in plugins()}
    for function, plugin in foreign.items():
        if function in ffi_targets:
            continue
        what = f"{name}: it calls the foreign function {function!r} of plugin {plugin!r}, which"
        if plugin not in known:
            raise core.PluginError(f"{what} is not installed here")
        try:
            load_plugin(plugin)
        except core.PluginError as error:
            raise core.PluginError(f"{what} is not active: {error}") from None
        if function not in ffi_targets:
            raise core.PluginError(
                f"{what} must register it in its primax_register (register_ffi_target), but does not"
            )
