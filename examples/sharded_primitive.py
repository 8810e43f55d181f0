"""A third-party primitive that calls a foreign function, divided among eight devices by one rule.

    python examples/sharded_primitive.py

XLA knows nothing about a foreign function, so it would gather the whole operand on every device. The rule
`sharding="... n! n! -> ... n! n!"` says that matrices must stay whole and that stacks of them may be divided. Then each
device calls the function with its own matrices, as the text of the compiled program shows.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import primax as px
from primax.extend import core, define_primitive
from primax.extend.interpreters import mlir

px.config.update("num_cpu_devices", 8)


def lower_factor(ctx: mlir.LoweringRuleContext, a: Any) -> Any:
    """LAPACK's `potrf`, which works in place on column-major matrices and returns a code for each."""
    (aval,) = ctx.avals_in
    batch = aval.shape[:-2]
    columns = (aval.ndim - 2, aval.ndim - 1, *range(aval.ndim - 3, -1, -1))
    codes = core.ShapedArray(batch, np.dtype(np.int32))
    call = mlir.custom_call(
        mlir.lapack_target("potrf", aval.dtype),
        operands=[a],
        result_types=[mlir.aval_to_ir_type(aval), mlir.aval_to_ir_type(codes)],
        backend_config={"uplo": np.uint8(ord("L"))},
        api_version=4,
        operand_output_aliases={0: 0},
        operand_layouts=[columns],
        result_layouts=[columns, range(len(batch) - 1, -1, -1)],
    )
    return [call.results[0]]


def factor_type(a: core.ShapedArray) -> core.ShapedArray:
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        raise TypeError(f"factor: a must hold square matrices, got {a.str_short()}")
    return core.ShapedArray(a.shape, a.dtype)


factor_p = define_primitive(
    "factor",
    abstract_eval=factor_type,
    lowering=lower_factor,
    sharding="... n! n2! -> ... n! n2!",
    unsupported={"jvp": "an example", "batch": "it takes stacks"},
)


def main() -> None:
    mesh = px.make_mesh((8,), ("data",))
    roots = np.random.default_rng(0).normal(size=(16, 3, 3)).astype(np.float32)
    matrices = roots @ roots.transpose(0, 2, 1) + np.eye(3, dtype=np.float32)
    stack = px.device_put(matrices, px.NamedSharding(mesh, px.P("data")))
    program = px.jit(lambda a: 2.0 * factor_p.bind(a)).lower(stack).compile()
    print(f"operand  {stack.aval.str_short()} divided as {stack.sharding.spec}")
    for line in program.as_text().splitlines():
        call = re.search(r"= \((\S+?)\{.* custom-call\(.*custom_call_target=\"(\w+)\"", line)
        if call:
            print(f"each device calls {call[2]}, which returns {call[1]}")
        if "all-gather(" in line:
            print(f"BAD: {line.strip()}")
    out = program(stack)
    print(f"result   {out.aval.str_short()} divided as {out.sharding.spec}")
    right = np.allclose(np.tril(out), 2.0 * np.linalg.cholesky(matrices), rtol=1e-4)
    print("ok" if right else "BAD: values differ")


if __name__ == "__main__":
    main()
