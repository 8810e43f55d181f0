"""Calls of functions of whole libraries: images, segments, interpolation, solvers, layers of networks, optimizers."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Draw

Template = Callable[[Draw, str], str]


# Times an array, an array of the default float dtype or of a wider one.
OF_DEFAULT = "m.numpy.ones(()) * "


def segments(d: Draw, f: str) -> str:
    """Sums and the like of the parts of an array."""
    rows = d.rng.choice([3, 4])
    ids = f"A({[d.rng.randrange(-1, 4) for _ in range(rows)]}, 'int32')"
    number = d.one("", ", num_segments=3", ", num_segments=5", ", bucket_size=2, num_segments=4")
    return f"{f}({d.of(d.rng.choice([(rows,), (rows, 2)]))}, {ids}{number}{d.one('', ', mode=' + repr('clip'))})"


def resized(d: Draw, f: str) -> str:
    """Images of another size."""
    image, method = d.floats((3, 4), "plain"), repr(d.one("nearest", "linear", "cubic", "lanczos3"))
    smooth = d.one("", ", antialias=False")
    if f.endswith("resize"):
        return f"{f}({image}, {d.one((2, 3), (6, 4), (3, 9))}, {method}{smooth})"
    method = repr(d.one("linear", "cubic", "lanczos5"))
    scale, shift = f"A([{d.one(1.5, 0.7)}, 2.0], 'float32')", "A([0.3, -0.2], 'float32')"
    return f"{f}({image}, (4, 5), (0, 1), {scale}, {shift}, {method}{smooth})"


def numeric(d: Draw, f: str) -> str:
    """What SciPy has: interpolation, codes, integrals, rotations, minima and solutions of equations."""
    a, b = d.floats((3,), "positive"), d.floats((2, 3), "positive")
    points = f"A([[{d.one(0.2, 2.5)}, 0.3], [1.5, 0.9]], 'float32')"
    order, mode = d.one(0, 1), repr(d.one("constant", "nearest", "wrap", "mirror", "reflect"))
    matrix = "m.numpy.array([[4., 1., 0.], [1., 5., 2.], [0., 2., 6.]])"
    texts = {
        "vq": f"{f}({d.floats((4, 2), 'plain')}, {d.floats((3, 2), 'plain')})",
        "trapezoid": f"{f}({b}{d.one('', ', dx=0.5', ', ' + a, ', axis=0')})",
        "RegularGridInterpolator": f"{f}((np.arange(3.), np.arange(2.)), {d.floats((3, 2), 'plain')}, "
        f"{d.one(repr('linear'), repr('nearest'))}, False, {d.one('None', 1.5)})({points})",
        "map_coordinates": f"{f}({d.floats((3, 4), 'plain')}, [{a}, {a}], {order}, mode={mode}, cval={d.one(0.0, 2.0)})",
        "OptimizeResults": f"{f}(*range({d.one(9, 9, 8)}))",
        "minimize": f"m.numpy.round({f}(lambda x: ((x - {d.one(1, 2)}) ** 2).sum(), {a}, method='BFGS').x, 2)",
        "Rotation": f"{f}.from_{d.one('rotvec', 'mrp')}({a}).as_matrix()",
        "Slerp": f"{f}.init(np.arange(2.), m.scipy.spatial.transform.Rotation.from_rotvec({b}))({d.one(0.3, 0.5)}).as_rotvec()",
        **dict.fromkeys(
            ("cg", "gmres", "bicgstab"),
            f"m.numpy.round({f}({d.one(matrix, f'lambda v: {matrix} @ v')}, {OF_DEFAULT}{a})[0], 2)",
        ),
    }
    return texts[f.rpartition(".")[2]]


def layer(d: Draw, f: str) -> str:
    """A layer of a network: the shape that it says, and its result."""
    image = (1, 4, 4, 2)
    dense = "m.example_libraries.stax.Dense(2)"
    shape, made = {
        "Dense": ((2, 3), f"{f}({d.one(2, 4)})"),
        "Conv": (image, f"{f}(3, (2, 2){d.one('', ', padding=' + repr('SAME'))})"),
        "ConvTranspose": (image, f"{f}(3, (2, 2))"),
        "Conv1DTranspose": ((1, 4, 2), f"{f}(3, (2,))"),
        "GeneralConv": (image, f"{f}(('NHWC', 'HWIO', 'NHWC'), 3, (2, 2))"),
        "GeneralConvTranspose": (image, f"{f}(('NHWC', 'HWIO', 'NHWC'), 3, (2, 2))"),
        "BatchNorm": (image, f"{f}({d.one('', 'center=False', 'scale=False')})"),
        **dict.fromkeys(("MaxPool", "AvgPool", "SumPool"), (image, f"{f}((2, 2){d.one('', ', strides=(2, 2)')})")),
        "elementwise": ((2, 3), f"{f}({d.elementwise()})"),
        "Dropout": ((2, 3), f"{f}(0.5{d.one('', ', mode=' + repr('test'))})"),
        "serial": ((2, 3), f"{f}({dense}, {dense})"),
        "FanOut": ((2, 3), f"{f}({d.one(2, 3)})"),
        "parallel": ([(2, 3), (2, 3)], f"{f}({dense}, {dense})"),
        "FanInConcat": ([(2, 3), (2, 3)], f"{f}({d.one('', 0)})"),
        "shape_dependent": ((2, 3), f"{f}(lambda shape: m.example_libraries.stax.Dense(shape[-1] + 1))"),
    }[f.rpartition(".")[2]]
    several = isinstance(shape, list)
    x = f"[{d.floats((2, 3), 'plain')}, {d.floats((2, 3), 'plain')}]" if several else d.floats(shape, "plain")
    if "Conv" in f:  # no promotion there
        x = OF_DEFAULT + x
    key = f"m.random.key({d.rng.randrange(9)})"
    return f"[(out, use(params, {x}, rng={key})) for init, use in [{made}] for out, params in [init({key}, {shape})]]"


def optimizer(d: Draw, f: str) -> str:
    """What an optimizer makes of parameters in a step, schedules of steps, and norms of gradients."""
    name = f.rpartition(".")[2]
    x, step = f"({d.floats((3,), 'plain')}, {d.floats((2,), 'plain')})", d.one(0.1, 1.0)
    i = d.rng.randrange(12)
    states = "m.example_libraries.optimizers.sgd(0.1).init_fn"
    texts = {
        "constant": f"{f}({step})({i})",
        "exponential_decay": f"{f}({step}, 5, 0.9)({i})",
        "inverse_time_decay": f"{f}({step}, 5, 0.9{d.one('', ', staircase=True')})({i})",
        "polynomial_decay": f"{f}({step}, 5, 0.01{d.one('', ', power=2.0')})({i})",
        "piecewise_constant": f"{f}([3, 6], [1.0, 0.5, 0.1])({i})",
        "make_schedule": f"{f}({d.one(step, 'lambda i: i * 0.5')})({i})",
        "l2_norm": f"{f}({x})",
        "clip_grads": f"{f}({x}, {d.one(0.5, 100.0)})",
        "pack_optimizer_state": f"{f}(m.example_libraries.optimizers.unpack_optimizer_state({states}({x}))).packed_state",
        "unpack_optimizer_state": f"[p.subtree for p in {f}({states}({x}))]",
        "JoinPoint": f"{f}({i}).subtree",
        "Optimizer": f"{f}({i}, {i}, {i}).update_fn",
        "OptimizerState": f"{f}({i}, {i}, {i}).packed_state",
        "optimizer": f"{f}(lambda n: (lambda x: x * n, lambda i, g, x: x - g, lambda x: x))(2).init_fn({x}).packed_state",
    }
    if name in texts:
        return texts[name]
    mass = ", 0.9" if name in ("momentum", "nesterov") else ""
    return f"[get(update({i}, {x}, init({x}))) for init, update, get in [{f}({step}{mass})]]"


def in_mesh(kind: str, call: str, x: str) -> str:
    """A call of an array that lies over a mesh in scope, which has an axis of a type."""
    mesh = f"m.make_mesh((1,), ('x',), (m.sharding.AxisType.{kind},))"
    place = f"m.device_put({x}, m.NamedSharding(mesh, m.P()))"
    return (
        f"[out for mesh in [{mesh}] for scope in [__import__('contextlib').ExitStack()] for x in [{place}] "
        f"for _ in [scope.enter_context(m.set_mesh(mesh))] for out in [{call}] for _ in [scope.close()]][0]"
    )


def parts(d: Draw, f: str) -> str:
    """Meshes, arrays that lie in parts, and functions that are mapped over parts: here there is one."""
    axis = d.one("'x'", "None")
    mesh, shape = "m.make_mesh((1,), ('x',), (m.sharding.AxisType.Auto,))", d.rng.choice([(2, 3), (2,)])
    place = d.one("m.sharding.SingleDeviceSharding(m.devices()[0])", f"m.NamedSharding({mesh}, m.P({axis}))")
    sizes = d.rng.choice([("(2,)", "('x',)"), ("(2, 3)", "('x', 'y')")])
    texts = {
        "P": f"tuple({f}({axis}, {d.one(repr('y'), 'None')}))",
        "Shard": f"[(s.index, s.replica_id, s.data) for s in [{f}(m.devices()[0], {place}, {shape}{d.one('', ', ' + d.of(shape))})]]",
        "NamedSharding": f"tuple({f}({mesh}, m.P({axis})).spec)",
        "make_mesh": f"[(mesh.axis_names, mesh.size) for mesh in [{f}((1,), ('x',))]]",
        "Mesh": f"[(mesh.axis_names, mesh.size) for mesh in [{f}(np.array(m.devices()[:1]), ('x',))]]",
        "AbstractMesh": f"[(mesh.axis_names, mesh.axis_sizes, mesh.size) for mesh in [{f}({', '.join(sizes)})]]",
        "SingleDeviceSharding": f"len({f}(m.devices()[0]).device_set)",
        "get_abstract_mesh": f"{f}().axis_names",
        "get_mesh": f"{f}().axis_names",
        "set_mesh": f"{f}({mesh}).__exit__(None, None, None)",
        "use_abstract_mesh": f"{f}(m.sharding.AbstractMesh({', '.join(sizes)})) is not None",
        "make_array_from_callback": f"{f}({shape}, {place}, lambda i: np.arange(6.).reshape(2, 3)[{'...' if len(shape) == 2 else '0, :2, ...'}][i])",
        "make_array_from_process_local_data": f"{f}({place}, np.ones({shape}, 'float32'))",
        "make_array_from_single_device_arrays": f"{f}({shape}, {place}, [{d.of(shape)}])",
        "with_sharding_constraint": f"{f}({d.of(shape)}, {place})",
        "auto_axes": in_mesh(
            "Explicit", f"{f}({d.elementwise()}, axes='x', out_sharding=m.P({axis}))(x)", d.floats((2, 3))
        ),
        "explicit_axes": in_mesh(
            "Auto", f"{f}({d.elementwise()}, axes='x', in_sharding=m.P({axis}))(x)", d.floats((2, 3))
        ),
        "reshard": f"{f}(m.device_put({d.of(shape)}, m.NamedSharding(m.make_mesh((1,), ('x',), (m.sharding.AxisType.Explicit,)), m.P())), "
        f"m.NamedSharding(m.make_mesh((1,), ('x',), (m.sharding.AxisType.Explicit,)), m.P({axis})))",
        "pcast": f"m.shard_map(lambda x: {f}(x, 'x', to='varying'), mesh={mesh}, in_specs=m.P(), out_specs=m.P('x'))({d.of(shape)})",
        "smap": f"m.shard_map({f}({d.elementwise()}, in_axes=0, out_axes=0, axis_name='x'), mesh=m.make_mesh((1, 1), ('x', 'y'), (m.sharding.AxisType.Auto,) * 2), "
        f"in_specs=m.P(), out_specs=m.P(), axis_names={{'y'}})({d.of((1, 3))})",
        "pmap": f"{f}({d.elementwise()})({d.floats((1, 3))})",
        "shard_map": f"{f}({d.elementwise()}, mesh={mesh}, in_specs=m.P({axis}), out_specs=m.P({axis}))({d.floats((2, 3))})",
    }
    return texts[f.rpartition(".")[2]]


def others(d: Draw, f: str) -> str:
    """Taylor series, trees as vectors, functions with names, and checks of derivatives."""
    x, y = d.floats((3,), "positive"), d.floats((3,), "plain")
    function = d.one("m.numpy.sin", "m.numpy.exp", "lambda x: x * x")
    checks = f"lambda x: [m.experimental.checkify.check(m.numpy.all(x > {d.one(0, 1)}), 'no: {{}}', x[0]), x][1]"
    checked = f"m.experimental.checkify.checkify({checks})({x})"
    texts = {
        "checkify": f"[(error.get() is None, out) for error, out in [{f}({checks})({x})]]",
        "check": f"[error.get() is None for error, out in [{checked}]]",
        "check_error": f"[{f}(error) for error, out in [{checked}]]",
        "debug_check": f"m.experimental.checkify.checkify(lambda x: {f}(m.numpy.all(x > 0), 'no'))({x})[1]",
        "io_callback": f"{f}(lambda v: np.asarray(v) * 2, m.ShapeDtypeStruct((3,), 'float32'), {d.of((3,), 'float32')})",
        "Layout": f"[(v.major_to_minor, v.tiling) for v in [{f}({d.one('(1, 0)', '[0]', '(0, 1), ((2, 4),)')})]]",
        "with_layout_constraint": f"m.jit(lambda x: {f}(x, m.experimental.layout.Layout({d.one('(0, 1)', '(1, 0)')})))({d.floats((2, 3))})",
        "Format": f"[(v.layout, v.sharding is None) for v in [{f}({d.one('', 'None, m.device_put(1.0).sharding')})]]",
        "annotate_function": f"{f}({function}{d.one('', ', name=' + repr('inside'))})({x})",
        "TraceAnnotation": f"{f}('a'{d.one('', ', batch=3')}).__exit__(None, None, None)",
        "StepTraceAnnotation": f"{f}('a', step_num={d.one(1, 2)}).__exit__(None, None, None)",
        "live_arrays": f"isinstance({f}(), list)",
        "print_environment_info": f"isinstance({f}(return_string=True), str)",
        **dict.fromkeys(("jet", "jet2"), f"{f}({function}, ({x},), ([{y}, {y}],))"),
        "ravel_pytree": f"[(flat, undo(flat)) for flat, undo in [{f}(({x}, {{'a': {d.of((2, 2))}}}))]]",
        "named_call": f"{f}({function}{d.one('', ', name=' + repr('inside'))})({x})",
        "composite": f"{f}({function}, 'my.name'{d.one('', ', version=2')})({x})",
        "fwd_and_bwd": f"[(out, bwd(rest, out)) for fwd, bwd in [{f}({function}, 0)] for out, rest in [fwd({x})]]",
        "custom_vjp_primal_tree_values": f"{f}({d.one('[]', '((), None)', '{}')})",
        "check_grads": f"{f}({function}, ({x},), {d.one(1, 2)}, atol=0.1, rtol=0.1)",
        "check_jvp": f"{f}({function}, lambda p, t: m.jvp({function}, p, t), ({x},), atol=0.1, rtol=0.1)",
        "check_vjp": f"{f}({function}, lambda *p: m.vjp({function}, *p), ({x},), atol=0.1, rtol=0.1)",
    }
    return texts[f.rpartition(".")[2]]


def sparse_arrays(d: Draw, f: str) -> str:
    """Sparse arrays, as the dense ones that they stand for."""
    m = "m.experimental.sparse"
    batch, dense = d.rng.choice([(0, 0), (1, 0), (0, 1), (1, 1)])
    values = [[[d.rng.choice([0, 0, 1, -2, 3]) for _ in range(4)] for _ in range(3)] for _ in range(2)]
    x, y, v = f"A({values}, 'float32')", f"A({values[::-1]}, 'float32')", f"A({values[0][0]}, 'float32')"
    mat = f"{m}.bcoo_fromdense({x}, nse={d.one(9, 12)}, n_batch={batch}, n_dense={dense})"
    flat, rows = f"{m}.bcoo_fromdense({x}[0])", f"{m}.bcsr_fromdense({x}[0], nse={d.one(12, 9)})"
    axis = d.rng.randrange(3 - dense)
    squared = f"lambda s, w: {'((s @ w) ** 2).sum()' if 'grad' in f else 's @ w'}"
    slope = f"{f}({squared}, {d.one(0, 1)})({flat}, {v})"
    made = {
        "BCOO": f"{f}((A([1.0, 2.0], 'float32'), A([[0, {d.one(1, 9)}], [2, 3]], 'int32')), shape=(3, 4))",
        "BCSR": f"{f}((A([1.0, 2.0, 3.0], 'float32'), A([0, {d.one(1, 3)}, 2], 'int32'), A([0, 1, {d.one(1, 2, 3)}, 3], 'int32')), shape=(3, 4))",
        "bcoo_broadcast_in_dim": f"{f}({mat}, shape=(5, 2, 3, 4), broadcast_dimensions=(1, 2, 3))",
        "bcoo_concatenate": f"{f}([{mat}, {mat}], dimension={axis})",
        "bcoo_dot_general": f"{f}({flat}, {d.one(v, flat + '.T')}, dimension_numbers=(((1,), (0,)), ((), ())))",
        "bcoo_dynamic_slice": f"{f}({mat}, ({d.one(0, 1)}, {d.one(0, -1, 2)}, 1), (1, 2, {d.one(2, 3)}))",
        "bcoo_extract": f"{f}({mat}, {y})",
        "bcoo_fromdense": mat,
        "bcoo_multiply_sparse": f"{f}({mat}, {mat})",
        "bcoo_reduce_sum": f"{f}({mat}, axes=({axis},))",
        "bcoo_reshape": f"{f}({flat}, new_sizes={d.one((4, 3), (12,), (2, 6), (2, 5))})",
        "bcoo_rev": f"{f}({mat}, ({axis},))",
        "bcoo_slice": f"{f}({mat}, start_indices=(0, 1, {d.one(0, 1)}), limit_indices=(2, 3, 4), strides=(1, {d.one(1, 2)}, 1))",
        "bcoo_squeeze": f"{f}({mat}[:1], dimensions=({d.one(0, 0, 1)},))",
        "bcoo_transpose": f"{f}({flat}, permutation={d.one((1, 0), (0, 1))})",
        "bcoo_update_layout": f"{f}({mat}, n_batch={d.one(0, 1, 2)}, n_dense={d.one(0, 1)}, on_inefficient=None)",
        "bcsr_broadcast_in_dim": f"{f}({rows}, shape=({d.one(1, 5)}, 3, 4), broadcast_dimensions=(1, 2))",
        "bcsr_concatenate": f"{f}([{rows}, {rows}], dimension={d.one(0, 1)})",
        "bcsr_dot_general": f"{f}({rows}, {v}, dimension_numbers=(((1,), (0,)), ((), ())))",
        "bcsr_fromdense": rows,
        "random_bcoo": f"{f}(m.random.key({d.one(0, 7)}), (3, 4), nse={d.one(0.3, 4, 0)}, n_dense={d.one(0, 1)}, dtype='float32')",
        "sparsify": f"{f}(lambda s: {d.one('2 * s.T', 's[1:] - s[:2]', 'm.numpy.tanh(s) * s', 's @ s.T', 's.sum(0)')})({flat})",
        **dict.fromkeys(("bcsr_sum_duplicates", "bcsr_todense"), f"{f}({rows})"),
        **dict.fromkeys(("bcoo_sort_indices", "bcoo_sum_duplicates", "bcoo_todense", "todense"), f"{f}({mat})"),
    }
    matrix = f"A({values[0]}, 'float32')"
    thin, wide = f"A({[[row[0], row[1]] for row in values[1]]}, 'float32')", f"A({values[1]}, 'float32').T"
    nse = d.one("", ", nse=9", ", nse=12")
    coo, csr = f"{m}.coo_fromdense({matrix}{nse})", f"{m}.csr_fromdense({matrix}{nse})"
    arrays = "A([1.0, 2.0, 3.0], 'float32'), A([0, 2, 1], 'int32')"
    made |= {
        "COO": f"{f}(({arrays}, A([1, {d.one(1, 0)}, 3], 'int32')), shape=(3, 4))",
        "CSR": f"{f}(({arrays}, A([0, 1, {d.one(1, 2, 3)}, 3], 'int32')), shape=(3, 4))",
        "CSC": f"{f}(({arrays}, A([0, {d.one(0, 1)}, 2, 2, 3], 'int32')), shape=(3, 4))",
        "empty": f"{f}({d.one((2, 3), (4, 1))}, {d.one('', 'sparse_format=' + repr(d.one('coo', 'csr', 'csc')), 'nse=2')})",
        "eye": f"{f}({d.one(3, 2)}, {d.one('None', 4)}, {d.one(0, 1, -1)}, sparse_format={d.one('coo', 'csr', 'csc', 'bcoo')!r})",
    }
    name = f.rpartition(".")[2]
    kind, _, operation = name.partition("_")
    if kind in ("coo", "csr"):
        mat, transposed = (coo if kind == "coo" else csr), d.rng.random() < 0.5
        vector = f"A({values[1][0][:3] if transposed else values[1][0]}, 'float32')"
        operand = vector if operation == "matvec" else (thin if transposed else wide)
        calls = {
            "fromdense": f"{m}.todense({f}({matrix}{nse}, index_dtype={d.one('int32', 'int16')!r}))",
            "todense": f"{f}({mat})",
            **dict.fromkeys(("matvec", "matmat"), f"{f}({mat}, {operand}, transpose={transposed})"),
        }
        return calls[operation]
    if name in made:
        return f"{m}.todense({made[name]})"
    texts = {
        "bcoo_dot_general_sampled": f"{f}({x}[0], {y}[0].T, A([[0, 1], [2, {d.one(0, 2)}]], 'int32'), dimension_numbers=(((1,), (0,)), ((), ())))",
        "bcsr_extract": f"{f}({rows}.indices, {rows}.indptr, {y}[0])",
        "bcoo_multiply_dense": f"{f}({mat}, {d.one(y, v, 2.0)})",
        "value_and_grad": f"[(out, {m}.todense(by)) for out, by in [{slope}]]",
        **dict.fromkeys(("grad", "jacfwd", "jacrev", "jacobian"), f"{m}.todense({slope})"),
    }
    return texts[name]


def hosts(d: Draw, f: str) -> str:
    """Exchanges between processes, of which there is one."""
    y, mesh = d.of((4, 2)), "m.make_mesh((1,), ('x',), (m.sharding.AxisType.Auto,))"
    spec = d.one("m.P()", "m.P('x')", "m.P(None, 'x')")
    made = f"m.experimental.multihost_utils.host_local_array_to_global_array({y}, {mesh}, {spec})"
    texts = {
        "host_local_array_to_global_array": f"{f}({y}, {mesh}, {spec})",
        "global_array_to_host_local_array": f"{f}({made}, {mesh}, {spec})",
        "sync_global_devices": f"{f}({d.one(repr('a'), repr('b'))})",
    }
    return texts[f.rpartition(".")[2]]


def machines(d: Draw, f: str) -> str:
    """Devices as arrays, and compiled programs as bytes."""
    ones, named = d.rng.choice([(1,), (1, 1), (1, 1, 1)]), d.one("m.devices()[:1]", "devices=m.devices()[:1]")
    x = d.floats((3,), "plain")
    made = f"m.jit({d.elementwise()}).lower({x}).compile()"
    packed = f"m.experimental.serialize_executable.serialize({made})"
    texts = {
        "create_device_mesh": f"{f}({d.one(ones, list(ones))}, {named}).shape",
        "create_hybrid_device_mesh": f"{f}({ones}, {ones}, {named}, process_is_granule=True).shape",
        "serialize": f"[(type(payload), str(given), str(found)) for payload, given, found in [{f}({made})]]",
        "deserialize_and_load": f"[{f}(*packed, execution_devices=m.devices()[:1])({x}) for packed in [{packed}]]",
    }
    return texts[f.rpartition(".")[2]]


def placed(d: Draw, f: str) -> str:
    """Functions of which XLA is told where it computes them, and how their arrays may be divided."""
    x, room = d.floats((2, 3), "plain"), "m.experimental.custom_partitioning"
    column, sizes = d.rng.choice([("'j'", ""), (f"{room}.CompoundFactor('j', 'k')", ", j=2, k=3")])
    mappings = f"[{room}.ArrayMapping('i', {column})]"
    define = "def_partition(partition=print, infer_sharding_from_operands=print, sharding_rule='... -> ...')"
    texts = {
        "compute_on": f"m.jit({f}({d.one(repr('device_host'), repr('device'))})({d.elementwise()}))({x})",
        "scheduling_group": f"m.jit({f}({d.one(repr('a'), 'name=' + repr('b'))})({d.elementwise()}))({x})",
        "xla_metadata_call": f"m.jit({f}({d.elementwise()}, {d.one('a=1', 'b=' + repr('c'))}))({x})",
        "ArrayMapping": f"len({f}('i', {column}))",
        "CompoundFactor": f"len({f}('i', {d.one(repr('j'), repr('k'))}))",
        "SdyShardingRule": f"len({f}({mappings}, {mappings}{sizes}).operand_mappings)",
        "custom_partitioning": f"[p({x}) for p in [{f}({d.elementwise()})] for _ in [p.{define}]]",
    }
    return texts[f.rpartition(".")[2]]


def special(d: Draw, f: str) -> str:
    """Functions of orders, degrees and parameters that are in certain ranges."""
    z = d.floats(d.rng.choice([(), (3,), (2, 2)]), "positive")
    n, m, angle = d.rng.randint(1, 3), d.rng.randint(0, 1), d.of((2,), "float32", "unit")
    orders = f"A([{n}, {n + 1}], 'int32'), A([{m}, {d.rng.randint(0, 1)}], 'int32')"
    texts = {
        "bessel_jn": f"{f}({z}, v={d.rng.randint(1, 4)}, n_iter={d.one(30, 50)})",
        "sph_harm_y": f"{f}({orders}, {angle}, {angle}{d.one('', f', n_max={n + 2}')})",
        "dsplit": f"{f}({d.of(d.rng.choice([(2, 1, 4), (1, 2, 2)]))}, {d.one(1, 2, [1])})",
        "zeta": f"{f}({d.of((3,), 'float32', 'positive')} + 1, {d.of((3,), 'float32', 'positive')})",
        "hyp2f1": f"{f}({d.one(0.5, 1.5, 2.0)}, {d.floats((2,), 'positive')}, {d.one(2.5, 3.0)}, {d.floats((2,), 'unit')})",
    }
    return texts[f.rpartition(".")[2]]


def foreign(d: Draw, f: str) -> str:
    """Addresses of functions of C, and their registration under a name that is new with each call."""
    pointer = "m.ffi.pycapsule(__import__('ctypes').pythonapi.Py_IsInitialized)"
    name = f"'n{d.rng.randrange(10**9)}'"
    if f.endswith("pycapsule"):
        return f"type({f}(__import__('ctypes').pythonapi.{d.one('Py_IsInitialized', 'Py_GetVersion')})).__name__"
    # XLA calls handlers of later versions when they are registered.
    return f"{f}({name}, {pointer}{d.one('', ', platform=' + repr('cpu'))}, api_version=0)"


def scaled(d: Draw, f: str) -> str:
    """Products of matrices in blocks that have scales."""
    mode = d.one("mxfp8", "nvfp4")
    rest = ", m.numpy.ones((1,))" if mode == "nvfp4" else ""
    made = f"m.nn.get_scaled_dot_general_config({mode!r}{rest})"
    if f.endswith("config"):
        return f"{made}.{d.one('mode', 'block_size', 'infer_only')}"
    blocks = d.rng.choice([1, 2])
    lhs, rhs = d.of((1, 2, 32 * blocks), "float32", "unit"), d.of((1, 3, 32 * blocks), "float32", "unit")
    return f"{f}({lhs}, {rhs}, (((2,), (2,)), ((0,), (0,))))"


def scaled_product(d: Draw, f: str) -> str:
    """A product with a scale for each block; jax rounds wider operands to bfloat16."""
    dtype, shared = d.rng.choice(["bfloat16", "float8_e4m3fn"]), d.rng.choice([(), (2,)])
    lhs, rhs = d.of((*shared, 3, 8), dtype, "unit"), d.of((*shared, 8, 2), dtype, "unit")
    sides = {"lhs": (3, d.rng.choice([1, 2, 8])), "rhs": (d.rng.choice([1, 4]), 2)}
    scales = "".join(
        f", {side}_scale=m.numpy.full({(*shared, *shape)}, {d.one(0.5, 2, 8)}, 'float8_e8m0fnu')"
        for side, shape in sides.items()
        if d.rng.random() < 0.6
    )
    return f"{f}({lhs}, {rhs}{scales}{d.one('', ', preferred_element_type=np.float32')})"


LAYERS = (
    "Dense Conv ConvTranspose Conv1DTranspose GeneralConv GeneralConvTranspose BatchNorm MaxPool AvgPool SumPool elementwise "
    "Dropout serial FanOut parallel FanInConcat shape_dependent"
).split()

LIBRARIES: dict[str, Template] = {
    r"ops\.segment_\w+": segments,
    r"experimental\.multihost_utils\.(\w+_local_array|\w+_global_array|sync_global_devices)": hosts,
    r"experimental\.(mesh_utils|serialize_executable)\.\w+": machines,
    r"experimental\.(compute_on|custom_partitioning|scheduling_groups)\.\w+": placed,
    r"scipy\.special\.(bessel_jn|sph_harm_y|hyp2f1)|lax\.zeta|numpy\.dsplit": special,
    r"ffi\.(pycapsule|register_ffi_target)": foreign,
    r"nn\.(get_scaled_dot_general_config|scaled_dot_general)": scaled,
    r"lax\.scaled_dot": scaled_product,
    r"image\.(resize|scale_and_translate)": resized,
    r"scipy\.(cluster\.vq|integrate|interpolate|ndimage|optimize|sparse\.linalg|spatial\.transform)\.\w+": numeric,
    rf"example_libraries\.stax\.({'|'.join(LAYERS)})": layer,
    r"example_libraries\.optimizers\.\w+": optimizer,
    r"experimental\.sparse\.\w+": sparse_arrays,
    r"experimental\.(checkify\.\w+|io_callback)|live_arrays|print_environment_info": others,
    r"experimental\.jet\.jet2?|flatten_util\.\w+|test_util\.check_\w+|named_call|profiler\.\w+|lax\.composite|fwd_and_bwd|"
    r"custom_derivatives\.custom_vjp_primal_tree_values|experimental\.layout\.\w+": others,
    r"sharding\.(AbstractMesh|Mesh|SingleDeviceSharding|get_abstract_mesh|get_mesh|use_abstract_mesh|auto_axes|explicit_axes)|reshard": parts,
    r"P|NamedSharding|Shard|make_mesh|set_mesh|make_array_from_\w+|pmap|smap|shard_map|lax\.(pcast|with_sharding_constraint)": parts,
}
