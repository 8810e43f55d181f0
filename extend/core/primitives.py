"""The primitives of all active plugins, by name: `add_p` is the primitive `add`.

The module is a mapping too: `primitives["add"]`, `len(primitives)`, `sorted(primitives)`.

>>> from primax.extend.core import primitives
>>> from primax.extend.core.primitives import add_p
>>> primitives["add"] is add_p, add_p in primitives.values(), primitives.get("nothing")
(True, True, None)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from primax.core.arguments import nearest
from primax.core.errors import PluginError
from primax.core.primitive import Primitive
from primax.extend.host.plugin_host import host
from primax.extend.host.registry import find_primitive
from primax.extend.lazy_names import supplied

__all__: list[str] = []


# The names of primitives, by the names of JAX's variables for them.
_ALIASES = {
    "add_jaxvals": "add_any",
    "empty2": "empty_ref",
    "ref": "new_ref",
    "remat": "checkpoint",
    "call": "core_call",
    "closed_call": "core_closed_call",
    "scatter_add": "scatter-add",
    "scatter_max": "scatter-max",
    "scatter_min": "scatter-min",
    "scatter_mul": "scatter-mul",
    "scatter_sub": "scatter-sub",
}


class _View(ModuleType):
    """This module, as a read-only mapping that follows the plugin host."""

    get = Mapping.get
    items = Mapping.items
    keys = Mapping.keys
    values = Mapping.values

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_p"):
            short = name.removesuffix("_p")
            try:
                primitive = host.primitive(_ALIASES.get(short, short))
            except PluginError as error:
                raise AttributeError(f"{error}, as in primitives['plugin::{short}']") from None
            if primitive is not None:
                return primitive
            hint = nearest(name, [f"{known}_p" for known in host.primitives])
            return supplied(self.__name__, name, f"no active plugin has a primitive {short!r}{hint}")
        return supplied(self.__name__, name)

    def __dir__(self) -> list[str]:
        host.activate()
        return sorted(f"{name}_p" for name in host.primitives if name.isidentifier())

    def __getitem__(self, name: str) -> Primitive:
        try:
            primitive = host.primitive(name)
        except PluginError as error:
            raise KeyError(str(error)) from None
        if primitive is None:
            raise KeyError(f"no active plugin has a primitive {name!r}{nearest(name, host.primitives)}")
        return primitive

    def __iter__(self) -> Iterator[str]:
        host.activate()
        return iter(sorted(host.primitives))

    def __len__(self) -> int:
        host.activate()
        return len(host.primitives)

    def __contains__(self, name: object) -> bool:
        host.activate()
        return name in host.primitives or (isinstance(name, str) and "::" in name and _found(name))


def _found(name: str) -> bool:
    return find_primitive(host.primitives, name) is not None


if TYPE_CHECKING:

    def __getattr__(name: str) -> Primitive: ...


Mapping.register(_View)
sys.modules[__name__].__class__ = _View
