"""The table of names: every public name of JAX is in primax or has a reason, and what the table says is so."""

from __future__ import annotations

import importlib
import re
import types

import pytest
from porting import DOCUMENT, page

from primax.porting.lookup import find, ported_path, resolve
from primax.porting.table import public_names, table

# What two or more of 28 public projects that define primitives or interpreters for JAX use.
USED = """
extend.core.Primitive core.ShapedArray interpreters.mlir.register_lowering interpreters.batching.primitive_batchers
interpreters.ad.primitive_jvps interpreters.ad.primitive_transposes core.Tracer extend.core.Literal
extend.core.ClosedJaxpr interpreters.xla.apply_primitive extend.core.Jaxpr extend.core.JaxprEqn extend.core.Var
core.AbstractValue interpreters.mlir.lower_fun interpreters.ad.Zero core.eval_jaxpr core.get_aval extend.core.DropVar
extend.linear_util.wrap_init extend.core.jaxpr_as_fun interpreters.ad.is_undefined_primal core.Atom core.Trace
interpreters.ad.UndefinedPrimal interpreters.partial_eval.trace_to_jaxpr_dynamic api_util.flatten_fun
api_util.shaped_abstractify extend.core.gensym extend.core.find_top_trace extend.core.set_current_trace
extend.core.take_current_trace interpreters.ad.instantiate_zeros interpreters.mlir.LoweringRuleContext
interpreters.mlir.ir interpreters.partial_eval.convert_constvars_jaxpr ffi.ffi_lowering
custom_derivatives.SymbolicZero extend.core.jaxprs_in_params extend.core.new_jaxpr_eqn extend.core.mapped_aval
_src.core.Effects interpreters.mlir.TokenSet interpreters.mlir.aval_to_ir_types interpreters.mlir.dtype_to_ir_type
interpreters.mlir.ir_constant interpreters.partial_eval.dce_rules interpreters.partial_eval.PartialVal
interpreters.partial_eval.trace_to_jaxpr_nounits interpreters.ad.add_tangents
""".split()

# What equinox, jaxtyping, lineax, quax, chex, folx, numpyro, flax, jaxlie and tinygp use of private modules.
PRIVATE = """
array._reconstruct_array ad_util.stop_gradient_p ad_util.add_any_p ad_util.p2tz array.ArrayImpl checkify.Error
checkify.Out core.trace_state_clean core.ShapedArray core.physical_aval core.full_lower dispatch.wait_for_tokens
nn.initializers._complex_uniform dtypes.TypePromotionError dtypes.to_complex_dtype dtypes.DType dtypes.extended
dtypes.finfo dtypes.supports_inf flatten_util.ravel_pytree literals.TypedInt literals.TypedFloat literals.TypedComplex
literals.TypedNdArray pjit.jit_p public_test_util.check_close random.split source_info_util.summarize
traceback_util.api_boundary traceback_util.include_frame traceback_util.register_exclusion state.indexing.Slice
traceback_util._exclude_paths tree_util._registry tree_util.prefix_errors tree_util.flatten_one_level
xla_bridge._backends
""".split()


@pytest.mark.parametrize("module", public_names())
def test_every_public_name_of_jax_is_there_or_has_a_reason(module: str) -> None:
    unknown = []
    for name in public_names()[module]:
        path = f"{module}.{name}"
        if ported_path(path) is None and "has it, primax does not" in table().explain(path):
            unknown.append(path)
    assert unknown == [], "give them a counterpart, or a reason in api/porting/table.toml"


def test_the_names_are_those_of_the_newest_jax() -> None:
    jax = pytest.importorskip("jax")
    if jax.__version__.startswith(table().newest):
        names = importlib.import_module("jax_names").public_names()
        assert {module: " ".join(found) for module, found in public_names().items()} == names


@pytest.mark.parametrize("name", USED)
def test_what_projects_use_is_there(name: str) -> None:
    assert ported_path(f"jax.{name}") is not None


@pytest.mark.parametrize("name", PRIVATE)
def test_private_names_that_packages_use_stand_in(name: str) -> None:
    assert resolve(f"jax._src.{name}") is not None


def test_what_is_there_has_no_row_that_says_otherwise() -> None:
    """Who adds a name takes it out of `absent` or `later`, and runs tests/support/porting.py."""
    there = []
    for module in table().modules.values():
        to = table().counterpart(module.name)
        for name in {*module.absent, *module.later} if to else ():
            try:
                find(f"{to}.{name}")
            except LookupError:
                continue
            there.append(f"{module.name}.{name}")
    assert there == []


def test_names_with_another_path_lead_somewhere_and_would_not_without() -> None:
    for module in table().modules.values():
        for name, path in module.names.items():
            find(path)
            if module.to is not None:
                with pytest.raises(LookupError):
                    find(f"{module.to}.{name}")
        for name in module.notes:
            assert ported_path(f"{module.name}.{name}") is not None
        for path in (module.to, module.as_jax):
            assert path is None or importlib.import_module(path)


def test_what_notes_name_is_there() -> None:
    for module in table().modules.values():
        for text in (*module.notes.values(), *module.absent.values(), module.why or ""):
            for path in re.findall(r"`(primax(?:\.\w+)+)", text):
                assert find(path) is not None, text


@pytest.mark.parametrize("name", ["offload_dot_with_no_batch_dims", "save_and_offload_only_these_names"])
def test_policies_that_offload_are_absent_for_a_reason(name: str) -> None:
    assert "device memory only" in table().explain(f"jax.checkpoint_policies.{name}")


def test_the_page_shows_the_table() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert page(text) == text, "run tests/support/porting.py"
    assert "| `jax.core` | `primax.extend.core` |" in text
    assert "`get_bind_params` returns a dictionary" in text


def test_removed_names_are_gone_from_jax_and_lead_somewhere() -> None:
    for module in table().modules.values():
        for name, path in module.renamed.items():
            assert not table().is_public(f"{module.name}.{name}"), "it is a row of `names`"
            assert ported_path(f"{module.name}.{name}") == path
            with pytest.raises(LookupError):
                resolve(f"{module.name}.{name}")


def test_modules_explain_the_names_that_they_lack() -> None:
    silent = []
    for module in table().modules.values():
        to = None if "._" in module.name else ported_path(module.name)
        if to is None or table().renamed(module.name) or not isinstance(find(to), types.ModuleType):
            continue
        for name, why in module.absent.items():
            with pytest.raises((AttributeError, ImportError)) as caught:
                getattr(find(to), name)
            if why not in str(caught.value) and not name.startswith("_"):
                silent.append(f"{to}.{name}")
    assert silent == [], "their modules need `__getattr__` of `primax.extend.lazy_names`"
