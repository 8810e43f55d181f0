"""Modules named `jax...` with primax's objects, created at import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import CodeType, ModuleType
from typing import Any, NoReturn

import primax
from primax.porting.absent import AbsentModuleError, AbsentNameError, placeholder, record
from primax.porting.lookup import is_module, resolve
from primax.porting.table import table

__all__ = ["JaxFinder", "JaxModule", "stand_in"]

_RELEASE = table().release


def _version_names(module: str) -> dict[str, Any]:
    """The version names of JAX, for modules that have them."""
    info = tuple(map(int, _RELEASE.split(".")))
    names = {"__version__": _RELEASE, "__version_info__": info}
    if module == "jax":
        return names
    if module == "jax.version":
        return {**names, "_version": _RELEASE, "_minimum_jaxlib_version": _RELEASE}
    return {}


def _exists(name: str) -> bool:
    try:
        resolve(name)
    except LookupError:
        return is_module(name)
    return True


_held_names: Any = vars(ModuleType)["__dict__"].__get__  # the names that are looked up already


class JaxModule(ModuleType):
    """A module of JAX. The table resolves a name at its first use, and all names when `vars` asks for them."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All public names: some packages copy those of `jax.numpy`."""
        for name in self.__all__:
            getattr(self, name)
        return _held_names(self)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [member for member in table().names_of(self.__name__) if _exists(f"{self.__name__}.{member}")]
        path = f"{self.__name__}.{name}"
        if name.startswith("__") and name.endswith("__") and not table().has_stand_in(path):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if is_module(path):
            return importlib.import_module(path)
        try:
            value = self._value(path)
        except LookupError:
            if table().is_inert(path):
                value = placeholder(path)
            elif _is_import(sys._getframe(1).f_code):
                raise ImportError(record(path), name=self.__name__) from None
            else:
                raise AbsentNameError(record(path), name=name, obj=self) from None
        _held_names(self)[name] = value
        return value

    def _value(self, path: str) -> Any:
        if path.rpartition(".")[2].startswith("_") and not table().is_listed(path):
            raise LookupError(path)
        return resolve(path)

    def __dir__(self) -> list[str]:
        return sorted({*_held_names(self), *self.__all__})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} of primax {primax.__version__}>"


def stand_in(name: str) -> JaxModule:
    """The stand-in for a module of JAX.

    Raises:
      ImportError: the module of that name is another one.
    """
    module = importlib.import_module(name)
    if not isinstance(module, JaxModule):
        raise ImportError(f"primax.as_jax: {name} must be the stand-in of primax, got {module!r}", name=name)
    return module


def _is_import(code: CodeType) -> bool:
    """Whether code runs `from module import name`, for which an absent name raises an ImportError with a reason."""
    return code.co_name == "_handle_fromlist" and code.co_filename.startswith("<frozen importlib")


class _Release(Distribution):
    """The metadata of the release of JAX that primax follows."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: jax\nVersion: {_RELEASE}\nSummary: primax, as jax\n"

    def locate_file(self, path: Any) -> NoReturn:
        raise FileNotFoundError(f"{path}: jax is not installed; primax stands in for it")


class JaxFinder(MetaPathFinder, Loader):
    """Finds the modules called `jax...`, and the metadata of `jax`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "jax":
            return None
        if not is_module(fullname) and not table().is_inert_module(fullname):
            raise AbsentModuleError(record(fullname), name=fullname)
        return ModuleSpec(fullname, self, origin=primax.__file__, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return JaxModule(spec.name, f"{spec.name}, as primax stands in for it.")

    def exec_module(self, module: ModuleType) -> None:
        _held_names(module).update(__file__=primax.__file__, **_version_names(module.__name__))
        if module.__name__ == "jax":
            importlib.import_module(f"{module.__name__}.version")  # packages look for it in `sys.modules`

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        name = None if context is None else context.name
        return [_Release()] if name is None or name.lower() == "jax" else []
