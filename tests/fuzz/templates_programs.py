"""Calls of functions that take functions, trees, dtypes or nothing: transformations, control flow, collectives, settings."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Draw

Template = Callable[[Draw, str], str]

TRANSFERS = (
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
)
EVENTS = (("event_duration_secs", ", 0.5"), ("event_time_span", ", 1.0, 2.5"), ("scalar", ", 3"), ("event", ""))
FEW = ((3,), (2, 3), (), (2,))


def x(d: Draw) -> str:
    """An array of floats of a small shape."""
    return d.floats(d.rng.choice(FEW))


def two(d: Draw) -> tuple[str, str]:
    """Two arrays of floats of the same shape."""
    shape = d.rng.choice(FEW)
    return d.floats(shape), d.floats(shape)


def derivative(d: Draw, f: str) -> str:
    """grad and value_and_grad."""
    return d.one(
        f"{f}({d.scalar_function()})({x(d)})",
        f"{f}(lambda x, y: (x * y).sum(), argnums={d.one(0, 1, (0, 1), -1)})({', '.join(two(d))})",
        f"{f}(lambda x: ((x ** 2).sum(), {{'aux': x}}), has_aux=True)({x(d)})",
        f"{f}(lambda t: t[0] * m.numpy.sum(t[1]['a']))(({d.floats(())}, {{'a': {x(d)}}}))",
        f"{f}({d.scalar_function()}, allow_int=True)({d.of((3,), 'int32')})",
    )


def jacobian(d: Draw, f: str) -> str:
    """jacfwd, jacrev and hessian."""
    return d.one(
        f"{f}({d.elementwise()})({x(d)})",
        f"{f}(lambda x, y: {{'sum': x + y, 'product': x * y}}, argnums={d.one(0, 1, (0, 1))})({', '.join(two(d))})",
        f"{f}(lambda x: (x ** 3, x), has_aux=True)({x(d)})",
        f"{f}({d.scalar_function()})({x(d)})",
    )


def jvp(d: Draw, f: str) -> str:
    """jvp of a function of one or two arrays."""
    a, b = two(d)
    return d.one(f"{f}({d.elementwise()}, ({a},), ({b},))", f"{f}(lambda x, y: (x * y, x), ({a}, {b}), ({b}, {a}))")


def vjp(d: Draw, f: str) -> str:
    """vjp and linearize: the result and its linear function at a point."""
    a, b = two(d)
    return d.one(
        f"[(out, g({b})) for out, g in [{f}({d.elementwise().replace('m.nn.relu', 'm.numpy.cos')}, {a})]]",
        f"[(out, aux, g({b})) for out, g, aux in [{f}(lambda x: (x * x, x), {a}, has_aux=True)]]",
    )


def vmap(d: Draw, f: str) -> str:
    """vmap over different axes."""
    shape = d.rng.choice([(2, 3), (3, 2), (2, 2, 3)])
    axis = d.one(0, 1, -1, -2)
    return d.one(
        f"{f}({d.elementwise()}, in_axes={axis}, out_axes={d.one(0, -1)})({d.of(shape)})",
        f"{f}(lambda x, y: x * y, in_axes=(0, None))({d.of(shape)}, {d.of((3,))})",
        f"{f}(lambda t: t['a'] + 1, in_axes=({{'a': {axis}}},))({{'a': {d.of(shape)}}})",
        f"{f}(lambda x: m.lax.psum(x, 'i'), axis_name='i')({d.of(shape)})",
        f"{f}(lambda x: x.sum(), axis_size={d.one(shape[0], 5)})({d.of(shape)})",
    )


def compiled(d: Draw, f: str) -> str:
    """jit, checkpoint and what else wraps a function."""
    return d.one(
        f"{f}({d.elementwise()})({x(d)})",
        f"{f}(lambda x, n: x * n, static_argnums=1)({x(d)}, {d.one(2, -1)})",
        f"m.grad({f}({d.scalar_function()}))({x(d)})",
    )


def custom(d: Draw, f: str) -> str:
    """custom_jvp, custom_vjp and custom_gradient with a rule."""
    if f.endswith("jvp"):
        rule = "lambda p, t: (m.numpy.sin(p[0]), 3 * t[0])"
        made = f"[(g.defjvp({rule}), g)[1] for g in [{f}(m.numpy.sin)]][0]"
    elif f.endswith("vjp"):
        made = (
            f"[(g.defvjp(lambda x: (m.numpy.sin(x), x), lambda r, c: (c * r,)), g)[1] for g in [{f}(m.numpy.sin)]][0]"
        )
    else:
        made = f"{f}(lambda x: (m.numpy.sin(x), lambda c: 2 * c))"
    inner = d.one(f"{made}({x(d)})", f"m.grad(lambda x: {made}(x).sum())({x(d)})")
    return d.one(inner, f"m.vmap({made})({d.floats((2, 3))})")


def custom_vmap(d: Draw, f: str) -> str:
    """custom_vmap with a rule, and sequential_vmap."""
    if f.endswith("sequential_vmap"):
        return f"m.vmap({f}(lambda x, y: x * y), in_axes=(0, {d.one(0, 'None')}))({d.floats((3,))}, {d.floats((3,))})"
    made = (
        f"[(g.def_vmap(lambda size, batched, x: (x * 2 + size, batched[0])), g)[1] for g in [{f}(lambda x: x * 2)]][0]"
    )
    return d.one(f"m.vmap({made})({d.floats((3,))})", f"{made}({x(d)})")


def shape_struct(d: Draw, f: str) -> str:
    """eval_shape, make_jaxpr, closure_convert and other readers of programs."""
    g, y = d.elementwise(), d.first()
    ends = {
        "eval_shape": f"{f}({g}, {y})",
        "make_jaxpr": f"[v.aval.shape for v in {f}({g})({y}).jaxpr.outvars]",
        "closure_convert": f"[g({x(d)}, *consts) for g, consts in [{f}(lambda x: x * 2, {x(d)})]]",
        "print_saved_residuals": f"{f}({d.scalar_function()}, {x(d)})",
    }
    return ends[f.rpartition(".")[2]]


def linear(d: Draw, f: str) -> str:
    """linear_transpose and linear_call."""
    a, b = two(d)
    if f.endswith("linear_call"):
        return f"{f}(lambda r, x: r * x, lambda r, c: r * c, {a}, {b})"
    return f"{f}(lambda x: {d.one('3 * x', '-x', 'x + x')}, {a})({b})"


def pure_callback(d: Draw, f: str) -> str:
    """A callback of NumPy's."""
    a = d.of((3,), "float32")
    struct = "m.ShapeDtypeStruct((3,), np.float32)"
    call = f"{f}(lambda x: np.asarray(x) * np.float32(2), {struct}, {{}}, vmap_method={{!r}})"
    method = d.rng.choice(["sequential", "expand_dims", "broadcast_all"])
    return d.one(call.format(a, method), f"m.jit(lambda x: {call.format('x', method)})({a})")


def debug(d: Draw, f: str) -> str:
    """Texts of values, callbacks, where an array lies, breakpoints in programs that do not run, and effects."""
    if f.endswith("Effect"):
        return f"str({f}())"
    if f.endswith("breakpoint"):
        options = d.one("", "backend='cli'", "ordered=True", "num_frames=2", "filter_frames=False")
        return f"m.eval_shape(lambda x: [{f}({options}), x * 2][1], {x(d)})"
    if f.endswith("sharding"):
        return f"{f}({x(d)}, callback={d.one('type', 'lambda s: None')})"
    if f.endswith(("print", "log")):
        return f"{f}('{{}} {{x}}', {x(d)}, x={x(d)})"
    return d.one(f"{f}(lambda x: None, {x(d)})", f"m.jit(lambda x: {f}(lambda y: None, x))({x(d)})")


def tokens(d: Draw, f: str) -> str:
    """Tokens joined, in programs and outside of them."""
    several = ", ".join(["m.lax.create_token()"] * d.rng.randint(0, 3))
    return d.one(
        f"{f}({several})", f"m.{d.rng.choice(['jit', 'vmap'])}(lambda x: [{f}({several}), x][1])({d.of((3,))})"
    )


def drawn(d: Draw, f: str) -> str:
    """Numbers of the device's own generator, of dtypes that it has: XLA ends jax's process for others."""
    dtype = d.one("'int32'", "'uint32'", "'float16'", "'bfloat16'", "'float32'")
    return f"[(v.shape, v.dtype.name) for v in [{f}(A(0, {dtype}), A({d.one(1, 9)}, {dtype}), {d.one('()', '(3,)', '[2, 0]')})]]"


def setting(d: Draw, f: str) -> str:
    """A setting, entered around an operation and left again."""
    values = {
        "default_matmul_precision": "'float32'",
        "default_prng_impl": "'rbg'",
        "numpy_dtype_promotion": "'strict'",
        "numpy_rank_promotion": d.one("'allow'", "'warn'", "'raise'"),
        "default_device": d.one("m.devices()[0]", "None"),
        "named_scope": "'inside'",
        **dict.fromkeys(TRANSFERS, d.one("'allow'", "'log'")),
    }
    name = f.rpartition(".")[2]
    value = "" if name == "ensure_compile_time_eval" else values.get(name, d.one("True", "False"))
    inside = d.one("m.numpy.arange(3) * 1.5", "m.numpy.zeros(2)", "m.random.key(0).shape")
    return f"{f}({value})(lambda: {inside})()"


def devices(d: Draw, f: str) -> str:
    """Questions about devices, and what waits."""
    simple = {
        "default_backend": "()",
        "effects_barrier": "()",
        "clear_caches": "()",
        "device_count": d.one("()", "('cpu')", "('nothing')"),
        "local_device_count": d.one("()", "('cpu')", "('nothing')"),
        "process_count": d.one("()", "('cpu')"),
        "process_index": d.one("()", "('cpu')"),
        "process_indices": d.one("()", "('cpu')"),
    }
    name = f.rpartition(".")[2]
    if name in simple:
        return f + simple[name]
    if name == "local_devices":
        return f"[v.platform for v in {f}({d.one('', '0', 'backend=' + repr('cpu'), '7')})]"
    if name == "devices":
        return f"[v.platform for v in {f}({d.one('', repr('cpu'))})]"
    return f"{f}({d.tree() if d.chance(0.3) else d.first()})"


def device_put(d: Draw, f: str) -> str:
    """Placement of numbers, arrays and trees."""
    return f"{f}({d.one(d.first(), f'({d.first()}, {d.first()})')}, {d.one('None', 'm.devices()[0]')})"


def fori(d: Draw, f: str) -> str:
    """Loops over integers."""
    bounds = f"{d.rng.randint(-1, 2)}, {d.one(3, 0, d.of((), 'int32', 'small'))}"
    body = d.one("lambda i, c: c + i", "lambda i, c: c * 2", "lambda i, c: m.numpy.sin(c) + i")
    return f"{f}({bounds}, {body}, {d.floats()}, unroll={d.one('None', 1, 2)})"


def while_loop(d: Draw, f: str) -> str:
    """Loops that count."""
    return f"{f}(lambda c: c[0] < {d.rng.randrange(5)}, lambda c: (c[0] + 1, {d.elementwise()}(c[1])), (0, {x(d)}))".replace(
        "lambda x: x * x(", "(lambda x: x * x)("
    ).replace("lambda x: x + 1(", "(lambda x: x + 1)(")


def scan(d: Draw, f: str) -> str:
    """Scans over arrays and trees, with and without results."""
    a = d.of((d.rng.choice([3, 0, 1, 4]), *d.rng.choice([(), (2,)])))
    options = d.one("", ", reverse=True", ", unroll=2", ", unroll=True", f", length={d.one(3, 2)}")
    return d.one(
        f"{f}(lambda c, x: (c + x.sum().astype('float32'), x * 2), {d.floats(())}, {a}{options})",
        f"{f}(lambda c, x: (c, (x, c)), {d.floats((2,))}, {a}{options})",
        f"{f}(lambda c, _: (c * 2, None), {d.floats((2,))}, None, length={d.one(0, 3)})",
        f"m.grad(lambda c: {f}(lambda c, x: (m.numpy.sin(c) * x, c), c, {d.floats((3,))}{options})[0])({d.floats(())})",
    )


def lax_map(d: Draw, f: str) -> str:
    """lax.map, in batches too."""
    return f"{f}({d.elementwise()}, {d.of(d.rng.choice([(3,), (4, 2), (0, 2)]))}, batch_size={d.one('None', 2, 3)})"


def associative_scan(d: Draw, f: str) -> str:
    """Scans of sums, products and pairs."""
    fn = d.one("m.numpy.add", "m.numpy.multiply", "m.numpy.maximum")
    shape = d.rng.choice([(4,), (3, 2), (1,), (0,)])
    axis = d.rng.randrange(-len(shape), len(shape))
    return f"{f}({fn}, {d.of(shape)}, reverse={d.one(True, False)}, axis={axis})"


def cond(d: Draw, f: str) -> str:
    """cond, switch and platform_dependent."""
    a = x(d)
    name = f.rpartition(".")[2]
    if name == "cond":
        pred = d.one("True", "False", d.of((), "bool"), d.of((), "int32"), d.floats(()))
        return f"{f}({pred}, lambda x: x * 2, lambda x: x - 1, {a})"
    if name == "switch":
        return f"{f}({d.indices(3, ())}, [lambda x: x, m.numpy.sin, lambda x: x + 1], {a})"
    return f"{f}({a}, cpu=lambda x: x + 1, default=lambda x: x)"


def custom_solve(d: Draw, f: str) -> str:
    """custom_linear_solve and custom_root, and their derivatives."""
    b = d.floats((2,))
    if f.endswith("root"):
        call = f"{f}(lambda x: x * 2 - {{0}}, m.numpy.zeros({{0}}.shape), lambda g, x: x - g(x) / 2, lambda g, y: y / g(m.numpy.ones(y.shape)))"
        return d.one(call.format(b), f"m.grad(lambda b: {call.format('b')}.sum())({b})")
    a = d.of((2, 2), "float32")
    call = f"{f}(lambda x: {a} @ x, {{}}, lambda mv, b: m.numpy.linalg.solve({a}, b), lambda mv, b: m.numpy.linalg.solve({a}.T, b))"
    return d.one(call.format(b), f"m.jacobian(lambda b: {call.format('b')})({b})")


def collective(d: Draw, f: str) -> str:
    """Collectives over a mapped axis."""
    rest = {
        "all_gather": d.one("x, 'i'", "x, 'i', axis=1", "x, 'i', tiled=True"),
        "all_to_all": d.one("x, 'i', 0, 0", "x, 'i', 0, 1", "x, 'i', 0, 0, tiled=True"),
        "axis_index": "'i'",
        "axis_size": "'i'",
        "ppermute": "x, 'i', " + d.one("[(0, 1), (1, 2), (2, 0)]", "[(0, 2)]"),
        "pshuffle": "x, 'i', [2, 0, 1]",
        "pswapaxes": "x, 'i', 0",
        "psum_scatter": d.one("x, 'i'", "x, 'i', tiled=True"),
    }
    inner = rest.get(f.rpartition(".")[2], "x, 'i'")
    return f"m.vmap(lambda x: {f}({inner}), axis_name='i')({d.of((3, 3))})"


def tree_function(d: Draw, f: str) -> str:
    """Functions of trees."""
    tree = f"({d.first()}, [{d.first()}, {{'b': {d.first()}, 'a': {d.one(1, None, repr('leaf'))}}}])"
    small = f"({d.first()}, [{d.first()}])"
    name = f.rpartition(".")[2].removeprefix("tree_")
    treedef = f"m.tree.structure({d.one(tree, small, 'None', '1', '()')})"
    leaf = d.one("", "", ", is_leaf=lambda x: isinstance(x, list)")
    texts = {
        "map": d.one(f"{f}(lambda x: [x], {tree}{leaf})", f"{f}(lambda x, y: (x, y), {small}, ({d.tree()}, [1]))"),
        "map_with_path": f"{f}(lambda path, x: (len(path), x), {tree}{leaf})",
        "reduce": f"{f}(lambda x, y: [x, y], {tree}{d.one('', ', 0')})",
        "reduce_associative": f"{f}(lambda x, y: x + y, [1, (2, 3)], identity=0)",
        "all": f"{f}([True, ({d.one(True, False)},), None])",
        "broadcast": f"{f}({d.one('1', '(1, [2])', '(1, 2)')}, {small}{leaf})",
        "transpose": f"{f}(m.tree.structure([0, 0]), m.tree.structure((0, 0)), [({d.first()}, 1), (2, 3)])",
        "unflatten": f"{f}({d.one('m.tree.structure((0, [0]))', treedef)}, [{d.first()}, 2])",
        "treedef_children": f"{f}({treedef})",
        "treedef_is_leaf": f"{f}({treedef})",
        "treedef_tuple": f"{f}([{treedef}, {treedef}])",
        "static": f"type({f}(default={d.one(1, repr('b'))})).__name__",
        "all_leaves": f"{f}([{d.first()}, {d.one(1, '[]', None)}])",
        "flatten_one_level": f"{f}({tree})",
        "flatten_one_level_with_keys": f"{f}({tree})",
        "is_tree_node": f"{f}({d.one('tuple', 'int', 'list', 'type(None)', 'm.Array')})",
        "keystr": f"{f}(m.tree_util.tree_leaves_with_path({small})[-1][0]{d.one('', ', simple=True')})",
        "Partial": f"{f}(lambda x, y: x + y, {d.first()})({d.first()})",
        "DictKey": f"str({f}({d.one(repr('a'), 1)}))",
        "FlattenedIndexKey": f"str({f}({d.one(0, 1)}))",
        "GetAttrKey": f"str({f}({d.one(repr('a'), repr('b'))}))",
        "SequenceKey": f"str({f}({d.one(0, 1)}))",
    }
    return texts.get(name, f"{f}({tree}{leaf})")


def register(d: Draw, f: str) -> str:
    """Registration of a class that is new with each call."""
    names = "{'tree_flatten': lambda s: ((), 1), 'tree_flatten_with_keys': lambda s: ((), 1), 'tree_unflatten': classmethod(lambda c, a, x: c())}"
    new = f"type('C', (), {names})"
    name = f.rpartition(".")[2]
    tag = f"'n{d.rng.randrange(10**9)}'"
    texts = {
        "register_pytree_node": f"{f}({new}, lambda x: ((), None), lambda a, c: None)",
        "register_pytree_with_keys": f"{f}({new}, lambda x: ((), None), lambda a, c: None)",
        "register_dataclass": f"{f}({new}, data_fields=['x'], meta_fields=[{d.one('', repr('y'))}])",
        "register_namedtuple_serialization": f"{f}(__import__('collections').namedtuple('N', 'a b'), serialized_name={tag})",
        "register_pytree_node_serialization": "(lambda C: [m.tree_util.register_pytree_node(C, lambda x: ((), None), lambda a, c: C()), "
        f"{f}(C, serialized_name={tag}, serialize_auxdata=repr, deserialize_auxdata=repr)][1])({new})",
    }
    return f"isinstance({texts.get(name, f'{f}({new})')}, (type, tuple, type(None)))"


def listening(d: Draw, f: str) -> str:
    """Listeners, which are told of an event and taken out again: the libraries call those that stay."""
    name = f.rpartition(".")[2]
    if name.startswith("clear"):
        return f"{f}()"
    event, numbers = next(kind for kind in EVENTS if kind[0].removesuffix("_secs") in name)
    register, tell = f"m.monitoring.register_{event}_listener", f"m.monitoring.record_{event}"
    forget = f"m.monitoring.unregister_{event.removesuffix('_secs')}_listener"
    told = f"[{register}(g), {tell}('/e'{numbers}, n={d.one(1, repr('b'))}), {forget}(g), seen][-1]"
    return f"(lambda seen: (lambda g: {told})(lambda *a, **k: seen.append((a, k))))([])"


def symbolic(d: Draw, f: str) -> str:
    """Functions of symbolic dimensions; results are compared as texts, or as values for chosen sizes."""
    size = d.one("b", "2*b", "b + 3", "floordiv(b, 2)", "mod(b, 3)", "max(b, 4)")
    known = d.one("", ", constraints=['b >= 2']", ", constraints=['b <= 8', 'mod(b, 2) == 0']")
    dim = f"m.export.symbolic_shape({size!r}{known})[0]"
    if "scope" in f.lower():
        return f"m.export.symbolic_shape('b', scope={f}({d.one('', '[]', repr(['b >= 3']))}))[0] > 2"
    if "args" in f:
        return f"[str(s.shape) for s in {f}(({x(d)}, {d.floats((2, 3))}), (None, {d.one('b, ...', '_, b', 'b, 3')!r}))]"
    if "shape" in f:
        return f"[str(n) for n in {f}({f'{size}, 3'!r}{known})]"
    return f"{f}({d.one(dim, '3')})"


def export(d: Draw, f: str) -> str:
    """Export, and what comes back."""
    y = x(d)
    made = f"m.export.export(m.jit({d.elementwise()}))({y})"
    return d.one(f"{made}.call({y})", f"{made}.in_avals[0].shape")


def named(d: Draw, f: str) -> str:
    """checkpoint_name."""
    return f"{f}({d.one(d.first(), x(d))}, {d.one(repr('a'), repr('b'))})"


def context(d: Draw, f: str) -> str:
    """A value that programs depend on; jax is harmed for good by one without a hash."""
    entered = f"for _ in [scope.enter_context(c({d.one(2, 3.5)}))] for out in [g(1.0)] for _ in [scope.close()]"
    return (
        f"[(float(out), float(g(1.0))) for c in [{f}({d.one(1, 2.5)})] for g in [m.jit(lambda x: x * c.value)] "
        f"for scope in [__import__('contextlib').ExitStack()] {entered}]"
    )


def policy(d: Draw, f: str) -> str:
    """Policies of checkpoint, used under a derivative."""
    made = {
        "save_from_both_policies": f"{f}(m.checkpoint_policies.checkpoint_dots, m.checkpoint_policies.nothing_saveable)",
    }.get(f.rpartition(".")[2], f"{f}('a')" if "names" in f or "these" in f else f)
    body = "lambda x: (m.ad_checkpoint.checkpoint_name(m.numpy.sin(x), 'a') @ x).sum()"
    return f"m.grad(m.checkpoint({body}, policy={made}))({d.floats((2, 2))})"


def dtype_function(d: Draw, f: str) -> str:
    """Questions about dtypes."""
    kinds = (
        "np.floating np.integer np.inexact np.number np.complexfloating np.signedinteger np.float32 np.generic".split()
    )
    name = f.rpartition(".")[2]
    if name == "issubdtype":
        return f"{f}({d.dtype_text()}, {d.one(*(k.replace('np.', 'm.numpy.') for k in kinds), d.dtype_text())})"
    if name in ("finfo", "iinfo"):
        fields = "bits max min" + (" eps tiny nmant" if name == "finfo" else "")
        return f"[float(getattr({f}({d.dtype_text()}), k)) for k in {fields.split()}]"
    return f"{f}({', '.join(d.one(d.dtype_text(), d.first()) for _ in range(d.rng.randint(1, 3)))})"


PROGRAMS: dict[str, Template] = {
    "grad|value_and_grad": derivative,
    "jacfwd|jacrev|jacobian|hessian": jacobian,
    "jvp": jvp,
    "vjp|linearize": vjp,
    "vmap": vmap,
    "jit|checkpoint|remat": compiled,
    "custom_jvp|custom_vjp|custom_gradient": custom,
    r"custom_batching\..*": custom_vmap,
    r"eval_shape|make_jaxpr|closure_convert|ad_checkpoint\.print_saved_residuals": shape_struct,
    r"linear_transpose|custom_derivatives\.linear_call": linear,
    r"ad_checkpoint\.checkpoint_name": named,
    "pure_callback": pure_callback,
    "make_user_context": context,
    r"debug\..*": debug,
    r"lax\.after_all": tokens,
    r"lax\.rng_uniform": drawn,
    r"debug_\w+|check_\w+|default_matmul_precision|default_prng_impl|default_device|disable_jit|enable_x64|"
    r"enable_checks|ensure_compile_time_eval|explain_cache_misses|no_execution|no_tracing|threefry_partitionable|"
    r"log_compiles|named_scope|numpy_\w+_promotion|transfer_guard\w*": setting,
    r"default_backend|effects_barrier|clear_caches|(local_)?device(s|_count)|process_\w+|copy_to_host_async|device_get|block_.*": devices,
    "device_put": device_put,
    r"lax\.fori_loop": fori,
    r"lax\.while_loop": while_loop,
    r"lax\.scan": scan,
    r"lax\.map": lax_map,
    r"lax\.associative_scan": associative_scan,
    r"lax\.(cond|switch|platform_dependent)": cond,
    r"lax\.custom_(linear_solve|root)": custom_solve,
    r"lax\.(all_gather|all_to_all|axis_index|axis_size|pmax|pmean|pmin|psum|ppermute|pshuffle|psum_scatter|pswapaxes)": collective,
    r"(tree|tree_util)\.(?!register).*": tree_function,
    r"tree_util\.register.*|export\.register.*": register,
    r"monitoring\..*": listening,
    r"export\.(is_)?[sS]ymbolic.*": symbolic,
    r"export\.export": export,
    r"(ad_checkpoint\.)?checkpoint_policies\..*": policy,
    r"(dtypes|numpy)\.(issubdtype|finfo|iinfo|result_type|promote_types)": dtype_function,
}
