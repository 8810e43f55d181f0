"""Run the same workloads on two modules, process by process in turn, and print each time and their ratio.

    python benchmarks/compare.py [--a primax] [--b jax] [--rounds 3] [--json FILE] [--page FILE] [NAME ...]

A side is a module, or PYTHON:MODULE for a module of another environment. Each workload runs in its own process. A
figure is the best of all rounds. The ratio is a / b: below 1, a is faster.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import page

WORKLOADS = Path(__file__).resolve().with_name("workloads.py")
SECONDS = 300


def workload_names() -> list[str]:
    """The names in the order of the file. The file is parsed, not run, because it imports the measured module."""
    return [
        node.name
        for node in ast.parse(WORKLOADS.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and "workload" in map(ast.unparse, node.decorator_list)
    ]


def measure(side: str, name: str) -> tuple[float | None, str]:
    """A figure and its unit, or None and the reason for its absence."""
    python, _, module = side.rpartition(":")
    env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "1", "JAX_PLATFORMS": "cpu"}
    command = [python or sys.executable, str(WORKLOADS), module, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no result in {SECONDS} s"
    if done.returncode != 0 or not done.stdout.strip():
        return None, (done.stderr.strip().splitlines() or ["no output"])[-1][:160]
    result = json.loads(done.stdout.splitlines()[-1])
    return result.get("value"), result.get("unit") or result["error"]


def compare(name: str, sides: dict[str, str], rounds: int) -> dict[str, Any]:
    """The best figure of each side, and their ratio where both have one."""
    best: dict[str, float | None] = dict.fromkeys(sides)
    notes = {}
    for _ in range(rounds):
        for key, side in sides.items():
            value, notes[key] = measure(side, name)
            figures = [figure for figure in (best[key], value) if figure is not None]
            best[key] = min(figures, default=None)
    a, b = best["a"], best["b"]
    ratio = a / b if a is not None and b else None
    note = " | ".join(f"{key}: {notes[key]}" for key in sides if best[key] is None) or notes["a"]
    return {"name": name, "a": a, "b": b, "ratio": ratio, "note": note}


def version(side: str) -> str:
    """The name and the version of a side, as `jax 0.10.2`."""
    python, _, module = side.rpartition(":")
    program = f"import {module}; print({module}.__version__)"
    done = subprocess.run([python or sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return f"{module} {done.stdout.strip()}"


def _cell(value: float | None, style: str) -> str:
    return "-" if value is None else format(value, style)


def main() -> None:
    """Print a row for each workload as soon as it is measured, and then the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", default="primax", help="[PYTHON:]MODULE, default primax")
    parser.add_argument("--b", default="jax", help="[PYTHON:]MODULE, default jax")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--page", type=Path, help="also write the page of the documentation to this file")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the workloads to run, default all")
    options = parser.parse_args()
    known = workload_names()
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no workload named {', '.join(unknown)}; there are {', '.join(known)}")
    print(f"{'workload':24s} {options.a[-12:]:>12} {options.b[-12:]:>12} {'ratio':>7}  unit")
    rows = []
    for name in options.names or known:
        row = compare(name, {"a": options.a, "b": options.b}, options.rounds)
        rows.append(row)
        cells = f"{_cell(row['a'], '.3e'):>12} {_cell(row['b'], '.3e'):>12} {_cell(row['ratio'], '.2f'):>7}"
        print(f"{name:24s} {cells}  {row['note']}", flush=True)
    logs = [math.log(row["ratio"]) for row in rows if row["ratio"]]
    if logs:
        print(f"geometric mean of {len(logs)} ratios: {math.exp(sum(logs) / len(logs)):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")

    if options.page:
        versions = {"a": version(options.a), "b": version(options.b)}
        page.write(options.page, rows, versions, options.rounds, len(known))


if __name__ == "__main__":
    main()
