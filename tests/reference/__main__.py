"""Write the pages of the site, and build or show it.

python -m reference           write the pages to build/docs
python -m reference --build   and build the site in build/site
python -m reference --serve   and show it, with each change of docs/ as it is saved
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from checkout import ROOT

from reference.site import write

BUILD = ROOT / "build"


def main() -> int:
    parser = argparse.ArgumentParser(prog="reference", description="Write the pages of the site, and build or show it.")
    parser.add_argument("--build", action="store_true", help="build the site in build/site")
    parser.add_argument("--serve", metavar="ADDRESS", help="show the site, for example at localhost:8000")
    arguments = parser.parse_args()
    config, found = write(BUILD)
    command = [sys.executable, "-m", "zensical"]
    if arguments.build:
        shutil.rmtree(BUILD / "site", ignore_errors=True)
        done = subprocess.run(
            [*command, "build", "--strict", "--clean", "--config-file", str(config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        print(*found, *told(done.stdout), sep="\n")
        return int(done.returncode != 0 or bool(found))
    if arguments.serve:
        server = subprocess.Popen([*command, "serve", "--config-file", str(config), "--dev-addr", arguments.serve])
        try:
            _follow(server, config)
        except KeyboardInterrupt:
            server.wait()
    return 0


def _follow(server: subprocess.Popen[bytes], config: Path) -> None:
    """Write the pages again when one of docs/ has changed, until the server ends."""
    before = _times()
    while server.poll() is None:
        time.sleep(1)
        if (now := _times()) != before:
            before = now
            write(config.parent)


def told(report: str) -> list[str]:
    """What the builder says: each fault in one line, as in: `page.md:17:42: anchor does not exist`."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", report)
    found = re.findall(r"^\w+: (.*)\n\s*╭─\[ (\S+) \]", plain, re.MULTILINE)
    return [f"{place}: {fault}" for fault, place in found] or [plain]


def _times() -> dict[Path, float]:
    return {path: path.stat().st_mtime for path in [*(ROOT / "docs").rglob("*.*"), ROOT / "mkdocs.yml"]}


if __name__ == "__main__":
    sys.exit(main())
