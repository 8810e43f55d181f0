"""`checkpoint_name`: names for values, by which policies select values to save."""

from __future__ import annotations

from typing import Any, TypeVar

from primax.extend import core
from primax.extend.core import Array, ShapedArray, tree
from primax.extend.interpreters import ad, batching
from primax.extend.interpreters.ad import linear_together
from primax.extend.provisional import runtime
from primax.extend.rule_types import Table

name_p = core.Primitive("name")


_T = TypeVar("_T")


def checkpoint_name(x: _T, name: str) -> _T:
    """The same values with a name, by which a policy can select them.

    Args:
      x: a pytree of arrays.
      name: the name.

    Raises:
      TypeError: `name` is not a string.

    >>> import primax as px
    >>> from primax.ad_checkpoint import checkpoint_name
    >>> px.make_jaxpr(lambda x: checkpoint_name(x, "hidden"))(1.0)
    { lambda ; a:f32[]. let b:f32[] = name[name=hidden] a in (b,) }
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: name must be a string, got {name!r}")
    return tree.tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


def _impl(x: Any, *, name: str) -> Array:
    return x if type(x) is core.Array else runtime.put_value(x, core.get_aval(x).weak_type)


def _abstract_eval(x: Any, *, name: str) -> ShapedArray:
    return x


@linear_together
def _jvp(primals: Any, tangents: Any, *, name: str) -> tuple[Any, ...]:
    """The name belongs to the value; its tangent has none."""
    return name_p.bind(*primals, name=name), *tangents


def _transpose(ct: Any, *, name: str) -> list[Any]:
    return [ct]


def _lowering(ctx: Any, x: Any, *, name: str) -> list[Any]:
    return [x]


RULES: Table = {
    name_p: {
        "impl": _impl,
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": ad.linear_transpose(name_p, _transpose),
        "batch": batching.vectorized(name_p),
        "lowering": _lowering,
    },
}
