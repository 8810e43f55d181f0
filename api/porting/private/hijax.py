"""`jax.experimental.hijax`: user-defined types, with JAX's names of their methods, and primitives on their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from primax.extend import core, define_primitive
from primax.extend.core import AbstractValue, ShapedArray, UserType, tree
from primax.extend.core.user_types import adopt, value_classes
from primax.extend.derive import from_impl
from primax.extend.effects import control_flow_allowed_effects
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal
from primax.extend.provisional.tracing import thread
from primax.extend.provisional.user_types import Operand

__all__ = [
    "AbstractValue",
    "HiPrimitive",
    "HiType",
    "ShapedArray",
    "VJPHiPrimitive",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]


class aval_method:
    """A method of tracers, as an attribute of their type."""

    def __init__(self, fun: Any) -> None:
        self.fget = fun


class aval_property:
    """A property of tracers, as an attribute of their type."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget


_OPERATORS = frozenset(name for name in vars(Operand) if name.startswith("__"))


def _operator_of_type(fun: Any) -> Any:
    """An operator of tracers, from a method of their type that takes the tracer as its first argument."""
    return lambda tracer, *args: fun(tracer.aval, tracer, *args)


def _find_attributes_in_types() -> None:
    """Let tracers of a `HiType` have the attributes of their type, once."""
    other = vars(Operand).get("__getattr__")
    if other is None or other is _attribute_of_type:
        return
    _others.append(other)
    Operand.__getattr__ = _attribute_of_type  # type: ignore[attr-defined]


_others: list[Any] = []


def _attribute_of_type(x: Any, name: str) -> Any:
    aval = None if name == "aval" else getattr(x, "aval", None)
    if not isinstance(aval, HiType) or hasattr(UserType, name):
        return _others[0](x, name)
    attribute = getattr(aval, name)
    if isinstance(attribute, aval_property):
        return attribute.fget(x)
    return functools.partial(attribute.fget, x) if isinstance(attribute, aval_method) else attribute


class HiType(UserType):
    """A user-defined type. Its values have the methods that the type has as `aval_method`s and `aval_property`s."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        methods: dict[str, Any] = {}
        for kind in reversed(cls.__mro__):
            for name, attribute in vars(kind).items():
                if isinstance(attribute, aval_property):
                    methods[name] = property(attribute.fget)
                elif isinstance(attribute, aval_method):
                    # The attribute `_add` of a type is the operator +.
                    methods[f"__{name[1:]}__" if name.startswith("_") else name] = attribute.fget
                elif isinstance(attribute, FunctionType) and f"__{name[1:]}__" in _OPERATORS and name[0] == "_":
                    methods[f"__{name[1:]}__"] = _operator_of_type(attribute)
        cls.value_class = type(cls.__name__, (), methods)
        adopt(cls)
        _find_attributes_in_types()

    def lo_ty(self) -> Sequence[Any]:
        """The types of the arrays in a value."""
        raise NotImplementedError(f"{type(self).__name__} must define lo_ty()")

    def lower_val(self, hi_val: Any) -> Sequence[Any]:
        """The arrays in a value."""
        raise NotImplementedError(f"{type(self).__name__} must define lower_val(hi_val)")

    def raise_val(self, *lo_vals: Any) -> Any:
        """The value with these arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define raise_val(*lo_vals)")

    def vspace_zero(self) -> Any:
        """The zero, if this is a type of tangents."""
        return UserType.zeros(self)

    def vspace_add(self, x: Any, y: Any) -> Any:
        """The sum of two values, if this is a type of tangents."""
        return UserType.add(self, x, y)

    def dec_rank(self, size: int | None, spec: Any) -> Any:
        """The type of one element along a mapped axis."""
        return UserType.mapped(self, size, spec)  # type: ignore[arg-type]

    def inc_rank(self, size: int | None, spec: Any) -> Any:
        """The type of several values along a new axis."""
        return UserType.unmapped(self, size, spec)  # type: ignore[arg-type]

    def part_types(self) -> Sequence[Any]:
        return self.lo_ty()

    def to_parts(self, value: Any) -> Sequence[Any]:
        return self.lower_val(value)

    def from_parts(self, parts: Sequence[Any]) -> Any:
        return self.raise_val(*parts)

    def zeros(self) -> Any:
        return self.vspace_zero()

    def add(self, x: Any, y: Any) -> Any:
        return self.vspace_add(x, y)

    def mapped(self, size: int, dim: Any) -> Any:
        return self.dec_rank(size, dim)

    def unmapped(self, size: int, dim: Any) -> Any:
        return self.inc_rank(size, dim)


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], HiType]) -> None:
    """Let programs have values of a class.

    Args:
      val_cls: the class.
      typeof_fn: a function from a value to its type.
    """
    core.register_aval(val_cls, typeof_fn)
    value_classes[val_cls] = HiType


class HiPrimitive(core.Primitive):
    """A primitive on user-defined values. A subclass defines `abstract_eval`, `to_lojax`, `jvp` and `transpose`."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        kind = type(self)
        if kind.to_lojax is not HiPrimitive.to_lojax:
            self.def_impl(self.to_lojax)
            mlir.register_lowering(self, mlir.lower_fun(self.to_lojax, self.multiple_results))
        if kind.jvp is not HiPrimitive.jvp:
            ad.primitive_jvps[self] = self.jvp
        if kind.transpose is not HiPrimitive.transpose:
            ad.primitive_transposes[self] = self.transpose

    def to_lojax(self, *values: Any, **params: Any) -> Any:
        """The result by functions of arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define to_lojax")

    def jvp(self, primals: Any, tangents: Any, **params: Any) -> Any:
        """The result and its tangent."""
        raise NotImplementedError(f"{type(self).__name__} must define jvp")

    def transpose(self, *args: Any, **params: Any) -> Any:
        """The cotangents of the arguments."""
        raise NotImplementedError(f"{type(self).__name__} must define transpose")


class Accum:
    """The sum of the cotangents of one argument."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.total: Any = Zero(aval)

    def accum(self, x: Any) -> None:
        """Add a cotangent."""
        self.total = ad.add_tangents(self.total, x)


class VJPHiPrimitive:
    """A function with rules, applied to arguments of fixed types.

    A subclass sets `in_avals`, `out_aval` and `params` before it calls `__init__` of this class, and defines `expand`
    and for derivatives `vjp_fwd` with `vjp_bwd` or `vjp_bwd_retval`, or `jvp`, or `lin` with `linearized`.
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__}: it must set {name} before it calls super().__init__()")
        self.in_avals_flat, self.in_tree = tree.flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = tree.flatten(self.out_aval)
        vars(self).update(self.params)

    def __call__(self, *args: Any) -> Any:
        """The result for arguments of the structure of `in_avals`."""
        leaves, structure = tree.flatten(args)
        if structure != self.in_tree:
            raise TypeError(f"{self!r}: arguments must have the structure {self.in_tree}, got {structure}")
        if not thread.trace.tracing and any(type(x) in value_classes for x in leaves):
            return self.expand(*args)  # with the values themselves, which it may change
        return tree.unflatten(self.out_tree, call_hi_primitive_p.bind(*leaves, prim=self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    def _key(self) -> Any:
        params = tuple(sorted(self.params.items()))
        return type(self), params, self.in_tree, *self.in_avals_flat, self.out_tree, *self.out_avals_flat

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def _lacks(self, what: str, method: str) -> NotImplementedError:
        return NotImplementedError(f"for {what} support, subclass {type(self)} must implement {method}")

    def expand(self, *args: Any) -> Any:
        """The result by functions of arrays and other primitives."""
        raise self._lacks("evaluation", "`expand`")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """The result, and residuals for `vjp_bwd`."""
        raise self._lacks("grad", "`vjp_fwd`")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Add the cotangents of the arguments to sums."""
        cts = self.vjp_bwd_retval(res, outgrad)
        for accum, ct in zip(*map(_leaves_with_zeros, (arg_accums, cts)), strict=True):
            accum.accum(ct)

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """The cotangents of the arguments."""
        raise self._lacks("grad", "`vjp_bwd` or `vjp_bwd_retval`")

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """The result and its tangent."""
        raise self._lacks("jvp", "`jvp`")

    def lin(self, nzs_in: Any, *primals: Any) -> Any:
        """The result, and residuals for `linearized`."""
        raise self._lacks("linearize", "`lin`")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result."""
        raise self._lacks("linearize", "`linearized`")

    def batch(self, axis_data: Any, args: Any, dims: Any) -> Any:
        """The result for batches of arguments, and the positions of its batch axes."""
        out_dims = self.batch_dim_rule(axis_data, dims)
        return batched(self, axis_data, args, dims, out_dims), out_dims

    def batch_dim_rule(self, axis_data: Any, dims: Any, /) -> Any:
        """The positions of the batch axes of the result."""
        raise self._lacks("vmap", "`batch` or `batch_dim_rule`")

    def _defines(self, *methods: str) -> bool:
        return any(getattr(type(self), name) is not getattr(VJPHiPrimitive, name) for name in methods)


def _leaves_with_zeros(values: Any) -> list[Any]:
    return tree.flatten(values, lambda x: isinstance(x, Zero))[0]


def batched(prim: VJPHiPrimitive, axis: Any, args: Any, dims: Any, out_dims: Any) -> Any:
    """The result of `expand`, mapped over the batch axes of the arguments."""
    leaves, in_tree = tree.flatten(args)
    flat_dims = tree.flatten(dims, lambda x: x is None)[0]
    closed = core.trace_to_jaxpr(
        lambda *xs: tree.flatten(prim.expand(*tree.unflatten(in_tree, xs)))[0], prim.in_avals_flat, repr(prim)
    )
    wanted = tree.flatten(out_dims, lambda x: x is None)[0]
    mapped, found = batching.batch_jaxpr(closed, axis, flat_dims)
    outs = core.eval_jaxpr(mapped.jaxpr, mapped.consts, *leaves)
    moved = [batching.moveaxis(x, d, w) if d is not None else x for x, d, w in zip(outs, found, wanted, strict=True)]
    return tree.unflatten(prim.out_tree, moved)


def _impl(*leaves: Any, prim: VJPHiPrimitive) -> list[Any]:
    return tree.flatten(prim.expand(*tree.unflatten(prim.in_tree, leaves)))[0]


def _fwd(*leaves: Any, prim: VJPHiPrimitive) -> Any:
    args = tree.unflatten(prim.in_tree, leaves)
    nonzero = tree.tree_map(lambda x: True, args)
    out, residuals = prim.vjp_fwd(nonzero, *args)
    return tree.flatten(out)[0], residuals


def _bwd(residuals: Any, cts: Any, *, prim: VJPHiPrimitive) -> list[Any]:
    accums = [Accum(aval.to_tangent_aval()) for aval in prim.in_avals_flat]
    prim.vjp_bwd(residuals, tree.unflatten(prim.out_tree, cts), *tree.unflatten(prim.in_tree, accums))
    return [instantiate_zeros(accum.total) for accum in accums]


call_hi_primitive_p = define_primitive(
    "call_hi_primitive",
    multiple_results=True,
    impl=_impl,
    abstract_eval=lambda *avals, prim: list(prim.out_avals_flat),
    lowering=from_impl,
    vjp=(_fwd, _bwd),
    axis_batch=lambda axis, leaves, dims, *, prim: _batch(axis, leaves, dims, prim),
)
call_hi_primitive_p.takes_types = True
_by_vjp = ad.primitive_jvps[call_hi_primitive_p]


def _batch(axis: Any, leaves: Any, dims: Any, prim: VJPHiPrimitive) -> Any:
    args, all_dims = (tree.unflatten(prim.in_tree, xs) for xs in (leaves, dims))
    out, out_dims = prim.batch(axis, args, all_dims)
    outs = tree.flatten(out)[0]
    flat = tree.flatten(out_dims, lambda x: x is None)[0]
    return outs, flat * len(outs) if len(flat) == 1 else flat


def _jvp(primals: Any, tangents: Any, *, prim: VJPHiPrimitive) -> Any:
    """By the rule for the mode: under reverse mode `vjp_fwd` is preferred, under forward mode `jvp`."""
    reverse = any(type(t).__name__ == "LinearTracer" for t in tangents)
    if prim._defines("vjp_fwd") and (reverse or not prim._defines("jvp", "lin")):
        return _by_vjp(primals, tangents, prim=prim)
    args = tree.unflatten(prim.in_tree, primals)
    moving = tree.unflatten(prim.in_tree, list(map(instantiate_zeros, tangents)))
    if prim._defines("lin") and not prim._defines("jvp"):
        out, residuals = prim.lin(tree.tree_map(lambda x: True, args), *args)
        tangent = prim.linearized(residuals, *moving)
    else:
        out, tangent = prim.jvp(args, moving)
    return tree.flatten(out)[0], _leaves_with_zeros(tangent)


ad.primitive_jvps[call_hi_primitive_p] = _jvp
