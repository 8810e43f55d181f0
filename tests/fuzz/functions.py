"""Random calls of every public function of both primax and jax, compared; NumPy and SciPy decide about differences."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

import jax
import numpy as np

import primax as px
from fuzz.compare import Difference, at_leaf, difference, judged_right
from fuzz.differences import is_meant
from fuzz.draw import Draw
from fuzz.frame import Case, Finding, Kind
from fuzz.oracles import SCIENTIFIC, array_of, evaluate, numpy_says, wide_jax_says
from fuzz.pairs import Pair, pairs
from fuzz.parameters import strategy
from fuzz.templates import drawing, template

# Modules that `import jax` does not load.
NOT_LOADED = (
    "scipy.signal scipy.stats scipy.fft scipy.interpolate scipy.optimize scipy.ndimage scipy.sparse.linalg "
    "scipy.spatial.transform scipy.cluster.vq scipy.integrate export image ops flatten_util test_util experimental.jet "
    "experimental.checkify experimental.mesh_utils experimental.serialize_executable experimental.multihost_utils "
    "experimental.compute_on experimental.sparse experimental.custom_partitioning experimental.scheduling_groups "
    "example_libraries.stax example_libraries.optimizers"
).split()
ENOUGH = 5  # calls of each function that must succeed in both packages
TRIES = 3  # attempts for each function in turn, until a call succeeds
MANY = 20  # the most functions that a report names


@dataclass
class Call:
    """A call: the text of each argument by parameter, and the drawing of its arguments."""

    pair: Pair
    draw: Draw
    arguments: dict[str, str] = field(default_factory=dict)
    by_keyword: frozenset[str] = frozenset()

    def text(self) -> str:
        """The call as text."""
        pair = self.pair
        if pair.module == "Array":
            owner = self.arguments["self"]
            if not callable(pair.function):
                return f"{owner}.{pair.name}"
            return f"{owner}.{pair.name}({self._inside()})"
        return f"m.{pair.path}({self._inside()})"

    def _inside(self) -> str:
        parts = []
        for parameter in self.pair.parameters:
            text = self.arguments.get(parameter.name)
            if text is not None:
                parts.append(f"{parameter.name}={text}" if parameter.name in self.by_keyword else text)
        return ", ".join(parts)


@dataclass(frozen=True)
class CallCase(Case):
    """A call of a function of both packages."""

    text: str = ""
    call: Call | None = None


def program(text: str) -> str:
    """A program that repeats a call in primax and in jax."""
    scipy_modules = [f"jax.{name}" for name in NOT_LOADED if f"m.{name}." in text]
    wide = bool(px.config.enable_x64)
    lines = [
        f"import numpy as np, {', '.join(['jax', *scipy_modules])}, primax; from numpy import array, inf, nan",
        'jax.config.update("jax_enable_x64", True); primax.config.update("enable_x64", True)' if wide else "",
        f"def call(m, A): return {text}",
        "for m in (primax, jax):",
        "    try: print(repr(call(m, lambda *x: m.numpy.asarray(np.array(*x)))))",
        "    except Exception as error: print(type(error).__name__, error)",
    ]
    return "\n".join(filter(None, lines)) + "\n"


class Functions(Kind):
    """Each function in turn, first those with the fewest successes, and again after a failure."""

    name = "functions"
    lifetime = 2400  # each function once, with repetitions
    share = 4.0
    varies = True

    def __init__(self) -> None:
        super().__init__()
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.good: dict[str, list[Call]] = {}
        self.runs = 0
        self.succeeded = False  # whether the last call succeeded in both

    def cases(self, rng: random.Random, only: str) -> Iterator[CallCase]:
        chosen = [pair for pair in pairs() if re.search(only, pair.path)]
        if not chosen:
            raise ValueError(f"functions: only must match a part of the path of a function, got {only!r}")
        counts = self.before if self.varies else Counter[str]()
        while True:
            # A new function adds its own calls, and does not change those of others.
            salt = rng.random()
            own = {pair.path: random.Random(f"{salt}/{pair.path}") for pair in chosen}
            for pair in sorted(chosen, key=lambda pair: (counts[pair.path], own[pair.path].random())):
                for _ in range(TRIES if self.varies else 1):
                    self.succeeded = False
                    yield self._case(pair, own[pair.path])
                    if self.succeeded:
                        break

    def _case(self, pair: Pair, rng: random.Random) -> CallCase:
        call = self._draw(pair, rng)
        text = call if isinstance(call, str) else call.text()
        return CallCase(pair.path, program(text), text, None if isinstance(call, str) else call)

    def _draw(self, pair: Pair, rng: random.Random) -> Call | str:
        made = template(pair, rng)
        if made is not None:
            return made
        good = self.good.get(pair.path)
        return (
            vary(rng.choice(good), rng)
            if self.varies and good and rng.random() < 0.5
            else draw_call(pair, rng, bool(good) or not self.varies)
        )

    def run(self, case: Case) -> Finding | None:
        assert isinstance(case, CallCase)
        self.runs += 1
        if self.runs % 300 == 0:  # compiled programs fill the memory
            px.clear_caches()
            jax.clear_caches()
        mine, my_error = attempt(case.text, px)
        other, other_error = attempt(case.text, jax)
        self.succeeded = my_error is None and other_error is None
        if self.succeeded:
            self.reached[case.name] += 1
            if self.varies:
                self.before[case.name] += 1
            if case.call is not None:
                self.good.setdefault(case.name, []).append(case.call)
                del self.good[case.name][:-6]
        found = compare(case.text, mine, my_error, other, other_error)
        if found is None or is_meant(case.name, case.text, found):
            return None
        return Finding(case.name, found.message, case.program, found.sort)

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        few = [f"{pair.path} ({reached[pair.path]})" for pair in pairs() if reached[pair.path] < ENOUGH]
        shown = few if len(few) <= MANY else [*few[:MANY], "..."]
        named = " ".join(shown)
        return [f"{len(few)} of {len(pairs())} functions with fewer than {ENOUGH} calls that succeed: {named}"]


class SteadyFunctions(Functions):
    """Calls that do not depend on earlier results, so the same seed always makes the same calls."""

    varies = False


class RareFunctions(Functions):
    """Each function until enough calls have succeeded, or many have failed."""

    lifetime = 100_000

    def cases(self, rng: random.Random, only: str) -> Iterator[CallCase]:
        self.successes: Counter[str] = Counter()
        for pair in pairs():
            if re.search(only, pair.path):
                for _ in range(12 * ENOUGH):
                    if self.successes[pair.path] == ENOUGH:
                        break
                    yield self._case(pair, rng)

    def run(self, case: Case) -> Finding | None:
        assert isinstance(case, CallCase)
        mine, other = attempt(case.text, px), attempt(case.text, jax)
        if mine[1] is None and other[1] is None:
            self.successes[case.name] += 1
            self.reached[case.name] += 1
        return None


def draw_call(pair: Pair, rng: random.Random, reached: bool = True) -> Call:
    """A call with new arguments: all required ones, and some of the others."""
    call = Call(pair, drawing(pair, rng, reached))
    if pair.module == "Array":
        call.arguments["self"] = call.draw.of(call.draw.shape)
    generous = rng.random() < 0.6
    keywords = set()
    for parameter in pair.parameters:
        required = parameter.default is Parameter.empty and parameter.kind is not Parameter.VAR_KEYWORD
        if required or rng.random() < (0.8 if not call.arguments else 0.4 * generous):
            add_argument(call, parameter)
        if parameter.kind is Parameter.KEYWORD_ONLY or (
            parameter.kind is not Parameter.POSITIONAL_ONLY and not required
        ):
            keywords.add(parameter.name)
    call.by_keyword = frozenset(keywords)
    return call


def add_argument(call: Call, parameter: Parameter) -> None:
    """Draw an argument for a parameter."""
    if parameter.kind is Parameter.VAR_KEYWORD:
        return
    if parameter.kind is Parameter.VAR_POSITIONAL:
        count = call.draw.rng.randint(1, 3)
        call.arguments[parameter.name] = ", ".join(call.draw.array() for _ in range(count))
        return
    made = strategy(parameter)
    if made is None:
        return
    first = made is Draw.array and not call.arguments
    call.arguments[parameter.name] = call.draw.first() if first else made(call.draw)


def vary(call: Call, rng: random.Random) -> Call:
    """A call that succeeded, with one or two arguments drawn again, removed, or added."""
    new = Call(call.pair, call.draw, dict(call.arguments), call.by_keyword)
    new.draw.rng = rng
    if rng.random() < 0.3:
        new.draw.values.style = rng.choice(["plain", "special", "special", "unit", "positive"])
    for parameter in rng.choices(call.pair.parameters, k=rng.randint(1, 2)) if call.pair.parameters else ():
        optional = parameter.default is not Parameter.empty
        if optional and parameter.name in new.arguments and rng.random() < 0.3:
            del new.arguments[parameter.name]
        else:
            add_argument(new, parameter)
    if call.pair.module == "Array" and rng.random() < 0.5:
        new.arguments["self"] = new.draw.of(new.draw.shape)
    return new


def attempt(text: str, module: Any) -> tuple[Any, Exception | None]:
    """The value of a call, computed to the end, or the error."""
    try:
        value = evaluate(text, module, array_of(module))
        return module.block_until_ready(value), None
    except Exception as error:
        return None, error


def compare(
    text: str, mine: Any, my_error: Exception | None, other: Any, other_error: Exception | None
) -> Difference | None:
    """The difference of two outcomes, unless a reference confirms primax."""
    if my_error is not None and other_error is not None:
        return None
    if my_error is not None:
        if numpy_refuses(text):
            return None
        return Difference("primax raises", f"primax raises {_said(my_error)}\njax: {_shown(other)}")
    if other_error is not None:
        if any(agrees(judge, text, mine) for judge in (numpy_says, wide_jax_says)):
            return None
        return Difference("jax raises", f"jax raises {_said(other_error)}\nprimax: {_shown(mine)}")
    found = difference(mine, other)
    if found is None or (found.sort in ("dtype", "shape") and numpy_has(found, text, mine, other)):
        return None
    if found.sort not in ("value", "nan"):
        return found
    leaf, other_leaf = at_leaf(mine, found.at), at_leaf(other, found.at)
    for judge in (numpy_says, wide_jax_says):
        try:
            reference = at_leaf(judge(text), found.at)
            if judged_right(leaf, other_leaf, reference):
                return None
        except Exception:  # a reference without this function, or with other arguments, decides nothing
            continue
    return found


def numpy_has(found: Difference, text: str, mine: Any, other: Any) -> bool:
    """Whether NumPy or SciPy has the shape, the dtype, or the kind of dtype of primax, and not that of jax."""
    aspects: list[Callable[[Any], Any]] = [np.shape]
    if found.sort == "dtype":
        aspects = [lambda x: x.dtype.kind, lambda x: x.dtype]
    try:
        reference = np.asarray(at_leaf(evaluate(text, SCIENTIFIC, np.array), found.at))
        leaf, other_leaf = at_leaf(mine, found.at), at_leaf(other, found.at)
        return any(aspect(leaf) == aspect(reference) != aspect(other_leaf) for aspect in aspects)
    except Exception:
        return False


def numpy_refuses(text: str) -> bool:
    """Whether NumPy or SciPy has the function and raises an error."""
    try:
        numpy_says(text)
    except (AttributeError, NameError):
        return False
    except Exception:
        return True
    return False


def agrees(judge: Callable[[str], Any], text: str, mine: Any) -> bool:
    """Whether a reference has the value of primax, with the same shapes."""
    try:
        reference = judge(text)
    except Exception:
        return False
    return same_values(mine, reference)


def same_values(mine: Any, reference: Any) -> bool:
    """Whether nested results have equal shapes, and close values."""
    if isinstance(mine, tuple | list):
        same_length = isinstance(reference, tuple | list) and len(mine) == len(reference)
        return same_length and all(map(same_values, mine, reference))
    if not hasattr(mine, "shape") or not hasattr(mine, "dtype") or np.shape(mine) != np.shape(reference):
        return False
    return judged_right(mine, None, reference)


def _said(error: Exception | None) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:200]
