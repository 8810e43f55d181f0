"""Wrong rules for the toys of `sound_rules`, each with the check of the conformance kit that catches it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sound_rules import PRODUCT, SEVERAL, TOTAL, TURN, WAVE, Toy, X, inexact

import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.testing import Sample


@dataclass(frozen=True)
class Fault:
    """A toy with one wrong rule, and the check that detects it.

    Attributes:
      make: `(p) -> rule`; its name describes the fault.
      toy: the primitive.
      kind: the kind of rule.
      check: the name of the check.
    """

    make: Callable[[core.Primitive], Any]
    toy: Toy
    kind: str
    check: str


FAULTS: list[Fault] = []


def fault(toy: Toy, kind: str, check: str) -> Callable[[Any], Any]:
    def enter(make: Any) -> Any:
        FAULTS.append(Fault(make, toy, kind, check))
        return make

    return enter


@fault(WAVE, "jvp", "jvp")
def a_jvp_of_the_wrong_sign(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), -t * pnp.cos(x * factor) * factor

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_that_returns_another_primal(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return pnp.cos(x * factor), t * pnp.cos(x * factor) * factor

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_that_ignores_a_parameter(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), t * pnp.cos(x * factor)

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_that_chooses_by_value(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        slope = pnp.cos(x * factor) * factor
        return p.bind(x, factor=factor), slope * t if x[0, 0] > 0 else t * slope

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_that_computes_with_numpy(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), t * np.cos(np.asarray(x) * factor) * factor

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_whose_tangent_is_of_another_dtype(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), (t * pnp.cos(x * factor) * factor).astype(np.float32)

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_whose_tangent_is_of_another_shape(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), (t * pnp.cos(x * factor) * factor)[0]

    return jvp


@fault(WAVE, "jvp", "jvp")
def a_jvp_that_returns_none_for_a_zero(p):
    return lambda primals, tangents, *, factor: (p.bind(*primals, factor=factor), None)


@fault(WAVE, "jvp", "complex_derivatives")
def a_jvp_that_is_wrong_for_complex_arguments_only(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        slope = pnp.cos(x * factor) * factor
        return p.bind(x, factor=factor), t * (pnp.conj(slope) if core.dtypes.is_complex(x.dtype) else slope)

    return jvp


@fault(WAVE, "jvp", "linearity")
def a_jvp_that_is_not_linear(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), pnp.abs(t) * pnp.cos(x * factor) * factor

    return jvp


@fault(WAVE, "jvp", "second_derivatives")
def a_jvp_whose_derivative_is_stopped(p):
    def jvp(primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return p.bind(x, factor=factor), t * lax.stop_gradient(pnp.cos(x * factor)) * factor

    return jvp


@fault(PRODUCT, "jvp", "jvp")
def a_jvp_that_ignores_the_tangent_of_an_argument(p):
    def jvp(primals, tangents):
        (x, y), (t, _) = primals, tangents
        return p.bind(x, y), ad.Zero.from_primal_value(x) if type(t) is ad.Zero else p.bind(t, y)

    return jvp


@fault(PRODUCT, "jvp", "active_arguments")
def a_jvp_that_is_right_only_if_all_arguments_are_active(p):
    def jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        return p.bind(x, y), p.bind(s, y) + p.bind(x, t)

    return jvp


@fault(PRODUCT, "jvp", "active_arguments")
def a_jvp_that_is_wrong_if_one_argument_is_active(p):
    def jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        if type(t) is ad.Zero:
            return p.bind(x, y), p.bind(s, s)
        return p.bind(x, y), p.bind(x, t) if type(s) is ad.Zero else p.bind(s, y) + p.bind(x, t)

    return jvp


@fault(SEVERAL, "jvp", "symbolic_zeros")
def a_jvp_that_instantiates_zeros(p):
    def jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        outs = p.bind(x, y)
        first = pnp.zeros_like(x)
        if type(s) is not ad.Zero:
            first += s * y
        if type(t) is ad.Zero:
            return outs, [first, s, ad.Zero.from_primal_value(outs[2])]
        second = 2 * t if type(s) is ad.Zero else s + 2 * t
        # Wrong: if the first tangent is left out, no active tangent enters.
        return outs, [first if type(s) is ad.Zero else first + x * t, second, ad.Zero.from_primal_value(outs[2])]

    return jvp


@fault(SEVERAL, "jvp", "jvp")
def a_jvp_that_makes_integer_tangents_of_integers(p):
    def jvp(primals, tangents):
        (x, y), (s, t) = primals, map(ad.instantiate_zeros, tangents)
        outs = p.bind(x, y)
        return outs, [s * y + x * t, s + 2 * t, pnp.zeros_like(outs[2])]

    return jvp


@fault(SEVERAL, "jvp", "jvp")
def a_jvp_that_returns_too_few_tangents(p):
    def jvp(primals, tangents):
        (x, y), (s, t) = primals, map(ad.instantiate_zeros, tangents)
        return p.bind(x, y), [s * y + x * t, s + 2 * t]

    return jvp


@fault(TURN, "transpose", "transpose")
def a_transpose_that_conjugates(p):
    return lambda ct, x, *, c: [p.bind(ct, c=complex(c).conjugate())]


@fault(PRODUCT, "transpose", "transpose")
def a_transpose_of_the_wrong_sign(p):
    def transpose(ct, x, y):
        return (p.bind(ct, y), None) if ad.is_undefined_primal(x) else (None, -p.bind(x, ct))

    return transpose


@fault(PRODUCT, "transpose", "transpose")
def a_transpose_that_forgets_a_conjugate(p):
    def transpose(ct, x, y):
        return (p.bind(ct, pnp.conj(y)), None) if ad.is_undefined_primal(x) else (None, p.bind(x, ct))

    return transpose


@fault(TOTAL, "transpose", "transpose")
def a_cotangent_of_another_shape(p):
    return lambda ct, x, *, axes: [ct]


@fault(TOTAL, "transpose", "transpose")
def a_cotangent_of_another_dtype(p):
    def transpose(ct, x, *, axes):
        return [pnp.broadcast_to(pnp.expand_dims(ct, axes), x.aval.shape).astype(np.float32)]

    return transpose


@fault(PRODUCT, "transpose", "transpose")
def a_transpose_that_returns_too_few_cotangents(p):
    return lambda ct, x, y: [p.bind(ct, y) if ad.is_undefined_primal(x) else p.bind(x, ct)]


@fault(PRODUCT, "transpose", "transpose")
def a_transpose_for_the_first_argument_only(p):
    return lambda ct, x, y: (p.bind(ct, y) if ad.is_undefined_primal(x) else None, None)


@fault(TOTAL, "batch", "batch")
def a_batch_rule_that_is_right_for_dim_0_only(p):
    return lambda args, dims, *, axes: (p.bind(*args, axes=tuple(axis + 1 for axis in axes)), 0)


@fault(PRODUCT, "batch", "batch")
def a_batch_rule_that_is_right_only_if_all_arguments_are_mapped(p):
    def batch(args, dims):
        front = [x if d is None else pnp.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
        return p.bind(*front), 0

    return batch


@fault(PRODUCT, "batch", "batch")
def a_batch_rule_that_takes_equal_dims_for_granted(p):
    def batch(args, dims):
        dim = next(d for d in dims if d is not None)
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        full = [batching.broadcast(x, size, dim) if d is None else x for x, d in zip(args, dims, strict=True)]
        return p.bind(*full), dim

    return batch


@fault(TOTAL, "batch", "batch")
def a_batch_rule_that_returns_another_dim(p):
    def batch(args, dims, *, axes):
        (x,), (dim,) = args, dims
        return p.bind(pnp.moveaxis(x, dim, 0), axes=tuple(axis + 1 for axis in axes)), 1

    return batch


@fault(WAVE, "batch", "batch")
def a_batch_rule_that_returns_only_the_result(p):
    return lambda args, dims, *, factor: p.bind(*args, factor=factor)


@fault(WAVE, "batch", "batch")
def a_batch_rule_that_computes_one_element(p):
    def batch(args, dims, *, factor):
        (x,), (dim,) = args, dims
        return p.bind(x.take(0, dim) if hasattr(x, "take") else x[0], factor=factor), None

    return batch


@fault(TOTAL, "batch", "batch_sizes")
def a_batch_rule_that_is_wrong_for_one_element(p):
    def batch(args, dims, *, axes):
        (x,), (dim,) = args, dims
        front = pnp.moveaxis(x, dim, 0)
        if front.shape[0] == 1:
            return front[:, 0], 0
        return p.bind(front, axes=tuple(axis + 1 for axis in axes)), 0

    return batch


@fault(PRODUCT, "batch", "batch_sizes")
def a_batch_rule_that_needs_an_element(p):
    def batch(args, dims):
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        front = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return pnp.stack([p.bind(x, y) for x, y in zip(*front, strict=True)]), 0

    return batch


@fault(WAVE, "abstract_eval", "abstract_eval")
def an_abstract_eval_that_promotes(p):
    return lambda x, *, factor: core.ShapedArray(x.shape, np.result_type(x.dtype, np.complex64))


@fault(TOTAL, "abstract_eval", "abstract_eval")
def an_abstract_eval_of_another_shape(p):
    return lambda x, *, axes: core.ShapedArray(x.shape, x.dtype)


@fault(WAVE, "abstract_eval", "weak_types")
def an_abstract_eval_whose_results_are_weak(p):
    def abstract_eval(x, *, factor):
        inexact(x)
        return core.ShapedArray(x.shape, x.dtype, weak_type=True)

    return abstract_eval


@fault(WAVE, "abstract_eval", "weak_types")
def an_abstract_eval_that_is_weak_where_impl_is_not(p):
    def abstract_eval(x, *, factor):
        inexact(x)
        return x

    return abstract_eval


@fault(PRODUCT, "abstract_eval", "bad_input")
def an_abstract_eval_that_asserts(p):
    def abstract_eval(x, y):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        return core.ShapedArray(x.shape, x.dtype)

    return abstract_eval


@fault(PRODUCT, "abstract_eval", "bad_input")
def an_abstract_eval_that_accepts_what_the_lowering_refuses(p):
    return lambda x, y: core.ShapedArray(x.shape, x.dtype)


@fault(TOTAL, "abstract_eval", "shapes")
def an_abstract_eval_that_runs_out_of_axes(p):
    def abstract_eval(x, *, axes):
        inexact(x)
        sizes = list(x.shape)
        for axis in axes:
            del sizes[axis]
        return core.ShapedArray(sizes, x.dtype)

    return abstract_eval


@fault(SEVERAL, "abstract_eval", "abstract_eval")
def an_abstract_eval_that_promises_too_few_results(p):
    return lambda x, y: [core.ShapedArray(x.shape, x.dtype)] * 2


@fault(SEVERAL, "abstract_eval", "abstract_eval")
def an_abstract_eval_that_returns_no_list(p):
    return lambda x, y: core.ShapedArray(x.shape, x.dtype)


@fault(WAVE, "lowering", "lowering")
def a_lowering_that_ignores_a_parameter(p):
    return mlir.lower_fun(lambda x, *, factor: pnp.sin(x), multiple_results=False)


@fault(WAVE, "lowering", "dtypes")
def a_lowering_that_is_wrong_in_one_dtype(p):
    def wrong(x, *, factor):
        return pnp.sin(x * factor) if x.dtype != np.float16 else pnp.sin(x) * factor

    return mlir.lower_fun(wrong, multiple_results=False)


@fault(WAVE, "lowering", "shapes")
def a_lowering_that_needs_elements(p):
    def wrong(x, *, factor):
        return pnp.sin(x * factor) + 0 * (1 // x.size)

    return mlir.lower_fun(wrong, multiple_results=False)


@fault(WAVE, "lowering", "lowering")
def a_lowering_of_another_dtype(p):
    return mlir.lower_fun(lambda x, *, factor: pnp.sin(x * factor).astype(np.float16), multiple_results=False)


@fault(SEVERAL, "lowering", "lowering")
def a_lowering_that_gives_too_few_results(p):
    return mlir.lower_fun(lambda x, y: [x * y, x + 2 * y])


@fault(replace(WAVE, samples=(Sample([X.astype(np.float32)], {"factor": 1.5}),)), "impl", "impl")
def an_impl_that_returns_double_precision(p):
    return lambda x, *, factor: np.sin(np.asarray(x, np.float64) * factor)


@fault(WAVE, "impl", "impl")
def an_impl_that_returns_a_number_of_python(p):
    return lambda x, *, factor: float(np.sin(np.asarray(x).ravel()[0] * factor))


@fault(WAVE, "impl", "impl")
def an_impl_that_returns_another_shape(p):
    return lambda x, *, factor: np.sin(np.asarray(x) * x.dtype.type(factor))[0]


@fault(SEVERAL, "impl", "impl")
def an_impl_that_returns_no_list(p):
    return lambda x, y: np.multiply(x, y)


@fault(WAVE, "impl", "shapes")
def an_impl_that_differs_where_there_are_no_elements(p):
    def impl(x, *, factor):
        x = np.asarray(x)
        return np.sin(x * x.dtype.type(factor)) if x.size else np.zeros(0, x.dtype)

    return impl


@fault(WAVE, "impl", "determinism")
def an_impl_that_is_another_one_each_time(p):
    calls = itertools.count()
    return lambda x, *, factor: np.sin(np.asarray(x) * x.dtype.type(factor)) * x.dtype.type(1 + 1e-3 * next(calls))


@fault(WAVE, "impl", "inputs_unchanged")
def an_impl_that_works_in_place(p):
    def impl(x, *, factor):
        x = np.asarray(x) if isinstance(x, np.ndarray) else np.array(x)
        x *= x.dtype.type(factor)
        return np.sin(x)

    return impl


@fault(WAVE, "jvp", "inputs_unchanged")
def a_jvp_that_writes_into_its_lists(p):
    def jvp(primals, tangents, *, factor):
        tangents[0] = tangents[0] * factor
        return p.bind(*primals, factor=factor), tangents[0] * pnp.cos(primals[0] * factor)

    return jvp


@fault(SEVERAL, "abstract_eval", "effects")
def an_effect_that_is_not_registered(p):
    class Whisper(core.Effect):
        pass

    def abstract_eval(x, y):
        out = core.ShapedArray(x.shape, x.dtype)
        return [out, out, core.ShapedArray(x.shape, np.int32)], {Whisper()}

    return {"abstract_eval": None, "effectful_abstract_eval": abstract_eval}


@fault(SEVERAL, "abstract_eval", "effects")
def a_primitive_without_results_or_effects(p):
    return lambda x, y: []


@fault(PRODUCT, "lowering", "effects")
def a_lowering_with_a_side_effect_that_is_not_declared(p):
    def lowering(ctx, x, y):
        call = mlir.hlo.CustomCallOp([x.type], [x], call_target_name="toys.print", has_side_effect=True)
        return [mlir.hlo.multiply(call.results[0], y)]

    return lowering


@fault(WAVE, "lowering", "registration")
def no_lowering(p):
    return None


@fault(WAVE, "jvp", "registration")
def no_jvp(p):
    return None


@fault(TURN, "transpose", "transpose")
def no_transpose(p):
    return None


@fault(WAVE, "batch", "registration")
def no_batch_rule(p):
    return None


@fault(WAVE, "abstract_eval", "registration")
def no_abstract_eval(p):
    return None
