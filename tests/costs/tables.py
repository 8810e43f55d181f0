"""The tables of costs: what was recorded, added up by part, by cause, by file and by fixture."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from costs.record import CONTROLLER

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
    causes: Counter[Any] = field(default_factory=Counter)
    files: Counter[Any] = field(default_factory=Counter)
    grown: Counter[Any] = field(default_factory=Counter)
    fixtures: Counter[Any] = field(default_factory=Counter)

    @classmethod
    def read(cls, folder: Path) -> Run:
        """Add up the records of all processes of a part."""
        run = cls(folder.name)
        for path in folder.glob("*.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                run._add(json.loads(line))
        return run

    def _add(self, record: dict[str, Any]) -> None:
        self.causes.update(record.get("causes", {}))
        seconds = record["own"] + record["children"]
        match record["kind"]:
            case "test":
                file = record["test"].split("::")[0]
                self.tests += 1
                self.files[file] += seconds
                self.grown[file] += record["grown"]
                self.causes["subprocesses"] += record["children"]
            case "fixture":
                self.fixtures[record["fixture"]] += seconds
            case "process":
                self.own += record["own"]
                self.memory.append(record["most"])
                if record["worker"] != CONTROLLER:  # whose children are the workers
                    self.children += record["children"]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _by_run(title: str, runs: Sequence[Run], counters: Sequence[Counter[str]], most: int | None) -> str:
    total = sum(counters, Counter())
    names = [name for name, _ in total.most_common(most)]
    rows = [[name, *[f"{counter[name]:.0f}" for counter in counters]] for name in names]
    if len(total) > len(names):
        rest = [counter.total() - sum(counter[name] for name in names) for counter in counters]
        rows.append([f"{len(total) - len(names)} others", *[f"{value:.0f}" for value in rest]])
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
