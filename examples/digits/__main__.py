"""Train on handwritten digits and write a report with pictures: `python -m digits` within this folder's parent."""

from __future__ import annotations

import argparse
import sys
import time
from importlib.metadata import version
from pathlib import Path

try:
    import primax as px
    from digits import data, network, report, train
    from primax.extend import plugins
except ModuleNotFoundError as error:
    sys.exit(
        f"{error.name} cannot be imported. `make demo` does all that is needed; by hand it is\n"
        "  pip install '.[demo]' examples/primax-swish && cd examples && python -m digits"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m digits", description=__doc__)
    parser.add_argument("--epochs", type=int, default=24, help="how often every digit is seen (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("report"), help="the report's folder (default: ./report)")
    parser.add_argument("--seed", type=int, default=0, help="what all that is random is drawn by (default: 0)")
    parser.add_argument("--limit", type=int, help="how many digits to take; every one if not given")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"--epochs must be 1 or more, got {options.epochs}")
    if options.limit is not None and options.limit < 20:
        parser.error(f"--limit must be 20 or more, got {options.limit}")
    began = time.perf_counter()
    learned, kept = data.load(options.seed, options.limit)
    print(f"primax {px.__version__}, jaxlib {version('jaxlib')}, on {px.devices()[0]}")
    print(f"{len(learned):,} handwritten digits to learn from, {len(kept):,} to test on, of 8 x 8 pixels")
    run = train.fit(learned, kept, options.epochs, options.seed)

    swish = next(record for record in plugins() if record.name == "swish")
    times, per_step = run.timings, 1e3 * run.timings.run / run.timings.steps
    print(f"the activation is {', '.join(swish.primitives)} of {swish.distribution} {swish.version}: {swish.state}")
    print(f"tracing   {times.trace:7.3f} s   a step of Adam, {len(run.program.jaxpr.eqns)} equations")
    print(f"compiling {times.compile:7.3f} s   by XLA")
    print(f"running   {times.run:7.3f} s   {times.steps:,} steps of {per_step:.1f} ms")
    size = network.count(run.parameters)
    print(f"accuracy on the test digits: {run.history.test_accuracy[-1]:.2%}, with {size:,} parameters")
    print("pictures:")
    page = report.write(run, learned, kept, options.out)
    print(f"{time.perf_counter() - began:.0f} s in all. Open {page.resolve()}")


if __name__ == "__main__":
    main()
