"""Mistakes that authors make: each is told of at the earliest moment that can know it, with a message that helps.

The moments are: the definition; the loading of the plugin; the first use; the conformance kit. More faults that only
numbers show are in `test_kit_faults.py` and `test_kit_causes.py`, more of what rules return in `test_promises.py`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, hookimpl, plugins
from primax.extend.effects import Effect, OperandEffect, register_effect
from primax.extend.host.contributions import sample_sources
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.testing import Report, Sample, check_plugin, iter_checks

FROM_IMPL = derive.from_impl
X = np.float32([0.3, -1.2, 0.7])
SOUND: dict[str, Any] = {
    "impl": lambda x: 3 * x,
    "abstract_eval": FROM_IMPL,
    "jvp": derive.linear,
    "transpose": FROM_IMPL,
    "batch": FROM_IMPL,
    "lowering": FROM_IMPL,
}


@dataclass(frozen=True)
class Mistake:
    """What is wrong, the first moment that can know it, and what is said then.

    Attributes:
      rules: what is given in place of sound rules.
      said: a part of the message.
      use: what is done with the primitive, where the first use is the moment.
      check: the check of the kit that finds it, where that is the moment.
      samples: what the kit checks it at, if not at one array.
    """

    rules: dict[str, Any]
    said: str
    use: Any = None
    check: str = ""
    samples: tuple[Sample, ...] = ()


def _grad(p: Any) -> Any:
    return px.grad(lambda x: p.bind(x).sum())(X)


def _jvp(p: Any) -> Any:
    return px.jvp(p.bind, (X,), (X,))


def _jit(p: Any) -> Any:
    return px.jit(p.bind)(X)


def _eager(p: Any) -> Any:
    return p.bind(X)


def _vmap(p: Any) -> Any:
    return px.vmap(p.bind)(X)


def _scale(value: Any) -> Any:
    return lambda p: p.bind(X, scale=value)


def _positive(value: Any) -> bool:
    return value > 0


@dataclass(frozen=True)
class Reads(OperandEffect):
    """An effect that is known."""


class Unheard(Effect):
    """One that is not."""


register_effect(Reads)

SEVERAL: dict[str, Any] = {"multiple_results": True, "jvp": None, "transpose": None, "batch": None, "lowering": None}
SCALED: dict[str, Any] = {"impl": lambda x, *, scale: x * scale, "jvp": None, "transpose": None}
LOWERED: dict[str, Any] = {
    **dict.fromkeys(("impl", "jvp", "transpose", "batch")),
    "abstract_eval": lambda x: x,
    "lowering": lambda ctx, x: [x],
}
_last: list[Any] = []  # the primitive that a test has defined
_kept: list[Any] = []  # what a rule keeps from one call to the next
ALONE: dict[str, Any] = {"jvp": None, "transpose": None, "batch": None, "lowering": None}
PULLED: dict[str, Any] = {"jvp": None, "transpose": None}
SUMMED: dict[str, Any] = {**PULLED, "impl": lambda x, *, axis: pnp.sum(x, axis=axis), "linear": (0,)}
COMPLEX = np.complex64([1 + 2j, 0.3 - 0.1j])
TABLE = np.arange(9, dtype=np.float32).reshape(3, 3) / 7
WHY = dict.fromkeys(("jvp", "transpose", "lowering", "batch"), "it is a test")


def _vjp(bwd: Any, fwd: Any = lambda x: (3 * x, None)) -> dict[str, Any]:
    return {**PULLED, "vjp": (fwd, bwd)}


def _keep(x: Any) -> Any:
    _kept.append(x)
    return 3 * _kept[0]


def _jit_twice(p: Any) -> Any:
    _kept.clear()
    return px.jit(p.bind)(X), px.jit(lambda x: p.bind(x[:2]))(X)


def _grad_of_the_second(p: Any) -> Any:
    return px.jvp(lambda x: p.bind(x, np.int32(2)), (X,), (X,))


def _strong(x: Any) -> Any:
    return core.ShapedArray(x.shape, x.dtype)


def _any_factor(x: Any) -> Any:
    return (np.asarray(x) * np.random.default_rng().uniform(1, 2)).astype(x.dtype)


def _in_place(x: Any) -> Any:
    return np.add(x, x, out=np.asarray(x))


def _zero_in_arithmetic(primals: Any, tangents: Any) -> Any:
    return 3 * primals[0], 3 * tangents[0] + 0 * ad.Zero.from_primal_value(primals[0])


AT_DEFINITION = {
    "a kind of rule that there is none of": Mistake({"jpv": abs}, "got 'jpv'; did you mean 'jvp'"),
    "a rule that is no function": Mistake({"impl": 3}, "the impl rule must be a function"),
    "a jvp of another signature": Mistake({"jvp": lambda x: x}, "the jvp rule must be (primals, tangents, **params)"),
    "a batch rule of another signature": Mistake({"batch": lambda a, b, c: a}, "the batch rule must be (args, dims"),
    "a factory in place of a rule": Mistake({"batch": batching.vectorized}, "derive.by(vectorized)"),
    "a type rule of other arguments": Mistake({"abstract_eval": lambda x, y: x}, "as many arguments as the impl, 1"),
    "a rule beside why it cannot be": Mistake({"unsupported": {"jvp": "no"}}, "jvp is given and declared unsupported"),
    "a derivation from nothing": Mistake({"impl": None}, "only together with the impl rule, got none"),
    "a derivation of another kind": Mistake({"impl": derive.linear}, "impl cannot be derive.linear"),
    "a jvp from the impl, and a transpose": Mistake(
        {"jvp": FROM_IMPL, "transpose": lambda ct, x: [ct]}, "grad would not call that rule"
    ),
    "a batch rule that loses another": Mistake({"dce": lambda used, eqn: None}, "if the dce rule is written by hand"),
    "a vjp beside a jvp": Mistake({"vjp": (abs, abs)}, "vjp must not be given together with a jvp rule"),
    "linear in what there is not": Mistake({"linear": (1,)}, "of arguments below 1, got 1"),
    "samples that are none": Mistake({"samples": [3]}, "samples must be Samples or functions that return some"),
    "samples that can be read once": Mistake({"samples": (x for x in ())}, "samples must be a list or a tuple"),
    "a transpose without operands": Mistake({"transpose": lambda ct: [ct]}, "take 2 arguments, the cotangent"),
    "a lowering without a context": Mistake({"lowering": lambda x: [x]}, "take 2 arguments, a context"),
    "one of two lowerings without a context": Mistake(
        {"lowering": {"cpu": lambda ctx, x: [x], None: lambda x: [x]}},
        "the lowering rule must take 2 arguments, a context",
    ),
    "a lowering for a platform that is no name": Mistake(
        {"lowering": {3: lambda ctx, x: [x]}}, "platforms of lowerings must be strings or None, got 3"
    ),
    "a lowering for a platform that is no function": Mistake({"lowering": {"cpu": 3}}, "must be a function (ctx,"),
    "an axis-aware batch rule without the axis": Mistake(
        {"batch": None, "axis_batch": lambda args, dims: (args[0], dims[0])}, "must be (axis_data, args, dims"
    ),
    "a reason that says nothing": Mistake({"jvp": None, "unsupported": {"jvp": ""}}, "must be text, got ''"),
    "a reason for a kind of rule that there is none of": Mistake({"unsupported": {"jpv": "no"}}, "did you mean 'jvp'"),
    "linear as a number": Mistake({"linear": 0}, "linear must be a tuple of positions of arguments, got 0"),
    "linear and without derivative": Mistake({"linear": (0,), "nondiff": (0,)}, "both linear and nondiff, got 0"),
    "no derivative of what there is not": Mistake({"nondiff": (2,)}, "of arguments below 1, got 2"),
    "a vjp that is one function": Mistake(
        {"jvp": None, "transpose": None, "vjp": abs}, "vjp must be a pair of functions"
    ),
    "a vjp beside linear": Mistake(
        {"jvp": None, "transpose": None, "vjp": (abs, abs), "linear": (0,)},
        "vjp must not be given together with linear",
    ),
    "a result like an argument that there is not": Mistake({"abstract_eval": None, "out_like": 1}, "below 1, got 1"),
    "a result like an argument, and a type rule": Mistake(
        {"out_like": 0}, "out_like must not be given together with a type"
    ),
    "elementwise as a word": Mistake({"elementwise": "yes"}, "elementwise must be True or False, got 'yes'"),
    "parameters as a list": Mistake({"parameters": ["k"]}, "parameters must be a mapping from names to types"),
    "a parameter of a type that is none": Mistake({"parameters": {"k": 3}}, "got 'k': 3"),
    "an effect that is a class": Mistake({"effects": (Reads,)}, "which is a class: make an instance"),
    "an effect on what there is not": Mistake({"effects": (Reads(1),)}, "of arguments below 1, got 1"),
    "effects that an impl lacks, for interpreters": Mistake(
        {"effects": (Reads(0),), "interpret": FROM_IMPL}, "interpret must not be derive.from_impl if effects"
    ),
    "writing to what there is not": Mistake({"mutates": (1,)}, "mutates must be positions of arguments"),
    "writing without a type rule": Mistake(
        {"abstract_eval": None, "mutates": (0,)}, "together with an abstract_eval rule"
    ),
    "documentation that is no text": Mistake({"doc": 3}, "doc must be text, got 3"),
    "a jvp without a parameter of the impl": Mistake(
        {**SCALED, "jvp": lambda p, t: (p[0], t[0])}, "the jvp rule must take parameter scale, which the impl rule"
    ),
    "one of two lowerings without a parameter": Mistake(
        {**SCALED, "lowering": {"cpu": lambda ctx, x: [x], None: lambda ctx, x, *, scale: [x]}},
        "the lowering rule must take parameter scale, which the impl rule needs",
    ),
    "a type rule with a parameter of its own": Mistake(
        {"abstract_eval": lambda x, *, axis: x}, "the impl rule must take parameter axis, which the abstract_eval rule"
    ),
    "a sharding without results": Mistake({"sharding": "i j"}, "sharding: a rule must have '->' between operands"),
    "a registry that is a class": Mistake(
        {"registry": Definitions}, "registry must be a Registry, Definitions or None"
    ),
}

NAMES = {
    "no name": ("", "name must be a non-empty string, got ''"),
    "a name that is no text": (3, "name must be a non-empty string, got 3"),
    "a name with a blank": ("tri ple", "name must have no blanks and no '::'"),
    "a name with the name of a plugin": ("mine::triple", "name must have no blanks and no '::'"),
}

AT_FIRST_USE = {
    "an impl of another shape": Mistake(
        {"impl": lambda x: np.zeros(4, np.float32), "abstract_eval": lambda x: x},
        "returned f32[4]",
        lambda p: p.bind(X),
    ),
    "an impl of another dtype": Mistake(
        {"impl": lambda x: np.zeros(3, np.int32), "abstract_eval": lambda x: x}, "returned i32[3]", lambda p: p.bind(X)
    ),
    "an impl that returns nothing": Mistake({"impl": lambda x: None}, "must return arrays, got None", _jvp),
    "a list as a parameter": Mistake(
        {"impl": lambda x, *, k: x, "jvp": None, "transpose": None},
        "parameters are static: make it a tuple",
        lambda p: p.bind(X, k=[1]),
    ),
    "a tracer as a parameter": Mistake(
        {"impl": lambda x, *, k: x, "jvp": None, "transpose": None},
        "parameters are static: pass it as an operand",
        lambda p: px.jit(lambda x: p.bind(x, k=x))(X),
    ),
    "an operand that the type rule refuses": Mistake(
        {"abstract_eval": lambda x: (_ for _ in ()).throw(TypeError("triple: x must be an int"))},
        "triple: x must be an int",
        lambda p: p.bind(X),
    ),
    "a zero in arithmetic": Mistake({"jvp": _zero_in_arithmetic}, "convert it by ad.instantiate_zeros(t)", _jvp),
    "no tangent": Mistake(
        {"jvp": lambda primals, tangents: (primals[0], None)}, "returned None as a tangent; a zero is Zero(aval)", _jvp
    ),
    "neither primal nor tangent": Mistake(
        {"jvp": lambda primals, tangents: (None, None)}, "returned None as a tangent", _jvp
    ),
    "a tangent of another shape": Mistake(
        {"jvp": lambda primals, tangents: (primals[0], tangents[0][:1])}, "returned a tangent of type f32[1]", _jvp
    ),
    "no pair from a jvp": Mistake(
        {"jvp": lambda primals, tangents: 3}, "must return (primal_out, tangent_out), got 3", _jvp
    ),
    "a batch axis that is not there": Mistake(
        {"batch": lambda args, dims: (args[0], 5)}, "returned dim 5", lambda p: px.vmap(p.bind)(X)
    ),
    "too few cotangents": Mistake(
        {"transpose": lambda ct, x: []}, "must return a list of one cotangent or None per argument", _grad
    ),
    "a cotangent of another shape": Mistake(
        {"transpose": lambda ct, x: [ct[:1]]}, "returned a cotangent of type f32[1]", _grad
    ),
    "no cotangent of what is declared linear": Mistake(
        {"jvp": None, "transpose": lambda ct, x: [None], "linear": (0,)}, "in which it is declared linear", _grad
    ),
    "a derivative where none is declared": Mistake({"nondiff": (0,)}, "which is declared nondiff", _grad),
    "forward mode of a backward rule": Mistake(
        {"jvp": None, "transpose": None, "vjp": (lambda x: (3 * x, None), lambda r, ct: [3 * ct])},
        "no forward-mode derivative",
        _jvp,
    ),
    "an impl of NumPy, to be derived from": Mistake(
        {"impl": lambda x: np.sin(x), "abstract_eval": lambda x: x},
        "__array__() was called on traced array",
        _jit,
    ),
    "an impl that returns a list": Mistake({"impl": lambda x: [x], "abstract_eval": lambda x: x}, "got [", _eager),
    "an impl that is a generator": Mistake(
        {"impl": lambda x: (y for y in [x]), "abstract_eval": lambda x: x}, "must return arrays, got <generator", _eager
    ),
    "an impl that returns text": Mistake({"impl": lambda x: "3", "abstract_eval": lambda x: x}, "got '3'", _eager),
    "several results that are one": Mistake(
        {**SEVERAL, "impl": lambda x: x, "abstract_eval": lambda x: [x]}, "must return a list, since multiple", _eager
    ),
    "one result too many": Mistake(
        {**SEVERAL, "impl": lambda x: [x, x], "abstract_eval": lambda x: [x]}, "returned 2 results, but its", _eager
    ),
    "an impl that binds itself": Mistake(
        {"impl": lambda x: _last[0].bind(x), "abstract_eval": lambda x: x}, "does that rule bind triple itself?", _eager
    ),
    "a type rule that returns nothing": Mistake(
        {"abstract_eval": lambda x: None}, "must return an aval, got None", _jit
    ),
    "a type rule that returns a tuple": Mistake({"abstract_eval": lambda x: (x,)}, "must return an aval, got (", _jit),
    "a type rule that returns a shape": Mistake({"abstract_eval": lambda x: x.shape}, "got (3,)", _jit),
    "a type rule that returns an array": Mistake(
        {"abstract_eval": lambda x: X}, "must return an aval, got array", _jit
    ),
    "a type rule that computes": Mistake({"abstract_eval": lambda x: pnp.sin(x)}, "got ShapedArray", _jit),
    "a type rule of the same type for several results": Mistake(
        {**SEVERAL, "impl": lambda x: [x], "abstract_eval": lambda x: x}, "must return a list of avals", _jit
    ),
    "a size less than none": Mistake(
        {"abstract_eval": lambda x: core.ShapedArray((-1,), x.dtype)}, "that are not negative, got shape (-1,)", _jit
    ),
    "a size that is no integer": Mistake(
        {"abstract_eval": lambda x: core.ShapedArray((3.0,), x.dtype)}, "must consist of integers, got 3.0", _jit
    ),
    "an effect that nobody has registered": Mistake(
        {"abstract_eval": None, "effectful_abstract_eval": lambda x: (x, {Unheard()})}, "register_effect(Unheard", _jit
    ),
    "a type rule with effects that returns none": Mistake(
        {"abstract_eval": None, "effectful_abstract_eval": lambda x: x}, "must return (avals, effects)", _jit
    ),
    "an operand too many": Mistake({}, "must be given 1 operand by position, and parameters", lambda p: p.bind(X, 2)),
    "no operand": Mistake({}, "must be given 1 operand by position, and parameters by name, got 0", lambda p: p.bind()),
    "a parameter that there is not": Mistake({}, "it takes no parameters, got k", lambda p: p.bind(X, k=2)),
    "a parameter that is misspelt": Mistake(SCALED, "did you mean 'scale'?", lambda p: p.bind(X, scal=2)),
    "a parameter that is left out": Mistake(SCALED, "parameter scale must be given", lambda p: p.bind(X)),
    "a dictionary as a parameter": Mistake(SCALED, "make it a tuple of pairs", lambda p: p.bind(X, scale={"a": 1})),
    "an array as a parameter": Mistake(SCALED, "pass it as an operand", lambda p: p.bind(X, scale=X)),
    "a parameter of another type than declared": Mistake(
        {**SCALED, "parameters": {"scale": int}}, "parameter scale must be of type int, got 0.5", _scale(0.5)
    ),
    "a parameter that is refused": Mistake(
        {**SCALED, "parameters": {"scale": _positive}}, "parameter scale must satisfy _positive, got -1", _scale(-1)
    ),
    "an attribute of a zero": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad.Zero.from_primal_value(p[0]).sum())}, "sum: Zero(f32[3]) is a symbolic", _jvp
    ),
    "a zero of another shape": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad.Zero(core.ShapedArray((2,), X.dtype)))}, "returned Zero(f32[2]) as the", _jvp
    ),
    "a tangent in a list": Mistake({"jvp": lambda p, t: (3 * p[0], [t[0]])}, "must return arrays, got (", _jvp),
    "a tangent of integers": Mistake(
        {"jvp": lambda p, t: (3 * p[0], pnp.ones(3, int))}, "it must be of type f32[3]", _jvp
    ),
    "a jvp with a third part": Mistake(
        {"jvp": lambda p, t: (3 * p[0], t[0], 1)}, "must return (primal_out, tangent_out), got (", _jvp
    ),
    "a jvp of another primal": Mistake(
        {"jvp": lambda p, t: (p[0][:1], t[0][:1])}, "returned f32[1], but by its abstract_eval rule", _jvp
    ),
    "a jvp that computes with lists": Mistake({"jvp": lambda p, t: (3 * p, 3 * t)}, "must return arrays, got (", _jvp),
    "a jvp that is not linear in its tangent": Mistake(
        {"jvp": lambda p, t: (3 * p[0], pnp.sin(t[0]))}, "Only linear primitives can be transposed", _grad
    ),
    "a batch rule that returns nothing": Mistake(
        {"batch": lambda a, d: None}, "must return (out, dim), got None", _vmap
    ),
    "a batch rule without a dim": Mistake({"batch": lambda a, d: 3 * a[0]}, "must return (out, dim), got", _vmap),
    "a batch rule of a negative dim": Mistake({"batch": lambda a, d: (3 * a[0], -1)}, "returned dim -1", _vmap),
    "a batch rule of a dim that is text": Mistake({"batch": lambda a, d: (3 * a[0], "0")}, "returned dim '0'", _vmap),
    "a batch rule of another size": Mistake(
        {"batch": lambda a, d: (pnp.ones(5), 0)}, "returned dim 0 for an output of shape (5,)", _vmap
    ),
    "a batch rule that forgets the dim": Mistake(
        {"batch": lambda a, d: (3 * a[0], None)}, "returned f32[3], but by its abstract_eval rule", _vmap
    ),
    "a batch rule that adds an axis": Mistake(
        {"batch": lambda a, d: (a[0][:, None], 0)}, "returned f32[1], but by its abstract_eval rule", _vmap
    ),
    "too few dims": Mistake(
        {**SEVERAL, "impl": lambda x: [x, x], "batch": lambda a, d: ([a[0], a[0]], [0])}, "2 outputs but 1 dims", _vmap
    ),
    "a cotangent without a list": Mistake({"transpose": lambda ct, x: 3 * ct}, "must return a list of one", _grad),
    "a cotangent in a generator": Mistake(
        {"transpose": lambda ct, x: (y for y in [ct])}, "must return a list of one cotangent", _grad
    ),
    "a cotangent of another dtype": Mistake(
        {"transpose": lambda ct, x: [ct.astype(np.float16)]}, "returned a cotangent of type f16[3]", _grad
    ),
    "a cotangent too many": Mistake({"transpose": lambda ct, x: [ct, ct]}, "got 2 for 1 arguments", _grad),
    "a cotangent that is text": Mistake({"transpose": lambda ct, x: ["ct"]}, "must return arrays, got 'ct'", _grad),
    "a cotangent that depends on the operand": Mistake(
        {"transpose": lambda ct, x: [x * ct]},
        "is the placeholder of an argument in which the primitive is linear",
        _grad,
    ),
    "a lowering that returns nothing": Mistake(
        {**LOWERED, "lowering": lambda ctx, x: None}, "must return IR values", _jit
    ),
    "a lowering of one value too many": Mistake(
        {**LOWERED, "lowering": lambda ctx, x: [x, x]}, "1 IR values, got 2", _jit
    ),
    "a lowering that returns text": Mistake(
        {**LOWERED, "lowering": lambda ctx, x: ["x"]}, "must return IR values", _jit
    ),
    "a lowering of another type": Mistake(
        {**LOWERED, "abstract_eval": lambda x: x.update(dtype=np.dtype(np.int32))}, "by its abstract_eval rule", _jit
    ),
    "a lowering for another platform": Mistake(
        {**LOWERED, "lowering": {"cuda": lambda ctx, x: [x]}}, "There are lowerings for ['cuda'], but the", _jit
    ),
    "two results of what has one": Mistake(
        {**ALONE, "impl": lambda x: (x, x), "abstract_eval": lambda x: (x, x)}, "must return an aval, got (", _eager
    ),
    "two results of what has one, derived": Mistake(
        {**PULLED, "impl": lambda x: (x, x)}, "the impl rule of triple must return arrays, got (", _jit
    ),
    "a type rule that compares values": Mistake(
        {"abstract_eval": lambda x: x if x > 0 else x.strip_weak_type()},
        "is given types, not values: use x.shape and x.dtype",
        _jit,
    ),
    "a type rule that reads elements": Mistake({"abstract_eval": lambda x: x[0]}, "is given types, not values", _jit),
    "a type rule that makes a number of its operand": Mistake(
        {"abstract_eval": lambda x: core.ShapedArray((int(x),), x.dtype)}, "is given types, not values", _jit
    ),
    "a type rule that adds": Mistake({"abstract_eval": lambda x: x + 1}, "is given types, not values", _jit),
    "a type rule that returns what users describe arrays by": Mistake(
        {"abstract_eval": lambda x: px.ShapeDtypeStruct(x.shape, x.dtype)},
        "make it core.ShapedArray(shape, dtype",
        _jit,
    ),
    "a shape that is a number": Mistake(
        {"abstract_eval": lambda x: core.ShapedArray(3, x.dtype)}, "shape must be a sequence of integers, got 3", _jit
    ),
    "a size that is not known": Mistake(
        {"abstract_eval": lambda x: core.ShapedArray((None,), x.dtype)}, "must consist of integers, got None", _jit
    ),
    "a type of another dtype than the lowering's": Mistake(
        {"abstract_eval": lambda x: core.ShapedArray(x.shape, np.float16)}, "for a result of type f16[3]", _jit
    ),
    "a jvp that differentiates itself": Mistake(
        {"jvp": lambda p, t: px.jvp(_last[0].bind, p, t), "transpose": None}, "does that rule bind triple itself?", _jvp
    ),
    "a batch rule that maps itself": Mistake(
        {"batch": lambda a, d: (px.vmap(_last[0].bind)(a[0]), 0)}, "does that rule bind triple itself?", _vmap
    ),
    "a transpose that transposes itself": Mistake(
        {"transpose": lambda ct, x: list(px.linear_transpose(_last[0].bind, ct)(ct))},
        "does that rule bind triple itself?",
        _grad,
    ),
    "a lowering that lowers itself": Mistake(
        {**LOWERED, "lowering": mlir.lower_fun(lambda x: _last[0].bind(x), multiple_results=False)},
        "does that rule bind triple itself?",
        _jit,
    ),
    "a lowering of a function that returns no list": Mistake(
        {**LOWERED, "lowering": mlir.lower_fun(lambda x: 3 * x)}, "since multiple_results is True, got", _jit
    ),
    "a lowering of a function that returns a list": Mistake(
        {**LOWERED, "lowering": mlir.lower_fun(lambda x: [3 * x], multiple_results=False)},
        "must return one array, since multiple_results is False, got [",
        _jit,
    ),
    "a jvp that calls NumPy": Mistake(
        {"impl": pnp.sin, "jvp": lambda p, t: (pnp.sin(p[0]), t[0] * np.cos(p[0])), "transpose": None},
        "__array__() was called on traced array",
        lambda p: px.jit(px.grad(lambda x: p.bind(x).sum()))(X),
    ),
    "linear in what it is not linear in": Mistake(
        {**PULLED, "impl": pnp.sin, "linear": (0,)}, "must be written in primax operations and linear", _grad
    ),
    "a tracer of an earlier call": Mistake(
        {**PULLED, "impl": _keep}, "escaped from the tracing of triple and was used after", _jit_twice
    ),
    "an operand by name": Mistake({}, "pass it as an operand, that is by position", lambda p: p.bind(x=X)),
    "a list as an operand": Mistake({}, "type list is not a valid primax type", lambda p: p.bind([1.0, 2.0])),
    "no value as an operand": Mistake({}, "(an argument of triple)", lambda p: p.bind(None)),
    "a list within a parameter": Mistake(SCALED, "scale must be hashable, got (1, [2])", _scale((1, [2]))),
    "a set as a parameter": Mistake(SCALED, "make it a frozenset", _scale({1, 2})),
    "a tracer within a parameter": Mistake(
        SCALED, "pass it as an operand", lambda p: px.jit(lambda x: p.bind(x, scale=(x, 1)))(X)
    ),
    "the tangent of an integer in arithmetic": Mistake(
        {
            "impl": lambda x, n: x * n,
            "jvp": lambda p, t: (p[0] * p[1], t[0] * p[1] + p[0] * t[1]),
            "transpose": None,
        },
        "or skip it if type(t) is ad.Zero",
        _grad_of_the_second,
    ),
    "a vjp that pulls back too much": Mistake(
        _vjp(lambda r, ct: [ct, ct]), "bwd must return 1 cotangents, one for each argument, got [", _grad
    ),
    "a vjp that pulls nothing back": Mistake(_vjp(lambda r, ct: None), "for each argument, got None", _grad),
    "a vjp that pulls back an array": Mistake(_vjp(lambda r, ct: 3 * ct), "for each argument, got Array", _grad),
    "a vjp that pulls back another shape": Mistake(
        _vjp(lambda r, ct: [ct[:1]]), "bwd returned a cotangent of type f32[1] for argument 0, of type f32[3]", _grad
    ),
    "a vjp that pulls back text": Mistake(_vjp(lambda r, ct: ["ct"]), "bwd returned a cotangent 'ct' for", _grad),
    "a vjp without residuals": Mistake(
        _vjp(lambda r, ct: [ct], lambda x: 3 * x), "fwd must return (out, residuals), got", _grad
    ),
    "a vjp with text for residuals": Mistake(
        _vjp(lambda r, ct: [ct], lambda x: (3 * x, "r")), "residuals that are arrays or pytrees of arrays", _grad
    ),
    "a vjp of another result": Mistake(
        _vjp(lambda r, ct: [ct], lambda x: (3 * x[:1], None)), "returned f32[1], but by its abstract_eval rule", _grad
    ),
    "elementwise, and a sum": Mistake(
        {**PULLED, "impl": pnp.sum, "abstract_eval": None, "batch": None, "elementwise": True},
        "returned dim 0 for an output of shape ()",
        _vmap,
    ),
    "a result like an argument, of another dtype": Mistake(
        {**PULLED, "impl": lambda x: x.astype(np.int32), "abstract_eval": None, "out_like": 0},
        "returned i32[3]",
        _eager,
    ),
    "a batch rule of a dim that is a truth value": Mistake(
        {"batch": lambda a, d: (3 * a[0], True)}, "returned dim True", lambda p: px.vmap(p.bind)(TABLE)
    ),
    "a dce rule that drops what is used": Mistake(
        {**SEVERAL, "impl": lambda x: [x, x], "dce": lambda used, eqn: ([True], None)},
        "the dce rule of triple must keep result 1, which is used, got ([True], None)",
        lambda p: px.jit(lambda x: p.bind(x)[1])(X),
    ),
    "no batch rule": Mistake({"batch": None}, "no batch rule for primitive 'triple'", _vmap),
    "no transpose rule": Mistake({"transpose": None}, "no transpose rule for primitive 'triple'", _grad),
}


IN_THE_KIT = {
    "a derivative of twice the size": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad_map(6, t))}, "differs from central differences", check="jvp"
    ),
    "the same in single precision only": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad_map(3 if core.get_aval(p[0]).dtype == np.float64 else 6, t))},
        "float32",
        check="own_dtype",
    ),
    "a factor that widens": Mistake(
        {"jvp": lambda p, t: (3 * p[0], ad_map(np.float64(3), t))}, "f64[3]", check="own_dtype"
    ),
    "a transpose of another map": Mistake(
        {"transpose": lambda ct, x: [2 * ct]}, "does not match the derivative", check="transpose"
    ),
    "a batch rule of another map": Mistake(
        {"batch": lambda args, dims: (2 * args[0], dims[0])}, "mapped", check="batch"
    ),
    "an impl that writes into its operand": Mistake(
        {**ALONE, "impl": _in_place, "abstract_eval": _strong, "unsupported": WHY}, "read-only", check="impl"
    ),
    "an impl that NumPy has widened": Mistake(
        {**ALONE, "impl": lambda x: np.asarray(x) * np.float64(3), "abstract_eval": _strong, "unsupported": WHY},
        "it must be float32[3], got float64[3]",
        check="impl",
    ),
    "an impl of random numbers": Mistake(
        {**ALONE, "impl": _any_factor, "abstract_eval": _strong, "unsupported": WHY},
        "differs in a second call",
        check="determinism",
    ),
    "a tangent in the place of the primal": Mistake(
        {"jvp": lambda p, t: (ad.instantiate_zeros(t[0]), p[0]), "transpose": None}, "the primal result 0", check="jvp"
    ),
    "a derivative at the tangent": Mistake(
        {
            "impl": pnp.sin,
            "jvp": lambda p, t: (pnp.sin(p[0]), ad.instantiate_zeros(t[0]) * pnp.cos(ad.instantiate_zeros(t[0]))),
            "transpose": None,
        },
        "differs from central differences",
        check="jvp",
    ),
    "a derivative of complex numbers that forgets to conjugate": Mistake(
        {
            **PULLED,
            "impl": lambda x: pnp.abs(x) ** 2,
            "jvp": lambda p, t: (pnp.abs(p[0]) ** 2, 2 * pnp.real(p[0] * ad.instantiate_zeros(t[0]))),
        },
        "differs from central differences",
        check="jvp",
        samples=(Sample([COMPLEX]),),
    ),
    "a transpose that conjugates": Mistake(
        {"impl": lambda x: (3 + 1j) * x, "transpose": lambda ct, x: [(3 - 1j) * ct]},
        "without complex conjugation",
        check="transpose",
        samples=(Sample([COMPLEX]),),
    ),
    "a reduction of another axis under vmap": Mistake(
        {**SUMMED, "batch": lambda a, d, *, axis: (pnp.sum(a[0], axis=axis), 0)},
        "mapped over an axis",
        check="batch",
        samples=(Sample([TABLE], {"axis": 0}),),
    ),
    "a reduction that moves the mapped axis and does not say so": Mistake(
        {**SUMMED, "batch": lambda a, d, *, axis: (pnp.sum(a[0], axis=axis + (axis >= d[0])), d[0])},
        "mapped over an axis",
        check="batch",
        samples=(Sample([TABLE], {"axis": 0}), Sample([TABLE], {"axis": 1})),
    ),
    "a batch rule that gathers from everywhere": Mistake(
        {
            **PULLED,
            "impl": lambda x, i: pnp.take(x, i),
            "jvp": FROM_IMPL,
            "batch": lambda a, d: (pnp.take(a[0], a[1]), 0),
        },
        "mapped over an axis",
        check="batch",
        samples=(Sample([X, np.int32([0, 2])]),),
    ),
    "a derivative that leaves an operand out": Mistake(
        {
            **PULLED,
            "impl": lambda x, y: pnp.sin(x) * y,
            "jvp": lambda p, t: (pnp.sin(p[0]) * p[1], ad.instantiate_zeros(t[0]) * pnp.cos(p[0]) * p[1]),
        },
        "with all inexact arguments active",
        check="jvp",
        samples=(Sample([X, X + 2]),),
    ),
    "cotangents in another order": Mistake(
        {"impl": lambda x, y: 2 * x + 3 * y, "transpose": lambda ct, x, y: [3 * ct, 2 * ct]},
        "does not match the derivative",
        check="transpose",
        samples=(Sample([X, X]),),
    ),
    "a derivative that is right for one parameter": Mistake(
        {
            **PULLED,
            "impl": lambda x, *, k: x**k,
            "jvp": lambda p, t, *, k: (p[0] ** k, k * p[0] * ad.instantiate_zeros(t[0])),
        },
        "differs from central differences",
        check="jvp",
        samples=(Sample([X], {"k": 2}), Sample([X], {"k": 3})),
    ),
    "results in another order under vmap": Mistake(
        {
            **SEVERAL,
            "impl": lambda x: [pnp.sin(x), pnp.cos(x)],
            "jvp": FROM_IMPL,
            "lowering": FROM_IMPL,
            "batch": lambda a, d: ([pnp.cos(a[0]), pnp.sin(a[0])], [d[0], d[0]]),
        },
        "result 0, mapped over an axis",
        check="batch",
    ),
    "a batch rule that takes every operand for mapped": Mistake(
        {**PULLED, "impl": lambda x, y: x * y, "jvp": FROM_IMPL, "batch": lambda a, d: (a[0] * a[1], 0)},
        "mapped over an axis",
        check="batch",
        samples=(Sample([X, X]),),
    ),
    "a lowering of another function": Mistake(
        {"lowering": mlir.lower_fun(lambda x: 2 * x, multiple_results=False)},
        "of the lowering differs",
        check="lowering",
    ),
    "no lowering": Mistake({"lowering": None}, "there is no lowering rule", check="registration"),
    "no samples": Mistake({}, "has no samples", check="samples"),
}


def ad_map(factor: Any, tangents: Any) -> Any:
    (t,) = tangents
    return t if type(t) is ad.Zero else t * factor


@pytest.mark.parametrize("name", AT_DEFINITION)
def test_what_the_definition_can_know_is_told_there(name: str) -> None:
    mistake = AT_DEFINITION[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(mistake.said)) as error:
        define_primitive("triple", **{**SOUND, **mistake.rules})
    assert str(error.value).startswith("define_primitive(triple)")


@pytest.mark.parametrize("name", AT_FIRST_USE)
def test_what_the_first_use_can_know_is_told_there(name: str) -> None:
    mistake = AT_FIRST_USE[name]
    kind, text = _first_use(mistake)
    assert issubclass(kind, TypeError | ValueError | AttributeError | RecursionError | core.MissingRuleError)
    assert mistake.said in text
    assert "triple" in text or f"{__file__}:" in text  # the primitive, or the line of its rule


def _first_use(mistake: Mistake) -> tuple[type[Exception], str]:
    """What is raised when the primitive is used, with its notes."""
    _last[:] = [define_primitive("triple", **{**SOUND, **mistake.rules})]
    with pytest.raises(Exception) as error:
        mistake.use(_last[0])
    return error.type, "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_cannot_be_shown_is_told_of_at_the_definition(name: str) -> None:
    given, said = NAMES[name]
    with pytest.raises(TypeError, match=re.escape(said)):
        define_primitive(given, **SOUND)


@pytest.mark.parametrize("name", IN_THE_KIT)
def test_what_numbers_show_is_told_by_the_kit_as_one_cause(name: str) -> None:
    mistake = IN_THE_KIT[name]
    ((cause, _),) = _report(mistake).causes
    assert cause.check == mistake.check
    assert mistake.said in cause.message


def _report(mistake: Mistake) -> Report:
    p = define_primitive("triple", **{**SOUND, **mistake.rules})
    if mistake.check != "samples":
        sample_sources[p] = list(mistake.samples) or [Sample([X])]
    try:
        return Report([check.run() for check in iter_checks(p)])
    finally:
        sample_sources.pop(p, None)


_never_entered = Definitions()


def _forgotten(registry: Any) -> None:
    define_primitive("forgotten", **SOUND, registry=_never_entered)


def _hook(function: Any) -> Any:
    return lambda: _plugin(primax_register=hookimpl(function))


async def _coroutine(registry: Any) -> None:
    """A hook that nobody awaits."""


_definitions = Definitions()
define_primitive("entered", **SOUND, registry=_definitions)


LOADED = {
    "a misspelt hook": (
        lambda: _plugin(primax_registr=hookimpl(lambda registry: None)),
        "did you mean 'primax_register'",
    ),
    "a hook that is not marked": (lambda: _plugin(primax_register=_forgotten), "is not marked with @hookimpl"),
    "a hook that raises": (lambda: _plugin(primax_register=hookimpl(lambda registry: 1 / 0)), "ZeroDivisionError"),
    "two primitives of the same name": (
        lambda: _plugin(
            primax_register=hookimpl(
                lambda registry: [define_primitive("twice_named", impl=pnp.sin, registry=registry) for _ in range(2)]
            )
        ),
        "may not define two primitives 'twice_named'",
    ),
    "a rule that is there": (
        lambda: _plugin(
            primax_register=hookimpl(lambda registry: registry.define(px.lax.sin_p, jvp=lambda p, t: (p, t)))
        ),
        "may not replace the jvp rule of sin",
    ),
    "a hook that takes nothing": (_hook(lambda: None), "its primax_register must take registry, without a default"),
    "a hook with a default": (_hook(lambda registry=None: None), "must take registry, without a default"),
    "a hook that takes something else": (_hook(lambda registry, other: None), "Argument(s) {'other'}"),
    "a hook that is a generator": (_hook(lambda registry: (yield)), "must be a plain function, got a generator"),
    "a hook that is a coroutine": (_hook(_coroutine), "must be a plain function, got a coroutine"),
    "a hook that ends the process": (_hook(lambda registry: sys.exit(3)), "SystemExit: 3"),
    "rules for a name": (_hook(lambda registry: registry.define("sin")), "primitive must be a Primitive, got 'sin'"),
    "override as a word": (
        _hook(lambda registry: registry.define(px.lax.sin_p, override="yes")),
        "override must be True or False, got 'yes'",
    ),
    "definitions entered twice": (
        _hook(lambda registry: [_definitions.enter(registry) for _ in range(2)]),
        "gives the impl rule of entered twice",
    ),
    "definitions entered nowhere": (
        _hook(lambda registry: _definitions.enter(None)),
        "must be what primax_register is",
    ),
    "an operator that there is not": (
        _hook(lambda registry: registry.operators(summ=abs)),
        "got 'summ'; did you mean 'sum'?",
    ),
    "an operator that is no function": (_hook(lambda registry: registry.operators(ptp=3)), "ptp must be a function"),
    "an operator that is there": (_hook(lambda registry: registry.operators(add=abs)), "given by numpy ("),
    "an effect that is no class": (_hook(lambda registry: registry.effect(3)), "must be a subclass of Effect, got 3"),
    "an effect on an operand, in order": (
        _hook(lambda registry: registry.effect(Reads, ordered=True, override=True)),
        "ordered must be False for Reads",
    ),
    "a type of values that is no class": (_hook(lambda registry: registry.aval(3, abs)), "must be a class, got 3"),
    "a type of values that is there": (_hook(lambda registry: registry.aval(float, abs)), "given by primax itself"),
    "an array protocol that is not whole": (
        _hook(lambda registry: registry.array_protocol(core.AbstractValue, zeros=abs)),
        "add, broadcast, moveaxis, convert, index, stack must be given",
    ),
    "an entry in what is no table": (_hook(lambda registry: registry.enter("x", 3, "y", 1)), "must be a dictionary"),
    "an entry under what is no name": (
        _hook(lambda registry: registry.enter("x", {}, [1], 1)),
        "name must be a string",
    ),
    "samples of a name": (_hook(lambda registry: registry.samples("sin")), "primitive must be a Primitive, got 'sin'"),
    "consent for what is no name": (_hook(lambda registry: registry.allow_overrides(3)), "must be names, got 3"),
}


def _plugin(**functions: Any) -> Any:
    module = type(re)("planted")
    vars(module).update(functions)
    return module


@pytest.mark.parametrize("name", LOADED)
def test_what_loading_can_know_is_told_there(name: str) -> None:
    make, said = LOADED[name]
    with pytest.raises(px.errors.PluginError, match=re.escape(said)) as error:
        px.plugins.register(make(), name="planted")
    assert "planted" in str(error.value)
    assert all(record.name != "planted" for record in plugins())


def test_a_plugin_that_forgets_its_definitions_is_told_at_once_and_by_the_kit() -> None:
    said = "plugin 'planted' (.*) is active, but has not entered forgotten; did you forget definitions.enter"
    with pytest.warns(px.errors.PluginWarning, match=said):
        px.plugins.register(_plugin(primax_register=hookimpl(_forgotten)), name="planted")
    try:
        (outcome,) = check_plugin("planted").failed
    finally:
        px.plugins.unregister("planted")
    assert "has entered nothing; did you forget definitions.enter(registry)" in outcome.message


def table() -> str:
    """Every fault with the moment that tells of it, and what is said then; `python tests/extend/test_planted.py`."""
    rows = []
    for name, mistake in AT_DEFINITION.items():
        with pytest.raises((TypeError, ValueError)) as error:
            define_primitive("triple", **{**SOUND, **mistake.rules})
        rows.append((name, "define", str(error.value)))
    for name, (given, _) in NAMES.items():
        with pytest.raises(TypeError) as error:
            define_primitive(given, **SOUND)
        rows.append((name, "define", str(error.value)))
    for name, (make, _) in LOADED.items():
        with pytest.raises(px.errors.PluginError) as error:
            px.plugins.register(make(), name="planted")
        rows.append((name, "load", str(error.value)))
    rows += [(name, "first use", _first_use(mistake)[1]) for name, mistake in AT_FIRST_USE.items()]
    for name, mistake in IN_THE_KIT.items():
        ((cause, _),) = _report(mistake).causes
        rows.append((name, f"kit, {cause.check}", cause.message))
    lines = [f"| {name} | {moment} | {_cell(said)} |" for name, moment, said in rows]
    return "\n".join(["| fault | told at | message |", "|---|---|---|", *lines])


def _cell(said: str) -> str:
    return " ".join(said.replace(f"{__file__}:", "FILE:").replace("|", "or").split())[:160]


if __name__ == "__main__":
    print(table())
