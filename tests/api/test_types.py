"""Annotations say what public functions take and return; mypy and pyright find the mistakes in a user's program."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import untyped
from checkout import ROOT
from processes import HANG

# Marked lines have a mistake; no other line has one.
PROGRAM = """
from functools import partial
from typing import NamedTuple

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.typing import ArrayLike


class Params(NamedTuple):
    weights: px.Array
    bias: px.Array


def init(key: px.Array, sizes: tuple[int, int]) -> Params:
    one, two = px.random.split(key)
    return Params(px.random.normal(one, sizes), px.random.uniform(two, (sizes[1],)))


@px.jit
def predict(params: Params, x: px.Array) -> px.Array:
    return px.nn.relu(x @ params.weights + params.bias) * 0.5


@partial(px.checkpoint, policy=px.checkpoint_policies.dots_saveable)
def loss(params: Params, x: px.Array, y: px.Array) -> px.Array:
    return pnp.mean((predict(params, x) - y) ** 2, axis=0).sum()


@px.jit(static_argnums=1)
def powers(x: px.Array, count: int) -> px.Array:
    return pnp.stack([x**i for i in range(count)])


@px.custom_jvp
def clipped(x: px.Array) -> px.Array:
    return pnp.clip(x, -1.0, 1.0)


class Model:
    @px.jit
    def apply(self, x: px.Array, scale: float = 1.0) -> px.Array:
        return pnp.sin(x) * scale


def train(params: Params, x: px.Array, y: px.Array, steps: int) -> tuple[Params, px.Array]:
    def step(params: Params, _: None) -> tuple[Params, px.Array]:
        value, grads = px.value_and_grad(loss)(params, x, y)
        return Params(params.weights - 0.1 * grads.weights, params.bias - 0.1 * grads.bias), value

    return px.lax.scan(step, params, None, length=steps)


def norm(x: ArrayLike) -> px.Array:
    return pnp.sqrt(pnp.summ(pnp.square(x)))  # E: a misspelt name


params = init(px.random.key(0), (3, 2))
x, y = pnp.ones((4, 3)), pnp.zeros((4, 2), dtype="float32")
params, losses = train(params, x, y, 10)
predict(params, "x")  # E: an argument of another type, of a jitted function
powers(x, 2.5)  # E: a static argument of another type
Model().apply(x, scale="2")  # E: an argument of a jitted method
px.grad(loss)(params, x, y).wieghts  # E: a gradient has the type of the argument
px.vmap(clipped)(x, x)  # E: one argument too many, of a mapped function
total: int = px.lax.fori_loop(0, 3, lambda i, c: c + 1.0, x)  # E: the result of a loop is what it carries
pnp.zeros(3).at[0].sett(1.0)  # E: a misspelt method of an update
pnp.concatenate(1)  # E: no sequence of arrays
px.random.normal(px.random.key(1), shape="3").mean()  # E: a shape is integers
print(losses[-1], norm(np.ones(3)), clipped(x).shape, pnp.add(x, 1).dtype, px.jacfwd(clipped)(x[0]))
""".lstrip()


@pytest.fixture(scope="module")
def ends() -> list[untyped.Open]:
    return untyped.open_ends()


@pytest.mark.any_word_size
def test_parameters_of_public_functions_are_typed(ends: list[untyped.Open]) -> None:
    parameters = [str(end) for end in ends if end.parameter != "return"]
    assert 0 < len(parameters) <= 90, parameters


@pytest.mark.any_word_size
def test_public_functions_say_what_they_return(ends: list[untyped.Open]) -> None:
    results = [str(end) for end in ends if end.parameter == "return"]
    assert 0 < len(results) <= 60, results


@pytest.mark.any_word_size
def test_what_says_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Any, y: int | Any, z: Callable[..., Any], *args, **kwargs: object) -> Any: ...

    monkeypatch.setattr(untyped, "functions", lambda: [("module", "function", function)])
    assert [end.parameter for end in untyped.open_ends()] == ["x", "y", "args", "return"]


# Lambdas say no types: nothing is wrong with these.
LAMBDAS = """
# pyright: basic
import primax as px
import primax.numpy as pnp

x = pnp.ones(3)
print(px.vmap(px.grad(lambda x: x * 2 + pnp.sin(x)))(x).shape, px.jit(px.value_and_grad(lambda x: x["a"]))({"a": 1.0}))
print(px.grad(px.grad(lambda x: x.sum()))(1.0), px.hessian(lambda x: x**2)(x), px.jit(px.custom_jvp(lambda x: x))(x))
print(px.lax.scan(lambda c, x: (c + x, c * x), 0.0, x)[0].shape, px.lax.scan(lambda c, x: (c + x, None), x, x)[0].T)
print(px.lax.fori_loop(0, 3, lambda i, c: c + x[i], 0.0).shape, px.lax.map(lambda x: x * 2, x).shape)
print(px.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), (0, x))[1].shape)
print(px.lax.cond(True, lambda x: x, lambda x: -x, x), px.tree.map(lambda a, b: a + b, {"a": x}, {"a": x})["a"])
print(px.vjp(lambda x: x * 2, x)[1](x), px.jvp(lambda x: x * 2, (x,), (x,))[0].shape, px.linearize(lambda x: x, 1.0)[1])
print(px.vmap(lambda x, y: x * y, in_axes=(0, None))(x, 1.0), px.jit(lambda x, n: x * n, static_argnums=1)(x, 2))
print(px.jit(px.jvp, static_argnums=0)(pnp.sin, (x,), (x,)), px.eval_shape(lambda x: x, x), px.jit(pnp.cos)(x).shape)
""".lstrip()


def mistakes() -> list[int]:
    return [i for i, line in enumerate(PROGRAM.splitlines(), 1) if "# E: " in line]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "lambdas.py").write_text(LAMBDAS, encoding="utf-8")
    return path


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.mark.any_word_size
@pytest.mark.any_jaxlib
def test_mypy_finds_the_mistakes_of_a_program(program: Path) -> None:
    pytest.importorskip("mypy")
    cache = str(Path(ROOT) / ".mypy_cache")
    text = run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", cache, program.name, "lambdas.py"],
        program.parent,
    )
    found = re.findall(r"^(\w+)\.py:(\d+): error", text, re.MULTILINE)
    assert sorted({(name, int(line)) for name, line in found}) == [("program", line) for line in mistakes()], text


@pytest.mark.any_word_size
@pytest.mark.any_jaxlib
def test_pyright_finds_the_mistakes_of_a_program(program: Path) -> None:
    pytest.importorskip("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright runs on node, which is not on the path; it would be downloaded")
    options = {"typeCheckingMode": "strict", "include": [program.name, "lambdas.py"]}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    text = run([sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable], program.parent)
    found = json.loads(text[text.index("{") :])["generalDiagnostics"]
    places = {(Path(each["file"]).stem, each["range"]["start"]["line"] + 1) for each in found}
    assert sorted(places) == [("program", line) for line in mistakes()], text
