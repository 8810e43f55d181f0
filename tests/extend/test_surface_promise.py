"""The promise: what goes is announced with what replaces it, and what is experimental says so once."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types
import warnings

import pytest
from surface import public_modules

import primax
from primax.core.rules import RuleTable
from primax.extend import core, define_primitive
from primax.extend.deprecation import Deprecation, deprecated, deprecations, renamed
from primax.extend.host.registry import Registry
from primax.extend.interpreters import partial_eval as pe


@pytest.fixture
def seeded():
    before = dict(deprecations)
    yield lambda name, new: deprecated(name, new, since="1.1", removed_in="1.3")
    deprecations.clear()
    deprecations.update(before)


def test_a_name_of_a_module_that_will_go_warns_and_is_its_replacement(seeded):
    module = types.ModuleType("a_module")
    module.__getattr__ = renamed("a_module", seeded("a_module.old", "primax.extend.core.get_aval"))
    with pytest.warns(DeprecationWarning, match="a_module.old") as caught:
        assert module.old is core.get_aval
    (warning,) = caught
    assert str(warning.message) == (
        "a_module.old is deprecated since 1.1 and will be removed in 1.3; use primax.extend.core.get_aval"
    )
    assert warning.filename == __file__
    with pytest.raises(AttributeError, match="module 'a_module' has no attribute 'older'"):
        _ = module.older


def test_a_function_and_an_argument_that_will_go_warn_where_they_are_used(seeded):
    @seeded("a_module.double", "primax.numpy.multiply").function
    def double(x):
        return 2 * x

    axis = seeded("a_module.total(axes)", "primax.numpy.sum(axis)")

    def total(x, axis=None, axes=None):
        if axes is not None:
            gone.warn()
        return axis if axes is None else axes

    gone = axis
    with pytest.warns(
        DeprecationWarning, match=r"a_module\.double is deprecated .* use primax\.numpy\.multiply"
    ) as caught:
        assert double(3) == 6
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"a_module\.total\(axes\) .* use primax\.numpy\.sum\(axis\)"):
        assert total(0, axes=1) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert total(0, axis=1) == 1
    assert axis.resolve() is primax.numpy.sum


@pytest.mark.parametrize(
    "nowhere, said",
    [
        ("no_such_package.name", "there is no module in 'no_such_package.name'"),
        ("primax.extend.core.no_such_name", "has no 'no_such_name'"),
        ("primax.extend.core.get_aval(no_such_argument)", "has no argument 'no_such_argument'"),
    ],
)
def test_a_replacement_that_is_not_there_is_noticed(nowhere, said):
    with pytest.raises(LookupError, match=said):
        Deprecation("old", nowhere, "1.1", "1.2").resolve()


def test_every_replacement_that_a_warning_names_is_there():
    for module in public_modules():
        importlib.import_module(module)
    for each in deprecations.values():
        each.resolve()


@pytest.mark.parametrize("since, removed_in", [("1.1", "1.1"), ("1.1.0", "1.1.5"), ("2.0", "1.9")])
def test_nothing_goes_without_a_minor_release_of_warning(since, removed_in):
    with pytest.raises(ValueError, match="removed_in must be a later minor release"):
        deprecated("a_module.name", "primax.grad", since=since, removed_in=removed_in)
    assert "a_module.name" not in deprecations


FRESH = """
import warnings
warnings.simplefilter("error")
import primax as px
px.grad(lambda x: px.jit(px.numpy.sin)(x))(1.0)
from primax.core import rules
assert rules.partial_eval_rules.functions
from primax.extend import core
from primax.extend.interpreters import partial_eval as pe
p, q = core.Primitive("p"), core.Primitive("q")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    pe.partial_eval_rules[p] = lambda trace, args, params: []
    pe.partial_eval_rules[q] = lambda trace, args, params: []
    pe.partial_eval_jaxpr_rules.register(q, lambda unknown_in, eqn: None, experimental=True)
    pe.dce_rules[p] = lambda used, eqn: (used, eqn)
(warning,) = caught
assert warning.category is px.errors.ExperimentalWarning, warning
assert "partial_eval rules are experimental" in str(warning.message)
assert warning.filename == "<string>", warning
pe.partial_eval_jaxpr_rules[p] = lambda unknown_in, eqn: None  # a warning, and so an error with these filters
"""


def test_what_is_experimental_says_so_once_and_never_to_primax_itself():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr


def test_a_type_of_values_of_ones_own_is_experimental(monkeypatch):
    monkeypatch.setattr("primax.core.experimental.accepted_by", accepted := set())

    class Ghost(core.AbstractValue):
        pass

    functions = dict.fromkeys(("zeros", "add", "broadcast", "moveaxis", "convert", "index", "stack"), len)
    for experimental in (False, True):
        registry = Registry("ghosts", {})
        registry.array_protocol(Ghost, experimental=experimental, **functions)
        registry.roll_back()
        assert accepted == ({("ghosts", "custom aval types")} if experimental else set())


def test_accepted_experimental_rules_are_noted(monkeypatch):
    monkeypatch.setattr("primax.core.experimental.accepted_by", accepted := set())
    rule = lambda trace, args, params: []  # noqa: E731
    p = define_primitive("accepted", impl=abs, partial_eval=rule, experimental=True)
    pe.partial_eval_jaxpr_rules.register(p, lambda unknown_in, eqn: None)  # of a module that is no script: no warning
    assert accepted == {(__name__, "partial_eval rules")}


def test_the_experimental_tables_are_those_of_partial_evaluation():
    tables = [table for table in core.rule_tables.values() if table.experimental]
    assert tables == [pe.partial_eval_rules, pe.partial_eval_jaxpr_rules]
    assert not RuleTable("kind", "()").experimental
