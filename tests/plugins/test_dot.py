"""Products contract, differentiate and batch as jax's do, in as few equations, and name what does not fit."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rulecheck import assert_close, check_against_jax, check_values, equations

import primax as px
from primax.extend.provisional.precision import canonicalize_precision
from primax.plugins import dot as D

MATMUL = (((1,), (0,)), ((), ()))
CASES = {
    "matrix_matrix": ((2, 3), (3, 4), MATMUL),
    "transposed_rhs": ((2, 3), (4, 3), (((1,), (1,)), ((), ()))),
    "transposed_lhs": ((3, 2), (3, 4), (((0,), (0,)), ((), ()))),
    "both_transposed": ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
    "vector_vector": ((3,), (3,), (((0,), (0,)), ((), ()))),
    "matrix_vector": ((2, 3), (3,), (((1,), (0,)), ((), ()))),
    "outer": ((2,), (3,), (((), ()), ((), ()))),
    "scalars": ((), (), (((), ()), ((), ()))),
    "scalar_array": ((), (2, 3), (((), ()), ((), ()))),
    "batched": ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
    "batched_at_the_end": ((2, 3, 5), (3, 4, 5), (((1,), (0,)), ((2,), (2,)))),
    "two_of_each_crossed": ((2, 5, 3, 6), (3, 4, 6, 5), (((2, 3), (0, 2)), ((1,), (3,)))),
    "all_contracted": ((2, 3, 4), (4, 2, 3), (((0, 1, 2), (1, 2, 0)), ((), ()))),
    "all_batched": ((2, 3), (3, 2), (((), ()), ((0, 1), (1, 0)))),
    "empty_contraction": ((2, 0), (0, 3), MATMUL),
    "empty_result": ((0, 2), (2, 3), MATMUL),
}


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    values = random.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.uniform(-2, 2, shape)
    elif np.dtype(dtype).kind in "iub":
        values = random.integers(0, 4, shape)
    return np.asarray(values).astype(dtype)


def operands(name: str, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    lhs, rhs, dims = CASES[name]
    return numbers(*lhs, dtype=dtype), numbers(*rhs, dtype=dtype, seed=1), dims


def lax() -> Any:
    return pytest.importorskip("jax").lax


@pytest.mark.parametrize("name", CASES)
def test_dot_general_agrees_with_jax(name: str) -> None:
    x, y, dims = operands(name)
    check_against_jax(lambda x, y: D.dot_general(x, y, dims), lambda x, y: lax().dot_general(x, y, dims), x, y)


@pytest.mark.parametrize("dtype", [np.complex64, np.int32, np.bool_])
def test_dot_general_is_numpys_tensordot(dtype: Any) -> None:
    x, y, dims = operands("two_of_each_crossed", dtype)
    check_values(
        lambda x, y: D.dot_general(x, y, dims),
        lambda x, y: np.einsum("abcd,cedb->bae", x, y).astype(x.dtype),
        x,
        y,
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("lhs", "rhs", "preferred"),
    [
        (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, np.float32),
        (ml_dtypes.bfloat16, np.float16, np.float32),
        (ml_dtypes.float8_e5m2, ml_dtypes.bfloat16, np.float32),
        (np.int8, np.uint8, np.int32),
        (np.float32, ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    ],
)
def test_factors_of_two_dtypes_are_multiplied_in_the_widest_dtype(lhs: Any, rhs: Any, preferred: Any) -> None:
    x = (np.arange(12).reshape(3, 4) % 7 * 17 + 1).astype(lhs)
    y = (np.arange(20).reshape(4, 5) % 11 * 19 + 33).astype(rhs)
    want = x.astype(np.float64) @ y.astype(np.float64)

    def product(x: Any, y: Any) -> Any:
        return D.dot_general(x, y, MATMUL, preferred_element_type=preferred)

    for compute in (product, px.jit(product)):
        np.testing.assert_allclose(
            np.asarray(compute(x, y), np.float64), want.astype(preferred).astype(np.float64), rtol=1e-6
        )


@pytest.mark.parametrize("dims", [d for d in itertools.product([None, 0, 1, 2], repeat=2) if any(d)])
def test_a_mapped_product_is_one_product(dims: tuple[int | None, int | None]) -> None:
    x, y = (numbers(3, 3, 3) if d is not None else numbers(3, 3) for d in dims)
    assert equations(px.vmap(D.dot, dims), x, y).count("dot_general") == 1


def test_a_product_mapped_over_one_operand_keeps_its_axis_in_place() -> None:
    assert equations(px.vmap(D.dot, (1, None), 0), numbers(2, 5, 3), numbers(3, 4)) == [
        "dot_general",
        "transpose",
    ]
    assert equations(px.vmap(D.dot, (1, None), 1), numbers(2, 5, 3), numbers(3, 4)) == ["dot_general"]
    assert equations(px.vmap(D.dot, (None, 2), 2), numbers(2, 3), numbers(3, 4, 5)) == ["dot_general"]


@pytest.mark.parametrize("name", CASES)
def test_pulling_back_takes_a_transposition_only_where_no_order_of_factors_avoids_it(name: str) -> None:
    x, y, dims = operands(name)

    def pull(x: Any, y: Any, ct: Any) -> Any:
        return px.vjp(lambda x, y: D.dot_general(x, y, dims), x, y)[1](ct)

    ct = np.ones(D.dot_general(x, y, dims).shape, np.float32)
    names = equations(pull, x, y, ct)
    assert names.count("dot_general") == 3
    free = {"two_of_each_crossed": 2, "batched_at_the_end": 2, "all_contracted": 2, "all_batched": 1}
    assert names.count("transpose") == free.get(name, 0)
    assert len(names) == 3 + free.get(name, 0)


def test_the_gradient_of_a_matrix_product_is_two_matrix_products() -> None:
    def loss(w: Any, x: Any) -> Any:
        return px.lax.reduce_sum(D.dot(x, w), (0, 1))

    names = equations(px.grad(loss, (0, 1)), numbers(3, 4), numbers(2, 3))
    assert names == ["dot_general", "reduce_sum", "broadcast_in_dim", "dot_general", "dot_general"]


DTYPES = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn"]


def named(dtype: str) -> Any:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_of_different_dtypes_are_multiplied_in_the_wider(dtype: str) -> None:
    jax = pytest.importorskip("jax")
    x = numbers(2, 3).astype(named(dtype))
    for other in DTYPES:
        y = numbers(3, 2, seed=1).astype(named(other))
        want = jax.eval_shape(jax.lax.dot, x, y)
        assert px.eval_shape(D.dot, x, y).dtype == want.dtype, other
    y = numbers(3, 2, seed=1)
    check_against_jax(D.dot, jax.lax.dot, x, y)


def test_dtypes_of_one_width_are_refused() -> None:
    with pytest.raises(TypeError, match="one of the dtypes of lhs and rhs must be wider, got float8_e5m2"):
        D.dot(np.ones(2, ml_dtypes.float8_e5m2), np.ones(2, ml_dtypes.float8_e5m2fnuz))


@pytest.mark.parametrize(
    "dtype, preferred",
    [
        ("int8", "int32"),
        ("bfloat16", "float32"),
        ("float32", "bfloat16"),
        ("float32", "int32"),
        ("int32", "float32"),
        ("bool", "int32"),
        ("float32", "complex64"),
    ],
)
def test_preferred_element_type_is_that_of_the_result(dtype: str, preferred: str) -> None:
    x, y = numbers(2, 3).astype(named(dtype)), numbers(3, 2, seed=1).astype(named(dtype))
    wanted = named(preferred)
    check_against_jax(
        lambda x, y: D.dot(x, y, preferred_element_type=wanted),
        lambda x, y: lax().dot(x, y, preferred_element_type=wanted),
        x,
        y,
    )


@pytest.mark.parametrize(
    "dtype, preferred", [("bfloat16", "float32"), ("float32", "bfloat16"), ("float32", "complex64")]
)
def test_cotangents_have_the_dtypes_of_their_operands(dtype: str, preferred: str) -> None:
    jax = pytest.importorskip("jax")
    x, y = numbers(2, 3).astype(named(dtype)), numbers(3, 2, seed=1).astype(named(dtype))
    wanted = named(preferred)
    out, pull = px.vjp(lambda x, y: D.dot(x, y, preferred_element_type=wanted), x, y)
    _, jax_pull = jax.vjp(lambda x, y: jax.lax.dot(x, y, preferred_element_type=wanted), x, y)
    ct = np.ones((2, 2), out.dtype)
    for got, want in zip(pull(ct), jax_pull(ct), strict=True):
        assert_close(got, want, 2e-2)


def test_products_with_integer_results_have_no_derivative() -> None:
    x = numbers(2, 3)
    out, tangent = px.jvp(lambda x: D.dot(x, x.T, preferred_element_type=np.int32), (x,), (x,))
    assert out.dtype == np.int32
    assert tangent.dtype == px.float0


@pytest.mark.parametrize(
    "dtype, preferred, message",
    [
        ("int32", "int8", "must not be narrower than the result, got int8 for int32"),
        ("complex64", "float32", "must be complex for a product of complex64, got float32"),
    ],
)
def test_preferred_element_type_must_hold_the_result(dtype: str, preferred: str, message: str) -> None:
    x = numbers(2, 2).astype(dtype)
    with pytest.raises(TypeError, match=f"dot_general: preferred_element_type {message}"):
        D.dot(x, x, preferred_element_type=preferred)


HIGH, HIGHEST, DEFAULT = D.Precision.HIGH, D.Precision.HIGHEST, D.Precision.DEFAULT


@pytest.mark.parametrize(
    "given, wanted",
    [
        (None, None),
        ("default", (DEFAULT, DEFAULT)),
        ("high", (HIGH, HIGH)),
        ("tensorfloat32", (HIGH, HIGH)),
        ("float32", (HIGHEST, HIGHEST)),
        (HIGHEST, (HIGHEST, HIGHEST)),
        (("high", "default"), (HIGH, DEFAULT)),
        ([HIGH, "highest"], (HIGH, HIGHEST)),
        ("F32_F32_F32", D.DotAlgorithmPreset.F32_F32_F32),
        (D.DotAlgorithmPreset.DEFAULT, D.DotAlgorithmPreset.DEFAULT),
    ],
)
def test_precisions_have_one_form(given: Any, wanted: Any) -> None:
    assert canonicalize_precision(given) == wanted


@pytest.mark.parametrize("precision", ["hihg", 3, ("high",), (None, "high"), ("high", "high", "high")])
def test_what_is_no_precision_is_refused(precision: Any) -> None:
    with pytest.raises(ValueError, match="dot_general: precision must be None, one of 'default'"):
        D.dot(np.ones(2), np.ones(2), precision=precision)


@pytest.mark.parametrize(
    "precision", ["highest", "BF16_BF16_F32", "F16_F16_F16", "BF16_BF16_F32_X3", ("high", "default")]
)
def test_products_of_any_precision_agree_with_jax(precision: Any) -> None:
    check_against_jax(
        lambda x, y: D.dot(x, y, precision=precision),
        lambda x, y: lax().dot(x, y, precision=precision),
        numbers(2, 3),
        numbers(3, 2),
        rtol=2e-3,
    )


def test_the_algorithm_of_a_product_is_in_its_program() -> None:
    lowered = px.jit(lambda x: D.dot(x, x, precision="BF16_BF16_F32_X6")).lower(numbers(2, 2)).as_text()
    assert "num_primitive_operations = 6" in lowered
    lowered = px.jit(lambda x: D.dot(x, x, precision=("highest", "high"))).lower(numbers(2, 2)).as_text()
    assert "[HIGHEST, HIGH]" in lowered


def test_presets_tell_the_types_that_they_stand_for() -> None:
    preset = D.DotAlgorithmPreset
    assert preset.TF32_TF32_F32.supported_lhs_types == preset.F32_F32_F32.supported_rhs_types == (np.float32,)
    assert preset.F16_F16_F32.supported_lhs_types == (np.float16,)
    assert preset.F16_F16_F32.accumulation_type is np.float32
    for left in (preset.DEFAULT, preset.ANY_F8_ANY_F8_ANY):
        assert (left.supported_lhs_types, left.accumulation_type) == (None, None)


def test_an_algorithm_that_the_platform_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one of BF16_BF16_F32, .* on platform 'cpu', got TF32_TF32_F32"):
        D.dot(np.ones(2), np.ones(2), precision="TF32_TF32_F32")


def test_default_matmul_precision_is_taken_where_none_is_asked_for() -> None:
    def precisions(**given: Any) -> Any:
        return px.make_jaxpr(lambda x: D.dot(x, x, **given))(numbers(2, 2)).eqns[0].params["precision"]

    assert precisions() is None
    with px.default_matmul_precision("high"):
        assert precisions() == (HIGH, HIGH)
        assert precisions(precision="highest") == (HIGHEST, HIGHEST)
    with px.default_matmul_precision("F32_F32_F32"):
        assert precisions() == D.DotAlgorithmPreset.F32_F32_F32


def test_each_operand_keeps_its_precision_when_a_product_is_pulled_back() -> None:
    x, y = numbers(2, 3), numbers(3, 4)

    def pull(x: Any, y: Any, ct: Any) -> Any:
        return px.vjp(lambda x, y: D.dot(x, y, precision=(HIGH, HIGHEST)), x, y)[1](ct)

    _, of_y, of_x = px.make_jaxpr(pull)(x, y, numbers(2, 4)).eqns
    # x stands on the left of the product that is the cotangent of y, and y on the right of that of x
    assert of_y.params["precision"] == (HIGH, HIGHEST)
    assert of_x.params["precision"] == (HIGH, HIGHEST)


def test_products_print_as_in_jax() -> None:
    jax = pytest.importorskip("jax")
    x, y = numbers(2, 3), numbers(3, 4)
    ours = px.make_jaxpr(lambda x, y: D.dot(x, y, precision="high", preferred_element_type="float32"))(x, y)
    theirs = jax.make_jaxpr(lambda x, y: jax.lax.dot(x, y, precision="high", preferred_element_type="float32"))(x, y)
    assert str(ours) == str(theirs)
    assert str(px.make_jaxpr(D.dot)(x, y)) == str(jax.make_jaxpr(jax.lax.dot)(x, y))


def test_products_of_scalars_are_weakly_typed() -> None:
    dims = (((), ()), ((), ()))
    assert px.make_jaxpr(lambda: D.dot_general(2.0, 3.0, dims))().out_avals[0].weak_type
    assert not px.make_jaxpr(lambda: D.dot_general(2.0, np.float32(3), dims))().out_avals[0].weak_type


def test_dot_takes_vectors_and_matrices() -> None:
    x, y = numbers(2, 3), numbers(3, 4)
    assert_close(D.dot(x, y), x @ y)
    assert_close(D.dot(x, y[:, 0]), x @ y[:, 0])
    assert_close(D.dot(x[0], y), x[0] @ y)
    assert_close(D.dot(x[0], y[:, 0]), np.asarray(x[0] @ y[:, 0]))
    assert_close(D.dot(x, x, dimension_numbers=(((1,), (1,)), ((), ()))), x @ x.T)


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 2, 3), (3, 4)), ((), (3,))])
def test_dot_needs_dimension_numbers_for_other_shapes(shapes: Any) -> None:
    x, y = shapes
    with pytest.raises(ValueError, match="dot: lhs and rhs must be vectors or matrices") as caught:
        D.dot(np.ones(x), np.ones(y))
    assert str(x) in str(caught.value)
    assert str(y) in str(caught.value)


def test_batch_matmul_multiplies_stacks_of_matrices() -> None:
    x, y = numbers(5, 6, 2, 3), numbers(5, 6, 3, 4)
    assert_close(D.batch_matmul(x, y), x @ y)
    with pytest.raises(TypeError, match=r"batch_matmul: .* the same rank, of 2 or more, got shapes \(2, 3\)"):
        D.batch_matmul(x[0, 0], y[0])
    with pytest.raises(TypeError, match=r"batch dimensions must have equal sizes, got \(5, 6\)"):
        D.batch_matmul(x, y[:4])


SIZES = (
    r"contracting dimensions must have equal sizes, got \(2,\) for dimensions \(0,\) of lhs f32\[2,3\] "
    r"and \(3,\) for dimensions \(0,\) of rhs f32\[3,4\]"
)


@pytest.mark.parametrize(
    "dims, message",
    [
        ((((0,), (0,)), ((), ())), SIZES),
        ((((1,), (0,)), ((0,), (1,))), r"batch dimensions must have equal sizes, got \(2,\)"),
        ((((1,), ()), ((), ())), r"contracting dimensions must have equal sizes, got \(3,\) .* and \(\)"),
        ((((-1,), (0,)), ((), ())), r"lhs must be between 0 and its rank 2, got contracting \(-1,\)"),
        ((((1,), (2,)), ((), ())), r"dimensions of rhs must be between 0 and its rank 2"),
        ((((1, 1), (0, 0)), ((), ())), r"dimensions of lhs must be distinct, got contracting \(1, 1\)"),
        ((((1,), (0,)), ((1,), (0,))), r"dimensions of lhs must be distinct"),
        (((1,), (0,)), r"dimension_numbers must be \(\(lhs_contracting"),
        ((((1.5,), (0,)), ((), ())), r"four sequences of ints"),
    ],
)
def test_dimension_numbers_that_do_not_fit_are_named(dims: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"dot_general: .*{message}"):
        D.dot_general(numbers(2, 3), numbers(3, 4), dims)


def test_dimension_numbers_may_be_lists_and_numpy_integers() -> None:
    x, y = numbers(2, 3), numbers(3, 4)
    assert_close(D.dot_general(x, y, [[[np.int64(1)], [0]], [[], []]]), x @ y)


@st.composite
def products(draw: st.DrawFn) -> Any:
    """Shapes and dimension numbers that fit each other, in any order."""
    batch, contract, left, right = (draw(st.integers(0, most)) for most in (2, 2, 2, 2))
    sizes = draw(st.lists(st.integers(1, 3), min_size=batch + contract, max_size=batch + contract))
    kinds_l = draw(st.permutations([*range(batch + contract), *[-1] * left]))
    kinds_r = draw(st.permutations([*range(batch + contract), *[-2] * right]))
    lhs = tuple(sizes[k] if k >= 0 else 2 for k in kinds_l)
    rhs = tuple(sizes[k] if k >= 0 else 3 for k in kinds_r)
    order = draw(st.permutations(range(batch + contract)))
    chosen = [(kinds_l.index(k), kinds_r.index(k), k < batch) for k in order]
    dims = tuple(
        (tuple(i for i, _, b in chosen if b == is_batch), tuple(j for _, j, b in chosen if b == is_batch))
        for is_batch in (False, True)
    )
    return lhs, rhs, dims


@given(products())
@settings(max_examples=15)
def test_types_and_cotangents_of_any_product_are_those_of_jax(product: Any) -> None:
    jax = pytest.importorskip("jax")
    lhs, rhs, dims = product
    x, y = numbers(*lhs), numbers(*rhs, seed=1)

    @px.jit
    def ours(x: Any, y: Any) -> Any:
        out, pull = px.vjp(lambda x, y: D.dot_general(x, y, dims), x, y)
        return out, *pull(out)

    @jax.jit
    def theirs(x: Any, y: Any) -> Any:
        out, pull = jax.vjp(lambda x, y: jax.lax.dot_general(x, y, dims), x, y)
        return out, *pull(out)

    for got, want in zip(ours(x, y), theirs(x, y), strict=True):
        assert_close(got, want, 1e-5)


@pytest.mark.parametrize(
    ("w", "x", "numbers_", "dims"),
    [
        ((4, 3), (5, 3), (((1,), (0,)), ((), ())), (None, 0)),
        ((4, 3), (3, 5), (((1,), (0,)), ((), ())), (None, 1)),
        ((2, 4, 3), (3, 5, 2), (((0, 2), (1, 0)), ((), ())), (None, 1)),
    ],
)
def test_many_vectors_times_one_matrix_have_the_mapped_axis_in_front(w, x, numbers_, dims):
    """Behind the axes of the matrix, each product with another mapped array would transpose the result."""
    matrix, vectors = numbers(*w), numbers(*x)
    precision = ("highest", "default")

    def product(a, b):
        return D.dot_general(a, b, numbers_, precision)

    closed = px.make_jaxpr(px.vmap(product, dims))(matrix, vectors)
    assert [str(eqn.primitive) for eqn in closed.jaxpr.eqns] == ["dot_general"]
    assert [p.name for p in closed.jaxpr.eqns[0].params["precision"]] == ["DEFAULT", "HIGHEST"]
    one = [product(matrix, np.take(vectors, i, dims[1])) for i in range(5)]
    np.testing.assert_allclose(px.vmap(product, dims)(matrix, vectors), np.stack(one), rtol=1e-5)
