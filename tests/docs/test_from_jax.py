"""What the page on coming from JAX says of JAX is so; its programs for primax run with the other documents."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax
import primax.numpy
from primax import config

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.skipif(config.enable_x64, reason="the page shows 32-bit results")


def _norm_at_zero(m: Any) -> bool:
    return bool(np.isnan(m.grad(m.numpy.linalg.norm)(m.numpy.zeros(2))).any())


def _maximum_with_a_nan(m: Any) -> bool:
    return bool(np.isnan(m.numpy.max(m.numpy.ones(5000).at[4321].set(math.nan))))


def _floor_of_infinity(m: Any) -> float:
    return float(m.numpy.array(math.inf) // 2.0)


def _complex_exp(m: Any) -> bool:
    return bool(np.isnan(m.numpy.exp(m.numpy.array(complex(-math.inf, math.nan)))))


def _change_of_sign(m: Any) -> bool:
    return bool(m.jvp(m.numpy.sign, (1 + 1j,), (1j,))[1] == 0)


def _largest_float(m: Any) -> type:
    return type(m.numpy.finfo("float32").max)


def _scales(m: Any) -> int:
    return len(set(m.random.weibull_min(m.random.key(0), m.numpy.ones(3), 2.0).tolist()))


def _infinite_mean(m: Any) -> int:
    return int(m.random.poisson(m.random.key(0), math.inf))


def _solver(m: Any) -> Any:
    information = importlib.import_module(f"{m.__name__}.scipy.sparse.linalg").cg(lambda x: 2 * x, m.numpy.ones(2))[1]
    return None if information is None else int(information)


def _prints(m: Any) -> list[str]:
    def branch(word: str) -> Callable[[Any], Any]:
        return lambda x: (m.debug.print(word + " {}", x), x)[1]

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        m.vmap(lambda p, x: m.lax.cond(p, branch("yes"), branch("no"), x))(np.array([True, False]), np.ones(2))
        m.effects_barrier()
    return sorted(line.split()[0] for line in printed.getvalue().splitlines())


def _custom_vmap(m: Any) -> float:
    square = importlib.import_module(f"{m.__name__}.custom_batching").custom_vmap(lambda x: x**2)
    square.def_vmap(lambda size, mapped, x: (x**2, True))
    return float(m.vmap(m.grad(square))(m.numpy.ones(2))[0])


def _mapped_parameter(m: Any) -> list[float]:
    times: Any = m.custom_vjp(lambda n, x: n * x, nondiff_argnums=(0,))
    times.defvjp(lambda n, x: (n * x, None), lambda n, _, ct: (n * ct,))
    return list(m.vmap(lambda n: m.grad(times, 1)(n, 2.0))(m.numpy.arange(2.0)).tolist())


def _series(m: Any) -> float:
    jet = importlib.import_module(f"{m.__name__}.experimental.jet").jet
    return float(jet(m.nn.relu, (0.5,), ((1.0, 0.0),))[1][0])


def _programs_by_signed_zeros(m: Any) -> int:
    traced = []

    def times(x: Any, n: float) -> Any:
        traced.append(n)
        return x * n

    for factor in (0.0, -0.0):
        m.jit(times, static_argnums=1)(1.0, factor)
    return len(traced)


def _axes(m: Any) -> str:
    return str(m.make_mesh((1,), ("x",)).axis_types[0].name)


def _other_memory(m: Any) -> str:
    there = m.sharding.SingleDeviceSharding(m.devices()[0], memory_kind="pinned_host")
    return str(m.device_put(m.numpy.ones(2), there).sharding.memory_kind)


def _equations(m: Any) -> list[str]:
    where = m.make_jaxpr(lambda x: m.numpy.where(x > 0, x, 0))(np.ones(2))
    relu = m.make_jaxpr(m.nn.relu)(np.ones(2))
    return ["jit" if "jit" in str(where) else "in line", relu.eqns[0].primitive.name]


def _wrong_type(m: Any) -> str:
    mine = importlib.import_module(f"{m.__name__}.extend.core").Primitive("mine")
    mine.def_impl(lambda x: x[:1])
    mine.def_abstract_eval(lambda x: x)
    return "not compared" if mine.bind(m.numpy.ones(3)).shape == (1,) else ""


def _several_results(m: Any) -> type:
    return type(m.lax.top_k(m.numpy.arange(3.0), 2))


def _arrays_of_the_other(m: Any) -> float:
    other = primax if m is jax else jax
    return float(m.numpy.cos(other.numpy.zeros(())))


def _rules_of_others(m: Any) -> float:
    interpreters = m.interpreters if m is jax else importlib.import_module("primax.extend.interpreters")
    rules = interpreters.ad.primitive_jvps
    before = rules[m.lax.tan_p]
    rules[m.lax.tan_p] = lambda primals, tangents, **_: (primals[0], 7 * tangents[0])
    try:
        return float(m.jvp(m.lax.tan, (0.0,), (1.0,))[1])
    finally:
        rules[m.lax.tan_p] = before


def _absent_platform(m: Any) -> str:
    interpreters = m.interpreters if m is jax else importlib.import_module("primax.extend.interpreters")
    primitive = importlib.import_module(f"{m.__name__}.extend.core").Primitive("mine")
    interpreters.mlir.register_lowering(primitive, lambda ctx, x: [x], platform="of_tomorrow")
    return "kept"


def _values_in_shard_map(m: Any) -> list[bool]:
    seen: list[str] = []

    def look(x: Any) -> Any:
        seen.append(str(x))
        return x

    mesh = m.make_mesh((1,), ("x",), axis_types=(m.sharding.AxisType.Auto,))
    spec = m.sharding.PartitionSpec("x")
    m.shard_map(look, mesh=mesh, in_specs=spec, out_specs=spec)(np.ones(2))
    return ["1." in text for text in seen]


ERROR = object()
DIFFERENCES: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (_norm_at_zero, True, False),
    (_maximum_with_a_nan, False, True),
    (_floor_of_infinity, math.nan, math.inf),
    (_complex_exp, True, False),
    (_change_of_sign, True, False),
    (_largest_float, np.float32, float),
    (_scales, 1, 3),
    (_infinite_mean, 0, 2**31 - 1),
    (_solver, None, 0),
    (_prints, ["no", "no", "yes", "yes"], ["no", "yes"]),
    (_custom_vmap, ERROR, 2.0),
    (_mapped_parameter, ERROR, [0.0, 1.0]),
    (_series, ERROR, 1.0),
    (_programs_by_signed_zeros, 1, 2),
    (_axes, "Explicit", "Auto"),
    (_other_memory, "pinned_host", ERROR),
    (_equations, ["jit", "custom_jvp_call"], ["in line", "jit"]),
    (_wrong_type, "not compared", ERROR),
    (_several_results, list, tuple),
    (_arrays_of_the_other, ERROR, 1.0),
    (_rules_of_others, 7.0, ERROR),
    (_absent_platform, ERROR, "kept"),
    (_values_in_shard_map, [True], [False]),
]


@pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the page is about JAX 0.10")
@pytest.mark.parametrize("behaviour, of_jax, of_primax", DIFFERENCES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_difference_is_as_the_page_says(behaviour: Callable[[Any], Any], of_jax: Any, of_primax: Any) -> None:
    for module, wanted in ((jax, of_jax), (primax, of_primax)):
        for name in ("nn", "random", "sharding"):
            importlib.import_module(f"{module.__name__}.{name}")
        if wanted is ERROR:
            with pytest.raises(Exception):  # noqa: B017
                behaviour(module)
        else:
            np.testing.assert_equal(behaviour(module), wanted)
