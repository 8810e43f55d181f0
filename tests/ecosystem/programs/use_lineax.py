"""Linear systems: dense, by operators, iterative, least squares, and their derivatives."""

import json

import jax
import jax.numpy as jnp
import lineax as lx

key = jax.random.key(0)
matrix = jax.random.normal(key, (5, 5)) + 5 * jnp.eye(5)
vector = jnp.arange(5.0)
operator = lx.MatrixLinearOperator(matrix)
dense = lx.linear_solve(operator, vector).value
positive = lx.MatrixLinearOperator(matrix @ matrix.T, lx.positive_semidefinite_tag)
cg = lx.linear_solve(positive, vector, lx.CG(rtol=1e-6, atol=1e-6)).value
gmres = lx.linear_solve(operator, vector, lx.GMRES(rtol=1e-6, atol=1e-6)).value
least = lx.linear_solve(lx.MatrixLinearOperator(matrix[:, :3]), vector, lx.QR()).value
jacobian = lx.JacobianLinearOperator(lambda x, _: jnp.sin(x) + 2 * x, vector)
by_jacobian = lx.linear_solve(jacobian, vector, lx.AutoLinearSolver(well_posed=None)).value


def f(m):
    return jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(m), vector).value ** 2)


print(
    json.dumps(
        {
            "dense": dense.tolist(),
            "cg": cg.tolist(),
            "gmres": gmres.tolist(),
            "least": least.tolist(),
            "jacobian": by_jacobian.tolist(),
            "grad": jax.jit(jax.grad(f))(matrix)[0].tolist(),
        }
    )
)
