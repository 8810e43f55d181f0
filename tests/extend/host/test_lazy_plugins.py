"""Families that nobody has imported wait, and nothing shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
from distributions import Site
from families import wanted, written
from processes import HANG

pytestmark = pytest.mark.usefixtures("in_32_bits")

START = """
import primax as px
from primax.extend.host.plugin_host import host

def waiting():
    return [record.name for record in host.records() if record.state == "discovered"]

px.jit(lambda x: x + 1.0)(1.0)
"""


def run(program, **environment):
    """The lines that a program prints in a process of its own, where only built-in plugins are."""
    env = {**os.environ, "PRIMAX_PLUGINS": "", **environment}
    ran = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)], capture_output=True, text=True, env=env, timeout=HANG
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout.splitlines()


def test_a_family_is_activated_when_its_primitives_can_be_bound():
    first, then, value, names = run(
        """
        print("linalg" in waiting(), "export" in waiting())

        def f(x):  # imported while a program is being traced
            from primax.plugins.linalg import cholesky
            return cholesky(x)

        out = px.jit(px.vmap(px.grad(lambda x: f(x).sum())))(px.numpy.full((2, 1, 1), 4.0))
        print("linalg" in waiting(), "export" in waiting())
        print(out.tolist())
        from primax.extend.core import primitives
        print("conv_general_dilated" in primitives, waiting())
        """
    )
    assert first == "True True"
    assert then == "False True"
    assert value == "[[[0.25]], [[0.25]]]"
    assert names == "True []"


@pytest.mark.parametrize(
    "call",
    [
        "px.vmap(lambda x: px.lax.axis_index('i') + x, axis_name='i')(np.zeros(2, np.float32))",
        "px.jvp(px.vmap(lambda x: px.lax.axis_index('i') + x, axis_name='i'), (ZERO,), (ZERO,))[0]",
        "px.vmap(px.jit(lambda x: px.lax.axis_index('i') + x), axis_name='i')(ZERO)",
    ],
)
def test_a_mapped_function_may_be_the_first_to_use_a_family(call) -> None:
    program = f"import numpy as np\nZERO = px.numpy.zeros(2)\nprint('collectives' in waiting(), {call}.tolist())"
    assert run(program) == ["True [0.0, 1.0]"]


def test_a_foreign_function_is_called_before_anything_else() -> None:
    lines = run(
        """
        import numpy as np
        from primax.extend import ffi

        print("callbacks" in waiting())
        call = ffi.ffi_call("nobody_registered_this", px.ShapeDtypeStruct((2,), np.float32))
        try:
            call(np.ones(2, np.float32))
        except px.errors.XlaError as error:
            print("nobody_registered_this" in str(error))
        """
    )
    assert lines == ["True", "True"]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("px.vmap(f)(np.ones(1, np.float32))", "[2.]"),
        ("px.jit(f)(np.float32(1))", "2.0"),
        ("px.grad(f)(1.0)", "1.0"),
        ("px.linearize(f, 1.0)[1](1.0)", "1.0"),
    ],
)
def test_a_family_may_be_imported_within_any_transformation(call, wanted):
    lines = run(
        f"""
        import numpy as np

        def f(x):
            from primax.plugins.linalg import cholesky_p
            return cholesky_p.bind(px.lax.reshape(4.0 * x, (1, 1))).reshape(())

        print("linalg" in waiting(), {call})
        """
    )
    assert lines == [f"True {wanted}"]


def test_whoever_asks_for_all_rules_gets_them():
    (line,) = run(
        """
        from primax.extend.core import rule_tables
        names = {primitive.name for primitive in rule_tables["jvp"]}
        print(waiting(), {"cholesky", "conv_general_dilated", "lgamma"} <= names)
        """
    )
    assert line == "[] True"


GUEST = """
import sys
from primax.extend import core, hookimpl
{head}

@hookimpl
def primax_register(registry):
    {body}
"""


DEFINE = "registry.define(p, impl=RULE, override=True)"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("from primax.plugins.linalg import qr_p as p", DEFINE),
        ("from primax.extend.core.primitives import qr_p as p", DEFINE),
        ("", "p = core.primitives['qr']; " + DEFINE),
        ("", "from primax.plugins.linalg import qr_p as p; " + DEFINE),
        ("from primax.plugins.linalg import qr_p", "core.rule_tables['impl'].register(qr_p, RULE, override=True)"),
        ("from primax.plugins.linalg import qr_p as p", "registry.define(p, interpret=RULE)"),
        ("p = core.Primitive('qr')", "registry.define(p, impl=RULE)"),
    ],
)
@pytest.mark.parametrize("given", ["installed", "by hand"])
def test_a_plugin_finds_the_family_that_it_extends_and_the_others_wait(tmp_path, head, body, given):
    rule = "lambda *args, **params: 7.0"
    (tmp_path / "guest_module.py").write_text(GUEST.format(head=head, body=body.replace("RULE", rule)))
    if given == "installed":
        Site(tmp_path).install("guest", entry_points="[primax]\nguest = guest_module\n")
    start = "import guest_module; host.register_module(guest_module, name='guest')" if given == "by hand" else ""
    state, waits, others, name = run(
        f"""
        {start}
        px.jit(lambda x: x * 2.0)(1.0)
        print(host.record("guest").state, host.record("guest").reason)
        print(host.record("linalg").state)
        print("export" in waiting(), "random" in waiting())
        from primax.plugins.linalg import qr_p
        print(qr_p, host.primitives["qr"] is qr_p)
        """,
        PYTHONPATH=str(tmp_path),
        PRIMAX_PLUGINS="guest" if given == "installed" else "",
        PRIMAX_ALLOW_OVERRIDES="guest" if given == "installed" else "",
    )
    assert state.strip() == "active"
    assert waits == "active"
    assert others == "True True"
    assert name == "qr True"


def test_a_plugin_that_goes_through_all_rules_has_all_families(tmp_path):
    (tmp_path / "guest_module.py").write_text(
        GUEST.format(head="", body="print('qr' in map(str, core.rule_tables['jvp']), 'qr' in core.primitives)")
    )
    Site(tmp_path).install("guest", entry_points="[primax]\nguest = guest_module\n")
    asked, found = run("print(waiting())", PYTHONPATH=str(tmp_path), PRIMAX_PLUGINS="guest")
    assert asked == "True True"
    assert found == "[]"


def test_what_the_families_have_is_what_the_file_beside_them_says():
    assert written() == wanted(), "make surface writes plugins/primax.json"


def test_a_blocked_family_says_so():
    (line,) = run(
        """
        try:
            px.lax.lgamma(1.0)
        except Exception as error:
            print("PRIMAX_DISABLE_PLUGINS names it" in str(error))
        """,
        PRIMAX_DISABLE_PLUGINS="special",
    )
    assert line == "True"


FILED = """
from primax.extend import core, define_primitive, hookimpl

@hookimpl
def primax_register(registry):
    BODY
"""


def _filed(folder, body, **flags):
    """An installed plugin, a package with a file, that has one function."""
    Site(folder).install("filed", entry_points="[primax]\nfiled = filed.inner\n")
    (folder / "filed").mkdir()
    (folder / "filed" / "__init__.py").write_text("")
    (folder / "filed" / "inner.py").write_text(FILED.replace("BODY", body))
    said = {**flags, "primitives": {}, "extends": [], "others": ["function f"]}
    (folder / "filed" / "primax.json").write_text(json.dumps({"plugins": {"filed": said}}))
    return {"PYTHONPATH": str(folder), "PRIMAX_PLUGINS": "filed"}


@pytest.mark.parametrize("deferred", [None, True, False])
def test_any_plugin_may_say_that_it_is_to_be_loaded_in_any_case(tmp_path, deferred):
    environment = _filed(tmp_path, "registry.functions(f=abs)", **({} if deferred is None else {"deferred": deferred}))
    (states,) = run("print(host.record('filed').state, px.contrib.filed.f(-2))", **environment)
    assert states == ("active 2" if deferred is False else "discovered 2")


@pytest.mark.parametrize("essential", [True, False])
def test_any_plugin_may_say_that_its_failure_is_an_error(tmp_path, essential):
    environment = _filed(tmp_path, "1 / 0", essential=essential)
    program = """
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            host.activate()
            print("went on", len(caught))
        except px.errors.PluginError as error:
            print("raised", "ZeroDivisionError" in str(error))
    """
    assert run(program, **environment) == ["raised True" if essential else "went on 1"]
    assert run("print('an installed plugin can be disabled')", **environment, PRIMAX_DISABLE_PLUGINS="filed")


@pytest.mark.parametrize("proven", [True, False])
def test_any_plugin_may_say_that_its_rules_are_proven(tmp_path, proven):
    body = "p = core.Primitive('p'); registry.define(p, impl=abs)"
    environment = _filed(tmp_path, body, proven=proven, deferred=False)
    (found,) = run(
        """
        from primax.interpreters.rule_checks import needs_rule_checks
        from primax.plugins.arithmetic import add_p
        print(needs_rule_checks[host.primitives["p"]], needs_rule_checks[add_p])
        """,
        **environment,
    )
    assert found == f"{not proven} False"


def test_a_file_that_says_neither_true_nor_false_is_as_none(tmp_path):
    environment = _filed(tmp_path, "registry.functions(f=abs)", deferred="no")
    assert run("print(host.record('filed').state)", **environment) == ["active"]
