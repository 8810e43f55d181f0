"""The public names of primax, and where the reference describes each."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import surface

import primax
from primax.core.primitive import Primitive
from primax.porting.lookup import ported_path
from primax.porting.table import public_names

_OTHER_ROOMS = tuple(
    f"primax.{name}" for name in ("core", "interpreters", "extend", "plugins", "porting", "as_jax", "__main__")
)
_FIRST = [
    "primax",
    *(f"primax.{name}" for name in "numpy numpy.fft numpy.linalg lax lax.linalg nn nn.initializers random".split()),
]
_PLAIN = (int, float, str, bool, type(None), tuple, frozenset, dict)
_OWN = ("primax", "__main__")


@dataclass
class Entry:
    """A public object of primax.

    Attributes:
      module: the module where the reference describes it.
      name: its name there.
      value: the object.
      others: its other public names, with their modules.
      page: the page that describes it.
      jax: its names in JAX.
    """

    module: str
    name: str
    value: Any
    others: list[str] = field(default_factory=list)
    page: str = ""
    jax: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def is_own(self) -> bool:
        """Whether primax defines it; NumPy's, jaxlib's and Python's own objects have their own documentation."""
        value = self.value
        if isinstance(value, _PLAIN):
            return True
        home = getattr(value, "__module__", None) or type(value).__module__
        return home.partition(".")[0] in ("primax", "primax_pytest")


def _api_modules() -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(primax.__path__, "primax.")]
    return [name for name in found if not name.startswith(_OTHER_ROOMS) or name == "primax.plugins"]


def _exports(name: str) -> dict[str, Any]:
    module = importlib.import_module(name)
    return {each: getattr(module, each) for each in getattr(module, "__all__", ())}


@cache
def chapters() -> dict[str, list[str]]:
    """The packages whose names are those of their modules, with these modules: the chapters of their reference."""
    inside: dict[str, list[str]] = {}
    for name in _api_modules():
        parent = name.rpartition(".")[0]
        exports, above = _exports(name), _exports(parent)
        if parent != "primax" and exports and all(above.get(each) is value for each, value in exports.items()):
            inside.setdefault(parent, []).append(name)
    return inside


def _is_public(module: str) -> bool:
    """Whether users import a module: it is right below `primax`, its package lists it, or JAX has it."""
    parent, _, name = module.rpartition(".")
    return parent in ("", "primax") or name in _exports(parent) or module.replace("primax", "jax", 1) in public_names()


@cache
def public_modules() -> list[str]:
    """The modules of primax, without chapters, and then the promised and the provisional ones of primax.extend."""
    parts = {name for names in chapters().values() for name in names}
    api = [name for name in ("primax", *_api_modules()) if _exports(name) and name not in parts and _is_public(name)]
    first = {name: i for i, name in enumerate(_FIRST)}
    api.sort(key=lambda name: (first.get(name, len(first)), name.startswith("primax.experimental"), name))
    extend = [name for name in surface.public_modules() if _exports(name)]
    extend.sort(key=lambda name: name.startswith(surface.PROVISIONAL))
    return api + extend


@cache
def entries() -> dict[str, Entry]:
    """By its full name each public name that is not a module; several names of an object have one entry."""
    by_path: dict[str, Entry] = {}
    by_id: dict[int, Entry] = {}
    for module in public_modules():
        for name, value in _exports(module).items():
            if isinstance(value, ModuleType):
                continue
            path = f"{module}.{name}"
            known = None if isinstance(value, _PLAIN) else by_id.get(id(value))
            if known is None:
                entry = Entry(module, name, value)
                by_path[path] = by_id[id(value)] = entry
                continue
            by_path[path] = known
            if module == known.module and name == getattr(value, "__name__", None):  # the main one of two names
                known.others.append(known.path)
                known.name = name
            else:
                known.others.append(path)
    for module, names in public_names().items():
        for name in names:
            entry_of = by_path.get(ported_path(f"{module}.{name}") or "")
            if entry_of is not None:
                entry_of.jax.append(f"{module}.{name}")
    return by_path


# The chapters of modules without modules inside: the beginnings of the modules that define their names.
_TOPICS = {
    "primax": {
        "options": "primax.core.option primax.core.config primax.interpreters.runtime.options",
        "derivatives": "primax.interpreters.grad primax.interpreters.jacobians primax.plugins.custom_derivatives "
        "primax.plugins.remat primax.plugins.calls.passes",
        "devices": "primax.plugins.devices primax.interpreters.runtime.devices primax.plugins.sharding "
        "primax.interpreters.runtime.sharding primax.extend.provisional.mesh_context primax.plugins.resharding "
        "primax.environment",
        "transformations": "primax.interpreters.vmap primax.interpreters.make_jaxpr primax.plugins.calls "
        "primax.interpreters.scopes primax.plugins.callbacks primax.interpreters.runtime.eval "
        "primax.interpreters.runtime.executable primax.extend.drawing",
        "arrays and references": "primax",
    },
    "primax.extend.core": {
        "programs": "primax.core.jaxpr primax.core.text primax.core.check primax.core.dce primax.interpreters.staging",
        "rules and plugins": "primax.core.rules primax.extend.host primax.extend.core.samples",
        "primitives and traces": "primax.core.trace primax.extend.core.from_jax primax.extend.core.names "
        "primax.extend.core.trace_states primax.interpreters.runtime.eval",
        "types and values": "",
    },
    "primax.extend.interpreters.mlir": {
        "types and constants": "primax.extend.interpreters.mlir primax.interpreters.runtime.ir_types",
        "lowering": "primax.interpreters.runtime primax.core.rules",
        "operations": "",
    },
    "primax.experimental.sparse": {
        "classes": "primax.experimental.sparse.arrays primax.experimental.sparse.coordinates",
        "rows and columns": "primax.experimental.sparse.co primax.experimental.sparse.csr",
        "functions": "",
    },
}


def chapter_of(entry: Entry) -> str:
    """The module, the family of primitives or the topic of an object, as a chapter of its module's reference."""
    home = str(getattr(entry.value, "__module__", ""))
    if isinstance(entry.value, Primitive):
        return "primitives"
    if entry.module in _TOPICS:
        topics = _TOPICS[entry.module].items()
        return next((topic for topic, homes in topics if home.startswith(tuple(homes.split()) or "")), "others")
    if entry.module == "primax.lax":
        return home.split(".")[2] if home.startswith("primax.plugins.") else "others"
    for name in chapters().get(entry.module, ()):
        if entry.name in _exports(name):
            return name.rpartition(".")[2]
    return "others"


def is_alias(entry: Entry) -> bool:
    """Whether an object is a class or a type alias that other libraries document."""
    return not entry.is_own


def documented_kind(value: Any) -> str:
    """The word for an object: function, class, primitive or value."""
    if isinstance(value, Primitive):
        return "primitive"
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "value"
