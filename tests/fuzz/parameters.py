"""Which argument a parameter takes, by its name: a strategy of `fuzz.draw.Draw` for each name that says something."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter

from fuzz.draw import Draw

Strategy = Callable[[Draw], str]


def strings(text: str) -> Strategy:
    """One of these words, as a string."""
    words = text.split()
    return lambda d: repr(d.rng.choice(words))


def number(low: int, high: int) -> Strategy:
    """An integer in a range that includes both ends."""
    return lambda d: str(d.rng.randint(low, high))


def real(low: float, high: float) -> Strategy:
    """A Python float in a range."""
    return lambda d: repr(round(d.rng.uniform(low, high), 3))


def flag(d: Draw) -> str:
    """True or False."""
    return d.one("True", "False")


def several_axes(d: Draw) -> str:
    """None, an axis or a tuple of axes."""
    return d.one(d.axis(), d.axis(), d.axes(), "None")


def array_of_numbers(d: Draw) -> str:
    """An array in one axis, or a number."""
    return d.array(d.rng.choice([(), (2,), (3,), (4,)]))


def unit(d: Draw) -> str:
    """Numbers between 0 and 1."""
    return d.array(None, d.rng.choice(["float32", "float32", "float64", "float16"]), "unit")


def positive(d: Draw) -> str:
    """Numbers above 0."""
    return d.array(None, d.rng.choice(["float32", "float32", "float64", "float16", "int32"]), "positive")


def per_axis(low: int, high: int) -> Strategy:
    """A tuple with an integer for each axis."""
    return lambda d: str(tuple(d.rng.randint(low, high) for _ in range(d.ndim)))


MODES = (
    "full same valid clip wrap fill drop promise_in_bounds constant edge reflect symmetric reduced complete raise mean "
    "linear_ramp r"
)
METHODS = (
    "linear lower higher midpoint nearest auto sort scan compare_all scan_unrolled inverted_cdf hazen weibull "
    "median_unbiased"
)

# Never passed: what names devices, files and buffers.
SKIPPED = frozenset(
    "out device sharding out_sharding platform backend subok like overwrite_a overwrite_b overwrite_c overwrite_data "
    "overwrite_input check_finite debug lwork use_magma axis_index_groups file disp turbo implementation".split()
)

STRATEGIES: dict[str, Strategy] = {
    "axis": several_axes,
    "axes": lambda d: d.one(d.axes(False), d.axes(), d.axis(), "None"),
    "dimensions": lambda d: d.axes(),
    **dict.fromkeys(
        "dimension axis1 axis2 source destination axisa axisb axisc concat_axis split_axis".split(), Draw.axis
    ),
    **dict.fromkeys("in_axis out_axis column_axis scatter_dimension reduction_dimension".split(), Draw.axis),
    "permutation": lambda d: str(tuple(d.rng.sample(range(d.ndim), d.ndim))),
    **dict.fromkeys("shape new_sizes newshape new_shape sizes".split(), Draw.shape_text),
    **dict.fromkeys("lhs_shape rhs_shape operand_shape".split(), lambda d: str(tuple(d.shape))),
    **dict.fromkeys("dtype new_dtype index_dtype preferred_element_type int_type from_ to".split(), Draw.dtype_text),
    "key": Draw.key,
    "keys": Draw.key,
    "seed": number(-5, 2**31),
    "impl": strings("threefry2x32 rbg unsafe_rbg"),
    "indices": lambda d: d.indices(d.shape[-1] if d.shape else 2, d.rng.choice([(), (2,), (2, 2), d.shape])),
    "idxs": lambda d: f"({d.indices(2, (2,))},)",
    "ind": lambda d: d.one(d.indices(3, (2,)), "1", "2"),
    "where": lambda d: d.one("None", d.mask(), d.mask(), d.mask(d.shape[-1:]), "True", d.of(d.shape, "int32")),
    **dict.fromkeys("condition mask pred which".split(), lambda d: d.mask(d.other_shape())),
    "initial": lambda d: d.one("None", d.array((), None), "0", "1.5"),
    "precision": lambda d: d.one("None", "'highest'", "m.lax.Precision.HIGH", "'default'"),
    "accuracy": lambda d: d.one("None", "None", "m.lax.AccuracyMode.HIGHEST"),
    "mode": strings(MODES),
    "method": strings(METHODS),
    "norm": lambda d: d.one("None", "'ortho'", "'forward'", "'backward'", "'no'"),
    "kind": lambda d: d.one(
        "None", "'stable'", "'quicksort'", "'symmetric'", "'upper'", "'lower'", "'integral'", "'numeric'", "'bool'"
    ),
    "order": lambda d: d.one("None", "'K'", "'C'", "'F'"),
    "UPLO": strings("L U"),
    "side": strings("left right"),
    "ord": lambda d: d.one("None", "1", "2", "-1", "-2", "inf", "-inf", "'fro'", "'nuc'", "0", "3"),
    "indexing": strings("xy ij"),
    "trim": strings("fb f b"),
    "casting": strings("no equiv safe same_kind unsafe"),
    "distribution": strings("normal uniform truncated_normal"),
    "window": lambda d: d.one("'hann'", "'boxcar'", "('tukey', 0.5)", d.of((4,), "float32"), "'hamming'"),
    "boundary": lambda d: d.one("'fill'", "'wrap'", "'symm'", "None", "'zeros'", "'even'", "'constant'"),
    "detrend": lambda d: d.one("False", "'constant'", "'linear'"),
    "scaling": strings("density spectrum psd"),
    "average": strings("mean median"),
    "bitorder": strings("big little"),
    "assume_a": strings("gen pos sym her"),
    "output": strings("real complex"),
    "type": lambda d: d.one("2", "2", "1", "'linear'", "'constant'"),
    "fft_type": lambda d: d.one("'fft'", "'ifft'", "'rfft'", "'irfft'", "m.lax.FftType.FFT"),
    "padding": lambda d: d.one(
        "'SAME'", "'VALID'", "'SAME_LOWER'", str([(1, 0)] * max(d.ndim - 2, 0)), str([(0, 1)] * d.ndim)
    ),
    "algorithm": lambda d: d.one("None", "m.lax.RandomAlgorithm.RNG_THREE_FRY", "'RNG_THREE_FRY'"),
    "rounding_method": lambda d: d.one("m.lax.RoundingMethod.AWAY_FROM_ZERO", "m.lax.RoundingMethod.TO_NEAREST_EVEN"),
    "subscripts": lambda d: d.one(
        "'ij,jk->ik'", "'ij,jk'", "'i,i'", "'ii'", "'ij->ji'", "'...i,...i->...'", "'ij->'", "'i,j->ij'"
    ),
    "lapack_driver": strings("gesdd gesvd"),
    "trans": lambda d: d.one("0", "1", "2", "'N'", "'T'", "'C'"),
    "lower": flag,
    "full_matrices": flag,
    "permute_l": flag,
    "conjugate": flag,
    **dict.fromkeys("n k num order deg N M decimals ndmin minlength nperseg num_classes".split(), number(-1, 4)),
    **dict.fromkeys("offset stride shift repeats reps size length kth s nfft nout nin".split(), number(-1, 4)),
    **dict.fromkeys("ddof correction".split(), lambda d: d.one("0", "1", "2", "0.5")),
    "N": number(0, 4),
    "s": lambda d: d.one("None", str(tuple(d.rng.randint(1, 4) for _ in range(min(2, d.ndim) or 1)))),
    "n": number(0, 5),
    "noverlap": number(0, 2),
    "nperseg": number(2, 4),
    "nfft": number(3, 6),
    "series_order": number(1, 5),
    "shift": lambda d: d.one(d.rng.randint(-3, 3), (1, -2), d.indices(3, ())),
    "repeats": lambda d: d.one(2, 0, d.indices(3, (3,), 0), "array([1, 2, 0])"),
    "reps": lambda d: d.one(2, 0, (2, 1), (1, 2, 2), "[2]"),
    "kth": lambda d: d.one(0, 1, -1, 2),
    "decimals": number(-2, 3),
    "pad_width": lambda d: d.one(1, 2, (1, 2), str([(1, 0)] * d.ndim), 0, "((1, 2),)", -1),
    "padding_config": lambda d: str(
        [(d.rng.randint(-1, 2), d.rng.randint(-1, 2), d.rng.randint(0, 1)) for _ in range(d.ndim)]
    ),
    "indices_or_sections": lambda d: d.one(1, 2, 3, [1], [1, 2], d.indices(3, (2,), 0)),
    "num_keys": number(1, 2),
    "start_indices": per_axis(0, 2),
    "limit_indices": per_axis(1, 4),
    "strides": lambda d: d.one("None", str((1,) * d.ndim), str((2,) * d.ndim)),
    "slice_sizes": per_axis(0, 2),
    "start_index": number(-2, 2),
    "limit_index": number(0, 4),
    "slice_size": number(0, 2),
    "broadcast_dimensions": lambda d: str(tuple(range(d.ndim))),
    "exponent_bits": number(1, 8),
    "mantissa_bits": number(0, 23),
    "rank": number(0, 4),
    "d": number(1, 3),
    "q": lambda d: d.array(d.rng.choice([(), (), (2,)]), "float32", "unit"),
    "bins": lambda d: d.one(3, 4, d.of((4,), "float32"), "'auto'", "array([-1., 0., 1., 2.])"),
    "range": lambda d: d.one("None", "(-2, 2)", "(0., 1.)", "(1, 1)"),
    "weights": lambda d: d.one("None", d.array(d.shape), d.array(d.shape, "float32", "positive")),
    **dict.fromkeys("fweights aweights".split(), lambda d: d.one("None", d.of(d.shape[-1:] or (2,), "int32", "small"))),
    "obj": lambda d: d.one(0, 1, -1, "slice(0, 2)", d.indices(3, (2,)), d.mask(d.shape[-1:])),
    "fill_value": lambda d: d.array(()),
    **dict.fromkeys(
        "keepdims return_index return_inverse return_counts equal_nan retstep returned density".split(), flag
    ),
    **dict.fromkeys("start stop step low high".split(), lambda d: d.array(())),
    **dict.fromkeys("rtol atol tol rcond dx period fs epsilon eps".split(), real(0.01, 2)),
    "prepend": lambda d: d.one("None", d.array(())),
    "append": lambda d: d.one("None", d.array(())),
    "shapes": Draw.shape_text,
    "file": strings("no-such-file"),
    "start_dimension": number(0, 1),
    "stop_dimension": lambda d: d.one("None", 1, 2, -1),
    "p": unit,
    "inplace": lambda d: "False",
    "tree": Draw.tree,
    "minval": lambda d: d.array((), None, "small"),
    "maxval": lambda d: d.array((), None, "positive"),
    **dict.fromkeys("scale stddev lam df dfnum dfden concentration alpha sigma variance".split(), positive),
    "is_leaf": lambda d: d.one("None", "lambda x: isinstance(x, list)"),
    "decimal": number(0, 3),
    "func": Draw.elementwise,
    "promote_integers": flag,
}

ARRAYS_BY_DEFAULT = frozenset(
    "loc nan posinf neginf left right to_end to_begin mean a_min a_max min max bias z".split()
)


def strategy(parameter: Parameter) -> Strategy | None:
    """How to draw an argument for a parameter; None if it is never passed."""
    name, default = parameter.name, parameter.default
    if name in SKIPPED:
        return None
    if name in STRATEGIES:
        return STRATEGIES[name]
    if default is Parameter.empty or default is None or name in ARRAYS_BY_DEFAULT:
        return Draw.array if default is not None or name in ARRAYS_BY_DEFAULT else array_of_numbers
    if isinstance(default, bool):
        return flag
    if isinstance(default, int):
        return number(-1, 4)
    if isinstance(default, float):
        return real(0.1, 2)
    return lambda d: repr(default) if isinstance(default, str) else d.array()
