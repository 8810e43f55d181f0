"""Calls of functions of arrays whose arguments must fit: convolutions, windows, gathers and scatters, factors of matrices."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Draw

Template = Callable[[Draw, str], str]


def strides(d: Draw, count: int, high: int = 2) -> str:
    """A tuple of sizes from 1 on."""
    return str(tuple(d.rng.randint(1, high) for _ in range(count)))


def _convolved(d: Draw) -> tuple[int, str, str, tuple[int, ...], tuple[int, ...]]:
    spatial = d.rng.choice([1, 1, 2, 0])
    left = (d.rng.choice([1, 2]), 2, *(d.rng.randint(3, 4) for _ in range(spatial)))
    right = (2, 2, *(d.rng.randint(1, 2) for _ in range(spatial)))
    return spatial, d.of(left), d.of(right), left, right


def convolution(d: Draw, f: str) -> str:
    """Convolutions of lax, and what their shapes are."""
    n, left, right, shape, kernel = _convolved(d)
    pads = str([(d.rng.randint(0, 1), d.rng.randint(0, 2)) for _ in range(n)])
    padding = d.one("'SAME'", "'VALID'", pads)
    step = strides(d, n)
    numbers = {0: "('NC', 'OI', 'NC')", 1: d.one("('NCW', 'OIW', 'NCW')", "None"), 2: "('NCHW', 'OIHW', 'NCHW')"}[n]
    dilation = d.one("", "", f", rhs_dilation={strides(d, n)}")
    texts = {
        "conv": f"{f}({left}, {right}, {step}, {d.one(repr('SAME'), repr('VALID'))})",
        "conv_general_dilated": f"{f}({left}, {right}, {step}, {padding}{dilation}"
        + d.one(
            "",
            f", dimension_numbers={numbers}",
            ", preferred_element_type=np.float32",
            f", lhs_dilation={strides(d, n)}",
        )
        + ")",
        "conv_with_general_padding": f"{f}({left}, {right}, {step}, {pads}, {strides(d, n)}, {strides(d, n)})",
        "conv_transpose": f"{f}({left}, {right}, {step}, {padding}{dilation}, dimension_numbers={numbers}, transpose_kernel={d.one(True, False)})",
        "conv_general_dilated_local": f"{f}({d.of((1, 2, 4))}, {d.of((2, 4, 3))}, (1,), 'VALID', (2,), dimension_numbers=('NCW', 'OIW', 'NCW'))",
        "conv_general_dilated_patches": f"{f}({d.of((1, 2, 4))}, ({d.one(1, 2, 3)},), ({d.one(1, 2)},), {d.one(repr('SAME'), repr('VALID'))})",
        "conv_dimension_numbers": f"str(tuple({f}({shape}, {kernel}, {numbers})))",
        "conv_general_permutations": f"{f}({d.one(('NCHW', 'OIHW', 'NHWC'), ('NWC', 'WIO', 'NWC'))})",
        "conv_general_shape_tuple": f"{f}({shape}, {kernel}, {step}, {padding}, {numbers})",
        "conv_shape_tuple": f"{f}({shape}, {kernel}, {step}, {pads})",
        "conv_transpose_shape_tuple": f"{f}({shape}, {kernel}, {step}, {padding}, {numbers})",
    }
    return texts[f.rpartition(".")[2]]


def window(d: Draw, f: str) -> str:
    """reduce_window and its shape."""
    shape = d.rng.choice([(4,), (3, 4), (2, 3)])
    n = len(shape)
    padding = d.one("'SAME'", "'VALID'", str([(d.rng.randint(0, 1), 1) for _ in range(n)]))
    if f.endswith("shape_tuple"):
        return f"{f}({shape}, {strides(d, n)}, {strides(d, n)}, {padding})"
    how = d.one("-inf, m.lax.max", "0., m.lax.add", "inf, m.lax.min", "1., m.lax.mul", "0., lambda a, b: a + b")
    extra = d.one(
        "",
        f", window_strides={strides(d, n)}",
        f", base_dilation={strides(d, n)}",
        f", window_dilation={strides(d, n)}",
    )
    return f"{f}({d.of(shape, 'float32')}, {how}, {strides(d, n)}, padding={padding}{extra})"


def reduce(d: Draw, f: str) -> str:
    """lax.reduce with a function, of one array or two."""
    axes = d.axes(False)
    how = d.one("0, m.lax.add", "1, m.lax.mul", "-100, m.lax.max", "0, lambda a, b: a + b * 2")
    dtype = d.rng.choice(["float32", "int32"])
    start = "np.array({}, {!r})".format(how.split(",")[0], dtype)
    single = f"{f}({d.of(d.shape, dtype)}, {start},{how.partition(',')[2]}, {axes})"
    pair = f"{f}(({d.of(d.shape, 'float32')}, {d.of(d.shape, 'int32')}), (np.float32(0), np.int32(0)), lambda a, b: (a[0] + b[0], a[1] + b[1]), {axes})"
    return d.one(single, single, pair)


def gather(d: Draw, f: str) -> str:
    """Gathers of rows and of windows."""
    a = d.of((4, 3))
    mode = d.one("", ", mode='clip'", ", mode='fill'", ", mode='promise_in_bounds'", ", fill_value=7, mode='fill'")
    rows = "m.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))"
    windows = "m.lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))"
    inside = 0.0 if "promise" in mode else 0.3
    return d.one(
        f"{f}({a}, {array_indices(d, 4, (2, 1), inside)}, {rows}, (1, 3){mode})",
        f"{f}({a}, {array_indices(d, 2, (2, 2), inside)}, {windows}, (2, 2){mode})",
    )


def array_indices(d: Draw, size: int, shape: tuple[int, ...], out_of_range: float) -> str:
    """Indices that are an array, never negative where all are in range."""
    low, high = (-2, size + 2) if d.chance(out_of_range) else (0, size)

    def nest(shape: tuple[int, ...]) -> list[object] | int:
        return [nest(shape[1:]) for _ in range(shape[0])] if shape else d.rng.randrange(low, high)

    return f"A({nest(shape)}, 'int32')"


def scatter(d: Draw, f: str) -> str:
    """Scatters of rows and of windows."""
    a = d.of((4, 3))
    mode = d.one("", ", mode='clip'", ", mode='drop'", ", indices_are_sorted=False")
    rows = "m.lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))"
    where = f"{array_indices(d, 4, (2, 1), 0.3)}"
    if f.endswith("scatter_apply"):
        return f"{f}({a}, {where}, lambda x: x * 2, {rows}, update_shape=(2, 3){mode})"
    if f.endswith("scatter"):
        where = "A([[0], [2]], 'int32')"  # of equal indices, either may win
    return f"{f}({a}, {where}, {d.of((2, 3))}, {rows}{mode})"


def dot_general(d: Draw, f: str) -> str:
    """Products with contracted and batch axes."""
    numbers, left, right = d.rng.choice(
        [
            ("(((1,), (0,)), ((), ()))", (2, 3), (3, 2)),
            ("(((2,), (1,)), ((0,), (0,)))", (2, 3, 2), (2, 2, 3)),
            ("(((0, 1), (0, 1)), ((), ()))", (2, 3), (2, 3)),
            ("(((), ()), ((), ()))", (2,), (3,)),
        ]
    )
    if f.endswith("dot"):
        left, right = d.rng.choice([((2, 3), (3, 2)), ((3,), (3,)), ((2, 3), (3,)), ((0, 2), (2, 1))])
        return f"{f}({d.of(left)}, {d.of(right)})"
    extra = d.one("", ", preferred_element_type=np.float32", ", precision='highest'")
    return f"{f}({d.of(left)}, {d.of(right)}, {numbers}{extra})"


def ragged(d: Draw, f: str) -> str:
    """Ragged products."""
    sizes = d.one([1, 3], [4, 0], [0, 0], [2, 1])
    args = f"{d.floats((4, 3))}, {d.floats((2, 3, 2))}, A({sizes}, 'int32')"
    if f.endswith("general"):
        return f"{f}({args}, m.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))"
    return f"{f}({args})"


def dynamic(d: Draw, f: str) -> str:
    """Slices at positions known late, and updates there."""
    shape = d.rng.choice([(4,), (3, 4), (2, 3, 2)])
    axis = d.rng.randrange(len(shape))
    sizes = tuple(d.rng.randint(0, n) for n in shape)
    starts = "(" + "".join(f"{d.indices(n, (), 0.3)}, " for n in shape) + ")"
    a, i = d.of(shape), d.indices(shape[axis], (), 0.3)
    index_axis = d.one(axis, axis - len(shape))
    in_dim = tuple(2 if k == axis else n for k, n in enumerate(shape))
    row = tuple(n for k, n in enumerate(shape) if k != axis)
    texts = {
        "dynamic_slice": f"{f}({a}, {starts}, {sizes})",
        "dynamic_update_slice": f"{f}({a}, {d.of(sizes)}, {starts})",
        "dynamic_index_in_dim": f"{f}({a}, {i}, {index_axis}, keepdims={d.one(True, False)})",
        "dynamic_slice_in_dim": f"{f}({a}, {i}, {d.one(0, 1, 2)}, {index_axis})",
        "dynamic_update_index_in_dim": f"{f}({a}, {d.of(row)}, {i}, {index_axis})",
        "dynamic_update_slice_in_dim": f"{f}({a}, {d.of(in_dim)}, {i}, {index_axis})",
    }
    return texts[f.rpartition(".")[2]]


def shapes(d: Draw, f: str) -> str:
    """Reshapes, broadcasts, slices and other moves of lax, of arguments that fit."""
    shape = d.shape or (3,)
    n = len(shape)
    a = d.of(shape)
    order = tuple(d.rng.sample(range(n), n))
    starts = tuple(d.rng.randint(0, size) for size in shape)
    limits = tuple(d.rng.randint(low, size) for low, size in zip(starts, shape, strict=True))
    first = d.rng.randint(0, shape[0])
    size = 1
    for one in shape:
        size *= one
    texts = {
        "broadcast_in_dim": f"{f}({a}, {(2, *shape)}, {tuple(range(1, n + 1))})",
        "broadcast": f"{f}({a}, {d.one((2,), (), (2, 1))})",
        "broadcast_to_rank": f"{f}({a}, {n + d.rng.randint(0, 2)})",
        "broadcast_like": f"{f}({d.of(d.other_shape())}, {d.of(shape)})",
        "broadcasted_iota": f"{f}({d.dtype_text()}, {shape}, {d.rng.randrange(-1, n)})",
        "reshape": f"{f}({a}, {d.one((size,), (1, size), shape[::-1], (-1,))}{d.one('', f', {order}')})",
        "transpose": f"{f}({a}, {order})",
        "slice": f"{f}({a}, {starts}, {limits}{d.one('', ', ' + strides(d, n))})",
        "slice_in_dim": f"{f}({a}, {d.one(0, 'None', -1, 1)}, {d.one('None', -1, first, 2)}, {d.one(1, 2)}, axis={d.rng.randrange(-n, n)})",
        "index_in_dim": f"{f}({a}, {d.rng.randint(-1, 2)}, axis={d.rng.randrange(-n, n)}, keepdims={d.one(True, False)})",
        "index_take": f"{f}({a}, ({array_indices(d, shape[0], (2,), 0.2)},), (0,))"
        if shape[0]
        else f"{f}({a}, (), ())",
        "split": f"{f}({a}, {(first, shape[0] - first)}, axis={d.one(0, -n)})",
        "collapse": f"{f}({a}, 0, {d.one(n, 'None', 1, -1)})",
        "concatenate": f"{f}([{a}, {d.of(shape)}], {d.rng.randrange(n)})",
        "stack": f"{f}([{a}, {d.of(shape)}], axis={d.rng.randrange(-n, n + 1)})",
        "expand_dims": f"{f}({a}, {d.one((0,), (n,), (0, -1), (-1,))})",
        "squeeze": f"{f}({d.of((1, *shape))}, {d.one((0,), (-n - 1,), ())})",
        "select_n": f"{f}({d.one(d.mask(shape), d.mask(()))}, {a}, {d.of(shape)})",
        "select": f"{f}({d.one(d.mask(shape), d.mask(()))}, {a}, {d.of(shape)})",
        "batch_matmul": f"{f}({d.of((2, 2, 3))}, {d.of((2, 3, 2))})",
        "bitcast_convert_type": f"{f}({d.of((2, 2), d.rng.choice(['float32', 'int32', 'uint16', 'uint8']))}, {d.one('np.int32', 'np.float32', 'np.uint8', 'np.int16')})",
        "pad": f"{f}({a}, {d.of(())}, {[(d.rng.randint(-1, 2), d.rng.randint(-1, 2), d.rng.randint(0, 1)) for _ in shape]})",
        "fft": f"{f}({d.of((2, 4), d.rng.choice(['complex64', 'float32']))}, {d.one(repr('fft'), repr('ifft'), repr('rfft'), repr('irfft'))}, ({d.one(4, 6)},))",
        "padtype_to_pads": f"{f}({(4, 3)}, {strides(d, 2)}, {strides(d, 2)}, {d.one(repr('SAME'), repr('VALID'), repr('SAME_LOWER'))})",
        "sort_key_val": f"{f}({a}, {d.of(shape, 'int32')}, dimension={d.rng.randrange(-n, n)})",
        "sort": f"{f}({d.one(a, f'({a}, {d.of(shape)})')}, dimension={d.rng.randrange(-n, n)}, num_keys={d.one(1, 1, 2)})",
        "top_k": f"{f}({a}, {d.rng.randint(0, max(shape[-1], 1))})",
        "approx_max_k": f"{f}({d.floats(shape)}, {d.rng.randint(1, max(shape[-1], 1))})",
        "approx_min_k": f"{f}({d.floats(shape)}, {d.rng.randint(1, max(shape[-1], 1))})",
        "rng_bit_generator": f"{f}(A([1, 2, 3, 4], 'uint32'), {shape}, {d.one('np.uint32', 'np.uint16', 'np.uint64', 'np.uint8')})",
        "broadcast_shapes": f"{f}({d.one((2, 1), (3,), ())}, {d.one((1, 3), (2, 3), (3,))})",
        "RaggedDotDimensionNumbers": f"{f}((((1,), (1,)), ((), ())), [0], [0]).lhs_ragged_dimensions",
        "integer_pow": f"{f}({a}, {d.rng.randint(-2, 4)})",
        "shape_as_value": f"{f}({shape})",
        "argmax": f"{f}({a}, {d.rng.randrange(n)}, {d.one('np.int32', 'np.uint8', 'np.int64')})",
        "argmin": f"{f}({a}, {d.rng.randrange(n)}, {d.one('np.int32', 'np.uint8', 'np.int64')})",
        "polygamma": f"{f}({d.floats(shape, 'small')}, {d.floats(shape, 'positive')})",
        "unstack": f"{f}({a}, axis={d.rng.randrange(-n, n)})",
        "tile": f"{f}({a}, {strides(d, n)})",
    }
    return texts[f.rpartition(".")[2]]


def _inexact(d: Draw) -> str:
    return d.rng.choice(["float32", "float32", "float64", "complex64"])


def factors(d: Draw, f: str) -> str:
    """Functions of linear algebra whose operands stand for factors, or belong together."""
    dtype = _inexact(d)

    def arr(*shape: int) -> str:
        return d.of(shape, dtype, "plain")

    def square(form: str, n: int = 3) -> str:
        return f"A({d.values.matrix((n, n), dtype, form)})"

    reals = dtype if dtype != "complex64" else "float32"
    flag = d.one(True, False)
    texts = {
        "cholesky_update": f"{f}(A({d.values.matrix((3, 3), reals, 'factor')}), {d.of((3,), reals, 'plain')})",
        "householder_product": f"{f}({arr(3, 2)}, {arr(2)})",
        "ormqr": f"{f}({arr(3, 3)}, {arr(3)}, {arr(3, 2)}, left=True, transpose={flag})",
        "lu_pivots_to_permutation": f"{f}(A([{d.one('2, 1, 2', '0, 1, 2', '1, 2, 2')}], 'int32'), {d.one(3, 4)})",
        "symmetric_product": f"{f}({d.of((3, 2), reals, 'plain')}, A({d.values.matrix((3, 3), reals, 'symmetric')}), alpha={d.one(1.0, 2.0)}, beta={d.one(0.0, 1.0)}, symmetrize_output={flag})",
        "triangular_solve": f"{f}({square(d.one('lower', 'spd'))}, {arr(3, 2)}, left_side=True, lower={flag}, unit_diagonal={d.one(True, False)}, transpose_a={d.one(True, False)})",
        "tridiagonal_solve": f"{f}(A([0., 1., 2.], {dtype!r}), A([5., 6., 7.], {dtype!r}), A([1., -1., 0.], {dtype!r}), {arr(3, 2)})",
        "tridiagonal": f"{f}({square('symmetric')}, lower={flag})",
        "qdwh": f"{f}({d.one(arr(3, 3), arr(4, 3))}{d.one('', ', is_hermitian=False', ', max_iterations=12')})",
        "cho_solve": f"{f}(({square('lower')}, True), {d.one(arr(3), arr(3, 2))})",
        "lu_solve": f"{f}(m.scipy.linalg.lu_factor({square('any')}), {d.one(arr(3), arr(3, 2))}, trans={d.one(0, 1, 2)})",
        "solve": f"{f}({square('spd')}, {d.one(arr(3), arr(3, 2))}"
        + ("" if "numpy" in f else d.one("", ", assume_a='pos'", ", lower=True"))
        + ")",
        "solve_triangular": f"{f}({square('lower')}, {d.one(arr(3), arr(3, 2))}, lower={flag}, trans={d.one(0, 1, 2)}, unit_diagonal={d.one(True, False)})",
        "solve_sylvester": f"{f}({square('spd')}, {square('spd', 2)}, {arr(3, 2)})",
        "qr_multiply": f"{f}({arr(3, 3)}, {d.one(arr(3), arr(2, 3))}{d.one('', ', pivoting=True', ', conjugate=True')})",
        "rsf2csf": f"{f}(*m.scipy.linalg.schur(A({d.values.matrix((3, 3), reals, 'any')})))",
        "eigh_tridiagonal": f"{f}({d.of((3,), reals)}, {d.of((2,), reals)}, eigvals_only=True{d.one('', ', select=' + repr('i') + ', select_range=(0, 1)')})",
        "funm": f"{f}({square('spd')}, {d.one('m.numpy.exp', 'm.numpy.sin')}{d.one('', ', disp=False')})",
        "expm_frechet": f"{f}({square('any')}, {square('any')}, compute_expm={flag})",
        "tensorsolve": f"{f}({arr(2, 3, 6)}, {arr(2, 3)})",
        "tensorinv": f"{f}({arr(2, 3, 6)}, ind=2)",
        "multi_dot": f"{f}([{arr(2, 3)}, {arr(3, 3)}, {arr(3, 2)}])",
        "lstsq": f"{f}({arr(4, 2)}, {d.one(arr(4), arr(4, 2))}, rcond={d.one('None', 0.01)})",
        "matrix_power": f"{f}({square('any')}, {d.rng.randint(-2, 4)})",
        "block_diag": f"{f}({arr(2, 2)}, {arr(1, 3)}, {arr(2)})",
        "polar": f"{f}({arr(3, 3)}, side={d.one(repr('right'), repr('left'))})",
        "schur": f"{f}({square('any')}{d.one('', ', output=' + repr('complex')) if 'scipy' in f else d.one('', ', compute_schur_vectors=False')})",
        "bernoulli": f"{f}({d.rng.randint(0, 9)})",
    }
    return texts[f.rpartition(".")[2]]


FACTORS = (
    r"lax\.linalg\.(cholesky_update|householder_product|ormqr|lu_pivots_to_permutation|symmetric_product|triangular_solve|"
    r"tridiagonal_solve|tridiagonal|qdwh|schur)|scipy\.linalg\.(cho_solve|lu_solve|solve|solve_triangular|solve_sylvester|"
    r"qr_multiply|rsf2csf|eigh_tridiagonal|funm|expm_frechet|block_diag|polar|schur)|"
    r"numpy\.linalg\.(solve|tensorsolve|tensorinv|multi_dot|lstsq|matrix_power)"
)

SHAPES_OF_LAX = (
    "broadcast_in_dim broadcast broadcast_to_rank broadcast_like broadcasted_iota reshape transpose slice slice_in_dim "
    "index_in_dim index_take split collapse concatenate stack expand_dims squeeze select_n select batch_matmul "
    "bitcast_convert_type pad fft padtype_to_pads sort_key_val sort top_k approx_max_k approx_min_k rng_bit_generator "
    "shape_as_value integer_pow broadcast_shapes RaggedDotDimensionNumbers argmax argmin polygamma unstack tile"
).split()

ARRAYS: dict[str, Template] = {
    r"lax\.conv(_(?!ert).*)?": convolution,
    r"lax\.reduce_window.*": window,
    r"lax\.reduce": reduce,
    r"lax\.gather": gather,
    r"lax\.scatter.*": scatter,
    r"lax\.dot(_general)?": dot_general,
    r"lax\.ragged_dot.*": ragged,
    r"lax\.dynamic_.*": dynamic,
    rf"lax\.({'|'.join(SHAPES_OF_LAX)})": shapes,
    FACTORS: factors,
}
