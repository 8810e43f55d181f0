"""Modified files with correct checksums: exported functions, and entries of the compilation cache."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import primax as px
import primax.numpy as pnp
from fuzz.frame import Case, Finding, Kind
from primax.plugins.export.file import _MAGIC

IMPORTS = "import primax as px, primax.numpy as pnp\nfrom fuzz.files import cached, with_bytes, with_header"
SECONDS = 60
# The possible ends of a call; at the last two the program is for another platform, which the header names.
_REFUSALS = re.compile(
    r"ValueError|TypeError|primax\.errors\.XlaError|jaxlib|primax\.core\.errors\.MissingRuleError"
    r"|primax\.core\.errors\.UnsupportedError: .* was exported for"
)
# Events that must not happen while a file of data is read.
EVENTS = ("exec", "compile", "subprocess", "os.system", "os.exec", "os.posix_spawn", "pickle", "marshal", "ctypes")

_JSON = [
    *(
        None,
        True,
        0,
        -1,
        2**63,
        2**40,
        1.5,
        float("nan"),
        "",
        "a",
        "*",
        "cpu",
        "float32",
        "object",
        "void8",
        "int2",
        "9.9.9",
    ),
    *(
        "1..2",
        "\ud800",
        [],
        [0],
        [None],
        {},
        {"a": 1},
        [[]],
        ["tuple", []],
        ["dict", ["*"], ["a"]],
        ["dict", ["*"], [[]]],
    ),
    *(
        ["node", [], "a", "b"],
        ["node", [], "a", "??"],
        [[3], "float32", False],
        [[-1], "float32", False],
        [["a"], "f4", 1],
    ),
    *("b", "2*b", "floordiv(b, 0)", "b^64", "-b", "(" * 99, ["b >= 2"], ["b == 3"], ["c"], ["b <= 1", "b == 2*b"]),
    *([[2**62], "float32", False], [[3], ["fry"], False], [[3], ["none"], False], [["cpu", 10]], [["cpu", -5]]),
]
_SPANS = (b"", b"\0", b"\xff" * 8, b"[" * 5000, b"lapack_", b"custom_call", bytes(range(64)))


@cache
def exported() -> bytes:
    """An exported function with a derivative, a symbolic dimension, a dict and a key among its arguments."""
    f = px.jit(lambda x, tree, key: {"y": pnp.sin(x) @ tree["a"], "k": key})
    tree = {"a": pnp.ones((3, 2)), "b": (1, [True])}
    (b,) = px.export.symbolic_shape("b", constraints=["b >= 2"])
    x = px.ShapeDtypeStruct((b, 3), "float32")
    return px.export.export(f)(x, tree, px.random.key(0)).serialize(vjp_order=1)


def header_of(data: bytes) -> str:
    """The header, which is JSON."""
    start = len(_MAGIC) + 12
    size = int.from_bytes(data[start - 8 : start], "little")
    return data[start : start + size].decode()


def with_header(text: str) -> bytes:
    """The exported function with a modified header."""
    data, start = exported()[:-32], len(_MAGIC) + 12
    rest = data[start + len(header_of(data).encode()) :]
    new = text.encode(errors="surrogatepass")
    return sealed(data[: start - 8] + len(new).to_bytes(8, "little") + new + rest)


def with_bytes(*changes: tuple[int, int, bytes]) -> bytes:
    """The exported function with modified bytes."""
    data = bytearray(exported()[:-32])
    for start, stop, new in changes:
        data[start:stop] = new
    return sealed(bytes(data))


def sealed(body: bytes) -> bytes:
    """A body with its checksum."""
    return body + hashlib.sha256(body).digest()


def cached(seed: int) -> list[float]:
    """The results of a program whose entry in the cache was modified."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        px.config.update("compilation_cache_dir", folder)
        px.config.update("persistent_cache_min_compile_time_secs", 0)
        px.jit(lambda x: pnp.sin(x) + x)(pnp.arange(3.0))
        for path in Path(folder).glob("*.xla"):
            data = path.read_bytes()
            start = data.index(b"\n") + 1
            body = bytearray(data[start + 32 :])
            for _ in range(rng.choice([1, 3, 30])):
                body[rng.randrange(len(body))] = rng.randrange(256)
            if rng.random() < 0.2:
                body = body[: rng.randrange(len(body))]
            checksum = hashlib.sha256(path.stem.encode() + body).digest()
            path.write_bytes(data[:start] + checksum + body)
        px.clear_caches()
        return [float(y) for y in px.jit(lambda x: pnp.sin(x) + x)(pnp.arange(3.0))]


@dataclass(frozen=True)
class File(Case):
    """A modified file.

    Args:
      apart: whether the program runs in a separate process, because the compiler may crash, which is not a finding.
    """

    apart: bool = False


class Files(Kind):
    """Reads modified files."""

    name = "files"
    word_sizes = (32,)
    seconds_per_case = 120.0

    def __init__(self) -> None:
        super().__init__()
        self.watching = False
        self.events: list[str] = []

    def cases(self, rng: random.Random, only: str) -> Iterator[Case]:
        # All modules for reading are imported first, including those for missing generators.
        px.export.deserialize(exported())
        with suppress(ValueError):
            px.export.deserialize(with_header(header_of(exported()).replace("threefry2x32", "none")))
        sys.addaudithook(self._hear)
        while True:
            draw = rng.random()
            if draw < 0.02:
                yield File("cache", f"{IMPORTS}\nprint(cached({rng.randrange(10**6)}))", apart=True)
            elif draw < 0.04:
                yield File("call", f"{IMPORTS}\n{self._call(rng)}", apart=True)
            elif draw < 0.6:
                yield File("header", f"{IMPORTS}\npx.export.deserialize(with_header({_changed_header(rng)!r}))")
            else:
                yield File("bytes", f"{IMPORTS}\npx.export.deserialize(with_bytes(*{_changed_bytes(rng)!r}))")

    def _call(self, rng: random.Random) -> str:
        end = len(exported()) - 32
        places = [(place, place + 1, bytes([rng.randrange(256)])) for place in rng.sample(range(end - 1500, end), 3)]
        call = "pnp.ones((2, 3)), {'a': pnp.ones((3, 2)), 'b': (1, [True])}, px.random.key(0)"
        return f"px.export.deserialize(with_bytes(*{places!r})).call({call})"

    def _hear(self, event: str, args: Any) -> None:
        if self.watching and event.startswith(EVENTS):
            self.events.append(event)

    def run(self, case: Case) -> Finding | None:
        assert isinstance(case, File)
        self.reached[case.name] += 1
        if case.apart:
            return self._apart(case)
        *lines, call = case.program.splitlines()
        namespace: dict[str, Any] = {}
        exec("\n".join(lines), namespace)
        code = compile(call, "<case>", "eval")
        data = exported()  # made before the events are recorded
        error = None
        self.events, self.watching = [], True
        try:
            eval(code, namespace)
        except BaseException as raised:
            error = raised
        finally:
            self.watching = False
        executed = [event for event in self.events if event != "exec"] or self.events[1:]  # the first is eval itself
        if executed:
            return Finding(case.name, f"reading executes something: {executed}", case.program, "executed")
        if error is not None and type(error) is not ValueError:
            message = f"reading raises {type(error).__name__}: {str(error)[:300]} ({len(data)} bytes)"
            return Finding(case.name, message, case.program, type(error).__name__)
        self.reached["refused" if error else "read"] += 1
        return None

    def _apart(self, case: File) -> Finding | None:
        command = [sys.executable, "-W", "ignore", "-c", case.program]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=SECONDS, env=os.environ
            )
        except subprocess.TimeoutExpired:
            self.reached["compiler hangs"] += 1
            return None
        if done.returncode < 0 or "Fatal Python error" in done.stderr:
            self.reached["compiler crashes"] += 1
            return None
        error = error_of(done.stderr)
        if done.returncode and not _REFUSALS.match(error):
            return Finding(case.name, f"the call ends in {error[:300]}", case.program, error.partition(":")[0])
        return None

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        return [", ".join(f"{name}: {count}" for name, count in sorted(reached.items()))]


def error_of(trace: str) -> str:
    """The first line of the error that ended a process; otherwise the last line."""
    lines = trace.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if re.match(r"[A-Za-z_][\w.]*(:|$)", line)), lines[-1])


def _changed_header(rng: random.Random) -> str:
    """The header with a few of its parts replaced or removed."""
    header = json.loads(header_of(exported()))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = list(_places(header))
        container, key = rng.choice(places)
        if rng.random() < 0.15 and container:
            del container[key]
        else:
            container[key] = rng.choice([*_JSON, rng.choice(places)[0]])
        if _endless(header):
            return "[" * 100000
    return json.dumps(header)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(items):
        yield value, key
        yield from _places(part)


def _endless(value: Any, above: tuple[int, ...] = ()) -> bool:
    if not isinstance(value, dict | list):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return id(value) in above or any(_endless(part, (*above, id(value))) for part in parts)


def _changed_bytes(rng: random.Random) -> list[tuple[int, int, bytes]]:
    size = len(exported()) - 32
    changes = []
    for _ in range(rng.choice([1, 1, 2, 5])):
        start = rng.choice([rng.randrange(size), rng.randrange(len(_MAGIC) + 12), rng.randrange(400)])
        stop = min(size, start + rng.choice([0, 1, 1, 8, 1000]))
        changes.append((start, stop, rng.choice([bytes([rng.randrange(256)]), rng.choice(_SPANS)])))
    return changes
