"""``python -m accuracy``: measures functions and prints their largest errors, or writes the page of the docs."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pathlib
import pickle
import sys


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m accuracy", description=__doc__)
    parser.add_argument("--only", default="", help="functions whose names contain one of these, divided by commas")
    parser.add_argument("--dtypes", default="", help="dtypes, divided by commas; all by default")
    parser.add_argument("--step", type=int, default=1, help="measure in every n-th binade")
    parser.add_argument("--each", type=int, default=2, help="points in a binade")
    parser.add_argument("--libraries", default="primax,jax,numpy")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="print all rows, not only those above the bound")
    parser.add_argument(
        "--records", type=pathlib.Path, help="a folder for the rows; those that are there are not measured again"
    )
    parser.add_argument("--page", type=pathlib.Path, help="write the page of the docs")
    options = parser.parse_args()

    from accuracy.measure import FUNCTIONS, numbered

    names, dtypes = options.only.split(","), options.dtypes.split(",") if options.dtypes else None
    tasks = [
        (f, d)
        for f in FUNCTIONS
        for d in f.dtypes
        if any(n in f.label for n in names) and (dtypes is None or d in dtypes)
    ]
    settings = {"step": options.step, "each": options.each, "libraries": options.libraries.split(",")}
    # The largest tasks first.
    tasks.sort(key=lambda t: -(("64" in t[1]) + ("128" in t[1])))
    rows, bad = [], 0
    context = multiprocessing.get_context("spawn")
    waiting = []
    for function, dtype in tasks:
        record = options.records and options.records / f"{function.label.replace('/', '_')}-{dtype}.pickle"
        if record and record.exists():
            rows += pickle.loads(record.read_bytes())
        else:
            waiting.append((function, dtype, record))
    # A pool of concurrent.futures stands still when all of its processes have had their last task at once.
    with context.Pool(options.processes, maxtasksperchild=20) as pool:
        calls = [(index, f.label, dtype, settings) for index, (f, dtype, _) in enumerate(waiting)]
        for index, measured in pool.imap_unordered(numbered, calls):
            function, _, record = waiting[index]
            rows += measured
            if record:
                record.parent.mkdir(parents=True, exist_ok=True)
                record.write_bytes(pickle.dumps(measured))
            bad += _print(function, measured, options.all)
    if options.page:
        from accuracy.page import page

        if options.records:  # those of earlier runs, too
            rows = [row for file in sorted(options.records.iterdir()) for row in pickle.loads(file.read_bytes())]
        options.page.write_text(page(rows))
    print(f"{len(tasks)} functions and dtypes, {bad} results above their bounds")
    return 1 if bad else 0


def _print(function, rows, everything: bool) -> int:
    bad = 0
    for row in rows:
        for order, worst in sorted(row.worst.items()):
            over = worst.ulp > function.bound(order)
            bad += over and row.library == "primax"
            if everything or (over and row.library == "primax"):
                others = ", ".join(
                    f"{r.library} {r.worst[order].ulp:.3g}" for r in rows if r is not row and order in r.worst
                )
                point = ", ".join(f"{x!r}" for x in worst.point)
                print(
                    f"{row.library} {row.label} {row.dtype} order {order}: {worst.ulp:.3g} ulp at ({point}): "
                    f"{worst.computed!r}, exact {worst.exact!r}; {worst.part}; {others}; {row.judged[order]} points",
                    flush=True,
                )
    return bad


if __name__ == "__main__":
    sys.exit(main())
