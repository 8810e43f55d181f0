"""Parts of a program that are tagged with a name, for interpreters that look for it."""

import jax
from jax import api_util
from jax.extend import core
from jax.extend import linear_util as lu
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe
from jax.tree_util import tree_flatten, tree_unflatten


def tag(name):
    """A decorator: calls of the function become equations that hold its program."""

    def decorate(fun):
        def tagged(*args):
            leaves, in_tree = tree_flatten(args)
            info = api_util.debug_info("tag", fun, args, {})
            flat, out_tree = api_util.flatten_fun_nokwargs(lu.wrap_init(fun, debug_info=info), in_tree)
            avals = [api_util.shaped_abstractify(x) for x in leaves]
            jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(flat, avals)
            outs = tag_p.bind(*leaves, call_jaxpr=core.ClosedJaxpr(jaxpr, consts), name=name)
            return tree_unflatten(out_tree(), outs)

        return tagged

    return decorate


def tags_of(closed):
    """The names of the tagged parts of a program, those within parts too."""
    found = []

    def visit(jaxpr):
        for eqn in jaxpr.eqns:
            if eqn.primitive is tag_p:
                found.append(eqn.params["name"])
            for inner in core.jaxprs_in_params(eqn.params):
                visit(inner)

    visit(closed.jaxpr)
    return found


def _impl(*args, call_jaxpr, name):
    return core.jaxpr_as_fun(call_jaxpr)(*args)


def _abstract_eval(*avals, call_jaxpr, name):
    return call_jaxpr.out_avals


def _lowering(ctx, *args, call_jaxpr, name):
    return mlir.core_call_lowering(ctx, *args, name=name, call_jaxpr=call_jaxpr)


def _jvp(primals, tangents, *, call_jaxpr, name):
    outs = tag_p.bind(*primals, call_jaxpr=call_jaxpr, name=name)
    fun = core.jaxpr_as_fun(call_jaxpr)
    _, tangents_out = jax.jvp(lambda *xs: list(fun(*xs)), tuple(primals), tuple(map(ad.instantiate_zeros, tangents)))
    return outs, tangents_out


def _batch(args, dims, *, call_jaxpr, name):
    mapped = jax.vmap(core.jaxpr_as_fun(call_jaxpr), in_axes=tuple(dims))
    batched = jax.make_jaxpr(mapped)(*args)
    outs = tag_p.bind(*args, call_jaxpr=batched, name=name)
    return outs, [0] * len(outs)


tag_p = core.Primitive("package_tag")
tag_p.multiple_results = True
tag_p.def_impl(_impl)
tag_p.def_abstract_eval(_abstract_eval)
mlir.register_lowering(tag_p, _lowering)
ad.primitive_jvps[tag_p] = _jvp
batching.primitive_batchers[tag_p] = _batch
