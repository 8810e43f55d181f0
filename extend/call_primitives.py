"""Primitives that compute an inner program, like those of `jax.extend.core`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core.jaxpr import ClosedJaxpr, eval_jaxpr
from primax.core.rules import rule_tables
from primax.extend import derive
from primax.extend.core import Primitive
from primax.extend.held_programs import held_types
from primax.extend.interpreters import ad

__all__ = ["create_call_primitive", "eval_jaxpr_transpose", "register_call_primitive_rules"]
__dir__ = __all__.copy


def create_call_primitive(name: str, inline_jax_late: bool = True) -> Primitive:
    """A primitive that computes the program in its parameter, and stays one equation in other programs.

    Args:
      name: its name.
      inline_jax_late: not used: the program is part of the module that the primitive is lowered into.

    Returns:
      A primitive with rules of all kinds; `bind(*args, call_jaxpr=closed)` returns a list.

    >>> import primax as px
    >>> from primax.extend.call_primitives import create_call_primitive
    >>> block_p = create_call_primitive("block")
    >>> square = px.make_jaxpr(lambda x: x * x)(1.0)
    >>> px.grad(lambda x: block_p.bind(x, call_jaxpr=square)[0])(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    primitive = Primitive(name, multiple_results=True)
    register_call_primitive_rules(primitive, name, inline_jax_late=inline_jax_late)
    return primitive


def register_call_primitive_rules(
    prim: Primitive,
    name: str | None = None,
    transpose_rule: Callable[..., Any] | None = None,
    inline_jax_late: bool = True,
) -> None:
    """Define the rules of a primitive that computes the program in its parameter `call_jaxpr`.

    Args:
      prim: a primitive of several results.
      name: not used.
      transpose_rule: a rule that replaces the transpose of the program. The primitive then has no JVP rule; define one
        that binds it on tangents.
      inline_jax_late: not used.

    Raises:
      TypeError: `prim` has one result.
      PluginError: it has such rules already.

    Examples:
      >>> import primax as px
      >>> from primax.extend.call_primitives import register_call_primitive_rules
      >>> from primax.extend.core import Primitive
      >>> block_p = Primitive("block", multiple_results=True)
      >>> register_call_primitive_rules(block_p)
      >>> square = px.make_jaxpr(lambda x: x * x)(1.0)
      >>> px.grad(lambda x: block_p.bind(x, call_jaxpr=square)[0])(3.0)
      Array(6., dtype=float32, weak_type=True)
    """
    if not prim.multiple_results:
        raise TypeError(f"register_call_primitive_rules: prim must have multiple_results, got {prim}")
    rules: dict[str, Any] = {
        "impl": _impl,
        "effectful_abstract_eval": held_types("call_jaxpr"),
        **dict.fromkeys(("batch", "lowering", "interpret"), derive.from_impl),
    }
    if transpose_rule is None:
        rules |= {"jvp": derive.from_impl, "transpose": derive.from_impl}
    else:
        rules["transpose"] = transpose_rule
    for kind, rule in rules.items():
        rule_tables[kind].register(prim, rule)


def eval_jaxpr_transpose(
    prim: Primitive, ct: Sequence[Any], /, *args: Any, call_jaxpr: Any, **params: Any
) -> list[Any]:
    """The transpose rule of a primitive that computes a program: cotangents of its linear arguments.

    Args:
      prim: not used.
      ct: for each result its cotangent, or a `Zero`.
      args: for each argument its value, or an `UndefinedPrimal`.
      call_jaxpr: the program.
      params: further parameters of the primitive, not used.

    Examples:
      >>> import primax as px
      >>> from primax.extend.call_primitives import create_call_primitive, eval_jaxpr_transpose
      >>> from primax.extend.core import get_aval
      >>> from primax.extend.interpreters.ad import UndefinedPrimal
      >>> program = px.make_jaxpr(lambda x, y: x * y)(1.0, 2.0)
      >>> y = UndefinedPrimal(get_aval(2.0))
      >>> eval_jaxpr_transpose(create_call_primitive("block"), [1.0], 3.0, y, call_jaxpr=program)
      [None, Array(3., dtype=float32, weak_type=True)]
    """
    jaxpr, consts = _parts(call_jaxpr)
    cts = ad.backward_pass(jaxpr, False, consts, args, ct)
    return [c if ad.is_undefined_primal(x) else None for x, c in zip(args, cts, strict=True)]


def _parts(program: Any) -> tuple[Any, Sequence[Any]]:
    return (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())


def _impl(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    jaxpr, consts = _parts(call_jaxpr)
    return eval_jaxpr(jaxpr, consts, *args)
