"""What a script or a notebook does: it defines names that are taken, runs cells again, and gives plugins by hand."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core.errors import PluginError, PluginWarning
from primax.extend import core, define_primitive, derive, hookimpl
from primax.extend.core.primitives import sin_p

DEFINITION = """
op_p = define_primitive(
    "cell_op",
    impl=lambda x: {factor} * x,
    abstract_eval=derive.from_impl,
    jvp=derive.from_impl,
    batch=derive.from_impl,
    lowering=derive.from_impl,
)
"""


_numbers = itertools.count()


@pytest.fixture
def notebook():
    """Runs cells in one namespace."""
    names = {"__name__": f"notebook{next(_numbers)}", "define_primitive": define_primitive, "derive": derive}

    def run(source, **replaced):
        exec(compile(source.format(**replaced), "<cell>", "exec"), names)
        return names

    return run


def test_running_a_cell_again_replaces_the_definition(notebook):
    first = notebook(DEFINITION, factor=2.0)["op_p"]
    uses = {
        "jit": px.jit(first.bind),
        "grad": px.jit(px.grad(first.bind)),
        "vmap": px.jit(px.vmap(first.bind)),
        "evaluation": first.bind,
    }
    xs = {"vmap": np.ones(3, np.float32)}
    assert [np.max(use(xs.get(name, 1.0))) for name, use in uses.items()] == [2, 2, 2, 2]
    second = notebook(DEFINITION, factor=5.0)["op_p"]
    assert second is first
    assert [np.max(use(xs.get(name, 1.0))) for name, use in uses.items()] == [5, 5, 5, 5]


def test_what_the_new_definition_leaves_out_is_gone(notebook):
    p = notebook(DEFINITION, factor=2.0)["op_p"]
    f = px.jit(lambda x: p.bind(x))
    assert f(1.0) == 2
    notebook('op_p = define_primitive("cell_op", multiple_results=True, impl=lambda x: [x, x], parameters={{}})')
    assert p.bind(1.0) == [1.0, 1.0]
    with pytest.raises(core.MissingRuleError, match="no abstract_eval rule for primitive 'cell_op'"):
        f(1.0)


def test_a_definition_that_is_wrong_leaves_the_one_before(notebook):
    p = notebook(DEFINITION, factor=2.0)["op_p"]
    with pytest.raises(TypeError, match="rule kinds must be among"):
        notebook('op_p = define_primitive("cell_op", impl=lambda x: x, jpv=None)')
    with pytest.raises(TypeError, match="parameters must be a mapping"):
        notebook('op_p = define_primitive("cell_op", impl=lambda x: x, parameters=["k"])')
    with pytest.raises(TypeError, match="the jvp rule must be"):
        notebook('op_p = define_primitive("cell_op", impl=lambda x: x, jvp=lambda x: x)')
    assert px.jit(px.grad(p.bind))(1.0) == 2


def test_definitions_in_functions_and_in_other_modules_are_primitives_of_their_own(notebook):
    def make():
        return define_primitive("cell_op", impl=lambda x: x)

    assert len({make(), make(), notebook(DEFINITION, factor=2.0)["op_p"]}) == 3


def test_whoever_takes_a_name_of_a_plugin_is_told():
    with pytest.warns(
        PluginWarning, match="define_primitive: name should be new, got 'sin' of plugin 'trigonometry'"
    ) as told:
        define_primitive("sin", impl=pnp.cos)
    assert told[0].filename == __file__
    assert px.jit(pnp.sin)(0.0) == 0
    assert sin_p is not None


def test_definitions_of_plugins_have_full_names_instead():
    registry = core.Registry("mine", {"sin": sin_p})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = define_primitive("sin", impl=pnp.cos, abstract_eval=derive.from_impl, registry=registry)
    try:
        text = str(px.make_jaxpr(lambda x: (p.bind(x), pnp.sin(x)))(1.0))
        assert "= mine::sin a;" in text
        assert "= sin a" in text
    finally:
        registry.roll_back()


class waves:
    """A plugin by hand."""

    @staticmethod
    @hookimpl
    def primax_register(registry):
        define_primitive("ripple", impl=pnp.sin, abstract_eval=derive.from_impl, registry=registry)


def test_a_plugin_may_be_given_by_hand():
    record = px.plugins.register(waves, name="ripples")
    try:
        assert (record.name, record.source, record.primitives) == ("ripples", "explicit", ["ripple"])
        with pytest.raises(PluginError, match="has that name already"):
            px.plugins.register(waves, name="ripples")
    finally:
        px.plugins.unregister("ripples")
    with pytest.raises(PluginError, match="no plugin 'ripples' is active"):
        px.plugins.unregister("ripples")


def test_what_is_no_plugin_is_refused_whole():
    with pytest.raises(PluginError, match="it has no function that is marked with @hookimpl"):
        px.plugins.register(object(), name="nothing")
