"""Training: Adam on shuffled batches of shifted images; each step runs one compiled program."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import primax as px
import primax.numpy as pnp
from digits.data import Digits, batches
from digits.network import initialize, logits, loss, shifted

__all__ = ["History", "Run", "Timings", "fit", "probabilities"]

LEARNING_RATE = 2e-3


class State(NamedTuple):
    """The state of training: the parameters, and Adam's running means of gradients and of their squares."""

    parameters: Any
    mean: Any
    square: Any
    steps: Any


class History(NamedTuple):
    """The losses and accuracies of each epoch on the training digits and on the test digits."""

    train_loss: list[float]
    train_accuracy: list[float]
    test_loss: list[float]
    test_accuracy: list[float]


class Timings(NamedTuple):
    """Seconds to trace a training step, to lower and compile it, and to run all steps."""

    trace: float
    compile: float
    run: float
    steps: int


class Run(NamedTuple):
    """The result of training, with the program of a step."""

    parameters: Any
    history: History
    timings: Timings
    program: Any


def start(seed: int) -> State:
    parameters = initialize(px.random.key(seed))
    zeros = px.tree.map(pnp.zeros_like, parameters)
    return State(parameters, zeros, zeros, pnp.zeros((), int))


@px.jit
def adam(parameter: Any, slope: Any, mean: Any, square: Any, scale: Any) -> tuple[Any, Any, Any]:
    """The new parameter and its running means. In the program of a step this function is one equation."""
    mean = 0.9 * mean + 0.1 * slope
    square = 0.999 * square + 0.001 * slope * slope
    return parameter - scale * mean / (pnp.sqrt(square) + 1e-8), mean, square


def step(state: State, key: Any, images: Any, labels: Any, total: Any) -> tuple[State, Any, Any]:
    """One step of Adam (Kingma and Ba, 2015), at a rate that falls to zero along a cosine until step `total`."""
    images = shifted(key, images)
    (cost, right), slopes = px.value_and_grad(loss, has_aux=True)(state.parameters, images, labels)
    steps = state.steps + 1
    rate = LEARNING_RATE * 0.5 * (1 + pnp.cos(pnp.pi * state.steps / total))
    scale = rate * pnp.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
    updated = [
        adam(parameter, slope, mean, square, scale)
        for parameter, slope, mean, square in zip(
            *map(px.tree.leaves, (state.parameters, slopes, state.mean, state.square)), strict=True
        )
    ]
    parameters, mean, square = (
        px.tree.unflatten(px.tree.structure(slopes), leaves) for leaves in zip(*updated, strict=True)
    )
    return State(parameters, mean, square, steps), cost, right


def fit(train: Digits, test: Digits, epochs: int, seed: int = 0, size: int = 64) -> Run:
    """Train the network, with a progress bar on standard error."""
    size = min(size, len(train))
    rng, key = np.random.default_rng(seed), px.random.key(seed + 1)
    state, total = start(seed), epochs * (len(train) // size)
    history = History([], [], [], [])
    measure = px.jit(loss)

    # The first call of px.jit(step) would trace, lower and compile too; here each is timed.
    began = time.perf_counter()
    traced = px.jit(step).trace(state, key, train.images[:size], train.labels[:size], float(total))
    trace_time, began = time.perf_counter() - began, time.perf_counter()
    compiled = traced.lower().compile()
    compile_time, run_time = time.perf_counter() - began, 0.0

    with tqdm(total=total, unit="step", desc="training", leave=True) as bar:
        for _ in range(epochs):
            costs, rights = [], []
            began = time.perf_counter()
            for batch in batches(train, size, rng):
                key, now = px.random.split(key)
                state, cost, right = compiled(state, now, batch.images, batch.labels, float(total))
                costs.append(float(cost))
                rights.append(int(right))
                bar.update()
            run_time += time.perf_counter() - began
            test_loss, test_right = measure(state.parameters, test.images, test.labels)
            history.train_loss.append(float(np.mean(costs)))
            history.train_accuracy.append(sum(rights) / (size * len(rights)))
            history.test_loss.append(float(test_loss))
            history.test_accuracy.append(int(test_right) / len(test))
            bar.set_postfix(loss=f"{history.train_loss[-1]:.3f}", accuracy=f"{history.test_accuracy[-1]:.2%}")
    return Run(state.parameters, history, Timings(trace_time, compile_time, run_time, total), traced.jaxpr)


def probabilities(parameters: Any, images: Any) -> np.ndarray:
    """For each image the probabilities of the ten digits."""
    return np.asarray(px.jit(lambda parameters, images: px.nn.softmax(logits(parameters, images)))(parameters, images))
