"""The report: pictures of the trained network and of convolutions, and a page that shows them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

import primax as px
import primax.numpy as pnp
from digits import figures, gallery
from digits.data import Digits
from digits.network import convolve, count, logits, loss
from digits.page import Picture, page
from digits.train import Run, probabilities

__all__ = ["gradient_norms", "saliency", "write"]

# A picture, and the function that writes it to a file.
Drawn = tuple[Picture, Callable[[Path], object]]


def gradient_norms(parameters: Any, digits: Digits, size: int = 128) -> np.ndarray:
    """The norm of the gradient of the loss for each single digit."""

    def norm(image: Any, label: Any) -> Any:
        slopes = px.grad(lambda parameters: loss(parameters, image[None], label[None])[0])(parameters)
        return pnp.sqrt(sum(pnp.sum(slope**2) for slope in px.tree.leaves(slopes)))

    norms = px.jit(px.vmap(norm))
    parts = [digits.take(slice(start, start + size)) for start in range(0, len(digits), size)]
    return np.concatenate([norms(part.images, part.labels) for part in parts])


def saliency(parameters: Any, images: Any, labels: Any) -> np.ndarray:
    """The gradient of the log-probability of each digit's label with respect to its pixels."""

    def chance(image: Any, label: Any) -> Any:
        return px.nn.log_softmax(logits(parameters, image[None]))[0] @ px.nn.one_hot(label, 10)

    return np.asarray(px.jit(px.vmap(px.grad(chance)))(images, labels))


def write(run: Run, train: Digits, test: Digits, folder: Path) -> Path:
    """Write all pictures and the page, and print the name of each picture.

    Args:
      run: the trained network.
      train, test: the digits.
      folder: the folder for the report; it is made if it does not exist.

    Returns:
      The file of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures.style()
    pictures = []
    drawn = [*_of_learning(run, test), *_of_gradients(run, train, test), *_of_convolutions(), *_of_the_program(run)]
    for picture, draw in drawn:
        began = time.perf_counter()
        draw(folder / picture.file)
        print(f"  {picture.file:20} {picture.title:22} {time.perf_counter() - began:5.1f} s")
        pictures.append(picture)
    times = run.timings
    numbers = [
        (f"{run.history.test_accuracy[-1]:.1%}", "accuracy on the test digits"),
        (f"{count(run.parameters):,}", "parameters"),
        (f"{times.trace * 1e3:.0f} ms", "to trace a step"),
        (f"{times.compile:.1f} s", "to compile a step"),
        (f"{times.run:.1f} s", f"to run {times.steps:,} steps"),
    ]
    index = folder / "index.html"
    subtitle = (
        "A convolutional network in primax. Its activation is a primitive of a third-party package, primax-swish."
    )
    index.write_text(page("Handwritten digits, read by primax", subtitle, numbers, pictures), encoding="utf-8")
    return index


def _of_learning(run: Run, test: Digits) -> list[Drawn]:
    chances = probabilities(run.parameters, test.images)
    guesses = chances.argmax(1)
    wrong = int(np.sum(guesses != test.labels))
    learning = Picture(
        "learning-curve.png",
        "Learning",
        f"Loss and accuracy by epoch. Each of {len(run.history.test_loss)} epochs uses every training digit once, "
        f"moved at random by up to a pixel. The {len(test):,} test digits are not used for training.",
    )
    confusion = Picture(
        "confusion.png",
        "Confusion matrix",
        f"Counts of test digits by label and prediction; {wrong} of {len(test):,} are misread.",
    )
    misread = Picture(
        "misread.png",
        "Misread digits",
        "The eight test digits with the worst predictions, worst first: misread digits, then correct ones with a small "
        "margin. The bars are the probabilities of 0 to 9: the label in blue, a wrong prediction in orange.",
    )
    return [
        (learning, partial(figures.learning_curve, run.history)),
        (confusion, partial(figures.confusion, test.labels, guesses)),
        (misread, partial(figures.misread, test.images, test.labels, chances)),
    ]


def _of_gradients(run: Run, train: Digits, test: Digits) -> list[Drawn]:
    first = px.tree.map(np.asarray, run.parameters["first"])
    once = [np.flatnonzero(test.labels == digit)[0] for digit in range(10) if digit in test.labels]
    shown = test.take(np.array(once))
    responses = np.asarray(convolve(first, shown.images[-1:])[0])
    filters = Picture(
        "filters.png",
        "First-layer filters",
        "The kernels of 3 × 3 pixels (red is positive), the learned slope β of the activation for each, and below each "
        "kernel its output for one digit.",
    )
    salient = Picture(
        "saliency.png",
        "Saliency",
        "The gradient of the log-probability of the label with respect to the pixels. More ink on red pixels makes the "
        "label more likely; on blue pixels, less likely.",
    )
    norms = Picture(
        "gradient-norms.png",
        "Hard and easy digits",
        "The norm of the gradient of the loss for each single training digit, by vmap of grad: a histogram, and the "
        "digits with the largest and the smallest norms.",
    )
    slopes = saliency(run.parameters, shown.images, shown.labels)
    lengths = gradient_norms(run.parameters, train)
    return [
        (filters, partial(figures.filters, first["kernel"], first["slope"], responses, shown.images[-1])),
        (salient, partial(figures.saliency, shown.images, slopes, shown.labels)),
        (norms, partial(figures.gradient_norms, lengths, train.images, train.labels)),
    ]


def _of_convolutions() -> list[Drawn]:
    edges = Picture(
        "convolutions.png",
        "Edges of a photograph",
        "One kernel of 3 × 3 pixels with every option of a convolution: layout, padding, strides, dilation of the "
        "kernel and of the image, and the transposed convolution.",
    )
    curves = Picture("curves.png", "In one dimension", "Two noisy curves (dots), smoothed by convolutions of width 3.")
    solid = Picture(
        "solid.png",
        "In three dimensions",
        "Sections of a ring, and its surface, found by a kernel of 3 × 3 × 3 voxels: red outside, blue inside.",
    )
    return [
        (edges, partial(figures.convolutions, gallery.edges_of_a_photograph(), gallery.photograph())),
        (curves, partial(figures.curves, *gallery.curves())),
        (solid, partial(figures.solid, *gallery.solid())),
    ]


def _of_the_program(run: Run) -> list[Drawn]:
    """The program of the network, if Graphviz is installed to draw it."""
    if which("dot") is None:
        return []
    program = Picture(
        "program.png",
        "The program",
        "The program of the network for one digit. The colour of an equation shows the plugin of its primitive. Only "
        "swish is from a third party.",
    )
    drawing = px.visualize(logits, run.parameters, px.ShapeDtypeStruct((1, 8, 8, 1), "float32"), name="the network")
    return [(program, drawing.save)]
