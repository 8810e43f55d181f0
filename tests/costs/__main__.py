"""Run the tests of `make test` with their costs recorded, and write the tables of tests/README.md: `make costs`."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from costs.record import FOLDER
from costs.tables import Run, tables

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- made by `make costs` -->\n", "<!-- end of what `make costs` makes -->\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, help="a folder for the records, or with those of an earlier run")
    parser.add_argument(
        "--run",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "ARGUMENTS"),
        help="a run and the arguments of pytest; without any, read the records of an earlier run",
    )
    options = parser.parse_args()
    folder = options.records or Path(tempfile.mkdtemp(prefix="costs-"))
    code = 0
    for name, arguments in options.run:
        variables = {"PRIMAX_ENABLE_X64": "1"} if name.endswith("x64") else {}
        command = [sys.executable, "-m", "pytest", "-p", "costs.record", *shlex.split(arguments)]
        environment = {**os.environ, **variables, FOLDER: str(folder / name)}
        code = max(code, subprocess.run(command, env=environment, check=False).returncode)
    text = tables([Run.read(path) for path in sorted(folder.iterdir()) if path.is_dir()])
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
