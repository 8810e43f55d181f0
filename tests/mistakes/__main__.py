"""The command `python -m mistakes`, run with tests/ on the path."""

from __future__ import annotations

import argparse
import importlib.util
import textwrap

from mistakes.programs import LIBRARIES, mistakes, reports, summary


def main() -> None:
    """Print for each mistake the lines of the traceback, the class and the message, and the figures of all."""
    parser = argparse.ArgumentParser(prog="python -m mistakes", description="Compare error messages with jax's.")
    parser.add_argument("--only", default="", help="only the mistakes that have this text in their names")
    parser.add_argument("--whole", action="store_true", help="print whole tracebacks")
    parser.add_argument("--primax", action="store_true", help="primax alone")
    parser.add_argument("--filtering", default="auto", help="the option traceback_filtering of both libraries")
    options = parser.parse_args()
    programs = {name: program for name, program in mistakes().items() if options.only in name}
    libraries = [
        name for name in LIBRARIES if name == "primax" or (not options.primax and importlib.util.find_spec(name))
    ]
    found = {
        library: reports(library, programs, {f"{library.upper()}_TRACEBACK_FILTERING": options.filtering})
        for library in libraries
    }
    for name in programs:
        print(name)
        for library in libraries:
            report = found[library][name]
            text = (report.text if options.whole else report.message) or "no error"
            first, *rest = text.splitlines()
            print(f"  {library:6} {report.lines:4}  {first}")
            if rest:
                print(textwrap.indent("\n".join(rest), " " * 15))
    for library in libraries:
        print(f"{library}: {summary(list(found[library].values()))}")


if __name__ == "__main__":
    main()
