"""Objects that no function expects: each a few lines of Python, the last of which makes the object.

The exception that an object's own methods raise is `Boom`, which may pass through whatever it was given to.
"""

from __future__ import annotations

from dataclasses import dataclass

PREAMBLE = (
    'class Boom(Exception): "raised by hostile objects"',
    'def boom(*a, **k): raise Boom("boom")',
)


@dataclass(frozen=True)
class Hostile:
    """An object: its name, the lines that come before, and the expression that makes it.

    Args:
      name: for messages.
      expression: makes the object.
      lines: run first.
      around: what the call stands in; `{}` is the call.
      registrable: whether the object may be registered without changing what other programs mean.
    """

    name: str
    expression: str
    lines: tuple[str, ...] = ()
    around: str = "{}"
    registrable: bool = True


def _plain(*expressions: str) -> list[Hostile]:
    return [Hostile(expression, expression) for expression in expressions]


def _methods(base: str, **methods: str) -> list[Hostile]:
    """Objects of a class with one odd method each."""
    return [
        Hostile(
            f"{base or 'object'} with {name} = {body}",
            f"A({'' if base in ('', 'Exception') else '2'})",
            (*(PREAMBLE if "boom" in body else ()), f"class A({base}): __{name}__ = {body}"),
        )
        for name, body in methods.items()
    ]


_SCALARS = _plain(
    "None",
    "True",
    "0",
    "-1",
    "7",
    "-(2**31) - 1",
    "2**31",
    "2**40",
    "2**63",
    "2**64",
    "-(2**200)",
    "10**5000",
    "0.5",
    "-0.0",
    "1e300",
    "float('nan')",
    "float('inf')",
    "1j",
    "complex('nan')",
    "...",
    "NotImplemented",
    "__import__('decimal').Decimal('1.5')",
    "__import__('fractions').Fraction(1, 3)",
    "__import__('datetime').date(2000, 1, 1)",
)
_TEXTS = _plain(
    "''",
    "'a'",
    "'float32'",
    "'0'",
    "'{}'",
    "'%s'",
    "'\\0'",
    "'\\ud800'",
    "'x' * 100000",
    "b''",
    "b'abc'",
    "bytearray(b'\\1\\2\\3\\4')",
    "memoryview(b'\\1\\2\\3\\4')",
    "__import__('array').array('f', [1.0, 2.0])",
)
_CONTAINERS = _plain(
    "()",
    "[]",
    "{}",
    "set()",
    "{1, 'a'}",
    "frozenset([0])",
    "{1: 2.0, 'a': 3.0}",
    "{'a': 1.0}",
    "[1.0, 'a']",
    "[[1.0], [2.0, 3.0]]",
    "(0, 0)",
    "(-1,)",
    "(2**40,)",
    "(2**40, 2**40)",
    "(1.5,)",
    "('a',)",
    "(None,)",
    "[None, None]",
    "[()]",
    "((),)",
    "[True, False]",
    "range(3)",
    "range(10**5)",
    "slice(None)",
    "slice('a', 1.5, 0)",
    "(i for i in range(3))",
    "iter([1, 2])",
    "map(int, '12')",
    "zip()",
    "__import__('collections').deque([1, 2])",
    "__import__('collections').OrderedDict(b=1, a=2)",
    "__import__('collections').defaultdict(list, a=1)",
    "__import__('collections').namedtuple('P', 'x y')(1, 2)",
    "__import__('types').SimpleNamespace(shape=(2,), dtype='float32')",
    "__import__('types').SimpleNamespace(shape='ab', dtype=3, ndim=-1)",
    "__import__('types').MappingProxyType({'a': 1})",
)
_NESTS = [
    Hostile("a list that holds itself", "x", ("x = [1.0]", "x.append(x)")),
    Hostile("a dict that holds itself", "x", ("x = {}", "x['a'] = x")),
    Hostile("a deep list", "x", ("x = 1.0", "for _ in range(100000): x = [x]")),
    Hostile("a deep tuple", "x", ("x = ()", "for _ in range(5000): x = (x,)")),
    Hostile("a deep dict", "x", ("x = 1.0", "for _ in range(3000): x = {'a': x}")),
    Hostile("a long list", "[1.0] * 3000"),
]
_ARRAYS = _plain(
    "np.array([1, 'a', None], object)",
    "np.array(None)",
    "np.array(['a', 'bc'])",
    "np.array([b'a'])",
    "np.zeros(2, 'M8[s]')",
    "np.timedelta64(3, 'D')",
    "np.zeros(2, [('a', 'f4'), ('b', 'i8')])",
    "np.zeros((), 'V3')",
    "np.zeros(2, np.longdouble)",
    "np.zeros(2, np.clongdouble)",
    "np.arange(3, dtype='>i4')",
    "np.ones((2, 2), '>f8')",
    "np.ma.masked_array([1.0, 2.0], [True, False])",
    "np.ma.masked",
    "np.broadcast_to(np.float32(1), (2**12, 2**30))",
    "np.ones((2, 2), np.float32)[::-1, ::2]",
    "np.frombuffer(b'12345678abcd', 'f4', offset=0)",
    "np.ones((1,) * 33, np.float32)",
    "np.ones((1,) * 64, np.float32)",
    "np.ones((0, 3), np.float32)",
    "np.array(1.5)",
    "np.array([np.nan, np.inf, -np.inf])",
    "np.array([2**63], np.uint64)",
    "np.array([True, False])",
    "np.array([1 + 2j])",
    "np.float16(3)",
    "np.bool_(True)",
    "np.int8(-128)",
    "np.str_('a')",
    "np.void(b'abc')",
    "np.array([1.0, 2.0]).view(np.recarray)",
    "np.ones((1, 2)).view(np.matrix)",
    "np.ones(3, pnp.bfloat16)",
    "np.zeros(2, primax.dtypes.float0)",
    "np.dtype('float32')",
    "np.dtype('O')",
    "np.float32",
    "pnp.int8",
    "pnp.bfloat16",
    "pnp.ones(3)",
    "pnp.arange(2)",
    "pnp.zeros((0,))",
    "pnp.array([True, False])",
    "pnp.asarray(1j)",
    "pnp.ones((1,) * 33)",
    "primax.random.key(0)",
    "primax.random.split(primax.random.key(0), 3)",
    "primax.ShapeDtypeStruct((2,), 'float32')",
    "primax.ShapeDtypeStruct((2**40, 2**40), 'float32')",
    "pnp.ones(3).aval",
    "primax.tree.structure([1, 2])",
    "primax.make_jaxpr(lambda x: x)(1.0)",
    "primax.jit(lambda x: x)",
    "pnp.ones(3).at[0]",
)
_TRACERS = [
    Hostile(
        "an escaped tracer of jit", "leak[0]", ("leak = []", "primax.jit(lambda x: (leak.append(x), x)[1])(np.ones(2))")
    ),
    Hostile(
        "an escaped tracer of grad", "leak[0]", ("leak = []", "primax.grad(lambda x: (leak.append(x), x)[1])(1.0)")
    ),
    Hostile(
        "an escaped tracer of vmap",
        "leak[0]",
        ("leak = []", "primax.vmap(lambda x: (leak.append(x), x)[1])(np.ones(2))"),
    ),
    Hostile("a tracer of jit", "t", around="primax.jit(lambda t: {})(1.0)"),
    Hostile("a tracer of jit of an array", "t", around="primax.jit(lambda t: {})(np.ones((2, 2), np.float32))"),
    Hostile("a tracer of jit of integers", "t", around="primax.jit(lambda t: {})(np.arange(3))"),
    Hostile("a tracer of vmap", "t", around="primax.vmap(lambda t: {})(np.arange(2.0, dtype=np.float32))"),
    Hostile("a tracer of jvp", "t", around="primax.jvp(lambda t: {}, (1.0,), (1.0,))"),
    Hostile(
        "a deleted array",
        "x",
        ("x = pnp.ones((2, 2))", "primax.jit(lambda a: a + 1, donate_argnums=0)(x)"),
    ),
]
_CLASSES = [
    Hostile(expression, expression, registrable=False)
    for expression in ("int", "float", "list", "dict", "type", "object", "Exception", "np.ndarray")
]
_FUNCTIONS = [
    *_plain(
        "lambda: None",
        "lambda *a, **k: None",
        "lambda *a: a",
        "lambda x: x",
        "lambda x, y: (x, y)",
        "lambda *, k: k",
        "lambda *a: 'text'",
        "lambda *a: object()",
        "lambda *a: {1: 1.0, 'a': 2.0}",
        "lambda *a: np.array([None])",
        "lambda *a: (yield)",
        "len",
        "print",
        "dict.get",
        "np.sin",
        "pnp.sin",
        "__import__('operator').itemgetter(0)",
        "__import__('functools').partial(max, 1)",
        "(1.5).__add__",
        "staticmethod(len)",
        "classmethod(len)",
        "property(len)",
        "primax.lax.add_p if hasattr(primax.lax, 'add_p') else primax.extend.core.Primitive('hostile')",
        "__import__('sys')",
        "__import__('threading').Lock()",
        "Exception('a')",
        "__import__('weakref').ref(int)",
        "__import__('re').compile('a')",
        "compile('1', 'a', 'eval')",
    ),
    Hostile("a function that raises", "boom", PREAMBLE),
    Hostile("a function that calls itself", "f", ("def f(*a): return f(*a)",)),
    Hostile("a coroutine function", "f", ("async def f(*a): return 1.0",)),
    Hostile("a function of another signature", "f", ("def f(x): return x", "f.__signature__ = 3")),
    Hostile("a function without a name", "f", ("class F: __call__ = lambda s, *a: a[0]; __slots__ = ()", "f = F()")),
    Hostile(
        "a function whose name is no text", "f", ("class F: __call__ = lambda s, *a: a[0]; __name__ = 3", "f = F()")
    ),
    Hostile("a function that wraps itself", "f", ("f = lambda *a: a[0]", "f.__wrapped__ = f")),
]
_OBJECTS = [
    *_plain("object()"),
    *_methods("", eq="boom", hash="boom", bool="boom", len="boom", index="boom", int="boom", float="boom"),
    *_methods("", array="boom", getattr="boom", repr="boom", iter="boom", call="boom", getitem="boom", complex="boom"),
    *_methods(
        "", getattribute="boom", jax_array="boom", add="boom", radd="boom", contains="boom", instancecheck="boom"
    ),
    *_methods("", eq="lambda s, o: 'no'", bool="lambda s: 'no'", len="lambda s: -1", index="lambda s: 'no'"),
    *_methods("", array="lambda s, *a, **k: 'no'", jax_array="lambda s: 'no'", repr="lambda s: 3", hash="None"),
    *_methods("", len="lambda s: 2**70", index="lambda s: 2**70", iter="lambda s: 3", getattr="lambda s, n: 3"),
    *_methods("", getattr="lambda s, n: s", jax_array="lambda s: s", array="lambda s, *a, **k: np.ones(2)"),
    *_methods("", len="lambda s: 3", getitem="lambda s, i: [1][i]", getattr="lambda s, n: (2,)", index="lambda s: 1"),
    *_methods("", float="lambda s: 1.5", int="lambda s: 1", complex="lambda s: 1j", call="lambda s, *a, **k: s"),
    *_methods("int", repr="boom", eq="boom", hash="boom", index="boom", bool="boom", lt="boom", add="boom"),
    *_methods("float", eq="boom", repr="boom", hash="boom", float="boom", bool="boom"),
    *_methods("str", eq="boom", repr="boom", hash="boom", len="lambda s: 99", str="boom"),
    *[
        Hostile(name, expression, (line,))
        for name, expression, line in [
            ("a subclass of int", "A(2)", "class A(int): pass"),
            ("a subclass of float", "A(2.5)", "class A(float): pass"),
            ("a subclass of complex", "A(2j)", "class A(complex): pass"),
            ("a subclass of str", "A('x')", "class A(str): pass"),
            ("a subclass of tuple", "A((2, 3))", "class A(tuple): pass"),
            ("a subclass of list", "A([2, 3])", "class A(list): pass"),
            ("a subclass of dict", "A(a=1.0)", "class A(dict): pass"),
            ("an IntEnum", "A.x", "A = __import__('enum').IntEnum('A', 'x y')"),
            ("an Enum", "A.x", "A = __import__('enum').Enum('A', 'x y')"),
            ("a subclass of ndarray", "np.ones(2, np.float32).view(A)", "class A(np.ndarray): pass"),
            ("a class", "A", "class A: pass"),
            ("a metaclass's class", "A", "class A(metaclass=__import__('abc').ABCMeta): pass"),
            ("an object without weak references", "A()", "class A: __slots__ = ()"),
            ("a dataclass", "A(1)", "A = __import__('dataclasses').make_dataclass('A', ['x'])"),
        ]
    ],
    Hostile("a tuple whose length lies", "A((2, 3))", ("class A(tuple): __len__ = lambda s: 5",)),
    Hostile("a list that raises as it is iterated", "A([2])", (*PREAMBLE, "class A(list): __iter__ = boom")),
    Hostile(
        "a dict that raises as it is read", "A(a=1)", (*PREAMBLE, "class A(dict): __getitem__ = keys = items = boom")
    ),
    Hostile("an endless iterable", "__import__('itertools').islice(__import__('itertools').count(), 10**5)"),
    Hostile(
        "an object with a shape that raises",
        "A()",
        (*PREAMBLE, "class A: shape = property(boom); dtype = property(boom)"),
    ),
    Hostile(
        "a node of a pytree that raises",
        "A()",
        (
            *PREAMBLE,
            "class A: pass",
            "primax.tree_util.register_pytree_node(A, boom, boom)",
        ),
    ),
    Hostile(
        "a node of a pytree that cannot be put together",
        "A()",
        (
            *PREAMBLE,
            "class A: pass",
            "primax.tree_util.register_pytree_node(A, lambda a: ((1.0,), None), boom)",
        ),
    ),
    Hostile(
        "a node of a pytree with an unhashable structure",
        "A()",
        (
            "class A: pass",
            "primax.tree_util.register_pytree_node(A, lambda a: ((1.0,), []), lambda d, c: A())",
        ),
    ),
]

OBJECTS: tuple[Hostile, ...] = (
    *_SCALARS,
    *_TEXTS,
    *_CONTAINERS,
    *_NESTS,
    *_ARRAYS,
    *_TRACERS,
    *_CLASSES,
    *_FUNCTIONS,
    *_OBJECTS,
)

# Objects that are called, and whose own errors come from where they are called.
CALLABLE = frozenset(_FUNCTIONS)

# Classes, which are functions too where a function is expected.
CLASSES = frozenset(
    thing
    for thing in OBJECTS
    if thing in _CLASSES or thing.name in ("a class", "a metaclass's class", "np.float32", "pnp.int8", "pnp.bfloat16")
)

# Trees too deep, or without an end.
NESTS = frozenset(_NESTS)
