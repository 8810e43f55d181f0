"""Installs packages written for JAX in two environments, with jax and with primax, and compares their results.

In a separate folder it makes an environment with jax, and one with primax and without jax. Both get the
released wheels of the packages, without dependencies, and the requirements of these besides JAX. For each package it
runs

- the program of this folder with the package's name, in both, and compares the numbers that it prints;
- a sample of the tests of the package's sdist with jax, and those that pass there with `primax as-jax`.

    python tests/ecosystem/run.py optax chex --seconds 180
    python tests/ecosystem/run.py --checkout ../equinox --checkout ../lineax
    python tests/ecosystem/run.py --resume
    python tests/ecosystem/run.py --table

Many sdists have no tests. With `--checkout` the program installs a package from a folder with its sources, such as a
clone of its repository, and runs the tests in that folder, with the options that the folder gives pytest. The package
stays installed in the environments: choose another `--folder` to keep it apart.

Results are stored in the folder at once, a file for each package, and written to docs/reference/ecosystem.md. The
results of tests with jax are stored, too, and used again as long as the package, jax, the seed and the seconds are the
same;
`--resume` skips packages that have results with this primax. Limits are of the processor's time, so other programs on
the machine change nothing. Several processes may share the packages, with `--prepared` from the second on.
"""

from __future__ import annotations

import argparse
import ast
import configparser
import dataclasses
import hashlib
import json
import math
import os
import re
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
PAGE = ROOT / "docs" / "reference" / "ecosystem.md"
DATA = tomllib.loads((HERE / "packages.toml").read_text(encoding="utf-8"))
PACKAGES: dict[str, dict[str, Any]] = DATA["package"]
JAX, PRIMAX = "jax", "primax"
TOLERANCE = 1e-4
COLLECTION = 240  # seconds to collect the tests of a package, besides those to run them
PROGRAM = 300  # seconds
WAITING = 10  # the limit of a process by the clock, in multiples of its limit of the processor's time
BUILD_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
TEST_FILES = ("test_*.py", "*_test.py")
USAGE_ERROR = 4  # the exit status of pytest for an option that it does not know


class CheckoutError(ValueError):
    """A folder that cannot be tested as the sources of a package."""


@dataclasses.dataclass(frozen=True)
class Checkout:
    """A folder with the sources of a package and its tests.

    Args:
        folder: The folder.
        name: The name under which the package is installed, as in its metadata.
        tests: The files and folders with tests, relative to the folder.
    """

    folder: Path
    name: str
    tests: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> Checkout:
        """Find the package and its tests in a folder.

        Raises:
            CheckoutError: The folder has no package or no tests.
        """
        if not folder.is_dir():
            raise CheckoutError(f"--checkout must be a folder with the sources of a package, got {str(folder)!r}")
        folder = folder.resolve()
        name = package_name(folder)
        tests = tuple(PACKAGES.get(name, {}).get("checkout_tests", ())) or found_tests(folder)
        absent = [each for each in tests if not (folder / each).exists()]
        if absent or not tests:
            where = ", ".join(absent) if absent else f"tests/, test/, {', '.join(TEST_FILES)}"
            raise CheckoutError(f"--checkout: {str(folder)!r} has no tests of {name}; sought {where}")
        return cls(folder, name, tests)

    def state(self) -> str:
        """What identifies the sources: the commit, if the folder is a clone, else the times of the files."""
        command = ["git", "-C", str(self.folder), "describe", "--always", "--dirty", "--tags"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
        return str(max(path.stat().st_mtime_ns for path in self.folder.rglob("*.py")))


def package_name(folder: Path) -> str:
    """The name of the package whose sources a folder has, in lower case and with hyphens."""
    name = ""
    if (path := folder / "pyproject.toml").exists():
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
        name = settings.get("project", {}).get("name") or settings.get("tool", {}).get("poetry", {}).get("name", "")
    if not name and (path := folder / "setup.cfg").exists():
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path, encoding="utf-8")
        name = parser.get("metadata", "name", fallback="")
    if not name and (path := folder / "setup.py").exists():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "name" and isinstance(node.value, ast.Constant):
                name = str(node.value.value)
                break
    if not name:
        raise CheckoutError(
            f"--checkout: {str(folder)!r} has no package: none of {', '.join(BUILD_FILES)} in it gives a name. "
            "Give the folder that pip can install"
        )
    return re.sub(r"[-_.]+", "-", name).lower()


def found_tests(folder: Path) -> tuple[str, ...]:
    """The folders with tests of a package, relative to the folder of its sources.

    These are `tests` and `test` if there are such, otherwise the folders beside them that have files of tests.
    """
    with_tests = {path.relative_to(folder).parts for pattern in TEST_FILES for path in folder.rglob(pattern)}
    tops = {parts[0] for parts in with_tests if not parts[0].startswith((".", "build", "dist", "docs", "examples"))}
    return tuple(sorted(tops & {"test", "tests"} or tops))


class Environments:
    """The two environments, and the packages in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkouts: dict[str, Checkout] = {}

    def install_checkout(self, checkout: Checkout) -> None:
        """Install the package of a checkout in both environments, in place of its release."""
        for which in (JAX, PRIMAX):
            try:
                self.pip(which, "install", "--no-deps", "--force-reinstall", str(checkout.folder))
            except subprocess.CalledProcessError as error:
                raise CheckoutError(f"--checkout: pip could not install {str(checkout.folder)!r}") from error
        self.checkouts[checkout.name] = checkout
        absent = self.absent_requirements(checkout.name)
        if absent:
            print(
                f"{checkout.name} requires {', '.join(absent)}, which the environments do not have; "
                "name them in packages.toml, in `needs`, or in `needs_alone` if they would bring jax",
                file=sys.stderr,
            )

    def absent_requirements(self, name: str) -> list[str]:
        """The requirements of a package, without those of its extras, that are not installed beside primax."""
        program = (
            "import importlib.metadata as m, re, sys\n"
            "have = {re.sub('[-_.]+', '-', d.name).lower() for d in m.distributions()}\n"
            "asked = [r for r in m.requires(sys.argv[1]) or () if 'extra ==' not in r and 'python_version' not in r]\n"
            "names = {re.sub('[-_.]+', '-', re.match(r'[\\w.-]+', r)[0]).lower() for r in asked}\n"
            "print(*sorted(names - have - {'jax', 'jaxlib'}))"
        )
        done = subprocess.run([self.python(PRIMAX), "-c", program, name], capture_output=True, text=True, check=True)
        return done.stdout.split()

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
        """The checkout of a package, or its unpacked sdist; None if it has none."""
        if name in self.checkouts:
            return self.checkouts[name].folder
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
    checkout, entry = at.checkouts.get(name), PACKAGES.get(name, {})
    mode = entry.get("mode", "prepend" if checkout else "importlib")
    options = ["-q", "--continue-on-collection-errors", f"--import-mode={mode}"]
    options += [] if checkout else ["-o", "addopts="]
    options += ["-p", "sampling", "-p", "no:cacheprovider", "-p", "no:randomly"]
    skipped = [f"--ignore-glob={pattern}" for pattern in entry.get("ignore", ())]
    tests = checkout.tests if checkout else entry["tests"]
    variables = entry.get("environment", {}) | settings(
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
    if process.returncode == USAGE_ERROR:
        words = out.with_suffix(".log").read_text(encoding="utf-8").strip().splitlines()
        raise CheckoutError(f"pytest does not run the tests of {name} with {which}: {' '.join(words[-3:])}")
    return out


def tests_with_jax(at: Environments, name: str, seconds: int, seed: int) -> list[str]:
    """The tests of a sample that pass with jax, in the order in which they ran; stored for later runs."""
    kept = at.folder / "results" / f"{name}-jax-passed.json"
    asked = {"version": at.version(name), "jax": at.version(JAX), "seed": seed, "seconds": seconds}
    if checkout := at.checkouts.get(name):
        asked |= {"checkout": checkout.state(), "tests": list(checkout.tests)}
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
    if name not in at.checkouts and (not PACKAGES[name].get("tests") or at.sources(name) is None):
        return {}
    passed = tests_with_jax(at, name, seconds, seed)
    if not passed:
        return {"passed on jax": 0, "reached": 0, "failed": {}, "collected": 0}
    only = at.folder / "results" / f"{name}-sample.txt"
    only.write_text("\n".join(passed), encoding="utf-8")
    ours = outcomes(run_tests(at, name, PRIMAX, 2 * seconds, seed, only))
    # Tests that skip themselves require a newer release of jax than the one that primax follows.
    reached = [test for test in passed if ours.get(test, ("skipped",))[0] != "skipped"]
    reached = reached if ours else passed
    failed = {
        test: ours.get(test, ("", "not collected"))[1] for test in reached if ours.get(test, ("",))[0] != "passed"
    }
    return {
        "passed on jax": len(passed),
        "reached": len(reached),
        "failed": failed,
        "collected": number_collected(at, name),
    }


def number_collected(at: Environments, name: str) -> int:
    """How many tests of a package there are, of which a run with jax took a sample."""
    path = at.folder / "results" / f"{name}-{JAX}.jsonl"
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return next((int(entry["text"]) for entry in lines if entry["outcome"] == "collected"), 0)


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


ROW = re.compile(
    r"^\| (?P<name>[\w-]+)(?: \S+)? \| (?P<program>[^|]*) \| (?P<share>[^|]*) \| (?P<reason>[^|]*) \|$", re.MULTILINE
)
SHARE = re.compile(r"(\d+) of (\d+) \(")


def page(found: dict[str, dict[str, Any]], before: str) -> str:
    """The text of the page of documentation.

    Args:
        found: the results of packages by name, with those of a checkout as `checkout`.
        before: the page as it is; the rows of packages without results are kept.
    """
    kept = {row["name"]: _with_reason(row) for row in ROW.finditer(before) if row["name"] in PACKAGES}
    rows = [
        row_of(name, found[name])
        if name in found
        else kept.get(name)
        or f"| {name} | not run | not run | {PACKAGES[name].get('why', PACKAGES[name].get('note', ''))} |"
        for name in PACKAGES
    ]
    return DATA["text"].format(rows="\n".join(rows), **numbers(rows, found, before))


def _with_reason(row: re.Match[str]) -> str:
    """A row of the page with the reason that the table of packages has now."""
    package = PACKAGES[row["name"]]
    complete = "(100.0 %)" in row["share"] and row["program"] == "equal"
    reason = package.get("note", "") if complete or "why" not in package else package["why"]
    return f"{row[0][: row.start('reason') - row.start()]}{reason} |"


def row_of(name: str, entry: dict[str, Any]) -> str:
    """The row of a package in the table of the page."""
    package = PACKAGES.get(name, {})
    checkout = None if entry["tests"] else entry.get("checkout")
    tests, why = (checkout or entry)["tests"], package.get("why", "")
    if not package.get("tests") and not checkout:
        share = "the sdist has none"
    elif not tests:
        share = "not run"
        why = why or package.get("note", "")
    elif not tests["reached"]:
        share = "none passes with jax"
    else:
        good = tests["reached"] - len(tests["failed"])
        share = f"{good} of {tests['reached']} ({100 * good / tests['reached']:.1f} %)"
        if checkout:
            share += f" of the repository's {tests['collected']}, in {checkout['seconds']} s"
        if good == tests["reached"] and entry["program"] == "equal":
            why = package.get("note", "")
    return f"| {name} {(checkout or entry)['version']} | {entry['program']} | {share} | {why} |"


def numbers(rows: Sequence[str], found: dict[str, dict[str, Any]], before: str) -> dict[str, Any]:
    """Numbers for the page: of all tests and packages, and of the run."""
    parts = [row for text in rows if (row := ROW.match(text))]
    shares = [tuple(map(int, match.groups())) for row in parts if (match := SHARE.match(row["share"]))]
    good, reached = sum(share[0] for share in shares), sum(share[1] for share in shares)
    programs = [row["program"] for row in parts if row["program"] not in ("none", "not run")]
    entry = next((each for each in found.values() if not each.get("checkout")), None)
    earlier = re.search(r"with (jax [\d.]+) and(?s:.*)the seed (\d+) and (\d+) seconds", before)
    release, seed, seconds = (
        (entry["jax"], entry["seed"], entry["seconds"]) if entry else earlier.groups() if earlier else ("jax", 0, 0)
    )
    same = len({each["primax"] for each in found.values()}) == 1 and len(found) == len(PACKAGES)
    return {
        "reached": reached,
        "good": good,
        "share": f"{100 * good / max(reached, 1):.1f}",
        "equal": programs.count("equal"),
        "programs": len(programs),
        "tested": sum(share[1] > 0 for share in shares),
        "release": release,
        "seed": seed,
        "seconds": seconds,
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


def try_and_store(at: Environments, name: str, options: argparse.Namespace) -> None:
    """Store the results of one package, and print a summary."""
    checkout = at.checkouts.get(name)
    kept = at.folder / "results" / (f"{name}-checkout.json" if checkout else f"{name}.json")
    if options.resume and kept.exists():
        entry = json.loads(kept.read_text(encoding="utf-8"))
        asked = fingerprint(at), options.seed, options.seconds, checkout and checkout.state()
        if (entry["primax"], entry["seed"], entry["seconds"], entry.get("state")) == asked:
            return
    entry = try_package(at, name, options)
    if checkout:
        entry["state"] = checkout.state()
    kept.write_text(json.dumps(entry, indent=1), encoding="utf-8")
    failed = Counter(text[:110] for text in entry["tests"].get("failed", {}).values())
    tests = f"{len(entry['tests'].get('failed', {}))} of {entry['tests'].get('reached', 0)} tests fail"
    print(f"{name}: {entry['program']}; {tests}", *failed.most_common(12), sep="\n  ", flush=True)


def stored(results: Path, name: str) -> dict[str, Any] | None:
    """The stored results of one package, those of a checkout as `checkout`; None if there are none."""
    of_release, of_checkout = (
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        for path in (results / f"{name}.json", results / f"{name}-checkout.json")
    )
    if of_checkout is None:
        return of_release
    return {**(of_release or {**of_checkout, "tests": {}}), "checkout": of_checkout}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="PACKAGE", default=[])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "ecosystem")
    parser.add_argument(
        "--checkout",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="the sources of a package, whose tests are run in place of those of the sdist; may be repeated",
    )
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
    try:
        checkouts = [Checkout.of(folder) for folder in options.checkout]
        if not options.table:
            if not options.prepared:
                at.prepare(list(PACKAGES), options.python)
            for checkout in checkouts:
                at.install_checkout(checkout)
            for name in dict.fromkeys([*options.names, *(each.name for each in checkouts)]) or PACKAGES:
                try_and_store(at, name, options)
    except CheckoutError as error:
        parser.error(str(error))
    found = {name: entry for name in PACKAGES if (entry := stored(results, name))}
    PAGE.write_text(page(found, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name, entry in found.items():
        tests = entry["tests"] or entry.get("checkout", {}).get("tests")
        if tests and len(tests["failed"]) > 0.02 * tests["reached"] and not PACKAGES[name].get("why"):
            print(f"{name}: packages.toml must say why less than 98 % pass", file=sys.stderr)


if __name__ == "__main__":
    main()
