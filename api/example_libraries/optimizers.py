"""First-order optimizers: triples of functions that return the initial state, the next state, and the parameters."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from primax import numpy as pnp
from primax import tree_util
from primax.extend.core import Array
from primax.extend.provisional.arguments import aval_of
from primax.extend.provisional.typing import ArrayLike

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]
__dir__ = __all__.copy

Schedule = Callable[[Any], Any]


_T = TypeVar("_T")


class Optimizer(NamedTuple):
    """`init_fn(params) -> state`, `update_fn(step, gradients, state) -> state`, `params_fn(state) -> params`."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


OptimizerState = namedtuple("OptimizerState", ["packed_state", "tree_def", "subtree_defs"])
OptimizerState.__doc__ = """The state of an optimizer for a pytree of parameters, itself a pytree.

`packed_state` holds a tuple of state leaves for each parameter, `tree_def` is the structure of the parameters, and
`subtree_defs` holds the structure of the state of each parameter.
"""
tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(children[0], *structure),
)


class JoinPoint:
    """A leaf of a pytree that holds another pytree.

    Args:
      subtree: the other pytree.
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"


def _packed(states: Sequence[Any], tree_def: Any) -> OptimizerState:
    pairs = [tree_util.tree_flatten(state) for state in states]
    leaves = tuple(tuple(leaves) for leaves, _ in pairs)
    return OptimizerState(leaves, tree_def, tuple(structure for _, structure in pairs))


def _states(opt_state: OptimizerState) -> list[Any]:
    pairs = zip(opt_state.subtree_defs, opt_state.packed_state, strict=True)
    return [tree_util.tree_unflatten(structure, leaves) for structure, leaves in pairs]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Turn an optimizer of one array into an optimizer of pytrees of arrays.

    Args:
      opt_maker: a function that returns three functions: `init(x) -> state`, `update(step, gradient, state) -> state`
        and `get_params(state) -> x`, where `x` is an array and the states are pytrees.

    Returns:
      A function of the same arguments that returns an `Optimizer`, whose states are `OptimizerState`s. Its `update_fn`
      raises TypeError if the gradients or the new states have the wrong structure.
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_all(params: Any) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(params)
            return _packed([init(leaf) for leaf in leaves], structure)

        def update_all(i: Any, grads: Any, opt_state: OptimizerState) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(grads)
            if structure != opt_state.tree_def:
                raise TypeError(
                    f"{opt_maker.__name__}: gradients must have the structure of the parameters, {opt_state.tree_def}, "
                    f"got {structure}"
                )
            new = [update(i, g, state) for g, state in zip(leaves, _states(opt_state), strict=True)]
            packed = _packed(new, opt_state.tree_def)
            for before, after in zip(opt_state.subtree_defs, packed.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        f"{opt_maker.__name__}: the update must return a state of the structure that it got, {before}, "
                        f"got {after}"
                    )
            return packed

        def params_of_all(opt_state: OptimizerState) -> Any:
            return tree_util.tree_unflatten(opt_state.tree_def, [get_params(state) for state in _states(opt_state)])

        return Optimizer(init_all, update_all, params_of_all)

    return make


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Convert a state to a pytree that can be stored: the tree of the parameters, with `JoinPoint`s as leaves.

    Args:
      opt_state: the state of an optimizer.

    Raises:
      TypeError: `opt_state` is not an `OptimizerState`.
    """
    if not isinstance(opt_state, OptimizerState):
        raise TypeError(f"unpack_optimizer_state: opt_state must be an OptimizerState, got {opt_state!r}")
    return tree_util.tree_unflatten(opt_state.tree_def, [JoinPoint(state) for state in _states(opt_state)])


def pack_optimizer_state(marked_pytree: object) -> OptimizerState:
    """Convert the result of `unpack_optimizer_state` back to the state.

    Args:
      marked_pytree: a pytree whose leaves are `JoinPoint`s.

    Raises:
      TypeError: a leaf is not a `JoinPoint`.
    """
    points, structure = tree_util.tree_flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise TypeError(f"pack_optimizer_state: marked_pytree must have JoinPoints as leaves, got {point!r}")
    return _packed([point.subtree for point in points], structure)


def constant(step_size: float) -> Schedule:
    """A schedule with a constant step size.

    Args:
      step_size: a number.
    """
    return lambda i: step_size


def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """A schedule: step_size * decay_rate ** (i / decay_steps), for step i.

    Args:
      step_size: the initial step size.
      decay_steps: the number of steps that multiply the step size by `decay_rate`.
      decay_rate: a number.
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Schedule:
    """A schedule: step_size / (1 + decay_rate * i / decay_steps), for step i.

    Args:
      step_size: the initial step size.
      decay_steps: a number of steps.
      decay_rate: a number.
      staircase: whether to round i / decay_steps down.
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * pnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0) -> Schedule:
    """A schedule from `step_size` at step 0 to `final_step_size`, which holds from step `decay_steps` on.

    Args:
      step_size: the initial step size.
      decay_steps: the number of steps of the decay.
      final_step_size: the final step size.
      power: the exponent of the curve; 1 for a straight line.
    """

    def schedule(i: Any) -> Any:
        rest = (1 - pnp.minimum(i, decay_steps) / decay_steps) ** power
        return rest * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: ArrayLike | Sequence[float], values: ArrayLike) -> Schedule:
    """A schedule with a constant step size between boundaries.

    Args:
      boundaries: increasing numbers of steps, of shape (n,).
      values: step sizes, of shape (n + 1,); values[0] holds up to boundaries[0].

    Raises:
      ValueError: an argument is not of rank 1, or `values` is not one longer than `boundaries`.
    """
    boundaries, values = pnp.array(boundaries), pnp.array(values)
    if boundaries.ndim != 1 or values.ndim != 1:
        raise ValueError(
            f"piecewise_constant: boundaries and values must be of rank 1, got {boundaries.shape} and {values.shape}"
        )
    if values.shape[0] != boundaries.shape[0] + 1:
        raise ValueError(
            f"piecewise_constant: values must be one longer than boundaries, got {values.shape} and {boundaries.shape}"
        )
    return lambda i: values[pnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Return a schedule: the argument itself, or a constant schedule if it is a number.

    Args:
      scalar_or_schedule: a function of the step number, or a number.

    Raises:
      TypeError: `scalar_or_schedule` is neither a function nor a number.
    """
    if callable(scalar_or_schedule):
        schedule: Schedule = scalar_or_schedule
        return schedule
    expected = "a function or a number"
    if not aval_of("make_schedule", "the step size", scalar_or_schedule, expected=expected).shape:
        return constant(scalar_or_schedule)
    raise TypeError(f"make_schedule: the step size must be {expected}, got {scalar_or_schedule!r}")


def l2_norm(tree: object) -> Array:
    """The Euclidean norm of all elements of a pytree.

    Args:
      tree: a pytree of arrays.
    """
    return pnp.sqrt(sum(pnp.vdot(x, x) for x in tree_util.tree_leaves(tree)))


def clip_grads(grad_tree: _T, max_norm: float) -> _T:
    """Scale gradients down so that their norm is at most `max_norm`.

    Args:
      grad_tree: a pytree of arrays.
      max_norm: the largest norm allowed, a number.
    """
    norm = l2_norm(grad_tree)
    try:
        bound = pnp.asarray(max_norm)
    except (TypeError, ValueError):
        raise TypeError(f"clip_grads: max_norm must be a number, got {max_norm!r}") from None
    return tree_util.tree_map(lambda g: pnp.where(norm < bound, g, g * (bound / norm)), grad_tree)


def _first(state: Any) -> Any:
    return state[0]


@optimizer
def sgd(step_size: float | Schedule) -> tuple[Any, Any, Any]:
    """Gradient descent: x - step_size * g.

    Args:
      step_size: a number, or a function of the step number.
    """
    schedule = make_schedule(step_size)
    return (lambda x0: x0), (lambda i, g, x: x - schedule(i) * g), (lambda x: x)


@optimizer
def momentum(step_size: float | Schedule, mass: float) -> tuple[Any, Any, Any]:
    """Gradient descent with momentum: v = mass * v + g.

    Args:
      step_size: a number, or a function of the step number.
      mass: the factor by which the velocity decays at each step.

    Source: B. T. Polyak, "Some methods of speeding up the convergence of iteration methods" (1964).
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any]:
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(i) * velocity, velocity

    return (lambda x0: (x0, pnp.zeros_like(x0))), update, _first


@optimizer
def nesterov(step_size: float | Schedule, mass: float) -> tuple[Any, Any, Any]:
    """Gradient descent with Nesterov's momentum.

    Args:
      step_size: a number, or a function of the step number.
      mass: the factor by which the velocity decays at each step.

    Source: I. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any]:
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(i) * (mass * velocity + g), velocity

    return (lambda x0: (x0, pnp.zeros_like(x0))), update, _first


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 where x is 0."""
    return pnp.where(x > 0, 1 / pnp.sqrt(pnp.where(x > 0, x, 1)), 0)


@optimizer
def adagrad(step_size: float | Schedule, momentum: float = 0.9) -> tuple[Any, Any, Any]:
    """AdaGrad with momentum: the mean of g / sqrt(sum of g**2) is the direction.

    Args:
      step_size: a number, or a function of the step number.
      momentum: the decay factor of the mean direction.

    Source: J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods" (2011).
    """
    schedule = make_schedule(step_size)

    def init(x0: Any) -> tuple[Any, Any, Any]:
        return x0, pnp.zeros_like(x0), pnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any, Any]:
        x, squares, mean = state
        squares = squares + g * g
        mean = (1 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        return x - schedule(i) * mean, squares, mean

    return init, update, _first


@optimizer
def rmsprop(step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8) -> tuple[Any, Any, Any]:
    """RMSProp: x - step_size * g / sqrt(mean of g**2 + eps).

    Args:
      step_size: a number, or a function of the step number.
      gamma: the decay factor of the mean square.
      eps: a number added to the mean square.

    Source: T. Tieleman and G. Hinton, Coursera lecture 6.5 (2012).
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any]:
        x, mean_square = state
        mean_square = mean_square * gamma + g * g * (1 - gamma)
        return x - schedule(i) * g / pnp.sqrt(mean_square + eps), mean_square

    return (lambda x0: (x0, pnp.zeros_like(x0))), update, _first


@optimizer
def rmsprop_momentum(
    step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> tuple[Any, Any, Any]:
    """RMSProp with momentum: the velocity accumulates the steps of `rmsprop`.

    Args:
      step_size: a number, or a function of the step number.
      gamma: the decay factor of the mean square.
      eps: a number added to the mean square.
      momentum: the decay factor of the velocity.
    """
    schedule = make_schedule(step_size)

    def init(x0: Any) -> tuple[Any, Any, Any]:
        return x0, pnp.zeros_like(x0), pnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any, Any]:
        x, mean_square, velocity = state
        mean_square = mean_square * gamma + g * g * (1 - gamma)
        velocity = momentum * velocity + schedule(i) * g / pnp.sqrt(mean_square + eps)
        return x - velocity, mean_square, velocity

    return init, update, _first


@optimizer
def adam(step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> tuple[Any, Any, Any]:
    """Adam.

    Args:
      step_size: a number, or a function of the step number.
      b1: the decay factor of the mean of gradients.
      b2: the decay factor of the mean of squared gradients.
      eps: a number added to the root of the mean of squared gradients.

    Source: D. Kingma and J. Ba, "Adam: a method for stochastic optimization" (2014).

    >>> import primax as px
    >>> opt = px.example_libraries.optimizers.adam(0.1)
    >>> state = opt.init_fn(px.numpy.array([1.0, -1.0]))
    >>> for i in range(100):
    ...     gradient = 2 * opt.params_fn(state)
    ...     state = opt.update_fn(i, gradient, state)
    >>> bool(px.numpy.all(px.numpy.abs(opt.params_fn(state)) < 0.1))
    True
    """
    schedule = make_schedule(step_size)

    def init(x0: Any) -> tuple[Any, Any, Any]:
        return x0, pnp.zeros_like(x0), pnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any, Any]:
        x, mean, mean_square = state
        mean = (1 - b1) * g + b1 * mean
        mean_square = (1 - b2) * pnp.square(g) + b2 * mean_square
        unbiased = mean / (1 - pnp.asarray(b1, mean.dtype) ** (i + 1))
        unbiased_square = mean_square / (1 - pnp.asarray(b2, mean.dtype) ** (i + 1))
        return x - schedule(i) * unbiased / (pnp.sqrt(unbiased_square) + eps), mean, mean_square

    return init, update, _first


@optimizer
def adamax(step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> tuple[Any, Any, Any]:
    """AdaMax: Adam with the maximum norm in place of the mean of squares.

    Args:
      step_size: a number, or a function of the step number.
      b1: the decay factor of the mean of gradients.
      b2: the decay factor of the norm.
      eps: a number added to the norm.

    Source: D. Kingma and J. Ba, "Adam: a method for stochastic optimization" (2014), section 7.1.
    """
    schedule = make_schedule(step_size)

    def init(x0: Any) -> tuple[Any, Any, Any]:
        return x0, pnp.zeros_like(x0), pnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any, Any]:
        x, mean, norm = state
        mean = (1 - b1) * g + b1 * mean
        norm = pnp.maximum(b2 * norm, pnp.abs(g))
        unbiased = schedule(i) / (1 - pnp.asarray(b1, mean.dtype) ** (i + 1))
        return x - unbiased * mean / (norm + eps), mean, norm

    return init, update, _first


@optimizer
def sm3(step_size: float | Schedule, momentum: float = 0.9) -> tuple[Any, Any, Any]:
    """SM3, whose state for an array of shape (n, m, ...) has n + m + ... elements and a momentum.

    Args:
      step_size: a number, or a function of the step number.
      momentum: the decay factor of the mean direction.

    Source: R. Anil et al., "Memory-efficient adaptive optimization" (2019), algorithm SM3-II.
    """
    schedule = make_schedule(step_size)

    def along(x: Any, axis: int, rank: int) -> Any:
        return x.reshape([-1 if i == axis else 1 for i in range(rank)])

    def init(x0: Any) -> tuple[Any, Any, Any]:
        x0 = pnp.atleast_1d(x0)
        return x0, pnp.zeros_like(x0), [pnp.zeros(size, x0.dtype) for size in x0.shape]

    def update(i: Any, g: Any, state: Any) -> tuple[Any, Any, Any]:
        x, mean, sides = state
        rank = x.ndim
        squares = functools.reduce(pnp.minimum, [along(side, j, rank) for j, side in enumerate(sides)]) + g * g
        mean = (1 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        sides = [pnp.max(squares, axis=tuple(k for k in range(rank) if k != j)) for j in range(rank)]
        return x - schedule(i) * mean, mean, sides

    return init, update, _first
