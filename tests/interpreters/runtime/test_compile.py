"""XLA compiles modules, whose texts can be read."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.extend import core
from primax.extend.interpreters import mlir
from primax.extend.options import compilation_cache_dir, slow_compile_secs
from primax.interpreters.runtime import log
from primax.interpreters.runtime.compile import (
    compile_module,
    hlo_cost_analysis,
    hlo_text,
    module_text,
    optimized_text,
    spans_processes,
)
from primax.interpreters.runtime.pipeline import Target, compile, lower
from primax.interpreters.runtime.sharding.device_assignment import choose_devices

X = np.arange(3, dtype=np.float32)


def lowered_of(fun: Any, *args: Any, name: str = "f") -> Any:
    closed = px.make_jaxpr(fun)(*args)
    return lower(closed, Target(name, choose_devices(closed, args)))


def test_a_module_has_texts_in_both_notations() -> None:
    lowered = lowered_of(lambda x: px.lax.sin(x) * x, X)
    assert "stablehlo.sine" in module_text(lowered.module)
    assert __file__ not in module_text(lowered.module)
    assert __file__ in module_text(lowered.module, debug_info=True)
    assert "HloModule" in hlo_text(lowered.module)
    assert "HloModule" in optimized_text(compile(lowered))
    assert hlo_cost_analysis(lowered.module)["flops"] >= 3


def test_an_error_of_xla_names_the_line_of_the_operation() -> None:
    p = core.Primitive("unknown_target")
    p.def_abstract_eval(lambda x: x)
    target = mlir.ir.StringAttr
    mlir.register_lowering(
        p, lambda ctx, x: mlir.hlo.CustomCallOp([x.type], [x], call_target_name=target.get("no_such_target")).results
    )
    with pytest.raises(px.errors.JaxRuntimeError, match=r"could not compile f for .*no_such_target") as raised:
        compile(lowered_of(lambda x: p.bind(x), X)).__call__([X])
    assert __file__ in str(raised.value)


def test_compilations_are_reported_if_the_option_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[str] = []
    monkeypatch.setattr(log, "warning", lambda text, *values: reports.append(text % values))
    lowered = lowered_of(lambda x: x - 1.25, X, name="reported")
    with px.log_compiles(True):
        compile(lowered)
    assert len(reports) == 1
    assert reports[0].startswith(("compiled reported for", "loaded reported for"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "stderr, seconds, shown", [(Terminal, 0.0, True), (Terminal, 5.0, False), (io.StringIO, 0.0, False)]
)
def test_a_slow_compilation_is_announced_on_a_terminal(
    stderr: Any, seconds: float, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stderr())
    lowered = lowered_of(lambda x: x - 2.75 * seconds, X, name="awaited")
    with slow_compile_secs(seconds), compilation_cache_dir(None):
        compile(lowered)
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert bool(re.search(r"primax: the compilation of awaited for cpu\S* took \d+\.\d s\n", text)) is shown
    assert ("awaited" in text) is shown


def test_functions_of_a_module_are_called_before_it_is_compiled() -> None:
    lowered = lowered_of(lambda x: x + 2, X)
    prepared: list[Any] = []
    lowered.module.before_compile.add(prepared.append)
    site = lowered.target.site
    compile_module(lowered.module, site, "f")
    assert prepared == [site.devices]
    assert not spans_processes(site)
