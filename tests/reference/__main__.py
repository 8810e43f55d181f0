"""Write the pages of the site, and build or show it.

python -m reference                  write the pages to build/docs
python -m reference --build          and build the site in build/site
python -m reference --release 0.1    and build it in build/site/0.1, beside other releases, with a choice of them
python -m reference --serve ADDRESS  and show it, with each change of docs/ as it is saved
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from checkout import ROOT

import primax as px
from reference.site import write
from reference.tables import FOLDER

BUILD = ROOT / "build"
SITE = BUILD / "site"
_COMMAND = [sys.executable, "-m", "zensical"]
_REDIRECT = '<!doctype html><meta http-equiv="refresh" content="0; url={}/index.html"><title>primax</title>\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog="reference", description="Write the pages of the site, and build or show it.")
    parser.add_argument("--build", action="store_true", help="build the site in build/site")
    parser.add_argument("--release", metavar="NAME", help="build the site in build/site/NAME, beside other releases")
    parser.add_argument("--serve", metavar="ADDRESS", help="show the site, for example at localhost:8000")
    arguments = parser.parse_args()
    px.config.update("num_cpu_devices", 8)  # for programs on meshes
    config, faults = write(BUILD, release=arguments.release)
    if arguments.build or arguments.release:
        shutil.rmtree(SITE / (arguments.release or ""), ignore_errors=True)
        done = subprocess.run(
            [*_COMMAND, "build", "--strict", "--clean", "--config-file", str(config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        faults += large(SITE / (arguments.release or "") / FOLDER)
        print(*faults, *(told(done.stdout) if done.returncode or not faults else ()), sep="\n")
        if done.returncode or faults:
            return 1
        if arguments.release:
            list_releases(SITE)
    if arguments.serve:
        server = subprocess.Popen([*_COMMAND, "serve", "--config-file", str(config), "--dev-addr", arguments.serve])
        try:
            _follow(server, config)
        except KeyboardInterrupt:
            server.wait()
    return 0


def told(report: str) -> list[str]:
    """What the builder says: each fault in one line, as in `page.md:17:42: anchor does not exist`."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", report)
    found = re.findall(r"^\w+: (.*)\n\s*╭─\[ (\S+) \]", plain, re.MULTILINE)
    return [f"{place}: {fault}" for fault, place in found] or [plain]


def large(folder: Path, most: int = 200_000) -> list[str]:
    """The pages that are slow to load, each in one line."""
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*.html"))}
    advice = "split its module into chapters in names.py"
    return [f"{name}: {size} bytes are more than {most}; {advice}" for name, size in sizes.items() if size > most]


def list_releases(site: Path) -> None:
    """Write the list of releases that the theme offers, the latest first, and a page that leads to the latest."""

    def order(name: str) -> list[tuple[bool, int, str]]:
        parts = re.split(r"[.-]", name)
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]

    names = sorted((path.parent.name for path in site.glob("*/index.html")), key=order, reverse=True)
    releases = [{"version": name, "title": name, "aliases": ["latest"] if name == names[0] else []} for name in names]
    (site / "versions.json").write_text(json.dumps(releases, indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(_REDIRECT.format(names[0]), encoding="utf-8")


def _follow(server: subprocess.Popen[bytes], config: Path) -> None:
    """Write the pages again when one of docs/ has changed, until the server ends."""
    before = _times()
    while server.poll() is None:
        time.sleep(1)
        if (now := _times()) != before:
            before = now
            write(config.parent)


def _times() -> dict[Path, float]:
    return {path: path.stat().st_mtime for path in [*(ROOT / "docs").rglob("*.*"), ROOT / "mkdocs.yml"]}


if __name__ == "__main__":
    sys.exit(main())
