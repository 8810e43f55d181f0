"""Hostile objects as arguments of every public function: an answer or a clear error, and no harm."""

from __future__ import annotations

import io
import os
import random
import re
import resource
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

import primax as px
from fuzz.canary import Canary
from fuzz.frame import Case, Finding, Kind
from fuzz.objects import CALLABLE, CLASSES, NESTS, OBJECTS, Hostile
from fuzz.targets import HEADER, INSTANCES, REGISTERS, Target, targets
from primax.extend.testing.report import ConformanceError, Failed

MEMORY = 6 * 2**30  # bytes of addresses: arrays of terabytes are refused, and the machine lives
CASES_A_TARGET = 4

_OURS = tuple(getattr(px.errors, name) for name in px.errors.__all__)  # which say what they are about in other words
_DOCUMENTED = (
    *(TypeError, ValueError, IndexError, OverflowError, NotImplementedError, MemoryError, OSError),
    *_OURS,
    BufferError,  # the protocol of DLPack wants it
    ConformanceError,
    Failed,
)
_NAMED = (AttributeError, NameError, RuntimeError)  # where a message in primax's form comes with them
_FORM = re.compile(
    r"custom_\w+ function |[\w.<>-]+( of [\w.<>]+)?: |x\.at\[\.\.\.\]: |[\w.<>]+\(\) (got|missing|takes)|.*__\w+__"
)
# What objects say themselves as they are shown, asked for their truth or hashed, or an array as it becomes a number.
_OWN = re.compile(
    r"repr of an object|Exceeds the limit \(4300 digits\)|truth value of an (empty )?array|neither true nor false"
    r"|Cannot compare structured or void to non-void arrays"
    r"|is true or false"
    r"|PyTree may have cyclical|Comparator raised exception while sorting|Non-hashable static arguments"
)
# What a transformation around the call says of a result that is no array, such as text, which it shows, or a token.
_AROUND = re.compile(
    r"the result must be an array or a number: a value of type \w+ is not a valid primax type"
    r"|no active plugin supplies the array protocol for values of type token"
)
_RAW = re.compile(
    r"loc\(|module @|stablehlo\.|mhlo\.|INTERNAL|INVALID_ARGUMENT|RET_CHECK|UNIMPLEMENTED|Check failed"
    r"|incompatible (function|constructor) arguments|nanobind|jaxlib(?!\._jax\.pytree\) is refused)|std::"
)


@dataclass(frozen=True)
class Call(Case):
    """One call of a target, with hostile objects in some places."""

    target: Target
    places: Mapping[str, Hostile]


def program(target: Target, places: dict[str, Hostile]) -> str:
    """The text of a call with hostile objects in these places."""
    lines: list[str] = []
    changes: dict[str, str] = {}
    around = "{}"
    for i, (place, thing) in enumerate(places.items()):
        lines += [line for line in thing.lines if line not in lines]
        if thing.lines and len(places) > 1:
            lines.append(f"h{i} = {thing.expression}")
            changes[place] = f"h{i}"
        else:
            changes[place] = thing.expression
        if thing.around != "{}":
            around = thing.around
    return "\n".join([HEADER, *lines, around.replace("{}", target.call(changes))])


class Hostiles(Kind):
    """Calls of public functions with hostile objects."""

    name = "hostile"
    seconds_per_case = 40.0
    lifetime = 4000

    def __init__(self) -> None:
        super().__init__()
        self.canary = Canary()
        self.harmed = False

    def cases(self, rng: random.Random, only: str) -> Iterator[Case]:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        warnings.simplefilter("ignore")
        chosen = [target for target in targets() if only in target.path and (target.required or target.optional)]
        self.canary.sings()  # a module that is imported may have made a context, which compiled functions look at once
        while chosen:
            # A new function adds cases of its own, and leaves those of others as they are.
            salt = rng.random()
            own = {target: random.Random(f"{salt}/{target.path}") for target in chosen}
            chosen.sort(key=lambda target: own[target].random())
            for case in chain.from_iterable(self._of(target, own[target]) for target in chosen):
                if self.harmed:
                    return  # and another process goes on
                yield case

    def _of(self, target: Target, rng: random.Random) -> Iterator[Case]:
        names = [name for name, _ in target.required] * 2 + list(target.optional)
        for _ in range(CASES_A_TARGET):
            count = 1 if rng.random() < 0.85 else 2
            chosen = dict.fromkeys(rng.choice(names) for _ in range(count))  # in an order that a seed repeats
            places = {name: self._object(target, rng) for name in chosen}
            text = program(target, places)
            if text.count("\n") < 8:
                yield Call(target.path, text, target, places)

    def _object(self, target: Target, rng: random.Random) -> Hostile:
        while True:
            thing = rng.choice(OBJECTS)
            if thing.registrable or not REGISTERS.fullmatch(target.path):
                return thing

    def run(self, case: Case) -> Finding | None:
        assert isinstance(case, Call)
        *lines, call = case.program.splitlines()
        namespace: dict[str, Any] = {}
        exec("\n".join(lines), namespace)
        error: BaseException | None = None
        random_state = np.random.get_state()
        try:
            with redirect_stdout(io.StringIO()):
                _settle(eval(call, namespace))
        except BaseException as raised:
            error = raised
        np.random.set_state(random_state)
        self.reached[case.target.path] += 1
        self.reached["returned" if error is None else "raised"] += 1
        wrong = None if error is None else judge(error, case.target, case.places)
        harm = self.canary.sings()
        self.harmed = bool(harm)
        # What registers something ends an epoch where it replaces a rule, and empties caches.
        asked = harm.startswith("it changed") or (harm.endswith("fast path") and REGISTERS.fullmatch(case.target.path))
        if harm and not (error is None and asked):
            return Finding(case.name, f"after the call, {harm}", case.program, "harm")
        if wrong is not None:
            assert error is not None
            message = f"{wrong}: {type(error).__name__} at {place(error)}: {str(error)[:600]}"
            return Finding(case.name, message, case.program, f"{wrong} {type(error).__name__} at {place(error)}")
        return None

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        called = len(reached) - ("returned" in reached) - ("raised" in reached)
        return [f"{called} functions called; {reached['returned']} calls returned, {reached['raised']} raised"]


def _settle(value: Any) -> None:
    """Wait for a result, and read it."""
    for leaf in px.tree.leaves(value):
        if isinstance(leaf, px.Array):
            np.asarray(leaf) if isinstance(leaf.dtype, np.dtype) else leaf.block_until_ready()
    repr(value)


def _for_authors(target: Target) -> bool:
    """Whether those who call it write rules or transformations, and hand on what they were given."""
    inner = [INSTANCES[name] for name in ("ClosedJaxpr", "ShapedArray", "KeyDType")]
    return target.path.startswith(("primax.extend.", *inner))


def _raised_by_program(error: BaseException) -> bool:
    """Whether a function of the program itself raised the error, not what it called."""
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    return bool(frame) and frame[0].filename == "<string>" and frame[0].name != "<module>"


def judge(error: BaseException, target: Target, places: Mapping[str, Hostile]) -> str | None:
    """What is wrong with an error, in a word; None if it is as errors should be."""
    if type(error).__name__ == "Boom":
        return None  # the object's own
    objects = tuple(places.values())
    foreign = any(thing in CALLABLE or (thing in CLASSES and name in target.called) for name, thing in places.items())
    try:
        message = str(error).replace("jaxlib._jax.PjitFunction", "jit")  # how Python calls what `jit` returns
    except Exception:
        return None  # Python's errors about files show the object when they are printed, which is its own affair
    if _OWN.search(message):
        return None
    if any(thing.around != "{}" for thing in objects):
        if _AROUND.search(message):
            return None
        attribute = re.fullmatch(r"'StagingTracer' object has no attribute '(\w+)'", message)
        if attribute and attribute[1] in target.words:
            return None  # the array that has the method is made inside, and is no array there
    elif _raised_by_program(error):
        return None  # by the function that is the usual argument, whose own argument is hostile
    if isinstance(error, MemoryError | OSError):
        return None  # errors of files name the file
    if isinstance(error, AssertionError) and re.search(rf"^{target.path.rpartition('.')[2]}: ", message, re.M):
        return None  # what compares derivatives says so, in the middle of NumPy's words
    if "index-sized integer" in message and any("__len__ = lambda s: 2**70" in "".join(x.lines) for x in objects):
        return None  # Python asks such an object for its length to know whether it is true
    if isinstance(error, RecursionError) and any(thing in NESTS for thing in objects):
        return None
    if isinstance(error, RecursionError):
        return None if any("calls itself" in thing.name for thing in objects) else "internal"
    if not isinstance(error, _DOCUMENTED):
        if isinstance(error, AttributeError) and (foreign or _for_authors(target)):
            return None  # authors give programs, contexts and rules, which are known by their attributes
        if not (isinstance(error, _NAMED) and _FORM.match(message)):
            return "internal"
    if _RAW.search(message) and not isinstance(error, px.XlaError):
        return "raw"
    if foreign or isinstance(error, _OURS) or _FORM.match(message) or _for_authors(target):
        return None
    words = set(re.findall(r"\w+", message))
    called = re.search(r"\(an argument of ([\w<>]+)\)", message)  # what the program's own function calls
    return None if target.words & words or (called is not None and called[1] in _names()) else "unnamed"


@cache
def _names() -> frozenset[str]:
    """The names of public functions, and of those that programs give."""
    return frozenset(target.path.rpartition(".")[2].strip("_") for target in targets()) | {"<lambda>"}


def place(error: BaseException) -> str:
    """Where an error was raised: the innermost line of primax."""
    frames = traceback.extract_tb(error.__traceback__)
    root = os.path.realpath(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(px.__file__)))))
    for frame in reversed(frames):
        name = os.path.realpath(frame.filename)
        if (
            f"{os.sep}tests{os.sep}fuzz{os.sep}" not in name
            and (name.startswith(root) or "primax" in name)
            and "site-packages" not in name
        ):
            return f"{os.path.relpath(name, root)}:{frame.lineno}"
    return "no line of primax"
