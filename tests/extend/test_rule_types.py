"""mypy accepts a right package of an author, and tells the mistakes of a wrong one at their lines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

import primax as px
from primax.extend import commands

pytest.importorskip("mypy")

RIGHT = """
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.interpreters import ad, batching
from primax.extend.rule_types import Table


def impl(x: Any, y: Any, *, scale: float) -> Any:
    return pnp.sin(x) * y * scale


def types(x: core.ShapedArray, y: core.ShapedArray, *, scale: float) -> core.ShapedArray:
    return core.ShapedArray(x.shape, x.dtype)


def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, scale: float) -> tuple[Any, Any]:
    return p.bind(*primals, scale=scale), tangents[0]


def transpose(ct: Any, x: Any, y: Any, *, scale: float) -> list[Any]:
    return [None, ct]


def batch(args: Sequence[Any], dims: Sequence[int | None], *, scale: float) -> tuple[Any, int | None]:
    return p.bind(*args, scale=scale), dims[0]


def axis_batch(axis: Any, args: Sequence[Any], dims: Any) -> tuple[Any, int]:
    return q.bind(*args), 0


def lowering(ctx: Any, x: Any, y: Any, *, scale: float) -> list[Any]:
    return [x]


p: core.Primitive = define_primitive(
    "p", impl=impl, abstract_eval=types, jvp=jvp, transpose=transpose, batch=batch, lowering=lowering, linear=(1,)
)
q = define_primitive(
    "q",
    impl=lambda x: x,
    abstract_eval=derive.from_impl,
    jvp=derive.by(ad.standard_jvp, lambda t, x: t),
    batch=derive.by(batching.vectorized),
    lowering={"cuda": lowering, None: derive.from_impl},
    parameters={"k": int},
)
RULES: Table = {
    p: {"impl": impl, "abstract_eval": types, "jvp": jvp, "unsupported": {"transpose": "why"}, "sharding": None},
    q: {"batch": batching.vectorized(q), "axis_batch": axis_batch, "lowering": {None: lowering, "cuda": lowering}},
}
"""

WRONG = """
from __future__ import annotations

from typing import Any

from primax.extend import core, define_primitive
from primax.extend.rule_types import Rules, Table


def jvp_of_one(primals: Any) -> tuple[Any, Any]:
    return primals, primals


def jvp_without_primal(primals: Any, tangents: Any) -> float:
    return 0.0


def batch_without_dim(args: Any, dims: Any, *, k: int) -> list[Any]:
    return []


def transpose_of_one(ct: Any, x: Any) -> float:
    return 0.0


def types_of_shape(x: core.ShapedArray) -> tuple[int, ...]:
    return x.shape


def without_arguments() -> list[Any]:
    return []


define_primitive("a", jvp=jvp_of_one)  # E
define_primitive("b", jvp=jvp_without_primal)  # E
define_primitive("c", batch=batch_without_dim)  # E
define_primitive("d", transpose=transpose_of_one)  # E
define_primitive("e", abstract_eval=types_of_shape)  # E
define_primitive("f", lowering=without_arguments)  # E
define_primitive("g", linear="x y")  # E
define_primitive("h", vjp=(jvp_of_one,))  # E
define_primitive("i", elementwise="yes")  # E
define_primitive(3)  # E
p = core.Primitive("p")
one: Rules = {"jpv": jvp_of_one}  # E
two: Rules = {"jvp": jvp_of_one}  # E
three: Rules = {"axis_batch": batch_without_dim}  # E
table: Table = {"p": {}}  # E
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The lines of both packages at which mypy finds something wrong."""
    folder = tmp_path_factory.mktemp("typed")
    for name, source in (("right", RIGHT), ("wrong", WRONG)):
        (folder / f"{name}.py").write_text(source.lstrip(), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--follow-imports=silent", "--config-file=", "--disallow-untyped-defs"),
            *("--cache-dir", str(Path(ROOT) / ".mypy_cache"), "right.py", "wrong.py"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, list[int]] = {"right": [], "wrong": []}
    for name, line in re.findall(r"^(right|wrong)\.py:(\d+): error", done.stdout, re.MULTILINE):
        found[name].append(int(line))
    return found


def test_a_right_package_is_accepted(complaints: dict[str, list[int]]) -> None:
    assert complaints["right"] == []


def test_each_mistake_of_a_wrong_package_is_told_at_its_line(complaints: dict[str, list[int]]) -> None:
    lines = WRONG.strip().splitlines()
    assert complaints["wrong"] == [i for i, line in enumerate(lines, 1) if line.endswith("# E")]


def test_the_packages_that_primax_new_writes_are_typed(tmp_path: Path) -> None:
    sources = []
    for kind in ("elementwise", "linear", "higher-order", "reduction", "ffi", "random"):
        name = f"typed-{kind}"
        assert commands.main(["new", name, "--kind", kind, "--into", str(tmp_path)], version=px.__version__) == 0
        sources.append(str(tmp_path / name / "src" / name.replace("-", "_")))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file="),
            *("--cache-dir", str(Path(ROOT) / ".mypy_cache"), *sources),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
