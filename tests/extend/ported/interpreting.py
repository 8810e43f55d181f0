"""Interpreters of programs: one that counts, one that rewrites, one that inverts."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core
from jax.extend.core.primitives import cos_p, exp_p, log_p, sin_p, tanh_p
from jax.interpreters import partial_eval as pe


def count(fun, *args):
    """How often each primitive is applied, in programs within the program too."""
    found = {}

    def visit(jaxpr):
        for eqn in jaxpr.eqns:
            inner = list(core.jaxprs_in_params(eqn.params))
            for each in inner:
                visit(each)
            if not inner:
                found[eqn.primitive.name] = found.get(eqn.primitive.name, 0) + 1

    visit(jax.make_jaxpr(fun)(*args).jaxpr)
    return found


def swap_sines(fun):
    """The function with cosines for sines, as a program that has been rewritten."""

    def rewritten(*args):
        closed = jax.make_jaxpr(fun)(*args)
        return core.jaxpr_as_fun(core.ClosedJaxpr(_swapped(closed.jaxpr), closed.consts))(*args)

    return rewritten


def _swapped(jaxpr):
    new_variable = core.gensym()
    eqns, names = [], {}

    def read(atom):
        return atom if isinstance(atom, core.Literal) else names.get(atom, atom)

    for eqn in jaxpr.eqns:
        invars = [read(atom) for atom in eqn.invars]
        outvars = [v if isinstance(v, core.DropVar) else new_variable(v.aval) for v in eqn.outvars]
        names.update(zip(eqn.outvars, outvars))  # noqa: B905
        primitive = cos_p if eqn.primitive is sin_p else eqn.primitive
        params = {
            name: core.ClosedJaxpr(_swapped(value.jaxpr), value.consts)
            if isinstance(value, core.ClosedJaxpr)
            else value
            for name, value in eqn.params.items()
        }
        eqns.append(core.new_jaxpr_eqn(invars, outvars, primitive, params, eqn.effects, eqn.source_info))
    found = jaxpr.replace(eqns=eqns, outvars=[read(atom) for atom in jaxpr.outvars])
    core.check_jaxpr(found)
    return found


def trim(fun, *args):
    """How many equations are left of a function if only its first result is wanted."""
    jaxpr = jax.make_jaxpr(fun)(*args).jaxpr
    used = [i == 0 for i in range(len(jaxpr.outvars))]
    trimmed, used_inputs = pe.dce_jaxpr(jaxpr, used, instantiate=False)
    return len(trimmed.eqns), used_inputs


inverse_registry = {exp_p: jnp.log, log_p: jnp.exp, tanh_p: jnp.arctanh}


def inverse(fun):
    """The inverse of a function of one argument that applies one primitive after another."""

    def inverted(*args):
        closed = jax.make_jaxpr(fun)(*args)
        return _run_backwards(closed.jaxpr, closed.literals, *args)[0]

    return inverted


def _run_backwards(jaxpr, consts, *args):
    env = dict(zip(jaxpr.constvars, consts))  # noqa: B905
    env.update(zip(jaxpr.outvars, args))  # noqa: B905
    for eqn in jaxpr.eqns[::-1]:
        params = eqn.primitive.get_bind_params(eqn.params)
        values = [env[v] for v in eqn.outvars]
        if eqn.primitive is lax.neg_p:
            outs = eqn.primitive.bind(*values, **params)
        else:
            outs = inverse_registry[eqn.primitive](*values)
        if not eqn.primitive.multiple_results:
            outs = [outs]
        env.update(zip(eqn.invars, outs))  # noqa: B905
    return [env[v] for v in jaxpr.invars]
