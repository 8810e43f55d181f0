"""Functions of random programs and their nested transformations: derivatives, maps, calls and custom rules."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

from fuzz.programs.maker import Body, Context, differentiable, is_float, strong
from fuzz.programs.text import Array, Block, Dict, Tuple, Type, container, leaves, map_leaves

SHAPES: list[tuple[int, ...]] = [(), (2,), (3,), (2, 3), (3, 2)]
ODD_SHAPES: list[tuple[int, ...]] = [(0,), (1,), (0, 3), (3, 1), (2, 1, 3), (2, 0)]


@dataclasses.dataclass(frozen=True)
class Fun:
    """The source of a function and its types, with `$f0` for inner functions and `$0` for outer values."""

    text: str
    functions: tuple[Block, ...]
    operands: tuple[str, ...]
    params: tuple[Type, ...]
    out: Type

    def change(self, text: str, params: Sequence[Type] | None = None, out: Type | None = None) -> Fun:
        return dataclasses.replace(
            self,
            text=text,
            params=self.params if params is None else tuple(params),
            out=self.out if out is None else out,
        )

    def with_function(self, block: Block) -> tuple[Fun, str]:
        """The same with an additional function, and the text that calls it."""
        return dataclasses.replace(self, functions=(*self.functions, block)), f"$F{len(self.functions)}"

    def with_operand(self, name: str) -> tuple[Fun, str]:
        return dataclasses.replace(self, operands=(*self.operands, name)), f"${len(self.operands)}"


def call(text: str, arguments: str) -> str:
    """The source of a call of a function, from the source of the function."""
    if text.startswith("$f"):
        return f"$F{text[2:]}({arguments})"
    return f"({text})({arguments})" if text.startswith("lambda") else f"{text}({arguments})"


def repeated(fun: Fun, text: str, params: Sequence[Type] | None = None, out: Type | None = None) -> Fun:
    """The function with another text, in which `F` stands for the present one."""
    if fun.text.startswith("$f"):
        return fun.change(re.sub(r"\bF\b", "$F" + fun.text[2:], text), params, out)
    return fun.change(f"(lambda F: {text})({fun.text})", params, out)


def random_type(body: Body, floating: bool = False, deep: bool = True) -> Type:
    """A type of an array, or of a tuple or dict of arrays."""
    choose, context = body.random, body.context
    if deep and choose.random() < 0.15:
        items = tuple(random_type(body, floating, False) for _ in range(choose.choice([1, 2])))
        return Tuple(items) if choose.random() < 0.5 else Dict(items)
    shape = choose.choice(ODD_SHAPES if context.mixed and choose.random() < 0.08 else SHAPES)
    dtype = context.float
    if context.mixed and choose.random() < (0.15 if floating else 0.35):
        dtypes = ["float32", "bfloat16", "float16", *(["float64"] if context.x64 else [])]
        if not floating:
            dtypes += ["int32", "int32", "int8", "bool", "uint8", "complex64", "key", "key"]
            dtypes += ["int64", "complex128"] if context.x64 else []
        dtype = choose.choice(dtypes)
    return Array(shape, dtype)


def leaf_of(type: Type, fits: Callable[[Array], bool]) -> tuple[str, Array] | None:
    """The path of a leaf in a value, and the type of the leaf."""
    if isinstance(type, Array):
        return ("", type) if fits(type) else None
    for k, item in enumerate(type.items):
        found = leaf_of(item, fits)
        if found:
            return (f"[{k}]" if isinstance(type, Tuple) else f"['{'abcdefgh'[k]}']") + found[0], found[1]
    return None


def scalar(body: Body, fun: Fun) -> Fun | None:
    """The function with a number as its result, computed from one leaf of the result."""
    if isinstance(fun.out, Array) and fun.out.floating and fun.out.shape == ():
        return fun
    found = leaf_of(fun.out, lambda a: a.floating)
    value = "pnp.sum(pnp.sin({}))" if body.random.random() < 0.5 else "pnp.sum({})"
    if not found:
        found = leaf_of(fun.out, lambda a: "complex" in a.dtype)
        value = "pnp.sum(pnp.real({}))"
    if not found:
        return None
    path, leaf = found
    dtype = leaf.dtype.replace("complex64", "float32").replace("complex128", "float64")
    return fun.change(f"lambda *X: {value.format(call(fun.text, '*X') + path)}", out=Array((), dtype))


def of_differentiable(fun: Fun) -> tuple[Fun, list[int], str]:
    """A function of the differentiable parameters, with the others as `X`, and their positions in `X`."""
    places = [i for i, param in enumerate(fun.params) if differentiable(param)]
    if len(places) == len(fun.params):
        return fun, places, "*X"
    inner = [f"Y[{places.index(i)}]" if i in places else f"X[{i}]" for i in range(len(fun.params))]
    return fun.change(f"lambda *Y: {call(fun.text, ', '.join(inner))}"), places, ", ".join(f"X[{i}]" for i in places)


def jit(body: Body, fun: Fun, spec: None) -> Fun:
    style = body.random.random()
    if style < 0.1:
        return fun.change(f"lambda *X: px.jit(lambda N, *X: {call(fun.text, '*X')}, static_argnums=0)('a', *X)")
    if style < 0.2:
        return fun.change(f"lambda *X: px.jit(lambda *X, N: {call(fun.text, '*X')}, static_argnames='N')(*X, N=3)")
    return fun.change(f"px.jit({fun.text}{', inline=True' if style < 0.3 else ''})")


def program(body: Body, fun: Fun, spec: None) -> Fun | None:
    """A call of the program to which the function is traced."""
    if not isinstance(fun.out, Array) or not all(isinstance(param, Array) for param in fun.params):
        return None
    return fun.change(f"lambda *X: px.extend.core.jaxpr_as_fun(px.make_jaxpr({fun.text})(*X))(*X)[0]")


def platform_dependent(body: Body, fun: Fun, spec: None) -> Fun:
    return repeated(fun, "lambda *X: px.lax.platform_dependent(*X, cpu=F, default=F)")


def sequential_vmap(body: Body, fun: Fun, spec: None) -> Fun:
    return fun.change(f"px.custom_batching.sequential_vmap({fun.text})")


def checkpoint(body: Body, fun: Fun, spec: None) -> Fun:
    policies = ["everything_saveable", "nothing_saveable", "dots_saveable", "save_only_these_names('a')"]
    option = body.random.choice(
        ["", "", ", prevent_cse=False", *(f", policy=px.checkpoint_policies.{p}" for p in policies)]
    )
    return fun.change(f"px.checkpoint({fun.text}{option})")


def closure_convert(body: Body, fun: Fun, spec: None) -> Fun:
    return fun.change(f"lambda *X: (lambda C: C[0](*X, *C[1]))(px.closure_convert({fun.text}, *X))")


def vmap(body: Body, fun: Fun, spec: tuple[int, str | None]) -> Fun:
    size, axis_name = spec
    choose = body.random

    def stacked(type: Array, axis: int) -> Array:
        at = axis if axis >= 0 else len(type.shape) + 1 + axis
        return strong(type, (*type.shape[:at], size, *type.shape[at:]))

    axes: list[Any] = []
    for param in fun.params:
        if not isinstance(param, Array) and choose.random() < 0.5:
            axes.append(tuple(choose.choice([0, 0, None]) for _ in param.items))
            continue
        least = min((len(leaf.shape) for leaf in leaves(param)), default=0)
        axes.append(choose.choice([None, 0, 0, 0, least, -1, choose.randrange(-least - 1, least + 1)]))
    if all(axis is None or (isinstance(axis, tuple) and 0 not in axis) for axis in axes):
        axes[choose.randrange(len(axes))] = 0

    def mapped(param: Type, axis: Any) -> Type:
        if isinstance(axis, tuple):
            assert not isinstance(param, Array)
            return dataclasses.replace(param, items=tuple(map(mapped, param.items, axis)))
        return param if axis is None else map_leaves(lambda leaf: stacked(leaf, axis), param)

    def source(param: Type, axis: Any) -> str:
        if isinstance(axis, tuple):
            assert not isinstance(param, Array)
            return container(param, list(map(str, axis)))
        return str(axis)

    params = [mapped(param, axis) for param, axis in zip(fun.params, axes, strict=True)]
    least = min((len(leaf.shape) for leaf in leaves(fun.out)), default=0)
    out_axis = choose.choice([0, 0, 0, -1, least])
    options = (
        "" if set(axes) == {0} else f", in_axes={container(Tuple(fun.params), list(map(source, fun.params, axes)))}"
    )
    options += f", out_axes={out_axis}" if out_axis else ""
    options += f", axis_name='{axis_name}'" if axis_name else ""
    out = map_leaves(lambda leaf: stacked(leaf, out_axis), fun.out)
    return fun.change(f"px.vmap({fun.text}{options})", params, out)


def grad(body: Body, fun: Fun, spec: None) -> Fun | None:
    places = [i for i, param in enumerate(fun.params) if differentiable(param)]
    total = scalar(body, fun)
    if not places or total is None:
        return None
    several = body.random.random() < 0.4
    chosen = places if several else [body.random.choice(places)]
    slopes: Type = Tuple(tuple(fun.params[i] for i in chosen)) if several else fun.params[chosen[0]]
    argnums = f", {tuple(chosen)}" if several else f", {chosen[0]}" if chosen[0] else ""
    style = body.random.random()
    if style < 0.25:
        return total.change(f"px.value_and_grad({total.text}{argnums})", out=Tuple((total.out, slopes)))
    if style < 0.4 and differentiable(fun.out):
        part = total.text.replace(fun.text, "F") if total is not fun else "F"
        both = f"lambda *X: ({call(part, '*X')}, F(*X))"
        return repeated(fun, f"px.grad({both}{argnums}, has_aux=True)", out=Tuple((slopes, fun.out)))
    return total.change(f"px.grad({total.text}{argnums})", out=slopes)


def jvp(body: Body, fun: Fun, spec: None) -> Fun | None:
    inner, places, arguments = of_differentiable(fun)
    if not places or not differentiable(fun.out):
        return None
    count = len(fun.params)
    params = [*fun.params, *(fun.params[i] for i in places)]
    if body.random.random() < 0.3:
        first = arguments.replace("*X", f"*X[:{count}]")
        text = f"lambda *X: {call(f'px.linearize({inner.text}, {first})[1]', f'*X[{count}:]')}"
        return inner.change(text, params, fun.out)
    first = f"X[:{count}]" if arguments == "*X" else f"({arguments},)"
    return inner.change(f"lambda *X: px.jvp({inner.text}, {first}, X[{count}:])", params, Tuple((fun.out, fun.out)))


def vjp(body: Body, fun: Fun, spec: None) -> Fun | None:
    inner, places, arguments = of_differentiable(fun)
    if not places or not differentiable(fun.out) or not leaves(fun.out):
        return None
    first = arguments.replace("*X", "*X[:-1]")
    pullback, style = f"px.vjp({inner.text}, {first})[1]", body.random.random()
    if style > 0.7:
        pullback = f"px.linear_transpose(px.linearize({inner.text}, {first})[1], {first})"
    cotangents = Tuple(tuple(fun.params[i] for i in places))
    if style < 0.15:
        pair = f"px.vjp(lambda *Z: (F(*Z), Z[0]), {first}, has_aux=True)"
        text = f"lambda *X: (lambda F: (lambda R: (R[1](X[-1]), R[2]))({pair}))({inner.text})"
        return inner.change(text, [*fun.params, fun.out], Tuple((cotangents, fun.params[places[0]])))
    return inner.change(f"lambda *X: {pullback}(X[-1])", [*fun.params, fun.out], cotangents)


def jacobian(body: Body, fun: Fun, spec: str) -> Fun | None:
    places = [i for i, param in enumerate(fun.params) if differentiable(param)]
    if not places:
        return None
    place = body.random.choice(places)
    if spec == "hessian":
        total = scalar(body, fun)
        if total is None:
            return None
        fun = total
    size = sum(leaf.size for leaf in leaves(fun.params[place])) * sum(leaf.size for leaf in leaves(fun.out))
    if not differentiable(fun.out) or size > 40:
        return None

    def block(out: Array, within: Type) -> Type:
        return map_leaves(
            lambda leaf: Array(out.shape + leaf.shape, leaf.dtype if spec == "jacrev" else out.dtype), within
        )

    out = map_leaves(lambda leaf: block(leaf, fun.params[place]), fun.out)
    if spec == "hessian":
        if len(leaves(fun.params[place])) != 1 or size > 6:
            return None
        out = map_leaves(lambda leaf: block(leaf, fun.params[place]), fun.params[place])
    return fun.change(f"px.{spec}({fun.text}{f', {place}' if place else ''})", out=out)


def total_of(tangents: str, condition: str = "") -> str:
    return f"sum(pnp.sum(L) for L in px.tree.leaves({tangents}){condition})"


def slope(body: Body, fun: Fun, out: Type) -> tuple[Fun, str]:
    """A function of the parameters of another, as a factor for tangents or cotangents."""
    block = body.block(fun.params, out, size=1, depth=0, closed=body.context.closing)
    return fun.with_function(block)


def linked(fun: Fun, places: list[int]) -> Fun:
    """The function, with a result that depends on all differentiable arguments.

    A rule may define a derivative with respect to any of them. If the result does not depend on a mapped argument,
    jax sums cotangents over the mapped axis before it calls the rule, and a loop does not.
    """
    arguments = f"[{', '.join(f'X[{i}]' for i in places)}]"
    text = f"lambda *X: (lambda Z: px.tree.map(lambda L: (L + 0 * Z).astype(L.dtype), F(*X)))({total_of(arguments)})"
    return repeated(fun, text, out=map_leaves(strong, fun.out))


NONZERO = " if type(L) is not px.custom_derivatives.SymbolicZero"


def custom_jvp(body: Body, fun: Fun, spec: None) -> Fun | None:
    places = [i for i, param in enumerate(fun.params) if differentiable(param)]
    if not places or not differentiable(fun.out):
        return None
    style = body.random.random()
    if len(places) == len(fun.params) and (style < 0.3 or not body.context.mixed):
        rule = "lambda P, T: (F(*P), px.tree.map(lambda L: 1.5 * L, px.jvp(F, P, T)[1]))"
        return repeated(fun, f"(lambda C: C.defjvp({rule}) and C)(px.custom_jvp(F))")
    fun, k = slope(body, linked(fun, places), fun.out)
    scaled = "px.tree.map(lambda L: (L * S).astype(L.dtype), {})"
    if style < 0.5 and isinstance(fun.out, Array):
        rules = [
            f"lambda T, O, *P: ({k}(*P) * {total_of('T')} * O).astype(O.dtype)" if i in places else "None"
            for i in range(len(fun.params))
        ]
        return repeated(fun, f"(lambda C: C.defjvps({', '.join(rules)}) or C)(px.custom_jvp(F))")
    tangents = f"[{', '.join(f'T[{i}]' for i in places)}]"
    symbolic = style < 0.7
    sum_text = total_of(tangents, NONZERO if symbolic else "")
    result = f"(F(*P), (lambda S: {scaled.format(f'{k}(*P)')})({sum_text}))"
    if style > 0.85:
        fun, n = with_number(body, fun)
        rule = f"lambda N, P, T: {result.replace('(L * S)', '(L * S * N)')}"
        custom = "px.custom_jvp(lambda N, *P: F(*P), nondiff_argnums=(0,))"
        return repeated(fun, f"lambda *X: (lambda C: C.defjvp({rule}) and C)({custom})({n}, *X)")
    option = ", symbolic_zeros=True" if symbolic else ""
    return repeated(fun, f"(lambda C: C.defjvp(lambda P, T: {result}{option}) and C)(px.custom_jvp(F))")


def with_number(body: Body, fun: Fun) -> tuple[Fun, str]:
    """The same function, and an undifferentiated argument for a rule."""
    number = body.pick(lambda t: is_float(t) and t.shape == ()) if body.context.closing else None
    return fun.with_operand(number) if number and body.random.random() < 0.5 else (fun, "2")


def custom_vjp(body: Body, fun: Fun, spec: None) -> Fun | None:
    places = [i for i, param in enumerate(fun.params) if differentiable(param)]
    if not places or not differentiable(fun.out):
        return None
    style = body.random.random()
    if len(places) == len(fun.params) and (style < 0.3 or not body.context.mixed):
        return repeated(fun, "(lambda C: C.defvjp(lambda *A: px.vjp(F, *A), lambda R, T: R(T)) or C)(px.custom_vjp(F))")
    fun, k = slope(body, linked(fun, places), Tuple(tuple(fun.params[i] for i in places)))
    part = "px.tree.map(lambda L: (L * S).astype(L.dtype), K[{}])"
    parts = [part.format(places.index(i)) if i in places else "None" for i in range(len(fun.params))]
    back = f"(lambda K, S: ({', '.join(parts)},))({k}(*R), {{}})"
    if style < 0.5:
        back = f"(lambda K, S: ({', '.join(parts)},))({k}(*A), {total_of('T')})"
        if len(parts) == 1:
            back = f"(lambda K, S: {parts[0]})({k}(*A), {total_of('T')})"
        return repeated(fun, f"px.custom_gradient(lambda *A: (F(*A), lambda T: {back}))")
    if style < 0.65:
        values = "px.tree.map(lambda V: V.value, A)"
        forward = f"lambda *A: (F(*{values}), {values})"
        rules = f"{forward}, lambda R, T: {back.format(total_of('T', NONZERO))}, symbolic_zeros=True"
        return repeated(fun, f"(lambda C: C.defvjp({rules}) or C)(px.custom_vjp(F))")
    back = back.format(total_of("T"))
    if style > 0.85:
        fun, n = with_number(body, fun)
        back = back.replace("(L * S)", "(L * S * N)")
        rules = f"lambda N, *A: (F(*A), A), lambda N, R, T: {back}"
        custom = "px.custom_vjp(lambda N, *P: F(*P), nondiff_argnums=(0,))"
        return repeated(fun, f"lambda *X: (lambda C: C.defvjp({rules}) or C)({custom})({n}, *X)")
    rules = f"lambda *A: (F(*A), A), lambda R, T: {back}"
    return repeated(fun, f"(lambda C: C.defvjp({rules}) or C)(px.custom_vjp(F))")


def custom_vmap(body: Body, fun: Fun, spec: None) -> Fun | None:
    if not isinstance(fun.out, Array):
        return None
    axes = "[px.tree.map(lambda L: 0 if L else None, I) for I in B]"
    factor = "1.5 * " if fun.out.floating else ""
    rule = f"lambda N, B, *A: ({factor}px.vmap(F, in_axes={axes}, axis_size=N)(*A), True)"
    return repeated(fun, f"(lambda C: C.def_vmap({rule}) and C)(px.custom_batching.custom_vmap(F))")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A transformation: a function that applies it, its frequency, and its information for the function's body."""

    make: Callable[..., Fun | None]
    weight: float
    reverse: bool = False
    forward: bool = False
    custom: bool = False


KINDS: dict[str, Kind] = {
    "jit": Kind(jit, 3.0),
    "checkpoint": Kind(checkpoint, 1.0),
    "closure_convert": Kind(closure_convert, 0.6),
    "vmap": Kind(vmap, 4.0),
    "grad": Kind(grad, 2.5, reverse=True),
    "jvp": Kind(jvp, 2.0, forward=True),
    "vjp": Kind(vjp, 1.5, reverse=True),
    "jacfwd": Kind(jacobian, 0.6, forward=True),
    "jacrev": Kind(jacobian, 0.6, reverse=True),
    "hessian": Kind(jacobian, 0.5, reverse=True, forward=True),
    "custom_jvp": Kind(custom_jvp, 1.0, custom=True),
    "custom_vjp": Kind(custom_vjp, 1.0, custom=True),
    "custom_vmap": Kind(custom_vmap, 0.6, custom=True),
    "sequential_vmap": Kind(sequential_vmap, 0.4, custom=True),
    "make_jaxpr": Kind(program, 0.5),
    "platform_dependent": Kind(platform_dependent, 0.4),
}


def transformed(body: Body, count: int, *, closed: bool = True, names: Sequence[str] = ()) -> tuple[Fun, list[str]]:
    """A random function with about `count` transformations, and their names from the outermost."""
    choose, context = body.random, body.context
    chain, specs = [], []
    for at in range(count):
        options = dict(KINDS)
        if context.forward:
            del options["custom_vjp"]
        if context.reverse:
            del options["custom_vmap"], options["sequential_vmap"]
        options = {name: kind for name, kind in options.items() if name in (context.transformations or options)}
        name = names[at] if at < len(names) else choose.choices(list(options), [k.weight for k in options.values()])[0]
        kind, spec = KINDS[name], None
        if name == "vmap":
            axis_name = choose.choice([None, "ijkl"[len(context.axes) % 4]])
            spec = choose.choice([1, 2, 2, 3, 3]), axis_name
            if axis_name:
                context = dataclasses.replace(context, axes=(*context.axes, (axis_name, spec[0])))
        elif name in ("jacfwd", "jacrev", "hessian"):
            spec = name
        context = dataclasses.replace(
            context, reverse=context.reverse or kind.reverse, forward=context.forward or kind.forward
        )
        chain.append(name)
        specs.append(spec)
        closed = closed and (context.closing or not kind.custom)
    fun = plain(body, context, closed, any(k.reverse or k.forward or k.custom for k in map(KINDS.get, chain)))
    kept: list[str] = []
    for name, spec in zip(reversed(chain), reversed(specs), strict=True):
        made = KINDS[name].make(body, fun, spec)
        if made is not None:
            fun = made
            kept.insert(0, name)
    return fun, kept


def plain(body: Body, context: Context, closed: bool, floating: bool) -> Fun:
    """A function without transformations."""
    choose = body.random
    inner = Body(body.maker, context, 0, [], [])
    params = [random_type(inner, floating and k == 0) for k in range(choose.choice([1, 1, 2, 2, 3]))]
    wanted = None
    if choose.random() < 0.25 or floating:
        wanted = random_type(inner, floating)
    block = body.block(params, wanted, size=choose.choice([1, 2, 2, 3]), context=context, closed=closed)
    return Fun("$f0", (block,), (), tuple(params), block.type)


def apply(body: Body) -> None:
    """A transformed function of values."""
    fun, names = transformed(body, body.random.choice([1, 1, 2]))
    arguments = [body.fit(param) for param in fun.params]
    places = [f"${len(fun.operands) + k}" for k in range(len(arguments))]
    text = call(fun.text, ", ".join(places))
    body.add(text, fun.out, *fun.operands, *arguments, functions=fun.functions, tags=names)
