"""docs/porting.md: every name of JAX's surface is in it, and every name of primax that it gives is there."""

from __future__ import annotations

import importlib
import re

import pytest
from oracle import jax_does
from porting import DOCUMENT, renamed, replacements

from primax.extend.deprecation import Deprecation

TEXT = DOCUMENT.read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.]+)` \| (?:`([\w.]+)` )?\| ?(.*?) ?\|$", TEXT.split("\n## Symbols\n")[1], re.MULTILINE)

# What two or more of 28 public projects that define primitives or interpreters for JAX use.
USED = """
Primitive ShapedArray mlir.register_lowering batching.primitive_batchers ad.primitive_jvps ad.primitive_transposes
Tracer Literal ClosedJaxpr apply_primitive Jaxpr JaxprEqn Var AbstractValue mlir.lower_fun ad.Zero eval_jaxpr get_aval
DropVar linear_util.wrap_init jaxpr_as_fun ad.is_undefined_primal Atom Trace ad.UndefinedPrimal ffi.register_ffi_target
partial_eval.trace_to_jaxpr_dynamic flatten_fun shaped_abstractify gensym find_top_trace set_current_trace
take_current_trace ad.instantiate_zeros LoweringRuleContext mlir.ir partial_eval.convert_constvars_jaxpr ffi_lowering
SymbolicZero jaxprs_in_params new_jaxpr_eqn mapped_aval Effects TokenSet aval_to_ir_types dtype_to_ir_type ir_constant
dce_rules PartialVal trace_to_jaxpr_nounits ad.jvp add_tangents source_info_util.SourceInfo
""".split()

MODULES = {
    "jax.extend.core": "",
    "jax.core": "",
    "jax.interpreters.ad": "annotations",
    "jax.interpreters.batching": "",
    "jax.interpreters.mlir": "",
    "jax.interpreters.partial_eval": "",
    "jax.extend.linear_util": "Callable",
    "jax.extend.source_info_util": "",
    "jax.extend.sharding": "xla_client",
    "jax.extend.backend": "ifrt_proxy",
    "jax.extend.random": "",
    "jax.api_util": "",
    "jax.ffi": "",
}


def test_the_tables_are_read():
    assert len(ROWS) > 200
    assert len({old for old, _, _ in ROWS}) == len(ROWS)
    assert replacements()["jax"] == "primax"


@pytest.mark.parametrize("name", USED)
def test_what_projects_use_is_in_the_table_and_has_an_answer(name):
    found = [(new, note) for old, new, note in ROWS if f".{old}".endswith(f".{name}")]
    assert found
    assert all(new or note for new, note in found)


def test_get_bind_params_is_a_method():
    assert "get_bind_params" in TEXT


def resolve(dotted):
    return Deprecation("", dotted, "", "").resolve()


def test_every_name_of_primax_in_the_tables_is_there():
    for _, new, _ in ROWS:
        if new:
            resolve(new)
    for module in replacements().values():
        importlib.import_module(module)


def test_what_has_no_name_in_primax_has_a_note_or_is_not_for_use():
    bare = [old for old, new, note in ROWS if not new and not note]
    assert bare == [
        "jax.extend.core.nonempty_axis_env_DO_NOT_USE",
        "jax.extend.core.unsafe_get_axis_names_DO_NOT_USE",
        "jax.interpreters.mlir.LoweringResult",
        "jax.interpreters.mlir.LoweringParameters",
        "jax.interpreters.mlir.DEVICE_TO_DEVICE_TYPE",
        "jax.interpreters.mlir.SEND_TO_HOST_TYPE",
        "jax.interpreters.mlir.RECV_FROM_HOST_TYPE",
        "jax.extend.backend.register_backend_cache",
        "jax.extend.backend.clear_backends",
    ]


def test_the_table_of_imports_leads_to_the_names_in_the_table_of_symbols():
    """A note says so where it does not, or the name itself does."""
    lost = [
        (old, new, renamed(old))
        for old, new, note in ROWS
        if new and new != renamed(old) and not note and new.split(".")[-1] == old.split(".")[-1]
    ]
    assert lost == []


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_of_jax_is_in_the_table(module):
    theirs = pytest.importorskip(module)
    mentioned = {old.split(".")[-1] for old, _, _ in ROWS}
    names = [name for name in dir(theirs) if not name.startswith("_") and name not in MODULES[module].split()]
    assert [name for name in names if name not in mentioned] == []


def test_every_name_of_jax_in_the_table_is_there_or_gone():
    pytest.importorskip("jax")
    renewed = jax_does("the surface for authors is that of 0.11")
    for old, _, note in ROWS:
        module, _, name = old.rpartition(".")
        try:
            importlib.import_module(old)
            there = True
        except ImportError:
            there = name in vars(importlib.import_module(module))
        if "JAX 0.11" in note:
            assert there is (renewed is ("since JAX 0.11" in note)), old
        else:
            assert there is ("gone from JAX" not in note), old
