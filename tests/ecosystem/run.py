"""Installs packages written for JAX in two environments, with jax and with primax, and compares their results.

In a separate folder it makes an environment with jax, and one with primax and without jax. Both get the
released wheels of the packages, without dependencies, and the requirements of these besides JAX. For each package it
runs

- the program of this folder with the package's name, in both, and compares the numbers that it prints;
- a sample of the tests of the package's sdist with jax, and those that pass there with `primax as-jax`.

    python tests/ecosystem/run.py optax chex --seconds 180
    python tests/ecosystem/run.py --resume
    python tests/ecosystem/run.py --table

Results are stored in the folder at once, a file for each package, and written to docs/ecosystem.md. The results
of tests with jax are stored, too, and used again as long as the package, jax, the seed and the seconds are the same;
`--resume` skips packages that have results with this primax. Limits are of the processor's time, so other programs on
the machine change nothing. Several processes may share the packages, with `--prepared` from the second on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "ecosystem.md"
DATA = tomllib.loads((HERE / "packages.toml").read_text(encoding="utf-8"))
PACKAGES: dict[str, dict[str, Any]] = DATA["package"]
JAX, PRIMAX = "jax", "primax"
TOLERANCE = 1e-4
COLLECTION = 240  # seconds to collect the tests of a package, besides those to run them
PROGRAM = 300  # seconds
WAITING = 10  # the limit of a process by the clock, in multiples of its limit of the processor's time


class Environments:
    """The two environments, and the packages in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def python(self, which: str) -> str:
        """The interpreter of one environment."""
        return str(self.folder / which / "bin" / "python")

    def pip(self, which: str, *arguments: str) -> None:
        """Install something in one environment."""
        subprocess.run([self.python(which), "-m", "pip", "-q", *arguments], check=True)

    def prepare(self, names: Sequence[str], interpreter: str) -> None:
        """Make both environments, and install the packages in them, with the same jaxlib."""
        for which in (JAX, PRIMAX):
            if not Path(self.python(which)).exists():
                subprocess.run([interpreter, "-m", "venv", str(self.folder / which)], check=True)
        self.pip(JAX, "install", *DATA["needs"], DATA["jax"])
        releases = [f"{name}=={self.version(name)}" for name in ("jaxlib", "numpy", "ml_dtypes")]
        self.pip(PRIMAX, "install", *DATA["needs"], *releases, "pluggy")
        for which in (JAX, PRIMAX):
            self.pip(which, "install", "--no-deps", *DATA["needs_alone"], *names)
        self.pip(PRIMAX, "install", "--no-deps", "--force-reinstall", str(ROOT))
        found = subprocess.run([self.python(PRIMAX), "-c", "import jax"], capture_output=True, check=False)
        if found.returncode == 0:
            raise RuntimeError(f"{self.folder / PRIMAX} must not have jax: something that was installed has brought it")

    def version(self, name: str) -> str:
        """The installed version of a package."""
        program = f"import importlib.metadata; print(importlib.metadata.version({name!r}))"
        done = subprocess.run([self.python(JAX), "-c", program], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def sources(self, name: str) -> Path | None:
        """The unpacked sdist of a package; None if it has none."""
        folder = self.folder / "sdist"
        wanted = f"{name}=={self.version(name)}"
        command = ["download", "-q", "--no-deps", "--no-binary", name, "-d", str(folder), wanted]
        stem = name.replace("-", "_")
        found = sorted(folder.glob(f"{stem}-{self.version(name)}*.tar.gz"))
        if not found:
            subprocess.run([self.python(JAX), "-m", "pip", *command], check=False)
            found = [*folder.glob(f"{stem}-{self.version(name)}*.tar.gz")]
            found += folder.glob(f"{name}-{self.version(name)}*.tar.gz")
        if not found:
            return None
        unpacked = self.folder / "sources" / name
        if not unpacked.exists():
            with tarfile.open(found[-1]) as archive:
                archive.extractall(unpacked, filter="data")
        return next(path for path in unpacked.iterdir() if path.is_dir())

    def command(self, which: str, *arguments: str) -> list[str]:
        """A command line of Python in one environment in which `import jax` works."""
        words = [self.python(which)]
        if which == PRIMAX:
            words += ["-m", "primax", "as-jax", "--report", str(self.folder / "absent.txt")]
        return [*words, *arguments]


def newest_python() -> str:
    """An interpreter for the environments: the newest for which the packages are known to have wheels."""
    for name in ("python3.13", "python3.12"):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return path
    return sys.executable


def settings(**more: str) -> dict[str, str]:
    """The variables of the processes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "PRIMAX_", "XLA_"))}
    paths = os.pathsep.join([str(HERE)])
    return {**kept, "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths, **more}


def limited(seconds: int) -> Callable[[], None]:
    """A function to call in a new process, which limits its processor's time to that many seconds."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 10))


def outcomes(path: Path) -> dict[str, tuple[str, str]]:
    """The outcome of each test, the worst if there are several lines; "started" if the test did not end."""
    found: dict[str, tuple[str, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        entry = json.loads(line)
        if entry["test"] and found.get(entry["test"], ("started",))[0] in ("started", "passed"):
            found[entry["test"]] = entry["outcome"], entry["text"]
    return {
        test: (came, text or "the process ended in it" * (came == "started")) for test, (came, text) in found.items()
    }


def run_tests(at: Environments, name: str, which: str, seconds: int, seed: int, only: Path | None) -> Path:
    """Run tests of a package in one environment; returns the file of outcomes."""
    sources = at.sources(name)
    assert sources is not None
    out = at.folder / "results" / f"{name}-{which}.jsonl"
    out.unlink(missing_ok=True)
    more = {"ECOSYSTEM_ONLY": str(only)} if only else {}
    mode = PACKAGES[name].get("mode", "importlib")
    options = ["-q", "--continue-on-collection-errors", f"--import-mode={mode}", "-o", "addopts="]
    options += ["-p", "sampling", "-p", "no:cacheprovider", "-p", "no:randomly"]
    skipped = [f"--ignore-glob={pattern}" for pattern in PACKAGES[name].get("ignore", ())]
    tests = PACKAGES[name]["tests"]
    variables = PACKAGES[name].get("environment", {}) | settings(
        ECOSYSTEM_OUT=str(out), ECOSYSTEM_SECONDS=str(seconds), ECOSYSTEM_SEED=str(seed), **more
    )
    with out.with_suffix(".log").open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            at.command(which, "-m", "pytest", *options, *skipped, *tests),
            cwd=sources,
            env=variables,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limited(seconds + COLLECTION),
        )
        try:
            process.wait(WAITING * (seconds + COLLECTION))
        except subprocess.TimeoutExpired:
            file.write("\nstopped: it took too long\n")
            os.killpg(process.pid, signal.SIGKILL)  # including processes that the tests have started
            process.wait()
    return out


def tests_with_jax(at: Environments, name: str, seconds: int, seed: int) -> list[str]:
    """The tests of a sample that pass with jax, in the order in which they ran; stored for later runs."""
    kept = at.folder / "results" / f"{name}-jax-passed.json"
    asked = {"version": at.version(name), "jax": at.version(JAX), "seed": seed, "seconds": seconds}
    if kept.exists():
        entry = json.loads(kept.read_text(encoding="utf-8"))
        if entry["asked"] == asked:
            return list(entry["passed"])
    theirs = outcomes(run_tests(at, name, JAX, seconds, seed, None))
    passed = [test for test, (outcome, _) in theirs.items() if outcome == "passed"]
    kept.write_text(json.dumps({"asked": asked, "passed": passed}, indent=1), encoding="utf-8")
    return passed


def compare_tests(at: Environments, name: str, seconds: int, seed: int) -> dict[str, Any]:
    """Run a sample of tests with jax, and those that pass there with primax."""
    if not PACKAGES[name].get("tests") or at.sources(name) is None:
        return {}
    passed = tests_with_jax(at, name, seconds, seed)
    if not passed:
        return {"passed on jax": 0, "reached": 0, "failed": {}}
    only = at.folder / "results" / f"{name}-sample.txt"
    only.write_text("\n".join(passed), encoding="utf-8")
    ours = outcomes(run_tests(at, name, PRIMAX, 2 * seconds, seed, only))
    # Tests that skip themselves require a newer release of jax than the one that primax follows.
    reached = [test for test in passed if ours.get(test, ("skipped",))[0] != "skipped"]
    reached = reached if ours else passed
    failed = {
        test: ours.get(test, ("", "not collected"))[1] for test in reached if ours.get(test, ("",))[0] != "passed"
    }
    return {"passed on jax": len(passed), "reached": len(reached), "failed": failed}


def compare_program(at: Environments, name: str) -> str:
    """Run the program of a package in both environments; returns a text about the numbers that it prints."""
    program = HERE / "programs" / f"use_{name}.py".replace("-", "_")
    if not program.exists():
        return "none"
    printed = {}
    for which in (JAX, PRIMAX):
        try:
            done = subprocess.run(
                at.command(which, str(program)),
                env=settings(),
                capture_output=True,
                text=True,
                timeout=WAITING * PROGRAM,
                check=False,
                preexec_fn=limited(PROGRAM),
            )
        except subprocess.TimeoutExpired:
            return f"takes more than {WAITING * PROGRAM} s with {which}"
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no message"
            return f"fails with {which}: {last}"
        printed[which] = json.loads(done.stdout.strip().splitlines()[-1])
    differing = [key for key, value in printed[JAX].items() if not _close(value, printed[PRIMAX].get(key))]
    return f"differs: {', '.join(differing)}" if differing else "equal"


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def fingerprint(at: Environments) -> str:
    """A text that identifies the state of the installed primax."""
    digest = hashlib.sha256()
    for path in sorted((at.folder / PRIMAX).glob("lib/*/site-packages/primax/**/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def page(found: dict[str, dict[str, Any]]) -> str:
    """The text of the page of documentation."""
    rows = []
    for name in PACKAGES:
        if name not in found:
            rows.append(f"| {name} | not run | not run | {PACKAGES[name].get('why', PACKAGES[name].get('note', ''))} |")
            continue
        entry, why = found[name], PACKAGES[name].get("why", "")
        tests = entry["tests"]
        if not PACKAGES[name].get("tests"):
            share = "the sdist has none"
        elif not tests:
            share = "not run"
            why = why or PACKAGES[name].get("note", "")
        elif not tests["reached"]:
            share = "none passes with jax"
        else:
            good = tests["reached"] - len(tests["failed"])
            share = f"{good} of {tests['reached']} ({100 * good / tests['reached']:.1f} %)"
            if good == tests["reached"] and entry["program"] == "equal":
                why = PACKAGES[name].get("note", "")
        rows.append(f"| {name} {entry['version']} | {entry['program']} | {share} | {why} |")
    return DATA["text"].format(rows="\n".join(rows), **numbers(found))


def numbers(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Numbers for the page: of all tests and packages, and of the run."""
    tests = [entry["tests"] for entry in found.values() if entry["tests"]]
    reached = sum(each["reached"] for each in tests)
    good = reached - sum(len(each["failed"]) for each in tests)
    entry = next(iter(found.values()))
    same = len({each["primax"] for each in found.values()}) == 1
    return {
        "reached": reached,
        "good": good,
        "share": f"{100 * good / max(reached, 1):.1f}",
        "equal": sum(entry["program"] == "equal" for entry in found.values()),
        "programs": sum(entry["program"] != "none" for entry in found.values()),
        "tested": sum(each["reached"] > 0 for each in tests),
        "release": entry["jax"],
        "seed": entry["seed"],
        "seconds": entry["seconds"],
        "runs": "one run" if same else "several runs, of different states of primax",
    }


def try_package(at: Environments, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The results of one package; an error of the run itself is not a result, and reaches the caller."""
    program = compare_program(at, name)
    tests = compare_tests(at, name, options.seconds, options.seed)
    return {
        "version": at.version(name),
        "jax": f"jax {at.version(JAX)}",
        "primax": fingerprint(at),
        "seed": options.seed,
        "seconds": options.seconds,
        "program": program,
        "tests": tests,
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="PACKAGE", default=[])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "ecosystem")
    parser.add_argument("--seconds", type=int, default=60, help="for the tests of a package with jax, once found")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="leave alone what this primax has been tried on")
    parser.add_argument("--table", action="store_true", help="write the page from what has been found before")
    parser.add_argument("--python", default=newest_python(), help="the interpreter of the environments")
    parser.add_argument("--prepared", action="store_true", help="the environments are as they should be")
    options = parser.parse_args()
    at = Environments(options.folder.resolve())
    results = at.folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        if name not in PACKAGES:
            parser.error(f"PACKAGE must be one of {', '.join(PACKAGES)}, got {name!r}")
    if not options.table:
        if not options.prepared:
            at.prepare(list(PACKAGES), options.python)
        for name in options.names or PACKAGES:
            kept = results / f"{name}.json"
            if options.resume and kept.exists():
                entry = json.loads(kept.read_text(encoding="utf-8"))
                if (entry["primax"], entry["seed"], entry["seconds"]) == (
                    fingerprint(at),
                    options.seed,
                    options.seconds,
                ):
                    continue
            entry = try_package(at, name, options)
            kept.write_text(json.dumps(entry, indent=1), encoding="utf-8")
            failed = Counter(text[:110] for text in entry["tests"].get("failed", {}).values())
            tests = f"{len(entry['tests'].get('failed', {}))} of {entry['tests'].get('reached', 0)} tests fail"
            print(f"{name}: {entry['program']}; {tests}", *failed.most_common(12), sep="\n  ", flush=True)
    found = {}
    for name in PACKAGES:
        if (kept := results / f"{name}.json").exists():
            found[name] = json.loads(kept.read_text(encoding="utf-8"))
    PAGE.write_text(page(found), encoding="utf-8")
    for name, entry in found.items():
        tests = entry["tests"]
        if tests and len(tests["failed"]) > 0.02 * tests["reached"] and not PACKAGES[name].get("why"):
            print(f"{name}: packages.toml must say why less than 98 % pass", file=sys.stderr)


if __name__ == "__main__":
    main()
