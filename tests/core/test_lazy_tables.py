"""Tables whose look-ups load waiting plugins, with a loader of this file in place of the plugin host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from primax.core import rules, undo_log
from primax.core.lazy_tables import LazyEntries, Table, lazy_entries

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


class Loader(rules.NoPlugins):
    """Plugins that wait, by the entry that loads each."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[tuple[str, str], Callable[[], None]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.requested: list[tuple[str, str]] = []
        self.entries = 0

    def request(self, what: str, name: str | None) -> None:
        self.asked.append((what, name))
        self.requested += [key for key in self.waiting if key[0] == what and name in (None, key[1])]

    def load(self, everything: bool = False) -> bool:
        requested, self.requested = self.requested, []
        for key in requested:
            self.waiting.pop(key, lambda: None)()
        self.changes += bool(requested)
        return bool(requested)

    def entered(self, what: str, key: Any) -> None:
        self.entries += 1


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Loader:
    loader = Loader()
    monkeypatch.setattr(rules, "loader", loader)
    return loader


@pytest.fixture
def table(loader: Loader) -> Table:
    return Table("solver", "mylib")


def test_a_look_up_loads_the_plugin_that_has_the_entry_and_no_other(loader: Loader, table: Table) -> None:
    loader.waiting["solver in mylib", "cg"] = lambda: table.update(cg=1)
    loader.waiting["solver in mylib", "lu"] = lambda: table.update(lu=2)
    assert table["cg"] == 1
    assert loader.waiting.keys() == {("solver in mylib", "lu")}
    with pytest.raises(KeyError, match="qr"):
        table["qr"]
    asked = len(loader.asked)
    assert table["cg"] == 1
    assert len(loader.asked) == asked  # what is there is not asked for


def test_a_loop_over_all_names_loads_all_plugins_with_an_entry(loader: Loader, table: Table) -> None:
    loader.waiting["solver in mylib", "cg"] = lambda: table.update(cg=1)
    loader.waiting["solver in mylib", "lu"] = lambda: table.update(lu=2)
    loader.waiting["solver in yours", "qr"] = lambda: table.update(qr=3)
    assert dict(table) == {"cg": 1, "lu": 2}
    assert (len(table), repr(table)) == (2, "<Table of solver in mylib: cg, lu>")


def test_an_entry_that_a_waiting_plugin_replaces_is_hidden_until_it_is_asked_for(loader: Loader, table: Table) -> None:
    table["cg"] = 1
    table["lu"] = 2
    loader.waiting["solver in mylib", "cg"] = lambda: table.update(cg=10)
    lazy_entries["solver in mylib"].hide("cg")
    assert (table.entries, table.lazy.hidden) == ({"lu": 2}, {"cg": 1})
    assert table["cg"] == 10
    assert (table.entries, table.lazy.hidden) == ({"cg": 10, "lu": 2}, {})


def test_a_hidden_entry_is_shown_as_it_was_if_the_plugin_enters_nothing(loader: Loader, table: Table) -> None:
    table["cg"] = 1
    table.lazy.hide("cg")
    assert table.lazy.ask("cg")
    assert not table.lazy.ask("cg")
    assert table["cg"] == 1
    table.lazy.hide("cg")
    table.lazy.show("lu")
    assert "cg" in table.lazy.hidden
    table.lazy.show("cg")
    assert table.entries == {"cg": 1}


def test_what_is_entered_by_hand_or_deleted_is_not_hidden_any_more(loader: Loader, table: Table) -> None:
    table["cg"] = 1
    assert loader.entries == 1
    table.lazy.hide("cg")
    table["cg"] = 2
    assert (table.entries, table.lazy.hidden) == ({"cg": 2}, {})
    table.lazy.hide("cg")
    del table["cg"]
    assert (table.entries, table.lazy.hidden) == ({}, {})
    with pytest.raises(KeyError):
        del table["cg"]


def test_an_entry_is_undone_with_its_plugin_even_if_it_is_hidden_by_then(table: Table) -> None:
    table["cg"] = 1
    undos: list[undo_log.Undo] = []
    with undo_log.recording(undos):
        table["cg"] = 2
        table["lu"] = 3
    table.lazy.hide("cg")
    undo_log.undo_all(undos)
    assert dict(table) == {"cg": 1}


def test_a_stand_in_takes_the_place_of_a_hidden_entry(loader: Loader) -> None:
    entries: dict[Any, Any] = {float: "handler"}
    lazy = LazyEntries("handler of this test", entries, lambda kind: f"asks for {kind.__name__}")
    lazy.hide("builtins.float")
    assert entries == {float: "asks for float"}
    lazy.unhide(float)
    assert entries == {float: "handler"}
    assert loader.asked == [("handler of this test", "builtins.float")]


def test_a_class_is_asked_for_with_its_bases_once_until_something_changes(loader: Loader) -> None:
    class Base:
        pass

    class Kind(Base):
        pass

    lazy = LazyEntries("handler of this test", {})
    names = [f"{__name__}.{Kind.__name__}", f"{__name__}.{Base.__name__}"]
    assert not lazy.ask_for_class(Kind)
    assert [name for _, name in loader.asked] == names
    assert not lazy.ask_for_class(Kind)
    assert len(loader.asked) == 2
    loader.changes += 1
    loader.waiting["handler of this test", names[1]] = lambda: None
    assert lazy.ask_for_class(Kind)


@pytest.mark.parametrize(
    "what, home, message",
    [
        (3, "mylib", "Table: what must be one word, got 3"),
        ("a solver", "mylib", "Table: what must be one word, got 'a solver'"),
        ("solver", "", "Table: home must be the name of a module, __name__, got ''"),
    ],
)
def test_wrong_arguments_of_a_table_are_named(what: Any, home: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        Table(what, home)
