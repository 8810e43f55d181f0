"""Distributions made for a test, and programs that run where they are installed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from processes import HANG

_HEADER = """
import sys, warnings
from primax.core.errors import *
from primax.extend.host.plugin_host import PluginHost
from primax.core.primitive import Primitive
import primax.interpreters.runtime.eval

host = PluginHost()
host.install()

def attempt(function, *args):
    try:
        return function(*args)
    except (PluginError, MissingRuleError) as error:
        return f"{type(error).__name__}: {error}"
"""

PLUGIN = """
from primax.extend.host.hookspec import hookimpl
from primax.core.primitive import Primitive

{name}_p = Primitive("{name}")

@hookimpl
def primax_register(registry):
    registry.define({name}_p, impl=lambda x: x + 1)
"""

# A program that lists all plugins; `states` reads its output.
REPORT = """
for record in host.records():
    print(record.name, record.state, record.reason.replace(sys.path[1], "SITE"), sep="|")
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output of a program, and its output on the other stream."""

    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def warned(self) -> list[str]:
        """The messages of the plugin warnings."""
        mark = "PluginWarning: "
        return [line.partition(mark)[2] for line in self.err.splitlines() if mark in line]


@dataclass(frozen=True, slots=True)
class Site:
    """A folder of installed distributions."""

    folder: Path

    def install(
        self, distribution: str, version: str = "1.0", *, entry_points: str, requires: str = "", **modules: str
    ) -> None:
        """Install a distribution.

        Args:
          distribution: its name.
          version: its version.
          entry_points: the contents of its `entry_points.txt`.
          requires: a distribution that it requires.
          modules: the source of its modules, by name.
        """
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        required = f"Requires-Dist: {requires}\n" if requires else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{required}")
        (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))
        for name, source in modules.items():
            self.write(name, source)

    def plugin(self, name: str, source: str | None = None, *, api: str = "", distribution: str = "") -> None:
        """Install a distribution with one plugin, whose module has the plugin's name with `_plugin` added.

        Args:
          name: the plugin's name.
          source: the module; by default one that defines a primitive of the same name, which adds one.
          api: its entry in the group `primax.api`, if it has one.
          distribution: the distribution's name; by default the plugin's.
        """
        stated = f"[primax.api]\n{name} = {api}\n" if api else ""
        self.install(
            distribution or name,
            entry_points=f"[primax]\n{name} = {name}_plugin\n{stated}",
            **{f"{name}_plugin": PLUGIN.format(name=name) if source is None else source},
        )

    def write(self, module: str, source: str) -> None:
        """Write a module that belongs to no distribution."""
        (self.folder / f"{module}.py").write_text(textwrap.dedent(source))

    def run(self, *program: str, **environment: str) -> Outcome:
        """Run a program, given in parts, with a new `host` without families; it must succeed."""
        parts = (_HEADER, *program)
        return self._run("-W", "default", "-c", "\n".join(map(textwrap.dedent, parts)), **environment)

    def program(self, *program: str, **environment: str) -> Outcome:
        """Run a program, given in parts, with primax itself and its families; it must succeed."""
        return self._run("-W", "default", "-c", "\n".join(map(textwrap.dedent, program)), **environment)

    def command(self, *arguments: str, **environment: str) -> Outcome:
        """Run a command of primax; it must succeed."""
        return self._run("-m", "primax", *arguments, **environment)

    def _run(self, *arguments: str, **environment: str) -> Outcome:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("PRIMAX_")}
        where = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG,
            env={**inherited, **where, **environment},
        )
        assert done.returncode == 0, done.stderr
        return Outcome(done.stdout, done.stderr)


def states(lines: list[str]) -> dict[str, str]:
    """The state of each plugin, by name, from the output of `REPORT`."""
    return {line.split("|")[0]: line.split("|")[1] for line in lines}
