"""What a plugin that fails has written to shared tables is taken back, and what others have written stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from distributions import Site

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]

WRITES = """
from primax.core import avals, config, effects, operand, rules
from primax.core.option import switch
from primax.core.primitive import Primitive
from primax.core.source_info import register_exclusion
from primax.core.tree import register_pytree_node
from primax.extend.deprecation import deprecated
from primax.extend.random import define_prng_impl, register_prng_impl
from primax.interpreters.runtime.devices import backends

class Mine(effects.Effect):
    pass

def write(name):
    switch(f"of_{name}", "An option.")
    config.config.update("enable_checks", True)
    effects.register_effect(Mine)
    avals.register_aval(Mine, lambda x: x)
    operand.install_operators({"ptp": write})
    rules.new_rule_table(f"kind_of_{name}", "(x) -> y")
    rules.jvp_rules[shared.op_p] = write
    backends.register_platform(name, write)
    register_exclusion(name)
    deprecated(f"{name}.f", "primax.jit", since="0.1", removed_in="0.2")
    impl = dict.fromkeys(("seed", "split", "random_bits", "fold_in"), write)
    register_prng_impl(define_prng_impl(key_shape=(2,), name=name, tag=name, **impl))
"""
STATE = """
import gc, shared
from primax.core import avals, config, effects, operand, option, rules, source_info
from primax.extend import deprecation, random
from primax.interpreters.runtime.devices import backends

def state():
    return {
        "options": [*option.options],
        "traced": [each.short_name for each in option.options_of_traces],
        "value": config.enable_checks.value,
        "effects": [*effects.effect_kinds],
        "avals": [*avals.aval_handlers],
        "operators": [*operand._implementations],
        "kinds": [*rules.rule_tables],
        "rules": [table.functions.get(shared.op_p) for table in rules.rule_tables.values()],
        "platforms": [*backends.platforms],
        "excluded": sorted(source_info._excluded),
        "deprecated": [*deprecation.deprecations],
        "generators": ([*random._named.entries], sorted(random._loose)),
    }

before = state()
"""
FAILURES = {
    "import": "write('half')\n1 / 0\n",
    "submodule": "from half import more\n1 / 0\n",
    "attribute": "write('half')\n",
    "hook": "@hookimpl\ndef primax_register(registry):\n    write('half')\n    1 / 0\n",
    "both": "write('half')\n@hookimpl\ndef primax_register(registry):\n    1 / 0\n",
    "in hook": "@hookimpl\ndef primax_register(registry):\n    from half import more\n    1 / 0\n",
}


def _half(site: Site, source: str, attribute: str = "") -> None:
    site.write("shared", "from primax.core.primitive import Primitive\nop_p = Primitive('op')\n")
    site.install("half", entry_points=f"[primax]\nhalf = half{attribute}\n")
    (site.folder / "half").mkdir()
    start = f"import shared\nfrom primax.extend.host.hookspec import hookimpl\n{WRITES}"
    (site.folder / "half" / "__init__.py").write_text(start + source)
    (site.folder / "half" / "more.py").write_text("from half import write\nwrite('more')\n")


def test_everything_that_a_plugin_wrote_before_it_failed_is_taken_back(tmp_path: Path) -> None:
    for name, source in FAILURES.items():
        site = Site(tmp_path / name)
        site.folder.mkdir()
        _half(site, source, ":missing" if name == "attribute" else "")
    program = """
    for name in NAMES:
        sys.path.insert(0, f"FOLDER/{name}")
        host = PluginHost()
        host.install()
        warnings.simplefilter("ignore")
        host.activate()
        after = state()
        print(name, host.record("half").state, {key: after[key] for key in after if after[key] != before[key]})
        del sys.path[0]
        for module in ("half", "half.more"):
            sys.modules.pop(module, None)
    """
    program = program.replace("NAMES", str(list(FAILURES))).replace("FOLDER", str(tmp_path))
    site = Site(tmp_path / "import")
    assert site.run(STATE, program).lines == [f"{name} failed {{}}" for name in FAILURES]


def test_what_a_module_of_another_package_wrote_stays_and_another_import_writes_again(tmp_path: Path) -> None:
    site = Site(tmp_path)
    _half(site, "import library\nfrom half import more\nif not __import__('os').environ.pop('AGAIN', ''):\n    1 / 0\n")
    site.write("library", "from primax.core.option import switch\nswitch('of_library', 'An option.')\n")
    run = site.run(
        STATE,
        """
        import os
        warnings.simplefilter("ignore")
        host.activate()
        print(host.record("half").state, "of_library" in option.options, "of_more" in option.options)
        os.environ["AGAIN"] = "1"
        import half
        print("of_more" in option.options, config.enable_checks.value)
        """,
    )
    assert run.lines == ["failed True False", "True True"]
