"""The kind of fuzzing that compares programs with references with jax, and with NumPy arrays that change in place."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import primax as px
from fuzz.frame import Case, Finding, Kind, as_oracle
from fuzz.in_place import MODULES as IN_PLACE

HEADER = "import numpy as np; import primax as px, primax.numpy as pnp; lax = px.lax  # or jax as px, jax.numpy as pnp"
SHAPES = {"s": "()", "v": "(3,)", "m": "(2, 3)"}
# Indices of contents of a shape, by the shape of the elements; # is an integer, $ one that may be traced.
INDICES = {
    ("s", "s"): ["..."],
    ("v", "v"): ["...", ":", "::-1", "pnp.array([2, 0, 1])", "np.array([True, True, True])", "px.ds(0, 3)", "0:3"],
    ("v", "s"): ["#", "$", "-1", "..., $"],
    ("m", "m"): ["...", "::-1", "pnp.array([1, 0])", ":, pnp.array([2, 0, 1])", "0:2, ::-1", ":, px.ds(0, 3)"],
    ("m", "v"): ["#", "$", "$, ::-1", "#, :", "$, pnp.array([1, 2, 0])", "..., [0, 1, 0], [0, 1, 2]", "$, px.ds(0, 3)"],
    ("m", "s"): ["#, $", "$, 2", "$, -1"],
}
BEYOND = ("::-1", "True", "px.ds", "[0, 1, 0], [")  # what jax refuses in some places
REPEATED = {("v", "v"): ["pnp.array([0, 0, 2])"], ("m", "m"): ["pnp.array([1, 1])"]}  # for sums alone


@dataclass(frozen=True)
class Place:
    """A reference in scope.

    Attributes:
      name: its name.
      shape: the key of its shape.
      writes: `"all"`, `"stopped"` (values without derivatives), or `"none"`.
      own: whether the function made it, so that it may end it.
    """

    name: str
    shape: str
    writes: str = "all"
    own: bool = False


@dataclass(frozen=True)
class Block:
    """Lines under a header, such as the body of a function."""

    header: str
    lines: tuple[Any, ...]

    def text(self) -> list[str]:
        return [self.header, *("    " + line for part in self.lines for line in text_of(part))]


def text_of(part: Any) -> list[str]:
    return part.text() if isinstance(part, Block) else [part]


class Scope:
    """The names that a function may use, and its lines."""

    def __init__(self, maker: Maker, values: list[tuple[str, str]], places: list[Place], integers: list[str]) -> None:
        self.maker, self.rng = maker, maker.rng
        self.values, self.places, self.integers = values, places, integers
        self.lines: list[Any] = []

    def inner(self, writes: str = "", without: Sequence[str] = ()) -> Scope:
        """A scope of a nested function, which closes over references; `writes` limits what it writes to them."""
        places = [
            replace(p, own=False, writes=writes if writes and p.writes != "none" else p.writes)
            for p in self.places
            if p.name not in without
        ]
        return Scope(self.maker, list(self.values), places, list(self.integers))

    def pick(self, places: list[Place]) -> Place:
        return self.rng.choice(places)

    def index(self, source: str, target: str) -> str:
        texts = INDICES[source, target]
        if not self.maker.rich:
            texts = [text for text in texts if not any(part in text for part in BEYOND)]
        text = self.rng.choice(texts)
        integer = self.rng.choice([*self.integers, "0", "1"])
        return text.replace("$", integer).replace("#", self.rng.choice("01"))

    def read(self, shape: str) -> str:
        """The text that reads elements of a shape; empty if no reference has any."""
        fitting = [p for p in self.places if (p.shape, shape) in INDICES]
        if not fitting:
            return ""
        place = self.pick(fitting)
        if place.shape == "m" and shape == "s" and self.maker.rich:
            return f"{place.name}.at[{self.rng.choice([*self.integers, '0', '1'])}][{self.index('v', 's')}]"
        return f"{place.name}[{self.index(place.shape, shape)}]"

    def expression(self, shape: str, depth: int = 0) -> str:
        rng, again = self.rng, lambda other=shape: self.expression(other, depth + 1)
        known = [name for name, kind in self.values if kind == shape]
        if depth > 2 or rng.random() < 0.35:
            read = self.read(shape) if rng.random() < 0.5 else ""
            return read or (rng.choice(known[-5:]) if known else f"pnp.full({SHAPES[shape]}, {rng.randrange(9) / 8})")
        choices = [
            lambda: f"pnp.sin({again()})",
            lambda: f"pnp.tanh({again()} + {again()})",
            lambda: f"({again()} * 0.5)",
            lambda: f"({again()} - {again()})",
            lambda: f"({again()} * {again('s')})",
        ]
        more = {
            "s": [lambda: f"{again('v')}.sum()", lambda: f"{again('v')}[1]", lambda: f"{again('m')}.mean()"],
            "v": [lambda: f"{again('m')}.sum(0)", lambda: f"{again('m')}[1]", lambda: f"{again('v')}[::-1]"],
            "m": [lambda: f"pnp.stack([{again('v')}, {again('v')}])", lambda: f"({again('m')} * {again('v')})"],
        }
        return rng.choice(choices + more[shape])()

    def name(self, shape: str) -> str:
        """A new name for a value of a shape."""
        name = self.maker.name("v")
        self.values.append((name, shape))
        return name

    def writable(self, *shapes: str) -> list[Place]:
        return [p for p in self.places if p.writes != "none" and (not shapes or p.shape in shapes)]

    def shape(self) -> str:
        return self.rng.choice("svvm")

    # Statements; each appends lines, or nothing if there is no fitting name.

    def make_ref(self) -> None:
        shape, name = self.shape(), self.maker.name("r")
        self.lines.append(f"{name} = px.new_ref({self.expression(shape)})")
        self.places.append(Place(name, shape, own=True))

    def read_value(self) -> None:
        shape = self.shape()
        text = self.read(shape)
        if text:
            self.lines.append(f"{self.name(shape)} = {text}")

    def write(self) -> None:
        places = self.writable()
        if not places:
            return
        place = self.pick(places)
        target = self.rng.choice([b for a, b in INDICES if a == place.shape])
        index, how = self.index(place.shape, target), self.rng.randrange(5)
        value = self.expression(target)
        if place.writes == "stopped":
            value = f"lax.stop_gradient({value})"
        if how == 0:
            self.lines.append(f"{place.name}[{index}] += {value}")
        elif how == 1 and "[0, 1, 0]" not in index and ":" not in index and "," not in index:
            self.lines.append(f"{self.name(target)} = px.ref.swap({place.name}, {index}, {value})")
        elif how == 2 and ":" not in index:
            index = self.rng.choice(REPEATED.get((place.shape, target), [f"({index})"]))
            self.lines.append(f"px.ref.addupdate({place.name}, {index}, {value})")
        elif how == 3 and place.shape == "m" and target == "v" and self.maker.rich:
            view = f"{place.name}.at[{self.rng.choice([*self.integers, '0', '1'])}]"
            self.lines.append(f"{view}[...] = {value}")
        else:
            self.lines.append(f"{place.name}[{index}] = {value}")

    def end(self) -> None:
        places = [p for p in self.places if p.own]
        if len(places) > 1:
            place = self.pick(places)
            self.places.remove(place)
            self.lines.append(f"{self.name(place.shape)} = px.freeze({place.name})")

    def function(self, header: str, scope: Scope, result: Callable[[], str], size: int = 3) -> None:
        scope.fill(size)
        self.lines.append(Block(f"{header}", (*scope.lines, f"return {result()}")))

    def fori_loop(self) -> None:
        shape, f, i, c = self.shape(), *map(self.maker.name, "fic")
        start, scope = self.expression(shape), self.inner()
        scope.values.append((c, shape))
        scope.integers.append(i)
        self.function(f"def {f}({i}, {c}):", scope, lambda: f"pnp.tanh({scope.expression(shape)})")
        self.lines.append(f"{self.name(shape)} = lax.fori_loop(0, 2, {f}, {start})")

    def scan(self) -> None:
        shape, f, c, x = self.shape(), *map(self.maker.name, "fcx")
        refs = self.writable("m")
        start, xs, scope = self.expression(shape), self.expression("m"), self.inner()
        if refs and self.rng.random() < 0.3:
            place = self.pick(refs)
            xs, scope = place.name, self.inner(without=[place.name])
            scope.places.append(Place(x, "v", place.writes))
        else:
            scope.values.append((x, "v"))
        scope.values.append((c, shape))
        self.function(
            f"def {f}({c}, {x}):", scope, lambda: f"pnp.tanh({scope.expression(shape)}), {scope.expression('v')}"
        )
        extra = self.rng.choice(["", "", ", reverse=True", ", unroll=2"])
        self.lines.append(f"{self.name(shape)}, {self.name('m')} = lax.scan({f}, {start}, {xs}{extra})")

    def while_loop(self) -> None:
        shape, f, i, c = self.shape(), *map(self.maker.name, "fic")
        start, scope = self.expression(shape), self.inner()
        scope.values.append((c, shape))
        scope.integers.append(i)
        scope.lines.append(f"{i}, {c} = {f}c")
        self.function(f"def {f}({f}c):", scope, lambda: f"{i} + 1, pnp.tanh({scope.expression(shape)})")
        self.lines.append(f"_, {self.name(shape)} = lax.while_loop(lambda c: c[0] < 2, {f}, (0, {start}))")

    def cond(self) -> None:
        shape, f, g = self.shape(), *map(self.maker.name, "fg")
        for name in (f, g):
            scope = self.inner()
            self.function(f"def {name}():", scope, partial(scope.expression, shape), 2)
        test = self.expression("s")
        self.lines.append(f"{self.name(shape)} = lax.cond({test} > 0.25, {f}, {g})")

    def called(self) -> None:
        """A function that takes a reference, and closes over the others."""
        f, r, x, shape, out = (
            self.maker.name("f"),
            self.maker.name("r"),
            self.maker.name("x"),
            self.shape(),
            self.shape(),
        )
        place = self.pick(self.places) if self.places else None
        scope = self.inner(without=[place.name] if place else ())
        scope.values.append((x, shape))
        if place:
            scope.places.append(replace(place, name=r, own=False))
        outer = self.rng.choice(["px.jit", "px.jit", "px.checkpoint", ""])
        self.function(f"def {f}({f'{r}, ' if place else ''}{x}):", scope, lambda: scope.expression(out))
        argument = f"{place.name}, " if place else ""
        text = self.expression(shape)
        self.lines.append(f"{self.name(out)} = {f'{outer}({f})' if outer else f}({argument}{text})")

    def mapped(self) -> None:
        f, r, x = self.maker.name("f"), self.maker.name("r"), self.maker.name("x")
        places = self.writable("m")
        place = self.pick(places) if places and self.rng.random() < 0.7 else None
        scope = self.inner("none", [place.name] if place else ())
        scope.values.append((x, "v"))
        if place:
            scope.places.append(Place(r, "v", place.writes))
        self.function(f"def {f}({f'{r}, ' if place else ''}{x}):", scope, lambda: scope.expression("v"))
        argument = f"{place.name}, " if place else ""
        text = self.expression("m")
        self.lines.append(f"{self.name('m')} = px.vmap({f})({argument}{text})")

    def derived(self) -> None:
        self.maker.derives = True
        f, x, p = self.maker.name("f"), self.maker.name("x"), self.maker.name("p")
        how = self.rng.choice(["grad", "grad", "jvp", "vjp"])
        scope = self.inner("stopped" if self.rng.random() < 0.3 else "none")
        scope.values.append((x, "v"))
        scope.make_ref()
        self.function(f"def {f}({x}):", scope, lambda: scope.expression("v" if how == "jvp" else "s"), 4)
        at, places = self.expression("v"), self.writable("v")
        if how == "jvp":
            along = self.expression("v")
            names = f"{self.name('v')}, {self.name('v')}"
            self.lines.append(f"{names} = px.jvp({f}, ({at},), ({along},))")
        elif how == "vjp" and places and self.pick(places).writes == "all":
            place = self.pick([p for p in places if p.writes == "all"])
            self.lines.append(f"{self.name('s')}, {p} = px.vjp({f}, {at})")
            self.lines.append(f"{p}.with_refs({place.name})(pnp.ones_like({self.values[-1][0]}))")
        else:
            self.lines.append(f"{self.name('v')} = px.grad({f})({at})")

    def fill(self, size: int) -> None:
        """Append statements."""
        simple = [self.make_ref, self.read_value, self.write, self.write, self.write, self.end]
        nested = [self.fori_loop, self.scan, self.while_loop, self.cond, self.called, self.mapped, self.derived]
        self.maker.depth += 1
        for _ in range(self.rng.randrange(1, size + 1)):
            self.rng.choice(nested if self.maker.depth <= 3 and self.rng.random() < 0.4 else simple)()
        self.maker.depth -= 1


class Maker:
    """Makes a program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.counts: Counter[str] = Counter()
        self.depth = 0
        self.derives = False
        self.rich = rng.random() < 0.2

    def name(self, letter: str) -> str:
        self.counts[letter] += 1
        return f"{letter}{self.counts[letter]}"

    def program(self) -> tuple[Any, ...]:
        rng = self.rng
        lines = ["x = pnp.array([0.5, -1.25, 2.0])", "m = pnp.array([[0.25, 1.5, -0.5], [1.0, -0.75, 0.125]])"]
        lines += ["a = px.new_ref(pnp.cos(x))", "b = px.new_ref(m * 2)"]
        closes = rng.random() < 0.3
        scope = Scope(self, [("x", "v"), ("m", "m")], [Place("a", "v"), Place("b", "m")], [])
        scope.fill(6)
        results = ", ".join([scope.expression("v"), *(name for name, _ in scope.values[-4:])])
        names = "x, m" if closes else "x, m, a, b"
        main = Block(f"def main({names}):", (*scope.lines, f"return {results},"))
        how = rng.choice(["px.jit(main)", "px.jit(main)", "main"])
        twice = [f"{how}({names})"] if rng.random() < 0.2 else []
        return (*lines, main, *twice, f"result = [*{how}({names}), a[...], b[...]]")


@dataclass(frozen=True)
class RefCase(Case):
    """A program: its parts, and whether it has derivatives."""

    parts: tuple[Any, ...]
    derives: bool


def source(parts: Sequence[Any]) -> str:
    return "\n".join(line for part in parts for line in text_of(part))


def run_text(text: str, modules: Any) -> Any:
    """The results of a program as NumPy arrays, or the error that it raises."""
    space = {"np": np, "px": modules[0], "pnp": modules[1], "lax": modules[0].lax}
    try:
        exec(compile(text, "<program>", "exec"), space)
        return [np.asarray(x) for x in space["result"]]
    except Exception as error:
        return error


def difference(ours: list[Any], others: list[Any], where: str) -> tuple[str, str] | None:
    wide = px.config.enable_x64
    for k, (x, y) in enumerate(zip(ours, others, strict=True)):
        if x.shape != y.shape:
            return "shape", f"result {k}: primax {x.shape}, {where} {y.shape}"
        bound = (1e-7 if wide else 2e-3) * (1 + np.abs(y).max(initial=0))
        if not np.allclose(x, y, rtol=0, atol=bound, equal_nan=True):
            return "value", f"result {k}: primax {x}, {where} {y}"
    return None


INTERNAL = (AssertionError, AttributeError, KeyError, NameError, RecursionError, SystemError, UnboundLocalError)


class References(Kind):
    """Random programs with references: values, and what only one of primax and jax refuses.

    Programs without derivatives are compared with NumPy, where loops and maps are those of Python, and a part of them
    with jax; programs with derivatives are compared with jax.
    """

    name = "references"
    lifetime = 300
    seconds_per_case = 300.0

    def cases(self, rng: random.Random, only: str) -> Iterator[RefCase]:
        while True:
            seed = rng.getrandbits(32)
            maker = Maker(random.Random(seed))
            parts = maker.program()
            if only in "references":
                yield RefCase("references", f"# seed {seed}\n{HEADER}\n{source(parts)}", parts, maker.derives)

    def run(self, case: RefCase) -> Finding | None:
        found = self.judged(case.parts, case.derives, count=True)
        if found is None:
            return None
        parts = shrunk(case.parts, lambda parts: (self.judged(parts, case.derives) or ("",))[0] == found[0])
        sort, message = self.judged(parts, case.derives) or found
        return Finding(case.name, message, f"{HEADER}\n{source(parts)}\nprint(result)", sort)

    def judged(self, parts: Sequence[Any], derives: bool, count: bool = False) -> tuple[str, str] | None:
        """The sort of a difference and its text, or None."""
        text = source(parts)
        ours = run_text(text, (px, px.numpy))
        others, where = (Exception(), "") if derives else (run_text(text, IN_PLACE), "NumPy")
        if derives or zlib.crc32(text.encode()) % 10 == 0:  # jax takes long
            of_jax = run_in_jax(text)
            if count:
                self.reached["refused" if isinstance(of_jax, Exception) else "compared with jax"] += 1
            if isinstance(of_jax, list):
                others, where = of_jax, "jax"
        if isinstance(ours, list):
            if count and where == "NumPy":
                self.reached["compared with NumPy"] += 1
            return difference(ours, others, where) if isinstance(others, list) else None
        if count:
            self.reached["primax refuses"] += 1
        if isinstance(ours, INTERNAL) or isinstance(others, list):
            return f"primax raises {type(ours).__name__}", f"primax raises {type(ours).__name__}: {str(ours)[:300]}"
        return None

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        counts = [reached[how] for how in ("compared with NumPy", "compared with jax", "refused", "primax refuses")]
        text = "references: {} compared with NumPy, {} with jax, which refuses {}; primax refuses {}"
        return [text.format(*counts)]


def run_in_jax(text: str) -> Any:
    """The results of a program with jax, or the error that it raises."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(bool(px.config.enable_x64)):
        return as_oracle(run_text, text, (jax, jnp))


def shrunk(parts: Sequence[Any], fails: Callable[[tuple[Any, ...]], bool]) -> tuple[Any, ...]:
    """The parts without those whose removal leaves the difference, for a limited number of trials."""
    best, trials = tuple(parts), 0
    again = True
    while again and trials < 120:
        again = False
        for smaller in without_one(best):
            trials += 1
            if trials > 120:
                break
            if fails(smaller):
                best, again = smaller, True
                break
    return best


def without_one(parts: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The programs with one part less, the largest parts first."""
    for i in sorted(range(len(parts)), key=lambda i: -len(text_of(parts[i]))):
        if not str(parts[i]).startswith(("return", "result")):
            yield (*parts[:i], *parts[i + 1 :])
    for i, part in enumerate(parts):
        if isinstance(part, Block):
            for lines in without_one(part.lines):
                yield (*parts[:i], Block(part.header, lines), *parts[i + 1 :])
