"""Values recorded from jax: primax computes them where jax is not installed too, and they are still those of jax."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primax as px
from golden.calls import GROUPS, results
from golden.values import described, load, restored

pytestmark = pytest.mark.usefixtures("in_32_bits")

CONFTEST = Path(__file__).parents[1] / "conftest.py"

# Sums, logarithms and the like are rounded otherwise by other processors and releases of XLA.
RTOL = {"float32": 2e-5, "complex64": 2e-5, "float16": 2e-3, "bfloat16": 1e-2}


def compare(library: Any, group: str) -> None:
    recorded = load()[group]
    found = results(library, group)
    assert sorted(found) == sorted(recorded), "the calls changed: record them with `make golden`"
    wrong = []
    for name, arrays in recorded.items():
        pairs = zip(map(restored, arrays), (restored(described(x)) for x in found[name]), strict=True)
        for n, (want, got) in enumerate(pairs):
            if want[:3] != got[:3]:
                wrong.append(f"{name}, result {n}: (dtype, is weak, shape) is {got[:3]}, in jax {want[:3]}")
            elif not _close(got[3], want[3], RTOL.get(want[0], 0.0)):
                wrong.append(f"{name}, result {n}: {got[3].tolist()}, in jax {want[3].tolist()}")
    assert not wrong, "\n".join(wrong)


def _close(got: Any, want: Any, rtol: float) -> bool:
    size = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    return bool(np.allclose(got, want, rtol=rtol, atol=rtol * min(size, 1.0), equal_nan=True))


@pytest.mark.parametrize("group", GROUPS)
def test_primax_computes_what_was_recorded_from_jax(group: str) -> None:
    compare(px, group)


@pytest.mark.parametrize("group", GROUPS)
def test_the_record_is_what_jax_computes(group: str, jax: Any) -> None:
    compare(jax, group)


@pytest.mark.parametrize(
    "wrong", [[0.0, 1.0, np.nan], [0.0, 1.001, np.inf], [0.0, -1.0, np.inf], [1e-3, 1.0, np.inf], [0.0, 1.0, -np.inf]]
)
def test_what_is_not_close_is_told(wrong: list[float]) -> None:
    want = np.array([0.0, 1.0, np.inf])
    assert _close(want + np.array([0.0, 1e-6, 0.0]), want, 2e-5)
    assert not _close(np.array(wrong), want, 2e-5)


@pytest.mark.parametrize("missing, said", [("jax.experimental", 1), ("jax", 1), ("scipy", 0)])
def test_a_run_without_jax_says_in_a_line_what_it_left_out(missing: str, said: int, request: Any) -> None:
    (summarize,) = (
        plugin.pytest_terminal_summary
        for plugin in request.config.pluginmanager.get_plugins()
        if getattr(plugin, "__file__", None) == str(CONFTEST)
    )
    lines: list[str] = []
    report = types.SimpleNamespace(longrepr=("f.py", 1, f"Skipped: could not import '{missing}': No module named"))
    summarize(types.SimpleNamespace(stats={"skipped": [report] * 3}, write_line=lines.append))
    assert [line[:33] for line in lines] == ["3 tests, or files of tests, were "] * said
