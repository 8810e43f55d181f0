"""The applications among the examples run at small size, as scripts, and find what they should."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from packages import run

from primax.porting.lookup import ported_path
from primax.porting.names import uses_of

EXAMPLES = ROOT / "examples"


def printed(folder: Path, name: str, *options: str) -> str:
    return run([sys.executable, "-W", "error", EXAMPLES / name, *options], folder, PYTHONPATH="").stdout


def numbers(pattern: str, text: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, text)]


def test_the_rates_of_hares_and_lynxes_are_found(tmp_path: Path) -> None:
    out = printed(tmp_path, "predator_prey.py", "--steps", "60")
    first, *_, last = numbers(r"mean squared error of logarithms ([\d.]+)", out)
    assert last < first / 5
    assert numbers(r"a cycle takes about ([\d.]+) years", out)[0] == pytest.approx(9.6, abs=0.5)


def test_the_gaussian_process_finds_the_noise_and_the_function(tmp_path: Path) -> None:
    out = printed(tmp_path, "gaussian_process.py", "--points", "60")
    costs = numbers(r"negative log likelihood +(-?[\d.]+)", out)
    assert costs == sorted(costs, reverse=True)
    assert numbers(r"noise ([\d.]+) \(true noise", out)[0] == pytest.approx(0.15, abs=0.06)
    rows = re.findall(r"^ *-?[\d.]+ +(-?[\d.]+) +(-?[\d.]+) ± ([\d.]+)$", out, re.MULTILINE)
    assert len(rows) == 9
    assert all(abs(float(truth) - float(mean)) < 0.1 + 1.5 * float(bound) for truth, mean, bound in rows)


def test_chains_of_hmc_agree_and_judge_well(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    out = printed(tmp_path, "hmc.py", "--samples", "60")
    assert numbers(r"([\d.]+)% of 142 test tumours", out)[0] > 94
    assert 50 < numbers(r"(\d+)% accepted", out)[0] <= 100


def test_references_keep_the_state_of_layers_streams_and_generators(tmp_path: Path) -> None:
    out = printed(tmp_path, "mutable_state.py")
    assert "running mean [ 1. -3.] deviation [2.  0.5]" in out
    assert "last four [2. 3. 4. 5.]" in out
    total, whole = (part.split() for part in re.findall(r"\[([-\d. ]+)\]", out.splitlines()[2]))
    assert list(map(float, total)) == pytest.approx(list(map(float, whole)), abs=0.02)
    assert numbers(r"norm of the layer ([\d.]+)", out)[0] == pytest.approx(8**0.5, abs=0.05)
    assert "draws differ True one for each row 3" in out


def test_a_foreign_function_runs_on_each_devices_part(tmp_path: Path) -> None:
    out = printed(tmp_path, "sharded_primitive.py")
    assert "each device calls lapack_spotrf_ffi, which returns f32[2,3,3]" in out
    assert out.endswith("ok\n")
    assert "BAD" not in out


@pytest.mark.parametrize(
    "name, steps, falls, processes",
    [
        ("many_devices", 20, 0.5, 2),
        ("transformer", 5, 0.8, 1),
        pytest.param("many_devices", 20, 0.5, 1, marks=pytest.mark.slow),
        pytest.param("transformer", 5, 0.8, 2, marks=pytest.mark.slow),
    ],
)
def test_networks_learn_the_same_on_many_devices_and_in_several_processes(
    tmp_path: Path, name: str, steps: int, falls: float, processes: int
) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    out = printed(tmp_path, f"{name}.py", "--steps", str(steps), "--processes", str(processes))
    apart = numbers(r"largest difference from one device (\S+)", out)
    assert len(apart) == 3
    assert all(far < 1e-5 for far in apart)
    starts, ends = numbers(r"loss ([\d.]+) ->", out), numbers(r"-> ([\d.]+),", out)
    assert all(end < falls * start for start, end in zip(starts, ends, strict=True))
    assert f"8 devices in {processes} process(es), Mesh('data': 4, 'model': 2" in out
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["predator_prey.py", "gaussian_process.py", "hmc.py"])
def test_an_application_is_one_short_file(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 80


FOR_JAX = ["flax_nnx.py", "launches.py", "neural_ode.py"]


@pytest.mark.parametrize("name", FOR_JAX)
def test_what_programs_for_jax_use_is_there(name: str) -> None:
    text = (EXAMPLES / "for_jax" / name).read_text(encoding="utf-8")
    paths = {use.path for use in uses_of(ast.parse(text))}
    assert len(paths) > 2
    assert sorted(path for path in paths if path != "jax" and ported_path(path) is None) == []


def test_packages_for_jax_are_named_apart_from_what_they_need() -> None:
    """So that installing them brings no jax."""
    packages, others = (
        set(re.findall(r"^[\w-]+", (EXAMPLES / "for_jax" / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("packages.txt", "requirements.txt")
    )
    imported = set()
    for name in FOR_JAX:
        for node in ast.walk(ast.parse((EXAMPLES / "for_jax" / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.partition(".")[0])
    assert not packages & others
    assert imported - packages - set(sys.stdlib_module_names) - {"jax", "numpy"} == {"matplotlib", "sklearn"}
    assert {"matplotlib", "scikit-learn"} <= others


@pytest.mark.parametrize("page, name", [("flax.md", "flax_nnx.py"), ("diffrax.md", "neural_ode.py")])
def test_pages_show_whole_programs_for_jax(page: str, name: str) -> None:
    shown = (ROOT / "docs" / "gallery" / page).read_text(encoding="utf-8")
    program = (EXAMPLES / "for_jax" / name).read_text(encoding="utf-8")
    assert f'```py title="{name}"\n{program}```\n' in shown


@pytest.mark.slow
def test_the_pictures_of_the_gallery_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = printed(tmp_path, "pictures.py", "--out", str(tmp_path / "drawn")).splitlines()
    assert {Path(path).name for path in drawn} <= {path.name for path in (ROOT / "docs/images/gallery").glob("*.svg")}
    assert all(Path(path).read_text(encoding="utf-8").count("<path") > 10 for path in drawn)
