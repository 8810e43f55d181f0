"""Samples of primitives, from the sources that plugins name."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from primax.extend.core.samples import Sample, samples_of
from primax.extend.host.contributions import sample_sources

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

ONE, TWO = Sample((1.0,)), Sample((2.0,))


def test_samples_come_from_values_functions_and_places_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("kepler_samples")
    vars(module).update(one=ONE, both=[ONE, lambda: (TWO,)], by_primitive={"orbit": [TWO]})
    monkeypatch.setitem(sys.modules, "kepler_samples", module)
    places = [f"kepler_samples:{name}" for name in ("one", "both", "by_primitive")]
    monkeypatch.setitem(sample_sources, "orbit", [TWO, lambda: [ONE, TWO], *places])
    assert samples_of("orbit") == [TWO, ONE, TWO, ONE, ONE, TWO, TWO]
    monkeypatch.setitem(sample_sources, "comet", places[2:])
    assert samples_of("comet") == []
    assert samples_of("a primitive without samples") == []


def test_samples_in_a_module_that_is_not_there_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sample_sources, "orbit", ["kepler_lost:samples"])
    with pytest.raises(ModuleNotFoundError, match="kepler_lost"):
        samples_of("orbit")
