"""Python's operators, methods and properties of arrays and tracers."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpycheck import compare, refuses, sample

import primax as px
import primax.numpy as pnp

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "divmod": divmod,
    "@": operator.matmul,
}
SCALARS: list[Any] = [True, -2, 1.5, 1j, np.float64(1.5), np.int8(2)]


def with_scalars() -> dict[str, Callable[..., Any]]:
    """Every operator with every scalar on either side."""
    after = {f"x {name} {s!r}": lambda m, x, op=op, s=s: op(x, s) for name, op in OPERATORS.items() for s in SCALARS}
    before = {f"{s!r} {name} x": lambda m, x, op=op, s=s: op(s, x) for name, op in OPERATORS.items() for s in SCALARS}
    return after | before


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "bfloat16", "complex64"])
def test_operators_with_scalars_agree_with_jax(dtype: str) -> None:
    lost = [f"{s!r} ** x" for s in SCALARS]
    compare(with_scalars(), sample(dtype, nonzero=True), any_weak=lost)


@pytest.mark.parametrize("scalar", [3, 2.5])
def test_operators_on_weak_arrays_agree_with_jax(scalar: Any) -> None:
    lost = [f"{s!r} ** x" for s in SCALARS]
    compare(
        {name: lambda m, x, call=call: call(m, m.asarray(scalar)) for name, call in with_scalars().items()},
        1,
        any_weak=lost,
    )


@pytest.mark.parametrize(
    ("left", "right"), [("int32", "float32"), ("uint8", "int8"), ("bfloat16", "bfloat16"), ("bool", "complex64")]
)
def test_operators_on_arrays_agree_with_jax(left: str, right: str) -> None:
    both = {name: lambda m, x, y, op=op: op(x, y) for name, op in OPERATORS.items()}
    both |= {f"{name} row": lambda m, x, y, op=op: op(x, y[0]) for name, op in OPERATORS.items() if name != "**"}
    both |= {f"{name} column": lambda m, x, y, op=op: op(x[0], y[:, :1]) for name, op in OPERATORS.items()}
    both |= {f"{name} number": lambda m, x, y, op=op: op(x[0, 0], y) for name, op in OPERATORS.items() if name != "**"}
    compare(both, sample(left, (3, 3)), sample(right, (3, 3), seed=1, nonzero=True))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "complex64"])
def test_unary_operators_methods_and_properties_agree_with_jax(dtype: str) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "-": lambda m, x: -x,
        "+": lambda m, x: +x,
        "abs": lambda m, x: abs(x),
        "~": lambda m, x: ~x,
        "round": lambda m, x: round(x),
        "round 1": lambda m, x: round(x, 1),
        "round method": lambda m, x: x.round(1),
        "round method to whole numbers": lambda m, x: x.round(),
        "real": lambda m, x: (x.real, x.imag, x.conj(), x.conjugate()),
        "sum": lambda m, x: (x.sum(), x.sum(0), x.sum(axis=1, keepdims=True), x.prod(), x.mean(), x.mean(0)),
        "max": lambda m, x: (x.max(), x.min(0), x.all(), x.any(1)),
        "ptp": lambda m, x: m.ptp(x),
        "argmax": lambda m, x: (x.argmax(), x.argmin(1)),
        "std": lambda m, x: (x.std(), x.var(0, ddof=1)),
        "cumsum": lambda m, x: (x.cumsum(), x.cumprod(0)),
        "clip": lambda m, x: x.clip(1, 2),
        "dot": lambda m, x: (x.dot(x.T), x @ x[0]),
        "view": lambda m, x: x.view("int8"),
        "sizes": lambda m, x: (x.nbytes, x.itemsize, x.size, x.ndim, x.shape, len(x)),
        "powers": lambda m, x: [x**n for n in (0, 1, 2, 3)],
    }
    if dtype == "complex64":
        del calls["argmax"], calls["clip"]
    compare(calls, sample(dtype), weak=False)


def test_flat_is_an_iterator_over_the_elements() -> None:
    """jax refuses it, and so pytest.approx fails for arrays of rank 0 there."""
    x = pnp.arange(6.0).reshape(2, 3)
    assert [float(element) for element in x.flat] == list(range(6))
    assert px.jit(lambda x: sum(element * 2 for element in x.flat))(x) == 30
    assert pnp.array(1.5) == pytest.approx(pnp.array(1.50001), abs=1e-4)
    assert list(pnp.zeros((0, 2)).flat) == []


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("new", ["bool", "int8", "uint16", "float32", "int32", "complex64"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
def test_views_read_the_bytes_of_every_dtype(dtype: str, new: str, jitted: bool) -> None:
    x = np.array([[1, 0, 1, 1, 0, 1, 0, 0], [0, 1, 0, 0, 1, 1, 1, 0]], dtype)
    if new == "bool":
        want = x if dtype == "bool" else x.view(np.uint8) != 0
    else:
        want = x.view(new)
    view = px.jit(lambda x: x.view(new)) if jitted else lambda x: x.view(new)
    out = np.asarray(view(pnp.asarray(x)))
    assert out.dtype == want.dtype
    assert out.tobytes() == want.tobytes()
    assert out.shape == want.shape


def test_views_of_scalars_and_of_parts_of_elements() -> None:
    assert pnp.int8(2).view(bool).tolist() is True
    assert pnp.bool_(True).view("uint8").tolist() == 1
    with pytest.raises(ValueError, match="as wide as that of an array of rank 0, got int32 for bool"):
        pnp.bool_(True).view("int32")
    with pytest.raises(ValueError, match="of 32 bits each, got int32 for 3 elements of 8 bits"):
        pnp.ones(3, "int8").view("int32")
    with pytest.raises(NotImplementedError, match="type must be None"):
        pnp.ones(3).view("int32", type=np.matrix)


def test_the_method_astype_takes_its_arguments_by_name_or_position() -> None:
    x = pnp.asarray([1.0, 2.5])
    for y in (x.astype(dtype="int8"), x.astype("int8", True, x.device), px.jit(lambda x: x.astype(dtype="int8"))(x)):
        assert y.dtype == np.int8
        assert y.tolist() == [1, 2]
    assert x.astype(copy=True, dtype=None).dtype == x.dtype


def test_methods_show_the_signatures_and_the_docstrings_of_their_functions() -> None:
    x = pnp.ones(3) + 1
    for name in ("sum", "astype", "reshape", "clip"):
        method = getattr(x, name)
        assert inspect.getdoc(method)
        assert "args" not in inspect.signature(method).parameters
    assert list(inspect.signature(x.max).parameters) == ["axis", "out", "keepdims", "initial", "where"]


def test_integers_have_no_negative_powers() -> None:
    refuses(TypeError, "integer_pow", lambda: pnp.arange(3) ** -1)
    assert (pnp.array([1.0, 2.0]) ** -1).tolist() == [1.0, 0.5]


@pytest.mark.usefixtures("narrow")
def test_python_integers_must_fit() -> None:
    assert (pnp.uint8(1) + (-1)).dtype == np.uint8
    assert (pnp.uint32(7) & ~3) == 4
    assert (pnp.uint32(1) ^ 0x9E3779B9) == np.uint32(0x9E3779B8)
    refuses(OverflowError, "", lambda: pnp.int32(1) + 2**40)
    refuses(OverflowError, "", lambda: pnp.float32(1) + pnp.add(2**40, 1))


def test_foreign_operands_are_left_to_their_class() -> None:
    class Foreign:
        def __radd__(self, other: Any) -> str:
            return "radd"

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    x = pnp.ones(2)
    assert x + Foreign() == "radd"
    assert x == Foreign()
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    for other in ([1, 2], None, "a", {}):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + other
        with pytest.raises(TypeError, match="unsupported operand"):
            other / x
        with pytest.raises(TypeError, match="not supported between"):
            x < other  # noqa: B015
    refuses(
        TypeError,
        "add: argument 1 must be an array or a number, got list; make it an array with asarray",
        pnp.add,
        x,
        [1],
    )


@pytest.mark.usefixtures("narrow")
def test_numpy_arrays_on_the_left_give_arrays() -> None:
    x = pnp.arange(3.0)
    for out in (np.ones(3) + x, np.float32(1) + x, np.ones(3, np.float64) * x, np.arange(3) - x, np.ones((2, 3)) @ x):
        assert isinstance(out, px.Array)
        assert out.dtype == np.float32
    assert isinstance(np.ones(3) == x, px.Array)


@pytest.mark.parametrize("error", [TypeError, ValueError])  # which of them is JAX's depends on the ranks
def test_shapes_that_do_not_fit_are_errors_of_both_kinds(error: type[Exception]) -> None:
    refuses(error, "but axis -1 has 3 and 4", operator.add, pnp.ones((2, 3)), pnp.ones(4))
    refuses(error, "arrays must be of the same rank", pnp.concatenate, [pnp.ones(3), pnp.ones((2, 2))])


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    refuses(
        TypeError,
        "add got incompatible shapes for broadcasting: (3,), (4,)",
        operator.add,
        pnp.ones(3),
        pnp.ones(4),
    )
    refuses(
        TypeError,
        "matmul: the last axis of a and axis 0 of b must have the same length, got 3 and 4",
        operator.matmul,
        pnp.ones(3),
        pnp.ones((4, 2)),
    )


shapes = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)


@given(shapes, shapes)
def test_broadcasting_agrees_with_numpy(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(left, right)
    except ValueError:
        with pytest.raises(TypeError, match="for broadcasting"):
            px.eval_shape(pnp.add, np.zeros(left), np.zeros(right))
        return
    for function in (
        operator.add,
        operator.floordiv,
        operator.pow,
        operator.lt,
        pnp.where,
        pnp.arctan2,
        pnp.logical_or,
    ):
        args = (
            (np.zeros(left), np.zeros(right)) if function is not pnp.where else (True, np.zeros(left), np.zeros(right))
        )
        assert px.eval_shape(function, *map(pnp.asarray, args)).shape == expected


@pytest.mark.usefixtures("narrow")
def test_operators_take_few_equations() -> None:
    def text(function: Any, *args: Any) -> list[str]:
        return [eqn.primitive.name for eqn in px.make_jaxpr(function)(*args).jaxpr.eqns]

    x, n = np.ones(3, np.float32), np.arange(3, dtype=np.int32)
    assert text(lambda x: 2 * x + 1.0, x) == ["mul", "add"]
    assert text(lambda x: (x / 3, x**2, x**0.5, -x, abs(x)), x) == ["div", "integer_pow", "pow", "neg", "abs"]
    assert text(lambda x: x + np.float32(1), x) == ["add"]
    assert text(lambda x: x + np.float64(1), x) == ["add"]
    assert text(lambda x: x + np.ones(3), x) == ["add"]
    assert text(lambda x: x + x[None], x) == ["broadcast_in_dim", "broadcast_in_dim", "add"]
    assert text(lambda n: n + 1.5, n) == ["convert_element_type", "add"]
    assert text(lambda n: n // 2, n) == ["rem", "div", "sub", "lt", "select_n"]
    assert text(lambda n: n % 2, n) == ["rem", "lt", "add", "select_n"]
    assert text(lambda x: pnp.where(x > 0, x, 0.0), x) == ["gt", "broadcast_in_dim", "select_n"]
    assert text(lambda x: pnp.clip(x, 0, 1), x) == ["max", "min"]
    assert text(pnp.sqrt, n) == ["convert_element_type", "sqrt"]
    assert str(px.make_jaxpr(lambda x: 2.0 * x)(3.0)) == "{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }"


def test_operators_work_under_transformations() -> None:
    def f(x: Any) -> Any:
        return ((2.0 * x - 1) / (x**2 + 1.5) % 0.7 + abs(-x) // 3).sum()

    x = pnp.asarray([0.6, 0.9, 1.3, 1.9])
    value, derivative = px.value_and_grad(f)(x)
    step = 1e-3
    numeric = [(f(x + step * np.eye(4)[i]) - f(x - step * np.eye(4)[i])) / (2 * step) for i in range(4)]
    assert np.allclose(derivative, numeric, atol=1e-2)
    assert np.allclose(px.jit(f)(x), value)
    assert np.allclose(px.vmap(f)(x[:, None]).sum(), value, rtol=1e-5)


def test_results_are_the_same_eagerly_and_in_programs() -> None:
    x, n = pnp.asarray(sample("float32")), pnp.asarray(sample("int32"))
    for name, op in OPERATORS.items():
        if name in ("&", "|", "^", "<<", ">>"):
            eager, traced = op(n, 2), px.jit(lambda n, op=op: op(n, 2))(n)
        elif name == "@":
            eager, traced = x @ x.T, px.jit(lambda x: x @ x.T)(x)
        else:
            eager, traced = op(x, 1.5), px.jit(lambda x, op=op: op(x, 1.5))(x)
        for one, other in zip(px.tree.leaves(eager), px.tree.leaves(traced), strict=True):
            assert np.allclose(one, other, rtol=1e-5, equal_nan=True), name


def test_64_bits_agree_with_jax() -> None:
    jax = pytest.importorskip("jax")
    few = {name: OPERATORS[name] for name in ("+", "/", "//", "**", "<", "<<")}
    calls: dict[str, Callable[..., Any]] = {
        f"x {name} {s!r}": lambda m, x, y, op=op, s=s: op(x, s)
        for name, op in few.items()
        for s in (2, 1.5, np.int8(2))
    }
    calls |= {f"x {name} y": lambda m, x, y, op=op: op(x, y) for name, op in few.items()}
    with px.enable_x64(True), jax.enable_x64(True):
        compare(calls, sample("float32"), sample("int32", nonzero=True))
        compare(calls, sample("int32"), sample("uint32", nonzero=True))


def test_items_are_python_numbers() -> None:
    x = pnp.arange(4).reshape(2, 2)
    assert x.item(1, 0) == 2
    assert type(pnp.float32(1.5).item()) is float
    for ask in (lambda x: x.item(), lambda x: x.tolist(), lambda x: x.tobytes()):
        with pytest.raises(px.errors.ConcretizationTypeError, match=r"asks for its (item|list|bytes), but"):
            px.jit(ask)(1.0)


def test_in_asks_for_a_number_among_the_elements_of_a_vector() -> None:
    x = pnp.asarray([1.0, 2.0])
    assert 2 in x
    assert pnp.float32(2) in x
    assert np.float32(3) not in x
    assert True in x
    assert 1 not in pnp.zeros(0)
    for left, right in ((1, pnp.ones((2, 2))), (1, pnp.asarray(1)), (x, x), (np.ones((2, 1)), x)):
        with pytest.raises(ValueError, match=r"^in: the (left|right) operand must be .*of rank"):
            left in right  # noqa: B015
    for left in ("a", None, [1], object()):
        with pytest.raises(TypeError, match=r"^in: the left operand must be an array or a number"):
            left in x  # noqa: B015


def test_containers_with_operators_of_their_own_answer() -> None:
    class Pair(NamedTuple):
        first: Any

        def __rmul__(self, other: Any) -> str:
            return "product"

        def __eq__(self, other: object) -> str:  # type: ignore[override]
            return "equal"

        def __ne__(self, other: object) -> str:  # type: ignore[override]
            return "unequal"

    x = pnp.ones(2)
    assert (x * Pair(1), x == Pair(1), x != Pair(1)) == ("product", "equal", "unequal")
    assert px.jit(lambda x: px.lax.full_like(x, (x * Pair(1)) == "product"))(x).all()
    for f in (lambda: x * (1, 2), lambda: x == [1, 2], lambda: x != {}):
        with pytest.raises(TypeError, match="operands must be arrays or numbers"):
            f()


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int32"])
def test_integer_powers_above_63_are_those_of_numpy(dtype: str) -> None:
    x = np.array([-3 if dtype[0] == "i" else 3, 5, 2, 18, 90, 0, 1], dtype)
    y = np.array([71, 127, 64, 70, 66, 100, 99], dtype)
    want = np.power(x, y)
    np.testing.assert_array_equal(pnp.power(x, y), want)
    np.testing.assert_array_equal(px.jit(pnp.power)(x, y), want)
    np.testing.assert_array_equal(pnp.asarray(x) ** 71, np.power(x, np.full_like(x, 71)))
