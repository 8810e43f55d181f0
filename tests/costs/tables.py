"""The tables of costs: what was recorded, added up by part, by cause, by file and by fixture."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Run", "tables"]

MOST_FILES = 40
MOST_FIXTURES = 12


@dataclass
class Run:
    """The costs of one part of the tests: processor seconds, and bytes."""

    name: str
    tests: int = 0
    own: float = 0.0
    children: float = 0.0
    memory: list[int] = field(default_factory=list)  # the most that each process held
    causes: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    grown: Counter[str] = field(default_factory=Counter)
    fixtures: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, folder: Path) -> Run:
        """Add up the records of all processes of a part."""
        run = cls(folder.name)
        for path in folder.glob("*.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                run._add(json.loads(line))
        return run

    def _add(self, record: Mapping[str, object]) -> None:
        of = dict(record)
        seconds = float(of["own"]) + float(of["children"])  # type: ignore[arg-type]
        if of["kind"] == "test":
            file = str(of["test"]).split("::")[0]
            self.tests += 1
            self.files[file] += seconds  # type: ignore[assignment]
            self.counts[file] += 1
            self.grown[file] += of["grown"]  # type: ignore[operator]
            self.causes["subprocesses"] += of["children"]  # type: ignore[operator]
        elif of["kind"] == "fixture":
            self.fixtures[str(of["fixture"])] += seconds  # type: ignore[assignment]
        elif of["worker"] != "main" or not self.memory:
            self.memory.append(of["most"])  # type: ignore[arg-type]
            self.own += float(of["own"])  # type: ignore[arg-type]
            self.children += 0.0 if of["worker"] == "main" else float(of["children"])  # type: ignore[arg-type]
        self.causes.update(of.get("causes", {}))  # type: ignore[arg-type]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _by_run(title: str, runs: Sequence[Run], counters: Sequence[Mapping[str, float]], most: int | None) -> str:
    total: dict[str, float] = defaultdict(float)
    for counter in counters:
        for name, value in counter.items():
            total[name] += value
    names = sorted(total, key=lambda name: -total[name])[:most]
    rows = [[name, *[f"{counter.get(name, 0):.0f}" for counter in counters]] for name in names]
    rest = [sum(counter.values()) - sum(counter.get(name, 0) for name in names) for counter in counters]
    if most is not None and len(total) > most:
        rows.append([f"{len(total) - most} others", *[f"{value:.0f}" for value in rest]])
    return _table([title, *[f"{run.name}, s" for run in runs]], rows)


def tables(runs: Sequence[Run]) -> str:
    """The tables in Markdown."""
    parts = _table(
        ["part", "tests", "processor time, min", "of it in subprocesses", "largest process, GB"],
        [
            [
                run.name,
                f"{run.tests:,}",
                f"{(run.own + run.children) / 60:.1f}",
                f"{run.children / 60:.1f}",
                f"{max(run.memory) / 1e9:.2f}",
            ]
            for run in runs
        ],
    )
    grown: Counter[str] = Counter()
    for run in runs:
        grown.update(run.grown)
    memory = _table(
        ["file", "memory that its tests left, MB"],
        [[name, f"{value / 1e6:.0f}"] for name, value in grown.most_common(MOST_FIXTURES)],
    )
    return "\n".join(
        [
            parts,
            _by_run("cause", runs, [run.causes for run in runs], None),
            _by_run("file", runs, [run.files for run in runs], MOST_FILES),
            _by_run("fixture", runs, [run.fixtures for run in runs], MOST_FIXTURES),
            memory,
        ]
    )
