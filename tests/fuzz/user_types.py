"""The kind of fuzzing that compares programs on values of a user's type with the same programs on tuples of arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import primax as px
from fuzz.frame import Case, Finding, Kind

HEADER = "import numpy as np; import primax as px, primax.numpy as pnp; from pair_type import OfType as T; lax = px.lax"
START = "np.float32([0.5, -1, 0.25]), np.float32([1, 0.5, -0.75])"
NUMBERS = "np.float32([1, -0.5])"
_MOST = 4  # levels of nested expressions


class Maker:
    """Makes the text of a program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"p{self.count}"

    def number(self) -> str:
        return f"np.float32({self.rng.randrange(-8, 9) / 8})"

    def vector(self, known: list[str], depth: int) -> str:
        if depth >= _MOST or self.rng.random() < 0.3:
            return f"np.float32([{', '.join(str(self.rng.randrange(-4, 5) / 4) for _ in range(3))}])"
        return self.rng.choice(
            [
                lambda: f"T.first({self.pair(known, depth + 1)})",
                lambda: f"pnp.sin({self.vector(known, depth + 1)})",
                lambda: f"({self.scalar(known, depth + 1)} * {self.vector(known, depth + 1)})",
            ]
        )()

    def scalar(self, known: list[str], depth: int) -> str:
        if depth >= _MOST or self.rng.random() < 0.2:
            return self.number()
        name = self.fresh()
        inner = lambda: self.scalar([*known, name], depth + 2)  # noqa: E731
        return self.rng.choice(
            [
                lambda: f"T.dot({self.pair(known, depth + 1)}, {self.pair(known, depth + 1)})",
                lambda: f"pnp.tanh({self.scalar(known, depth + 1)})",
                lambda: f"{self.vector(known, depth + 1)}.sum()",
                lambda: f"px.vmap(lambda {name}: {inner()})({self.batch(known, depth)}).sum()",
            ]
        )()

    def batch(self, known: list[str], depth: int) -> str:
        """A pair whose vectors have an axis of length 2 in front."""
        return f"px.vmap(lambda s: T.scale(s, {self.pair(known, depth + 1)}))({NUMBERS})"

    def pair(self, known: list[str], depth: int) -> str:
        if depth >= _MOST or self.rng.random() < 0.15:
            return self.rng.choice(known)
        name = self.fresh()
        body = lambda: self.pair([*known, name], depth + 1)  # noqa: E731
        start = lambda: self.pair(known, depth + 1)  # noqa: E731
        batch = lambda: self.batch(known, depth)  # noqa: E731
        loss = lambda: f"T.dot({body()}, {name})"  # noqa: E731
        return self.rng.choice(
            [
                lambda: f"T.add({start()}, {start()})",
                lambda: f"T.scale({self.scalar(known, depth + 1)}, {start()})",
                lambda: f"T.flip({start()})",
                lambda: f"T.make({self.vector(known, depth + 1)}, {self.vector(known, depth + 1)})",
                lambda: f"px.jit(lambda {name}: {body()})({start()})",
                lambda: f"px.checkpoint(lambda {name}: {body()})({start()})",
                lambda: f"lax.fori_loop(0, 2, lambda i, {name}: {body()}, {start()})",
                lambda: f"lax.scan(lambda {name}, s: (T.scale(s, {body()}), None), {start()}, {NUMBERS})[0]",
                lambda: (
                    f"lax.scan(lambda {name}, x: (T.add(x, {body()}), None), {start()}, {self.batch(known, depth)})[0]"
                ),
                lambda: f"lax.cond({self.scalar(known, depth + 1)} > 0, lambda {name}: {body()}, T.flip, {start()})",
                lambda: f"px.grad(lambda {name}: {loss()})({start()})",
                lambda: f"px.jvp(lambda {name}: {body()}, ({start()},), ({start()},))[1]",
                lambda: f"px.vjp(lambda {name}: {body()}, {start()})[1]({start()})[0]",
                lambda: f"px.linearize(lambda {name}: {body()}, {start()})[1]({start()})",
                lambda: f"lax.scan(lambda {name}, s: ({name}, T.scale(s, {body()})), {start()}, {NUMBERS})[0]",
                lambda: f"T.scale(px.vmap(lambda {name}: {loss()})({batch()})[0], {start()})",
            ]
        )()

    def program(self) -> str:
        text = self.pair(["p0"], 0)
        return f"px.jit(lambda p0: {text})" if self.rng.random() < 0.5 else f"(lambda p0: {text})"


def run_text(text: str, functions: Any) -> Any:
    """The two vectors that a program returns, or the error that it raises."""
    scope = {"np": np, "px": px, "pnp": px.numpy, "lax": px.lax, "T": functions}
    try:
        out = eval(f"({text})(T.make({START}))", scope)
        return np.stack([np.asarray(out.a), np.asarray(out.b)])
    except Exception as error:  # which the other way of computing must raise, too
        return error


class UserTypes(Kind):
    """Random programs on values of a user's type, compared with the same programs on tuples of arrays."""

    name = "user_types"
    lifetime = 300

    def cases(self, rng: random.Random, only: str) -> Iterator[Case]:
        while True:
            text = Maker(rng).program()
            if only in self.name:
                yield Case(self.name, f"{HEADER}\nf = {text}\nprint(vars(f(T.make({START}))))")

    def run(self, case: Case) -> Finding | None:
        from pair_type import OfTuples, OfType

        text = case.program.splitlines()[1].removeprefix("f = ")
        ours, others = run_text(text, OfType), run_text(text, OfTuples)
        if isinstance(others, Exception):
            return None
        if isinstance(ours, Exception):
            kind = type(ours).__name__
            return Finding(case.name, f"primax raises {kind}: {str(ours)[:300]}", case.program, f"primax raises {kind}")
        if np.allclose(ours, others, rtol=2e-3, atol=1e-4, equal_nan=True):
            return None
        return Finding(case.name, f"got {ours.tolist()}, as tuples {others.tolist()}", case.program, "value")
