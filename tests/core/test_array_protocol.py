"""The operations of interpreters on values, by the type of their avals."""

from __future__ import annotations

from typing import Any

import pytest

from primax.core import undo_log
from primax.core.array_protocol import ArrayProtocol, install_protocol, protocol_of
from primax.core.avals import AbstractValue
from primax.core.errors import PluginError

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


class Money(AbstractValue):
    def __repr__(self) -> str:
        return "money"


def operations(name: str) -> ArrayProtocol:
    return ArrayProtocol(*[lambda *args: name] * 7)  # type: ignore[arg-type]


def test_a_protocol_is_found_by_the_type_of_the_aval_and_gone_when_it_is_undone() -> None:
    undos: list[undo_log.Undo] = []
    with undo_log.recording(undos):
        install_protocol(Money, operations("coins"))
    assert protocol_of(Money()).zeros(Money()) == "coins"
    assert (protocol_of(Money()).loop, protocol_of(Money()).units) == (None, None)
    undo_log.undo_all(undos)
    with pytest.raises(TypeError) as error:
        protocol_of(Money())
    first, place, remedy = str(error.value).splitlines()
    assert first == "no active plugin supplies the array protocol for values of type money."
    assert place.startswith(f"  Needed at {__file__}:")
    assert remedy == (
        "  Give it: registry.array_protocol(Money, zeros=..., add=..., ...) in the primax_register of its plugin."
    )


def test_a_protocol_is_replaced_only_on_request() -> None:
    undos: list[undo_log.Undo] = []
    coins: Any = operations("coins")
    with undo_log.recording(undos):
        install_protocol(Money, coins)
        install_protocol(Money, coins)
        with pytest.raises(PluginError, match=r"^the array protocol of Money is supplied already$"):
            install_protocol(Money, operations("notes"))
        install_protocol(Money, operations("notes"), override=True)
    assert protocol_of(Money()).add(1, 2) == "notes"
    undo_log.undo_all(undos)
