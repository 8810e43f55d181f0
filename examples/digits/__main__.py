"""Train on handwritten digits and write a report with pictures: `python -m digits` in the folder `examples`."""

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
        f"{error.name} cannot be imported. `make demo` installs everything and runs the demo. By hand:\n"
        "  pip install --group demo . examples/primax-swish && cd examples && python -m digits"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m digits", description=__doc__)
    parser.add_argument(
        "--epochs", type=int, default=24, help="the number of passes over the digits (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("report"), help="the folder for the report (default: ./report)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of all random numbers (default: 0)")
    parser.add_argument("--limit", type=int, help="the number of digits to use (default: all)")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"--epochs must be 1 or more, got {options.epochs}")
    if options.limit is not None and options.limit < 20:
        parser.error(f"--limit must be 20 or more, got {options.limit}")
    began = time.perf_counter()
    learned, kept = data.load(options.seed, options.limit)
    print(f"primax {px.__version__}, jaxlib {version('jaxlib')}, on {px.devices()[0]}")
    print(f"{len(learned):,} handwritten digits for training, {len(kept):,} for tests, of 8 x 8 pixels")
    run = train.fit(learned, kept, options.epochs, options.seed)

    swish = next(record for record in plugins() if record.name == "swish")
    times, per_step = run.timings, 1e3 * run.timings.run / run.timings.steps
    names = ", ".join(swish.primitives)
    print(f"plugin for the activation: {swish.distribution} {swish.version}, {swish.state}, primitives {names}")
    print(f"tracing   {times.trace:7.3f} s   one step of Adam, {len(run.program.jaxpr.eqns)} equations")
    print(f"compiling {times.compile:7.3f} s   with XLA")
    print(f"running   {times.run:7.3f} s   {times.steps:,} steps, {per_step:.1f} ms each")
    size = network.count(run.parameters)
    print(f"accuracy on the test digits: {run.history.test_accuracy[-1]:.2%}, with {size:,} parameters")
    print("the parts of the page:")
    page = report.write(run, learned, kept, options.out)
    print(f"Total: {time.perf_counter() - began:.0f} s. Open {page.resolve()}")


if __name__ == "__main__":
    main()
