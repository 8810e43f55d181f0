"""The page of measured performance, from the rows of compare.py: `make bench` writes docs/gallery/performance.md."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from pathlib import Path
from typing import Any

TEXT = """# Performance

`make bench` writes this page. It runs the workloads of [benchmarks/workloads.py](../../benchmarks/workloads.py) on
{a} and on {b} in turn, each in a process of its own. A figure is the best of {rounds} rounds, each of several
repetitions. The ratio is the time of {first} by that of {second}: below 1, {first} is faster.

| | |
|---|---|
| date | {date} |
| machine | {machine} |
| load of the machine at the end | {load} |
| Python | {python} |
| workloads | {measured} of {count} |
| geometric mean of the ratios | {mean} |
| ratios above 1.05 | {above} |

{table}

A call of a compiled function does its work in XLA, which both libraries share, so workloads that compute (`mlp_step`,
`convnet_step`, `conv_3d`) differ little. Workloads of `trace`, `lower`, `eager` and `jit_call` measure Python code. A
load of more than 1 comes from other programs, which disturb the figures.

## Repeat it

On a machine that does nothing else:

```text
make bench
.venv/bin/python benchmarks/compare.py jit_call_1arg eager_add        # some of the workloads, without the page
.venv/bin/python benchmarks/compare.py --a env/bin/python:primax      # a module of another environment
```

[What a call costs](../guide/performance.md) explains where the time of a program is spent, and
[measuring](../guide/measuring.md) how to measure your own.

## History

A run of all workloads adds a row.

| date | versions | geometric mean of the ratios | largest ratio |
|---|---|---|---|
{history}
Next: [conformance](conformance.md).
"""


def machine() -> str:
    """The processor and the number of cores that this process may use."""
    names = []
    if (info := Path("/proc/cpuinfo")).exists():
        names = re.findall(r"^model name\s*: (.*)$", info.read_text(encoding="utf-8"), re.MULTILINE)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.machine()}, {count} cores, {platform.system()}"


def amount(value: float | None, note: str) -> str:
    """A figure with three digits, as `5.19 µs`."""
    if value is None:
        return "-"
    if not re.match(r"s\b", note):
        return f"{value:.3g}"
    unit, size = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if value >= s), ("µs", 1e-6))
    return f"{value / size:.3g} {unit}"


def measured(note: str) -> str:
    """What a note says about the figure, as `a call` for `s/call`."""
    what = re.sub(r"^s\b", "", note).strip()
    return re.sub(r"^/ ?", "per ", what) or "seconds"


def write(path: Path, rows: list[dict[str, Any]], versions: dict[str, str], rounds: int, count: int) -> None:
    """Write the page.

    Args:
      path: the page; its history is kept.
      rows: what compare.py has measured.
      versions: the name and version of each side, under `a` and `b`.
      rounds: the number of rounds.
      count: the number of workloads that there are.
    """
    ratios = {row["name"]: row["ratio"] for row in rows if row["ratio"]}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios)) if ratios else math.nan
    first, second = (versions[side].split()[0] for side in "ab")
    table = [f"| workload | figure | {first} | {second} | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        note = row["note"]
        cells = [
            f"[{row['name']}](../../benchmarks/workloads.py#{row['name']})",
            measured(note),
            amount(row["a"], note),
            amount(row["b"], note),
            f"{row['ratio']:.2f}" if row["ratio"] else "-",
        ]
        table.append(f"| {' | '.join(cells)} |")
    above = [f"{name} ({ratio:.2f})" for name, ratio in ratios.items() if ratio > 1.05]
    old = path.read_text(encoding="utf-8").partition("## History")[2] if path.exists() else ""
    history = re.findall(r"^\| \d{4}-.*$", old, re.MULTILINE)
    date = time.strftime("%Y-%m-%d")
    if len(rows) == count and ratios:
        worst = max(ratios, key=lambda name: ratios[name])
        history.append(
            f"| {date} | {versions['a']}, {versions['b']} | {mean:.3f} | {ratios[worst]:.2f}, of `{worst}` |"
        )
    text = TEXT.format(
        **versions,
        first=first,
        second=second,
        rounds=rounds,
        date=date,
        machine=machine(),
        load=f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
        python=platform.python_version(),
        measured=len(ratios),
        count=count,
        mean=f"{mean:.3f}",
        above=", ".join(above) or "none",
        table="\n".join(table),
        history="".join(f"{line}\n" for line in history),
    )
    path.write_text(text, encoding="utf-8")
