"""Functions are traced, lowered and compiled, each once for each signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core import tree
from primax.core.avals import get_aval
from primax.interpreters.call_signature import Signature, StaticArguments, read_call
from primax.interpreters.runtime import pipeline
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.executable import Executable, UnnameableSharding
from primax.interpreters.runtime.pipeline import Target, compile, compile_and_run, executable_for, lower, trace
from primax.interpreters.runtime.sharding.device_assignment import choose_devices

X = np.arange(3, dtype=np.float32)


def program_of(fun: Any, *args: Any) -> Any:
    signature, _ = read_call("test", StaticArguments((), ()), args, {}, "fun")
    return trace(fun, signature, "fun", lambda arguments, statics: fun(*arguments[0], **arguments[1]))


def test_a_function_is_traced_once_for_each_signature() -> None:
    px.jit(lambda x: x * 2)(X)  # loads the rules; programs of an earlier epoch are not kept
    traced = []

    def fun(x: Any) -> dict[str, Any]:
        traced.append(x.shape)
        return {"twice": x * 2}

    program = program_of(fun, X)
    assert program_of(fun, X + 1) is program
    assert program.out_tree == px.tree.structure({"twice": 0})
    assert program_of(fun, X[:2]) is not program
    assert traced == [(3,), (2,)]


def test_a_program_over_a_tracer_is_kept_until_its_transformation_ends() -> None:
    programs = []

    def outer(y: Any) -> Any:
        def fun(x: Any) -> Any:
            return x * y

        first, second = program_of(fun, X), program_of(fun, X)
        assert first is second
        programs.append((fun, first))
        return y

    px.make_jaxpr(outer)(1.0)
    ((fun, program),) = programs
    assert not program.alive()
    with pytest.raises(px.errors.UnexpectedTracerError):
        program_of(fun, X)


def test_a_result_that_is_no_array_is_named_by_its_path() -> None:
    with pytest.raises(TypeError, match=r"fun: the result\['name'\] must be an array or a number"):
        program_of(lambda x: {"name": "x"}, X)


def test_signatures_of_other_variants_and_transformations_are_others() -> None:
    leaves, in_tree = tree.flatten((X,))
    keys = {
        Signature(what, in_tree, tuple(map(get_aval, leaves)), (), None, variant, None, ())
        for what in ("one", "other")
        for variant in (1, 2)
    }
    assert len(keys) == 4


def test_lowering_drops_unused_equations_and_arguments() -> None:
    closed = px.make_jaxpr(lambda x, y: (pnp.sin(y), x * 2)[1])(X, X)
    target = Target("f", choose_devices(closed, [X, X]))
    lowered = lower(closed, target)
    assert [eqn.primitive.name for eqn in lowered.program.eqns] == ["mul"]
    assert lowered.module.kept == [True, False]
    assert lower(closed, target._replace(keep_unused=True)).module.kept == [True, True]
    assert "sine" not in module_text(lowered.module)


def test_constants_are_arguments_of_a_module_or_embedded() -> None:
    weights = pnp.asarray(np.arange(1.0, 4.0, dtype=np.float32) ** 2)
    closed = px.make_jaxpr(lambda x: x * weights)(X)
    target = Target("f", "cpu")
    assert "9.000000e+00" not in module_text(lower(closed, target).module)
    assert "9.000000e+00" in module_text(lower(closed, target, embed=True).module)


def test_a_module_for_another_platform_keeps_its_target() -> None:
    closed = px.make_jaxpr(lambda x: x + 1)(X)
    target = Target("f", choose_devices(closed, [X]))
    lowered = lower(closed, target, "cuda")
    assert (lowered.module.platform, lowered.target) == ("cuda", target)


def test_an_executable_is_compiled_once_and_kept_with_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(pipeline, "compile", lambda lowered: compiled.append(lowered.target) or compile(lowered))
    closed = px.make_jaxpr(lambda x: x + 1)(X)
    target = Target("f", choose_devices(closed, [X]))
    (out,) = executable_for(closed, target)([X])
    assert out.tolist() == [1, 2, 3]
    assert executable_for(closed, Target("f", choose_devices(closed, [X]))) is executable_for(closed, target)
    executable_for(closed, target._replace(donated=(True,)))
    assert [each.donated for each in compiled] == [(), (True,)]


def test_results_whose_sharding_has_no_name_are_replicated(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = px.make_jaxpr(lambda x: x + 1)(X)
    mesh = px.make_mesh((1,), ("i",))
    x = px.device_put(X, px.NamedSharding(mesh, px.P("i")))
    site = choose_devices(closed, [x])._replace(mesh=mesh, outs=(None,))
    made = []

    def refuse_once(program: Any, module: Any, site: Any, xla: Any) -> Executable:
        made.append(site.outs)
        if len(made) == 1:
            raise UnnameableSharding([0])
        return Executable(program, module, site, xla)

    monkeypatch.setattr(pipeline, "Executable", refuse_once)
    executable = compile(lower(closed, Target("f", site)))
    assert made == [(None,), (site.replicated,)]
    assert executable.out_shardings == [site.replicated]


def test_a_program_with_a_token_is_not_compiled() -> None:
    closed = px.make_jaxpr(px.lax.create_token)(0.0)
    with pytest.raises(TypeError, match="f: arguments and results of a compiled program must be arrays, got a token"):
        compile(lower(closed, Target("f", choose_devices(closed, [0.0]))))


def test_the_first_call_returns_results_and_a_fast_path() -> None:
    closed = px.make_jaxpr(lambda x: x + 1)(X)
    structure = px.tree.structure([0])
    (out,), fast = compile_and_run(closed, "f", [X], lambda outs: structure)
    assert out.tolist() == [1, 2, 3]
    assert fast.out_pytree_def is structure
    with px.debug_nans(True):
        assert compile_and_run(closed, "f", [X], lambda outs: structure)[1] is None
    site = choose_devices(closed, [X])
    assert compile_and_run(closed, "f", [X], lambda outs: structure, site)[1] is None


def test_a_tracer_that_has_escaped_is_refused_before_anything_is_compiled() -> None:
    leaked = []
    px.make_jaxpr(leaked.append)(X)
    closed = px.make_jaxpr(lambda x: x + 1)(X)
    with pytest.raises(px.errors.UnexpectedTracerError):
        compile_and_run(closed, "f", leaked, lambda outs: None)
