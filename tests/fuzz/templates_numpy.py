"""Calls of functions of numpy, random, nn and scipy whose arguments depend on each other, and of methods of arrays."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Draw
from fuzz.values import Shape

Template = Callable[[Draw, str], str]


def number_array(d: Draw, shape: Shape, style: str | None = None) -> str:
    """Floats or integers."""
    return d.of(shape, d.rng.choice(["float32", "float32", "int32", "float64"]), style)


def functions(d: Draw, f: str) -> str:
    """Functions of numpy that take functions."""
    a = d.of(d.rng.choice([(3,), (2, 3), (2, 3, 2)]))
    texts = {
        "apply_along_axis": f"{f}({d.one('m.numpy.sum', 'lambda x: x * 2', 'm.numpy.sort')}, {d.one(0, -1)}, {a})",
        "apply_over_axes": f"{f}(m.numpy.sum, {d.of((2, 3))}, {d.one(0, (0, 1), -1)})",
        "vectorize": f"{f}({d.one('lambda x: x * 2', 'm.numpy.sin')})({a})",
        "frompyfunc": f"{f}(m.numpy.add, 2, 1, identity=0)({a}, 1)",
        "ufunc": f"{f}(m.numpy.add, 2, 1, identity=0).reduce({a})",
        "fromfunction": f"{f}(lambda i, j: i * 2 + j, {d.one((2, 3), (0, 2))}, dtype={d.one('int', 'float')})",
        "mask_indices": f"{f}({d.rng.randint(1, 4)}, m.numpy.{d.one('triu', 'tril')}, {d.rng.randint(-1, 2)})",
        "piecewise": f"{f}({d.floats((4,))}, [{d.mask((4,))}, {d.mask((4,))}], [{d.one(1, -1)}, lambda x: x * 2{d.one('', ', 9')}])",
    }
    return texts[f.rpartition(".")[2]]


def chosen(d: Draw, f: str) -> str:
    """Functions that pick or put elements."""
    a = d.of((3, 4))
    i = d.indices(4, (2,), 0.2)
    texts = {
        "select": f"{f}([{d.mask((3,))}, {d.mask((3,))}], [{d.of((3,))}, {d.of((3,))}], {d.one(0, 1.5)})",
        "choose": f"{f}({d.indices(3, (3,), 0)}, [{d.of((3,))}, {d.of((3,))}, {d.of(())}], mode={d.one(repr('clip'), repr('wrap'))})",
        "take": f"{f}({a}, {i}, axis={d.one('None', 0, -1)}, mode={d.one('None', repr('clip'), repr('wrap'), repr('fill'))})",
        "take_along_axis": f"{f}({a}, {d.indices(3, d.rng.choice([(2, 4), (1, 4)]), 0.2)}, axis=0{d.one('', ', mode=' + repr('clip'))})",
        "put_along_axis": f"{f}({a}, {d.indices(3, (1, 4), 0)}, {d.one(d.of(()), d.of((1, 4)))}, axis=0, inplace=False)",
        "put": f"{f}({a}, {d.one('A([1, 3], ' + repr('int32') + ')', '2', '-1')}, {d.of(())}, mode={d.one('None', repr('clip'), repr('wrap'))}, inplace=False)",
        "place": f"{f}({a}, {d.mask((3, 4))}, {d.of((2,))}, inplace=False)",
        "fill_diagonal": f"{f}({a}, {d.one(d.of(()), d.of((2,)))}, wrap={d.one(True, False)}, inplace=False)",
        "insert": f"{f}({a}, {d.one(0, 1, -1, '[0, 2]')}, {d.of(())}, axis={d.one('None', 0, 1)})",
        "delete": f"{f}({a}, {d.one(0, -1, 'slice(0, 2)', '[0, 2]')}, axis={d.one('None', 0, 1)})",
        "compress": f"{f}({d.mask((3,))}, {a}, axis=0{d.one('', ', size=2')})",
        "extract": f"{f}({d.mask((3, 4))}, {a}{d.one('', ', size=2, fill_value=7')})",
        "unravel_index": f"{f}({d.indices(5, (3,), 0.3)}, {d.one((2, 3), (3, 4), (7,))})",
        "ravel_multi_index": f"{f}(({d.indices(2, (3,), 0)}, {d.indices(3, (3,), 0)}), (2, 3), mode={d.one(repr('clip'), repr('wrap'))})",
        "ix_": f"{f}({d.indices(3, (2,))}, {d.one(d.indices(3, (3,)), d.mask((2,)))})",
        "diag_indices_from": f"{f}({d.of((3, 3))})",
        "digitize": f"{f}({number_array(d, (3,))}, A([-1., 0., 2.], 'float32'), right={d.one(True, False)})",
        "searchsorted": f"{f}(A([-1., 0., 0., 2.], 'float32'), {number_array(d, (3,))}, side={d.one(repr('left'), repr('right'))})",
        "interp": f"{f}({number_array(d, (3,))}, A([-1., 0., 2.], 'float32'), {number_array(d, (3,))}{d.one('', ', left=9.', ', period=2.')})",
        "reshape": f"{f}({a}, {d.one((12,), (2, -1), (4, 3), -1)}, order={d.one(repr('C'), repr('F'))})",
        "broadcast_to": f"{f}({d.of((1, 3))}, {d.one((2, 3), (2, 2, 3))})",
        "permute_dims": f"{f}({a}, {d.one((0, 1), (1, 0), (-1, 0))})",
        "broadcast_shapes": f"{f}({d.one((2, 1), (3,), ())}, {d.one((1, 3), (2, 3), (3,))})",
        "vecmat": f"{f}({d.of((3,))}, {d.of(d.rng.choice([(3, 2), (2, 3, 2)]))})",
        "matvec": f"{f}({d.of(d.rng.choice([(2, 3), (2, 2, 3)]))}, {d.of((3,))})",
        "vecdot": f"{f}({d.of((2, 3))}, {d.of((3,))})",
        "resize": f"{f}({a}, {d.one((2, 3), 5, (0, 2), (20,))})",
        "lexsort": f"{f}(({d.of((3,))}, {d.of((3,))}))",
        "argpartition": f"{f}({d.of((1,))}, 0)",
        "partition": f"{f}({d.of((4,), 'float32', 'small')}, {d.one(0, 1, -1, 3)})",
    }
    return texts[f.rpartition(".")[2]]


def counted(d: Draw, f: str) -> str:
    """Histograms and counts."""
    data = number_array(d, (5,))
    limits = d.one("", ", range=(-2, 2)")
    texts = {
        "bincount": f"{f}({d.of((4,), 'int32', 'small')}{d.one('', ', ' + d.floats((4,)), ', minlength=6', ', length=3')})",
        "histogram": f"{f}({data}, {d.one(3, 'A([-1., 0., 2.], ' + repr('float32') + ')')}{limits}{d.one('', ', density=True')})",
        "histogram2d": f"{f}({data}, {number_array(d, (5,))}, {d.one(2, (2, 3))}{d.one('', ', density=True')})",
        "histogramdd": f"{f}({number_array(d, (5, 2))}, {d.one(2, (2, 3))}{d.one('', ', density=True')})",
        "histogram_bin_edges": f"{f}({data}, {d.one(3, 5)}{limits})",
        "packbits": f"{f}({d.of((3, 9), 'bool')}, axis={d.one('None', 0, 1)}, bitorder={d.one(repr('big'), repr('little'))})",
        "unpackbits": f"{f}({d.of((2, 3), 'uint8')}, axis={d.one('None', 0, -1)}{d.one('', ', count=5')})",
        "einsum": einsum(d, f),
        "einsum_path": einsum(d, f),
    }
    return texts[f.rpartition(".")[2]]


def einsum(d: Draw, f: str) -> str:
    """Sums of products with subscripts that fit."""
    subscripts, *shaped = d.rng.choice(
        [
            ("ij,jk->ik", (2, 3), (3, 2)),
            ("ij,jk", (2, 3), (3, 2)),
            ("i,i", (3,), (3,)),
            ("ii->i", (3, 3)),
            ("ij->ji", (2, 3)),
            ("...i,...i->...", (2, 3), (3,)),
            ("ij->", (2, 3)),
            ("i,j,k->", (2,), (3,), (2,)),
            ("ab,bc,cd->ad", (2, 3), (3, 2), (2, 2)),
        ]
    )
    return f"{f}({subscripts!r}, {', '.join(d.of(shape) for shape in shaped)})"


def bytes_and_files(d: Draw, f: str) -> str:
    """What reads buffers, text and files."""
    path = "'/dev/null'"
    texts = {
        "frombuffer": f"{f}(np.arange(6, dtype='int32').tobytes(), dtype={d.one(repr('int32'), repr('uint8'))}, count={d.one(-1, 2)})",
        "fromstring": f"{f}('1 2 3', dtype={d.one('int', 'float')}, sep=' ')",
        "fromiter": f"{f}(range({d.rng.randrange(5)}), dtype={d.one('int', 'float')})",
        "fromfile": f"{f}({path}, dtype={d.one('int', 'float')})",
        "load": "(lambda b: [np.save(b, np.arange(3)), b.seek(0), " + f + "(b)][2])(__import__('io').BytesIO())",
        "save": f"{f}(__import__('io').BytesIO(), {d.first()})",
        "savez": f"{f}(__import__('io').BytesIO(), {d.first()}, x={d.first()})",
        "from_dlpack": f"{f}({d.one('np.arange(3, dtype=np.float32)', 'np.ones((2, 2), np.int32)', 'A([1, 2], ' + repr('int16') + ')')})",
        "set_printoptions": f"{f}(precision=8)",
        "get_printoptions": f"sorted({f}())",
        "printoptions": f"[(c.__enter__(), repr({d.first()}), c.__exit__(None, None, None))[1] for c in [{f}(precision=3)]]",
        "array_repr": f"len({f}({d.first()})) > 0",
    }
    return texts[f.rpartition(".")[2]]


def ufunc_method(d: Draw, f: str) -> str:
    """Methods of ufuncs."""
    a = d.of(d.rng.choice([(3,), (2, 3), (0, 3), (4,)]))
    name = f.rpartition(".")[2]
    texts = {
        "at": f"{f}({d.of((3,))}, {d.indices(3, (2,), 0)}, {'' if '.negative.' in f else d.of(()) + ','} inplace=False)",
        "reduceat": f"{f}({d.of((4,))}, {d.one('A([0, 2], ' + repr('int32') + ')', 'np.array([0, 3, 1])')})",
        "accumulate": f"{f}({a}, axis={d.one(0, -1)}{d.one('', ', dtype=' + d.dtype_text())})",
        "outer": f"{f}({d.of((2,))}, {d.of((3,))})",
        "reduce": f"{f}({a}, axis={d.one(0, -1, 'None')}{d.one('', ', keepdims=True', ', initial=' + d.of(()))})",
    }
    return texts[name]


def initializer(d: Draw, f: str) -> str:
    """Initializers, which return functions."""
    shape = d.one((3, 4), (2, 3, 4), (4, 4))
    rest = f"({d.key()}, {shape}, {d.one('np.float32', 'np.float16', 'm.numpy.bfloat16', 'np.complex64')})"
    name = f.rpartition(".")[2]
    if name in ("zeros", "ones"):
        return f"{f}{rest}"
    if name == "delta_orthogonal":
        rest = rest.replace(shape, d.one((3, 2, 4), (3, 3, 2, 2)))
    options = {
        "constant": d.one("2.5", "1", "-1"),
        "variance_scaling": f"{d.one(1.0, 2.0)}, {d.one(*map(repr, ('fan_in', 'fan_out', 'fan_avg')))}, "
        + d.one(*map(repr, ("normal", "uniform", "truncated_normal"))),
    }
    axes = (
        d.one("", "", "in_axis=0, out_axis=-1")
        if "_" in name and name not in options | {"truncated_normal": 0, "delta_orthogonal": 0}
        else ""
    )
    return f"{f}({options.get(name, axes)}){rest}"


def attention(d: Draw, f: str) -> str:
    """dot_product_attention."""
    q, k, v = (d.floats((1, 3, 2, 4)) for _ in range(3))
    extra = d.one("", ", is_causal=True", ", scale=0.5", ", local_window_size=1", f", mask={d.mask((1, 2, 3, 3))}")
    return f"{f}({q}, {k}, {v}{extra})"


def halves(d: Draw, f: str) -> str:
    """glu, which takes an axis in two."""
    shape, axis = d.rng.choice([((4,), "0"), ((2, 3), "0"), ((3, 4), "1"), ((2, 6), "-1"), ((0, 2), "-1")])
    return f"{f}({d.floats(shape)}, {axis})"


def fitting(d: Draw, f: str) -> str:
    """Functions of several arrays whose lengths must fit."""
    n = d.rng.randint(2, 5)
    distances = f"{d.one('', ', 2', ', ' + d.floats((3,)))}{d.one('', '', f', axis={d.rng.randint(-2, 1)}')}"
    texts = {
        "leslie": f"{f}({d.floats((n,))}, {d.floats((n - 1,))})",
        "gradient": f"{f}({d.of((3, 3))}{distances})",
    }
    return texts[f.rpartition(".")[2]]


def distribution(d: Draw, f: str) -> str:
    """Samples of distributions with parameters in range."""
    key, shape = d.key(), d.one("(3,)", "()", "(2, 3)", "(0,)")
    dtype = d.one("", "", ", dtype='float16'", ", dtype=np.float64", ", dtype='bfloat16'")
    pos, unit = d.floats((3,), "positive"), d.floats((3,), "unit")
    name = f.rpartition(".")[2]
    one = f"shape=(2, 3){dtype}"
    texts = {
        **dict.fromkeys(
            ["normal", "cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell", "rayleigh"],
            f"{key}, {shape}{dtype}",
        ),
        "rayleigh": f"{key}, {pos}, {one}",
        "uniform": f"{key}, {shape}{dtype}, minval={d.one(0, -1.0)}, maxval={d.one(1, 2.5)}",
        "bits": f"{key}, {shape}, {d.one('np.uint8', 'np.uint16', 'np.uint32', 'np.uint64')}",
        "randint": f"{key}, {shape}, {d.one(0, -3)}, {d.one(5, 300, 1)}, {d.one('np.int32', 'np.int8', 'np.uint16', 'np.int64')}",
        "bernoulli": f"{key}, {unit}, (2, 3){d.one('', ', mode=' + repr('low'))}",
        "beta": f"{key}, {pos}, {pos}, {one}",
        "binomial": f"{key}, {d.one(5, 20, pos)}, {unit}, (2, 3)",
        "categorical": f"{key}, {d.floats((2, 4))}{d.one('', ', axis=0', ', shape=(3, 2)', ', replace=False, shape=(2, 2)')}",
        "chisquare": f"{key}, {pos}, {one}",
        "choice": f"{key}, {d.one(5, d.of((4,)), d.of((4, 2)))}, {d.one('(3,)', '()', '(2, 2)')}, replace={d.one(True, False)}",
        "dirichlet": f"{key}, {pos}, shape=(2,){dtype}",
        "double_sided_maxwell": f"{key}, {d.floats((3,))}, {pos}, (2, 3){dtype}",
        "f": f"{key}, {pos}, {pos}, {one}",
        "fold_in": f"{key}, {d.one(3, -1, 2**31)}",
        "gamma": f"{key}, {pos}, {one}",
        "loggamma": f"{key}, {pos}, {one}",
        "generalized_normal": f"{key}, {d.one(1.0, 2.5)}, {shape}{dtype}",
        "geometric": f"{key}, {unit}, (2, 3)",
        "ball": f"{key}, {d.one(1, 3)}, {d.one(1, 2.0, 4)}, {shape}{dtype}",
        "lognormal": f"{key}, {d.one(1.0, 0.5)}, {shape}{dtype}",
        "multinomial": f"{key}, {d.one(5.0, 10.0)}, A([0.2, 0.3, 0.5], 'float32')",
        "multivariate_normal": f"{key}, {d.floats((2,), 'plain')}, A([[2., 0.5], [0.5, 1.]], 'float32'), method={d.one(repr('cholesky'), repr('eigh'), repr('svd'))}",
        "orthogonal": f"{key}, {d.one(2, 3)}, {d.one('()', '(2,)')}{dtype}",
        "pareto": f"{key}, {pos}, {one}",
        "permutation": f"{key}, {d.one(5, d.of((4,)), d.of((3, 2)))}, axis=0{d.one('', ', independent=True')}",
        "poisson": f"{key}, {d.one(pos, 3.0, 20.0)}, {d.one('(3,)', '(2, 3)')}",
        "rademacher": f"{key}, {shape}, {d.one('int', 'np.float32', 'np.int8')}",
        "split": f"{key}, {d.one(2, 1, 0, '(2, 2)')}",
        "t": f"{key}, {pos}, {one}",
        "triangular": f"{key}, 0.0, {d.one(0.5, 0.2)}, 1.0, {shape}{dtype}",
        "truncated_normal": f"{key}, {d.one(-1.0, -3)}, {d.one(1.0, 2)}, {shape}{dtype}",
        "wald": f"{key}, {pos}, {one}",
        "weibull_min": f"{key}, {pos}, {pos}, (2, 3){dtype}",
        "wrap_key_data": "A([1, 2], 'uint32')" + d.one("", ", impl='threefry2x32'"),
        "key_dtype": "",
        **dict.fromkeys(["key", "PRNGKey"], d.one(0, -5, 2**31 - 1, d.indices(9, ())) + d.one("", "", ", impl='rbg'")),
    }
    return f"{f}({texts[name]})" if name in texts else f"{f}({key})"


def statistics(d: Draw, f: str) -> str:
    """Densities and the like in several variables."""
    if "multivariate_normal" in f:
        return f"{f}({d.floats(d.rng.choice([(2,), (3, 2)]))}, {d.floats((2,))}, A([[2., 0.5], [0.5, 1.]], 'float32'))"
    return f"{f}(A([0.2, 0.3, 0.5], 'float32'), {d.floats((3,), 'positive')})"


def signal(d: Draw, f: str) -> str:
    """Spectra and convolutions of signals."""
    x = d.of((16,), d.rng.choice(["float32", "float64", "complex64"]), "plain")
    y = d.of((16,), "float32", "plain")
    detrend = d.one("", ", detrend=False", ", detrend='linear'")
    extra = d.one("", ", window='boxcar'", ", noverlap=2", ", fs=2.0", ", nfft=8")
    plane = d.of((3, 4), None, "plain"), d.of((2, 2), None, "plain")
    mode = d.one(*map(repr, ("full", "same", "valid")))
    texts = {
        "csd": f"{f}({x}, {y}, nperseg=8{extra}{detrend})",
        "welch": f"{f}({x}, nperseg=8{extra}{detrend})",
        "stft": f"{f}({x}, nperseg=8{extra})",
        "istft": f"{f}({d.of((5, 4), 'complex64', 'plain')}, nperseg=8{d.one('', ', noverlap=4', ', window=' + repr('boxcar'))})",
        "convolve2d": f"{f}({', '.join(plane)}, mode={mode})",
        "correlate2d": f"{f}({', '.join(plane)}, mode={mode})",
        "detrend": f"{f}({y}{d.one('', ', type=' + repr('constant'), ', bp=[4]')})",
    }
    return texts[f.rpartition(".")[2]]


def method(d: Draw, f: str) -> str:
    """Methods of arrays that signatures say little of."""
    name = f.rpartition(".")[2]
    a, shape = d.of(d.shape), d.shape
    value = d.one(d.of(()), "1", "2.5")
    update = d.one("set", "add", "multiply", "min", "max", "divide", "power", "subtract")
    mode = d.one("", "", ", mode='drop'", ", mode='clip'")
    texts = {
        "at": d.one(
            f"{a}.at[{d.index()}].{update}({value}{mode})",
            f"{a}.at[{d.index()}].get()",
            f"{a}.at[{d.index()}].apply(m.numpy.sin)",
        ),
        "__getitem__": f"{a}[{d.index()}]",
        "__setitem__": f"{a}.__setitem__(0, 1)",
        "__index__": f"[1, 2, 3][{d.of((), 'int32', 'small')}]",
        "__int__": f"int({d.of(d.rng.choice([(), (1,)]))})",
        "__float__": f"float({d.of(d.rng.choice([(), (1,)]))})",
        "__complex__": f"complex({d.of(d.rng.choice([(), (1,)]))})",
        "__bool__": f"bool({d.of(d.rng.choice([(), (1,), (2,)]))})",
        "__iter__": f"list({a})",
        "__len__": f"len({a})",
        "__contains__": f"{value} in {a}",
        "__array__": f"np.asarray({a})",
        "__array_namespace__": f"{a}.__array_namespace__().__name__.split('.')[-1]",
        "__dlpack__": f"np.from_dlpack({d.of(shape, 'float32')})",
        "__dlpack_device__": f"tuple(map(int, {a}.__dlpack_device__()))",
        "__copy__": f"__import__('copy').copy({a})",
        "__deepcopy__": f"__import__('copy').deepcopy({a})",
        "__round__": d.one(f"round({a})", f"round({a}, {d.rng.randint(-1, 2)})"),
        "item": d.one(f"{d.of(())}.item()", f"{a}.item({d.rng.randint(0, 2)})"),
        "tolist": f"{a}.tolist()",
        "reshape": f"{d.of((2, 6))}.reshape({d.one('3, 4', '(4, 3)', '-1', '(2, -1), order=' + repr('F'))})",
        "transpose": f"{d.of((2, 3))}.transpose({d.one('', '1, 0', '(0, 1)', '-1, 0')})",
        "view": f"{d.of((2, 2), d.rng.choice(['float32', 'int32', 'uint8', 'float16']))}.view({d.one('np.int32', 'np.uint8', 'np.float32', 'np.uint16')})",
        "delete": f"[x.delete() or x.is_deleted() for x in [{a}]]",
        "device": f"{a}.device.platform",
        "devices": f"[v.platform for v in {a}.devices()]",
        "sharding": f"type({a}.sharding).__name__",
        "platform": f"{a}.platform()",
        "aval": f"{a}.aval.shape",
        "to_device": f"{a}.to_device(m.devices()[0])",
        "addressable_data": f"{a}.addressable_data(0)",
        "unsafe_buffer_pointer": f"type({a}.unsafe_buffer_pointer())",
        "on_device_size_in_bytes": f"{a}.on_device_size_in_bytes()",
        "choose": f"{d.indices(2, (3,), 0)}.choose([{d.of((3,))}, {d.of((3,))}], mode='clip')".replace("-", ""),
        "argpartition": f"{d.of((1,))}.argpartition(0)",
        "compress": f"{d.of((3, 2))}.compress({d.mask((3,))}, axis=0)",
        "dot": f"{d.of((2, 3))}.dot({d.of((3, 2))})",
        "__matmul__": f"{d.of((2, 3))} @ {d.of((3, 2))}",
        "__rmatmul__": f"np.ones((2, 3), 'float32') @ {d.of((3, 2))}",
        "searchsorted": f"A([-1., 0., 2.], 'float32').searchsorted({d.of((2,))})",
        "repeat": f"{a}.repeat({d.one(2, 0)}, axis={d.one('None', 0)})",
        "take": f"{d.of((3, 2))}.take({d.indices(3, (2,))}, axis=0)",
    }
    return texts[name]


METHODS = (
    "at __getitem__ __setitem__ __index__ __int__ __float__ __complex__ __bool__ __iter__ __len__ __contains__ __array__ "
    "__array_namespace__ __dlpack__ __dlpack_device__ __copy__ __deepcopy__ __round__ item tolist view delete device devices "
    "sharding platform aval to_device addressable_data unsafe_buffer_pointer on_device_size_in_bytes choose argpartition "
    "reshape transpose compress dot __matmul__ __rmatmul__ searchsorted repeat take"
).split()


NUMPY: dict[str, Template] = {
    r"numpy\.(apply_along_axis|apply_over_axes|vectorize|frompyfunc|ufunc|fromfunction|mask_indices|piecewise)": functions,
    r"numpy\.(select|choose|take|take_along_axis|put_along_axis|put|place|fill_diagonal|insert|delete|compress|extract|"
    r"unravel_index|ravel_multi_index|ix_|diag_indices_from|digitize|searchsorted|interp|lexsort|argpartition|partition|"
    r"reshape|broadcast_to|permute_dims|resize|broadcast_shapes|vecmat|matvec|vecdot)": chosen,
    r"numpy\.(bincount|histogram.*|packbits|unpackbits|einsum|einsum_path)": counted,
    r"numpy\.(frombuffer|fromstring|fromiter|fromfile|load|save|savez|from_dlpack|.*printoptions|array_repr)": bytes_and_files,
    r"numpy\.\w+\.(at|reduceat|accumulate|outer|reduce)": ufunc_method,
    r"nn\.initializers\..*": initializer,
    r"nn\.dot_product_attention": attention,
    r"nn\.glu": halves,
    r"scipy\.linalg\.leslie|numpy\.gradient": fitting,
    r"random\..*": distribution,
    r"scipy\.stats\.(multivariate_normal|dirichlet)\..*": statistics,
    r"scipy\.signal\.(csd|welch|stft|istft|convolve2d|correlate2d|detrend)": signal,
    rf"Array\.({'|'.join(METHODS)})": method,
}
