"""Functions of users take the keywords that jax's take, or the reason stands here why they do not."""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import pytest

from primax.porting.lookup import resolve
from primax.porting.table import public_names, table

jax = pytest.importorskip("jax")

# Modules of authors of plugins, whose functions the table describes one by one.
OTHERS = ("jax.api_util", "jax.core", "jax.extend", "jax.interpreters", "jax.linear_util", "jax.stages")
REASONS = {
    "jax.custom_derivatives.custom_gradient": "jax's is called with the function; this one is a decorator of it alone",
    "jax.custom_derivatives.custom_vjp_primal_tree_values": "the name `tree` is that of a module here",
    "jax.custom_gradient": "jax's is called with the function; this one is a decorator of it alone",
    "jax.debug.visualize_sharding": "the drawing is plain text, which has no colors and fits the terminal",
    "jax.distributed.initialize": "processes are those of one slice, and speak without certificates of their own",
    "jax.dtypes.result_type": "called `return_weak_type` here, as in jax._src.dtypes",
    **dict.fromkeys(
        ("jax.empty_ref", "jax.new_ref", "jax.ref.empty_ref", "jax.ref.new_ref"),
        "`pin` says how jax 0.12 lowers a reference; here its contents are donated",
    ),
    "jax.export.register_pytree_node_serialization": "a node is made by the function that its class is registered with",
    "jax.lax.erfc": "XLA has one accuracy of it on CPUs",
    "jax.linearize": "jax uses `in_nzs` in its own rules",
    "jax.local_devices": "`host_id` is the old spelling of `process_index`",
    "jax.make_mesh": "called `axis_shapes`, as in jax 0.10",
    "jax.numpy.issubdtype": "jax.dtypes calls them `a` and `b`",
    "jax.tree_util.is_tree_node": "a position: jax takes a class there under another name",
    "jax.vjp": "jax uses `in_nzs` in its own rules",
}
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def keywords(function: Any) -> dict[str, Any] | None:
    """The parameters that may be given by name; None if any may, or nobody knows."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return None
    return {name: each for name, each in parameters.items() if each.kind in BY_NAME and not name.startswith("_")}


def missing(module: str) -> dict[str, list[str]]:
    """The keywords of jax's functions of a module that those of primax do not take."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = importlib.import_module(module)
        for name in public_names()[module]:
            function = getattr(theirs, name, None)
            if not callable(function) or inspect.isclass(function) or name.endswith("_p"):
                continue
            try:
                own = keywords(resolve(f"{module}.{name}"))
            except LookupError:
                continue
            absent = [each for each in keywords(function) or () if own is not None and each not in own]
            if absent:
                found[f"{module}.{name}"] = absent
    return found


def modules() -> list[str]:
    return [name for name in public_names() if not name.startswith(OTHERS) and table().reason(name) is None]


@pytest.mark.parametrize("module", modules())
def test_functions_take_the_keywords_of_jax(module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        pytest.skip(f"jax {jax.__version__} has no {module}, or it needs more than is installed")
    assert {name: absent for name, absent in missing(module).items() if name not in REASONS} == {}
