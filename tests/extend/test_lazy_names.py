"""Modules that import names when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import primax as px


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from primax.extend.lazy_names import lazy_names\n"
        "at_once = 1\n"
        '__getattr__, __dir__ = lazy_names(__name__, ["at_once", "later"], ["part"], {"later": "lazily.part"})\n'
    )
    (folder / "part.py").write_text("later = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "lazily"
    for name in ("lazily", "lazily.part"):
        sys.modules.pop(name, None)


def test_a_module_imports_its_names_when_they_are_first_used(package: str) -> None:
    module = __import__(package)
    assert "lazily.part" not in sys.modules
    assert dir(module) == ["at_once", "later", "part"]
    assert module.later == 2
    assert vars(module)["later"] == 2  # the second use does not ask again
    assert module.part is sys.modules["lazily.part"]


def test_a_name_that_a_module_lacks_raises_an_error(package: str) -> None:
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'other'"):
        getattr(__import__(package), "other")  # noqa: B009


def test_an_absent_name_of_jax_is_explained_where_it_is_used_and_where_it_is_imported() -> None:
    with pytest.raises(
        AttributeError, match=r"'primax' has no attribute 'tree_map': removed in JAX; use `primax\.tree_ut"
    ):
        _ = px.tree_map
    assert not hasattr(px.sharding, "PositionalSharding")  # a module that is no package
    with pytest.raises(ImportError, match=r"'PositionalSharding' from 'primax\.sharding': removed"):
        exec("from primax.sharding import PositionalSharding")
    with pytest.raises(ImportError, match=r"'tree_map' from 'primax': removed in JAX"):
        exec("from primax import jit, tree_map")
    with pytest.raises(ImportError, match=r"cannot import name 'nonsense' from 'primax' \("):
        exec("from primax import nonsense")
