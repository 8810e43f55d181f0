"""Convolutions have the shapes, dtypes and options of jax's, stay convolutions, and name what does not fit."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from rulecheck import assert_close, check_against_jax, check_grad, equations

import primax as px
from primax import lax
from primax.plugins.convolution import forms

pytestmark = pytest.mark.usefixtures("in_32_bits")

NHWC = ("NHWC", "HWIO", "NHWC")
IMAGE, KERNEL = (1, 200, 198, 3), (3, 3, 3, 3)
ONES = ((0, 0), (0, 0))


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    values = random.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.uniform(-2, 2, shape)
    elif np.dtype(dtype).kind in "iub":
        values = random.integers(0, 4, shape)
    return values.astype(dtype)


def jax_lax() -> Any:
    return pytest.importorskip("jax").lax


def shape_of(fun: Any, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    return px.eval_shape(fun, *[px.ShapeDtypeStruct(shape, np.float32) for shape in shapes]).shape


TABLE = {
    "the same size": (((1, 1), "SAME"), {}, (1, 200, 198, 3)),
    "only where it fits": (((1, 1), "VALID"), {}, (1, 198, 196, 3)),
    "every other place": (((2, 2), "SAME"), {}, (1, 100, 99, 3)),
    "a dilated kernel": (((1, 1), "VALID"), {"rhs_dilation": (12, 12)}, (1, 176, 174, 3)),
    "a dilated image": (((1, 1), ONES), {"lhs_dilation": (2, 2)}, (1, 397, 393, 3)),
    "a transposed convolution": (((1, 1), ((2, 1), (2, 1))), {"lhs_dilation": (2, 2)}, (1, 400, 396, 3)),
}


@pytest.mark.parametrize("case", TABLE)
def test_images_have_these_shapes(case: str) -> None:
    args, options, wanted = TABLE[case]
    fun = lambda x, y: lax.conv_general_dilated(x, y, *args, dimension_numbers=NHWC, **options)  # noqa: E731
    assert shape_of(fun, IMAGE, KERNEL) == wanted


def test_images_with_features_first_have_these_shapes() -> None:
    image, kernel = (1, 3, 200, 198), (3, 3, 3, 3)
    assert shape_of(lambda x, y: lax.conv(x, y, (1, 1), "SAME"), image, kernel) == (1, 3, 200, 198)
    padded = lambda x, y: lax.conv_with_general_padding(x, y, (1, 1), ((2, 2), (2, 2)), None, None)  # noqa: E731
    assert shape_of(padded, image, kernel) == (1, 3, 202, 200)


@pytest.mark.parametrize(
    "image, kernel, layout, specs",
    [
        (IMAGE, KERNEL, NHWC, ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))),
        ((1, 200, 2), (3, 2, 2), ("NWC", "WIO", "NWC"), ((0, 2, 1), (2, 1, 0), (0, 2, 1))),
        (
            (1, 30, 30, 30, 1),
            (3, 3, 3, 1, 1),
            ("NHWDC", "HWDIO", "NHWDC"),
            ((0, 4, 1, 2, 3), (4, 3, 0, 1, 2), (0, 4, 1, 2, 3)),
        ),
    ],
    ids=["two dimensions", "one dimension", "three dimensions"],
)
def test_layouts_stand_for_these_dimensions(image: Any, kernel: Any, layout: Any, specs: Any) -> None:
    found = lax.conv_dimension_numbers(image, kernel, layout)
    assert found == lax.ConvDimensionNumbers(*specs)
    lhs, rhs, out = specs
    assert repr(found) == f"ConvDimensionNumbers(lhs_spec={lhs}, rhs_spec={rhs}, out_spec={out})"
    ones = (1,) * (len(image) - 2)
    fun = lambda x, y: lax.conv_general_dilated(x, y, ones, "SAME", dimension_numbers=layout)  # noqa: E731
    assert shape_of(fun, image, kernel) == image


@pytest.mark.parametrize("layout", [None, NHWC, ["CHWN", "WIHO", "HNCW"], ("NC01", "1OI0", "0N1C")])
def test_layouts_are_read_as_in_jax(layout: Any) -> None:
    shapes = (2, 3, 4, 5), (2, 3, 4, 5)
    assert lax.conv_dimension_numbers(*shapes, layout) == tuple(jax_lax().conv_dimension_numbers(*shapes, layout))
    if layout is not None:
        assert lax.conv_general_permutations(layout) == jax_lax().conv_general_permutations(layout)


@pytest.mark.parametrize("padding", ["SAME", "VALID", "same_lower"])
def test_kinds_of_padding_are_jaxs(padding: str) -> None:
    for size, window, stride in itertools.product(range(6), range(1, 5), range(1, 4)):
        args = (size, 5), (window, 3), (stride, 2), padding
        assert lax.padtype_to_pads(*args) == jax_lax().padtype_to_pads(*args)


def test_shapes_are_known_without_arrays() -> None:
    shapes, layout = ((1, 8, 9, 2), (3, 4, 2, 4)), NHWC
    assert lax.conv_shape_tuple((4, 2, 8, 9), (4, 2, 3, 3), (2, 1), ((1, 1), (0, 2)), 2) == (2, 4, 4, 9)
    for padding in ("SAME", "VALID", ((1, 1), (0, 2))):
        args = *shapes, (2, 3), padding, layout
        assert lax.conv_general_shape_tuple(*args) == jax_lax().conv_general_shape_tuple(*args)
        assert lax.conv_transpose_shape_tuple(*args) == jax_lax().conv_transpose_shape_tuple(*args)


def convolved(image: Any = (1, 2, 8, 8), kernel: Any = (4, 2, 3, 3), **options: Any) -> Any:
    options = {"window_strides": (1, 1), "padding": ONES, **options}
    return lambda: shape_of(lambda x, y: lax.conv_general_dilated(x, y, **options), image, kernel)


REFUSED = {
    "ranks that differ": (convolved((1, 2, 8)), TypeError, "lhs and rhs must have the same rank, got 3 and 4"),
    "no features": (convolved((3,), (3,)), TypeError, "must have a batch and a feature dimension.*got rank 1"),
    "features that differ": (
        convolved(kernel=(4, 3, 3, 3)),
        ValueError,
        r"as many input features as lhs has .* 1 groups, got 3 in f32\[4,3,3,3\] for 2 in f32\[1,2,8,8\]",
    ),
    "groups that do not divide the features": (
        convolved(feature_group_count=3),
        ValueError,
        "feature_group_count must divide the features of lhs, got 3 for 2",
    ),
    "groups that do not divide the output features": (
        convolved(kernel=(3, 1, 3, 3), feature_group_count=2),
        ValueError,
        "feature_group_count must divide the output features of rhs, got 2 for 3",
    ),
    "groups that do not divide the batch": (
        convolved(batch_group_count=2),
        ValueError,
        "batch_group_count must divide the batch of lhs, got 2 for 1",
    ),
    "batch groups that do not divide the output features": (
        convolved((2, 2, 8, 8), (3, 2, 3, 3), batch_group_count=2),
        ValueError,
        "batch_group_count must divide the output features of rhs, got 2 for 3",
    ),
    "no groups": (convolved(feature_group_count=0), ValueError, "feature_group_count must be positive, got 0"),
    "less than no groups": (convolved(batch_group_count=-1), ValueError, "batch_group_count must be positive, got -1"),
    "both kinds of groups": (
        convolved((2, 2, 8, 8), (4, 1, 3, 3), feature_group_count=2, batch_group_count=2),
        ValueError,
        "feature_group_count or batch_group_count must be 1, got 2 and 2",
    ),
    "letters that are not known": (
        convolved(dimension_numbers=("NCHW", "OIHW", "NCHX")),
        TypeError,
        r"dimension_numbers\[2\] must have the spatial letters of dimension_numbers\[1\], 'HW', got 'NCHX'",
    ),
    "letters that are missing": (
        convolved(dimension_numbers=("NXHW", "OIHW", "NCHW")),
        TypeError,
        r"dimension_numbers\[0\], of lhs, must have the letters N and C, got 'NXHW'",
    ),
    "letters that repeat": (
        convolved(dimension_numbers=("NCHH", "OIHH", "NCHH")),
        TypeError,
        r"dimension_numbers\[0\] must not repeat a letter, got 'NCHH'",
    ),
    "too few letters": (
        convolved(dimension_numbers=("NCH", "OIH", "NCH")),
        TypeError,
        r"dimension_numbers\[0\] must have one letter for each dimension of lhs, got 3 in 'NCH' for rank 4",
    ),
    "two layouts": (convolved(dimension_numbers=("NCHW", "OIHW")), TypeError, "or three strings, such as"),
    "no permutation": (
        convolved(dimension_numbers=lax.ConvDimensionNumbers((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3))),
        TypeError,
        r"lhs_spec of dimension_numbers must be a permutation of the 4 dimensions, got \(0, 1, 2, 2\) for shapes",
    ),
    "dimensions that are not there": (
        convolved(padding="SAME", dimension_numbers=lax.ConvDimensionNumbers((0, 1, 2, 4), (0, 1, 2, 3), (0, 1, 2, 3))),
        TypeError,
        r"lhs_spec of dimension_numbers must be a permutation of the 4 dimensions, got \(0, 1, 2, 4\)",
    ),
    "a negative stride": (convolved(window_strides=(-1, 1)), ValueError, r"window_strides must be positive, got \(-1"),
    "no stride": (convolved(window_strides=(0, 1), padding="SAME"), ValueError, "window_strides must be positive"),
    "too few strides": (
        convolved(window_strides=(1,), padding="SAME"),
        ValueError,
        r"window_strides must have one entry for each spatial dimension, got 1 in \(1,\) for 2",
    ),
    "strides that are no integers": (
        convolved(window_strides=(1.0, 1)),
        TypeError,
        r"window_strides must be a sequence of integers, got \(1.0, 1\)",
    ),
    "no dilation of the image": (convolved(lhs_dilation=(0, 1)), ValueError, r"lhs_dilation must be positive, got \(0"),
    "too few dilations of the image": (convolved(lhs_dilation=(1,)), ValueError, "lhs_dilation must have one entry"),
    "a negative dilation": (convolved(rhs_dilation=(1, -2)), ValueError, r"rhs_dilation must be positive, got \(1, -2"),
    "too many dilations": (convolved(rhs_dilation=(1, 1, 1)), ValueError, "got 3 in .* for 2"),
    "a padding that is not known": (
        convolved(padding="SOME"),
        ValueError,
        "padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs, got 'SOME'",
    ),
    "a kind of padding for a dilated image": (
        convolved(padding="SAME", lhs_dilation=(2, 1)),
        ValueError,
        r"padding must be explicit if the image is dilated .* got 'SAME' for lhs_dilation \(2, 1\)",
    ),
    "too few paddings": (convolved(padding=((0, 0),)), ValueError, "padding must have one pair .* got 1 in .* for 2"),
    "paddings that are no pairs": (convolved(padding=(1, 1)), TypeError, r"a sequence of pairs .* got \(1, 1\)"),
    "more cropped than there is": (
        convolved(padding=((-5, -4), (0, 0))),
        ValueError,
        r"padding must not crop more than there is, got \(-5, -4\) for length 8 in dimension 2 of f32\[1,2,8,8\]",
    ),
    "an empty kernel": (
        convolved(kernel=(4, 2, 0, 3)),
        ValueError,
        r"spatial dimensions of rhs must not be empty, got 0 in dimension 2 of f32\[4,2,0,3\]",
    ),
    "a narrower dtype": (
        convolved(preferred_element_type=np.float16),
        TypeError,
        "preferred_element_type must not be narrower than the operands, got float16 for float32",
    ),
    "a dtype of another kind": (convolved(preferred_element_type=np.int32), TypeError, "got int32 for float32"),
    "an unknown precision": (convolved(precision="hihg"), ValueError, "conv_general_dilated: precision must be None"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_named(case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert text.startswith("conv_general_dilated: ")
    assert re.search(message, text), text


def test_operands_of_two_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match="lhs and rhs must have the same dtype, got float32 and int32"):
        lax.conv(numbers(1, 1, 3), numbers(1, 1, 2, dtype=np.int32), (1,), "SAME")


@pytest.mark.parametrize(
    "dtype, preferred",
    [
        (np.int8, None),
        (np.int8, np.int32),
        (np.int32, np.float32),
        (np.bool_, None),
        (np.float16, None),
        (np.float16, np.float32),
        ("bfloat16", np.float32),
        (np.complex64, None),
    ],
)
def test_dtypes_are_those_of_jax(dtype: Any, preferred: Any) -> None:
    x, y = (px.numpy.asarray(numbers(*shape, seed=1), dtype) for shape in ((2, 3, 5), (4, 3, 2)))
    check_against_jax(
        lambda x, y: lax.conv(x, y, (2,), "SAME", preferred_element_type=preferred),
        lambda x, y: jax_lax().conv(x, y, (2,), "SAME", preferred_element_type=preferred),
        *map(np.asarray, (x, y)),
        rtol=1e-2 if np.dtype(x.dtype).itemsize == 2 and preferred is None else 1e-5,
    )


def test_complex_numbers_are_convolved_and_differentiated() -> None:
    x, y = numbers(1, 2, 4, dtype=np.complex64), numbers(2, 2, 3, dtype=np.complex64, seed=1)
    want = np.stack([sum(np.correlate(x[0, c], y[o, c].conj(), "valid") for c in range(2)) for o in range(2)])
    assert_close(lax.conv(x, y, (1,), "VALID")[0], want, 1e-5)
    check_grad(lambda x, y: lax.conv(x, y, (2,), "SAME"), x, y)


def test_gradients_come_back_in_the_dtype_of_the_operand() -> None:
    x, y = numbers(1, 1, 5, dtype=np.float16), numbers(1, 1, 3, dtype=np.float16, seed=1)

    def total(x: Any, y: Any) -> Any:
        return lax.conv(x, y, (1,), "SAME", preferred_element_type=np.float32).sum()

    gradients = px.grad(total, (0, 1))(x, y)
    wide = px.grad(total, (0, 1))(x.astype(np.float32), y.astype(np.float32))
    for got, want in zip(gradients, wide, strict=True):
        assert_close(got, np.asarray(want).astype(np.float16), 1e-3)


def test_weak_types_stay_weak() -> None:
    x = px.numpy.full((1, 1, 3), 2.0)
    check_against_jax(lambda: lax.conv(x, x, (1,), "SAME"), lambda: jax_lax().conv(*_weak_pair(), (1,), "SAME"))
    assert not lax.conv(x, numbers(1, 1, 3), (1,), "SAME").weak_type


def _weak_pair() -> Any:
    x = pytest.importorskip("jax.numpy").full((1, 1, 3), 2.0)
    return x, x


EMPTY = {
    "no batch": ((0, 2, 8, 8), (4, 2, 3, 3), ONES, (0, 4, 6, 6)),
    "no features": ((1, 0, 8, 8), (4, 0, 3, 3), ONES, (1, 4, 6, 6)),
    "no output features": ((1, 2, 8, 8), (0, 2, 3, 3), ONES, (1, 0, 6, 6)),
    "an image too small": ((1, 2, 2, 8), (4, 2, 3, 3), ONES, (1, 4, 0, 6)),
    "an empty image": ((1, 2, 0, 8), (4, 2, 3, 3), "SAME", (1, 4, 0, 8)),
    "nothing but padding": ((1, 2, 0, 8), (4, 2, 3, 3), ((2, 2), (0, 0)), (1, 4, 2, 6)),
    "all cropped": ((1, 2, 8, 8), (4, 2, 3, 3), ((-4, -4), (0, 0)), (1, 4, 0, 6)),
}


@pytest.mark.parametrize("case", EMPTY)
def test_nothing_is_convolved_to_zeros(case: str) -> None:
    image, kernel, padding, shape = EMPTY[case]

    def run(x: Any, y: Any) -> Any:
        out, pull_back = px.vjp(lambda x, y: lax.conv(x, y, (1, 1), padding), x, y)
        return out, *pull_back(out + 1)

    out, *bars = px.jit(run)(numbers(*image), numbers(*kernel))
    assert out.shape == shape
    assert not np.any(out)
    assert [bar.shape for bar in bars] == [image, kernel]


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (1, 0)])
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
def test_a_batch_of_nothing_is_nothing(dims: Any, groups: Any) -> None:
    def run(x: Any, y: Any) -> Any:
        return lax.conv_general_dilated(x, y, (1,), "VALID", feature_group_count=groups[0], batch_group_count=groups[1])

    shapes = (2, 2, 5), (2, 2 // groups[0], 3)
    operands = [
        np.zeros(shape if dim is None else (*shape[:dim], 0, *shape[dim:]), np.float32)
        for shape, dim in zip(shapes, dims, strict=True)
    ]
    assert px.vmap(run, dims)(*operands).shape == (0, 2 // groups[1], 2, 3)


OPTIONS = {
    "plain": ((2, 2, 5, 4), (2, 2, 3, 2), {}),
    "strided": ((1, 2, 6, 5), (2, 2, 3, 2), {"window_strides": (2, 3), "padding": ((1, 0), (-1, 2))}),
    "dilated": (
        (1, 1, 4, 3),
        (2, 1, 2, 2),
        {"lhs_dilation": (2, 1), "rhs_dilation": (1, 2), "padding": ((1, 1), ONES[0])},
    ),
    "feature groups": ((1, 4, 4, 4), (4, 2, 2, 3), {"feature_group_count": 2, "window_strides": (1, 2)}),
    "batch groups": ((4, 1, 3, 4), (2, 1, 2, 3), {"batch_group_count": 2, "rhs_dilation": (2, 1)}),
}


def with_options(name: str) -> Any:
    options = {"window_strides": (1, 1), "padding": ONES, **OPTIONS[name][2]}
    return lambda x, y: lax.conv_general_dilated(x, y, **options)


@pytest.mark.parametrize("name", ["strided", "batch groups"])
def test_second_derivatives_are_those_of_finite_differences(name: str) -> None:
    lhs, rhs, _ = OPTIONS[name]
    check_grad(px.jit(with_options(name)), numbers(*lhs), numbers(*rhs, seed=1), order=2)


@pytest.mark.parametrize("name", OPTIONS)
def test_derivatives_and_batches_are_one_convolution(name: str) -> None:
    lhs, rhs, _ = OPTIONS[name]
    fun, x, y = with_options(name), numbers(*lhs), numbers(*rhs)
    shape = shape_of(fun, lhs, rhs)
    pulled = equations(lambda ct: px.vjp(fun, x, y)[1](ct), numbers(*shape))
    assert pulled.count("conv_general_dilated") == 3  # the value and both cotangents
    xs, ys = np.stack([x] * 3), np.stack([y] * 3)
    for args, dims in (((xs, y), (0, None)), ((x, ys), (None, 0)), ((xs, ys), 0)):
        assert equations(px.vmap(fun, dims), *args).count("conv_general_dilated") == 1


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("transpose_kernel", [False, True])
def test_transposed_convolutions_agree_with_jax(transpose_kernel: bool, consistent: bool) -> None:
    x, y = numbers(1, 4, 3, 2), numbers(3, 2, 2, 2, seed=1)

    def run(library: Any) -> Any:
        return lambda x, y: [
            library.conv_transpose(
                x,
                y,
                (2, 3),
                padding,
                rhs_dilation=dilation,
                transpose_kernel=transpose_kernel,
                use_consistent_padding=consistent,
            )
            for padding in ("SAME", "VALID", ((1, 1), (0, 2)))
            for dilation in (None, (2, 1))
        ]

    check_against_jax(px.jit(run(lax)), pytest.importorskip("jax").jit(run(jax_lax())), x, y, rtol=1e-5)


@pytest.mark.parametrize("padding, size", [("SAME", (6, 9)), ("VALID", (5, 7))])
def test_a_transposed_convolution_is_the_derivative_of_a_convolution(padding: str, size: Any) -> None:
    image, y = numbers(2, *size, 2), numbers(3, 4, 2, 5, seed=1)
    fun = lambda x: lax.conv_general_dilated(x, y, (2, 3), padding, dimension_numbers=NHWC)  # noqa: E731
    out, pull_back = px.vjp(fun, image)
    ct = numbers(*out.shape, seed=2)
    back = lax.conv_transpose(ct, y, (2, 3), padding, transpose_kernel=True)
    (want,) = pull_back(ct)
    assert_close(back, want, 1e-5)


def test_other_convolutions_name_what_does_not_fit() -> None:
    x, y = numbers(1, 4, 1), numbers(2, 1, 1)
    refused = {
        "conv_transpose: strides must have one entry for each spatial dimension, got 2 in (1, 1) for 1": lambda: (
            lax.conv_transpose(x, y, (1, 1), "SAME")
        ),
        "conv_transpose: rhs_dilation must be positive, got (0,)": lambda: lax.conv_transpose(x, y, (1,), "SAME", (0,)),
        "conv_transpose: padding must have one pair for each spatial dimension, got 0 in () for 1": lambda: (
            lax.conv_transpose(x, y, (1,), (), use_consistent_padding=True)
        ),
        "conv_general_dilated: padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs, got 'SOME'": lambda: (
            lax.conv_transpose(x, y, (1,), "SOME")
        ),
        "conv_transpose_shape_tuple: padding must be 'SAME', 'VALID' or pairs, got 'SOME'": lambda: (
            lax.conv_transpose_shape_tuple((1, 4, 1), (2, 1, 1), (1,), "SOME", ("NHC", "HIO", "NHC"))
        ),
        "conv_general_dilated: window_strides must have one entry": lambda: lax.conv_shape_tuple(
            (1, 1, 4), (1, 1, 2), (1, 2), "SAME"
        ),
        "conv_general_dilated_patches: filter_shape must have one entry for each spatial dimension of lhs, got 2": (
            lambda: lax.conv_general_dilated_patches(x, (2, 2), (1,), "SAME")
        ),
        "and the spatial dimensions of the result, got sizes (2, 3) of f32[1,2,3] for (8, 1)": lambda: (
            lax.conv_general_dilated_local(x, numbers(1, 2, 3), (1,), "SAME", (2,))
        ),
        "in_shape, window_shape and window_strides must have the same length, got 2, 1 and 2": lambda: (
            lax.padtype_to_pads((1, 2), (1,), (1, 1), "SAME")
        ),
    }
    for message, call in refused.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
    for call in (
        lambda: lax.padtype_to_pads((1,), (1,), (1,), ((1, 1),)),
        lambda: lax.conv_general_dilated(x, x, (1,), "SAME", feature_group_count=1.5),
    ):
        with pytest.raises(TypeError, match=r"must be a string, got|feature_group_count must be an integer, got 1.5"):
            call()


LAYOUTS = {"features first": None, "features last": NHWC, "mixed": ("CHWN", "WIOH", "HNCW")}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_patches_and_local_convolutions_agree_with_jax(layout: str) -> None:
    numbers_of = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, LAYOUTS[layout])
    lhs, rhs = (
        tuple(np.array(sizes)[np.argsort(spec)])
        for sizes, spec in (((2, 3, 5, 6), numbers_of.lhs_spec), ((4, 12, 3, 5), numbers_of.rhs_spec))
    )

    def run(library: Any) -> Any:
        def both(x: Any, y: Any) -> Any:
            options = {"rhs_dilation": (1, 2), "dimension_numbers": LAYOUTS[layout]}
            return [
                library.conv_general_dilated_patches(x, (2, 2), (2, 1), "SAME", **options),
                library.conv_general_dilated_patches(x, (2, 2), (2, 1), ((1, 0), (2, 0)), (2, 1), **options),
                library.conv_general_dilated_local(x, y, (2, 1), ((1, 1), (1, 0)), (2, 2), **options),
            ]

        return both

    x, y = numbers(*lhs), numbers(*rhs, seed=1)
    check_against_jax(px.jit(run(lax)), pytest.importorskip("jax").jit(run(jax_lax())), x, y, rtol=1e-5)


def test_patches_of_an_image_without_features_have_none() -> None:
    assert lax.conv_general_dilated_patches(numbers(2, 0, 5), (2,), (1,), "VALID").shape == (2, 0, 4)


def test_precision_is_in_the_program_and_in_that_of_the_gradient() -> None:
    def precisions(fun: Any, *args: Any) -> list[Any]:
        eqns = px.make_jaxpr(fun)(*args).eqns
        return [eqn.params["precision"] for eqn in eqns if eqn.primitive.name == "conv_general_dilated"]

    x, y = numbers(1, 1, 4), numbers(1, 1, 2)
    high, low = lax.Precision.HIGHEST, lax.Precision.DEFAULT
    fun = lambda x, y: lax.conv(x, y, (1,), "VALID", ("highest", "default")).sum()  # noqa: E731
    assert precisions(fun, x, y) == [(high, low)]
    with px.default_matmul_precision("high"):
        assert precisions(lambda x, y: lax.conv(x, y, (1,), "VALID"), x, y) == [(lax.Precision.HIGH,) * 2]
    text = px.jit(fun).lower(x, y).as_text()
    assert "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]" in text
    # A cotangent takes the place, and the precision, of the operand whose derivative is asked for.
    assert precisions(px.grad(fun, (0, 1)), x, y) == [(high, low)] * 3


def test_negative_padding_at_the_beginning_reads_only_the_image():
    """XLA reads other memory for it on CPUs, in some runs; so does jax."""
    rng = np.random.default_rng(0)
    numbers = ("NHWC", "HWIO", "NHWC")
    for _ in range(60):
        size, window, low, high = (tuple(rng.integers(*ends, 2)) for ends in ((4, 8), (1, 4), (-2, 1), (-1, 3)))
        x = rng.normal(size=(2, *size, 2)).astype(np.float32)
        y = rng.normal(size=(*window, 2, 3)).astype(np.float32)
        pads = [(int(a), int(b)) for a, b in zip(low, high, strict=True)]
        if any(s + a + b < w for s, w, (a, b) in zip(size, window, pads, strict=True)):
            continue
        cut = x[:, -low[0] :, -low[1] :]
        strides = tuple(int(step) for step in rng.integers(1, 4, 2))
        got = px.lax.conv_general_dilated(x, y, strides, pads, dimension_numbers=numbers)
        want = px.lax.conv_general_dilated(cut, y, strides, [(0, b) for _, b in pads], dimension_numbers=numbers)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


FORMS = {
    "the derivative by the kernel of a transposed convolution": ("_swapped", (4, 8, 8, 4), (16, 16, 4, 8), "VALID"),
    "one feature in a group": ("_sum_over_window", (2, 32, 32, 8), (3, 3, 1, 8), "SAME"),
    "few features": ("_sum_over_window", (2, 64, 64, 2), (3, 3, 2, 2), "SAME"),
    "the derivatives of several examples": ("_products_at_places", (4, 10, 10, 8), (8, 8, 2, 32), "VALID"),
    "a long kernel": ("_in_blocks", (1, 500, 1), (170, 1, 1), "SAME"),
    "three dimensions": ("_with_first_dimension_in_features", (1, 6, 8, 8, 8), (3, 3, 3, 8, 8), "SAME"),
    "groups": ("_in_larger_groups", (2, 12, 12, 32), (3, 3, 8, 32), "SAME"),
    "wide numbers": ("_one_product", (2, 12, 12, 8), (3, 3, 8, 8), "SAME"),
}


@pytest.mark.parametrize("name", FORMS)
def test_slow_convolutions_have_faster_forms_on_cpus(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, image, kernel, padding = FORMS[name]
    dtype = np.int32 if form == "_one_product" else np.float32
    rank = len(image) - 2
    dilation = 2 if form == "_swapped" else 1
    options: dict[str, Any] = {
        "window_strides": (1,) * rank,
        "padding": [(8, 9)] * rank if form == "_swapped" else padding,
        "lhs_dilation": (dilation,) * rank,
        "dimension_numbers": [None, ("NWC", "WIO", "NWC"), NHWC, ("NDHWC", "DHWIO", "NDHWC")][rank],
        "feature_group_count": image[-1] // kernel[-2],
    }
    x, y = (numbers(*shape, dtype=np.int32, seed=i).astype(dtype) - 2 for i, shape in enumerate((image, kernel)))
    run = lambda x, y: lax.conv_general_dilated(x, y, **options)  # noqa: E731
    chosen = []
    choose = forms._form
    monkeypatch.setattr(forms, "_form", lambda conv: chosen.append(choose(conv)) or chosen[-1])
    out = px.jit(run)(x, y)
    assert chosen[0].__name__ == form
    monkeypatch.setattr(forms, "_form", lambda conv: None)
    # Sums of small integers are exact in any order.
    np.testing.assert_array_equal(out, px.jit(lambda x, y: run(x, y))(x, y))


def test_a_program_has_no_groups_of_the_batch_where_they_are_slow() -> None:
    options = {"dimension_numbers": NHWC, "feature_group_count": 4}
    x, y = numbers(2, 16, 16, 32), numbers(3, 3, 8, 32)
    gradient = px.grad(lambda x, y: lax.conv_general_dilated(x, y, (1, 1), "SAME", **options).sum(), 1)
    assert "batch_group_count = 4" not in px.jit(gradient).lower(x, y).as_text()
    small = px.jit(gradient).lower(x[:, :3, :3], y).as_text()
    assert "batch_group_count = 4" in small or "feature_group_count = 4" in small
