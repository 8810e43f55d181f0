"""The report: the plugin, the program and the training of the network, and convolutions, on a page with pictures."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from primax_swish import activation

import primax as px
import primax.numpy as pnp
from digits import figures, gallery, network, page, pixels, program, sources
from digits.data import Digits
from digits.network import convolve, count, logits, loss
from digits.page import Cell, Chapter, Section, drawing, files, grid
from digits.train import Run, probabilities
from primax.extend import commands

__all__ = ["gradient_norms", "saliency", "write"]


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
    """Write all pictures and the page, and print the title of each part.

    Args:
      run: the trained network.
      train, test: the digits.
      folder: the folder for the report; it is made if it does not exist.

    Returns:
      The file of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures.style()
    parts: list[Chapter | Section] = []
    for chapter, sections in _chapters(run, train, test):
        parts.append(chapter)
        for write_section in sections:
            began = time.perf_counter()
            section = write_section(folder)
            print(f"  {section.title:32} {time.perf_counter() - began:5.1f} s")
            parts.append(section)
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
        "A convolutional network in primax. Its activation is a primitive of another package, `primax-swish`, and "
        "works under `jit`, `grad` and `vmap` like those of primax."
    )
    index.write_text(page.page("Handwritten digits, read by primax", subtitle, numbers, parts), encoding="utf-8")
    return index


def _chapters(run: Run, train: Digits, test: Digits) -> list[tuple[Chapter, list[Callable[[Path], Section]]]]:
    """The chapters, each with functions that write the pictures of a section to a folder."""
    chances = probabilities(run.parameters, test.images)
    shown = test.take(np.array([np.flatnonzero(test.labels == digit)[0] for digit in np.unique(test.labels)]))
    return [
        (
            Chapter("The plugin", "A package adds a primitive to primax. Its users only install it."),
            [_of_the_package, _of_the_network, _of_its_rules],
        ),
        (
            Chapter("The program", "What primax traces, transforms and compiles."),
            [
                lambda folder: _of_the_network_as_a_program(run),
                lambda folder: _of_a_step(run),
                lambda folder: _of_the_drawing(run, folder),
            ],
        ),
        (
            Chapter(
                "The training", f"{len(train):,} digits of 8 × 8 pixels for training, and {len(test):,} for tests."
            ),
            [
                lambda folder: _of_learning(run, folder),
                lambda folder: _of_confusion(test, chances.argmax(1), folder),
                lambda folder: _of_doubt(test, chances),
            ],
        ),
        (
            Chapter("Derivatives of the network", "By `grad`, and by `vmap` of `grad`."),
            [
                lambda folder: _of_filters(run, shown.images[-1], shown.labels[-1]),
                lambda folder: _of_saliency(run, shown),
                lambda folder: _of_gradients(run, train, folder),
            ],
        ),
        (
            Chapter(
                "Convolutions", "`px.lax.conv_general_dilated` with all its options, in one, two and three dimensions."
            ),
            [_of_a_photograph, _of_curves, _of_a_solid],
        ),
    ]


def _of_the_package(folder: Path) -> Section:
    (entry,) = entry_points(group="primax", name="swish")
    module = sources.definitions(activation, "_swish_jvp", "_swish_lowering", "swish_p")
    return Section(
        "A primitive in a package",
        "The primitive `swish` computes `x * sigmoid(beta * x)`. Its JVP rule binds a second primitive, `swish_slope`, "
        "so that reverse mode saves only `x` and `beta`. An entry point in the metadata of the package names its "
        "module; primax imports the module when a program first needs one of its rules.",
        sources.plain(f'[project.entry-points.primax]\n{entry.name} = "{entry.value}"') + sources.code(module),
    )


def _of_the_network(folder: Path) -> Section:
    return Section(
        "Its use in the network",
        "The network calls the activation like any function. The slope is a parameter, one for each channel.",
        sources.code(sources.definitions(network, "convolve", "logits")),
    )


def _of_its_rules(folder: Path) -> Section:
    return Section(
        "Where its rules come from",
        "`primax rules` lists the rules of primitives, and `primax why` shows where one is defined.",
        "".join(
            sources.plain(f"$ primax {' '.join(command)}\n{_printed(*command)}")
            for command in (
                ("rules", "swish", "swish_slope"),
                ("why", "swish"),
                ("why", "swish_slope", "lowering"),
            )
        ),
    )


def _printed(*command: str) -> str:
    """What a command of primax prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        commands.main(command)
    return printed.getvalue()


def _of_a_step(run: Run) -> Section:
    return Section(
        "One step of training",
        f"The jaxpr of a step: loss, gradient and update in {len(run.program.eqns)} equations, in their order.",
        program.chips(run.program.jaxpr),
    )


def _of_the_network_as_a_program(run: Run) -> Section:
    image = px.ShapeDtypeStruct((1, 8, 8, 1), "float32")
    return Section(
        "The network",
        "The jaxpr of the network for one image: each box is an equation, with the type of its result, and beside it "
        "are the parameters that it uses.",
        program.chain(px.make_jaxpr(logits)(run.parameters, image).jaxpr, run.parameters),
    )


def _of_the_drawing(run: Run, folder: Path) -> Section:
    if which("dot") is None:
        return Section(
            "The step as a graph",
            "`px.visualize` draws programs where Graphviz is installed (`apt install graphviz`). It is not, so here is "
            "the text of the program.",
            f"<details><summary>The program of the step</summary>{sources.plain(str(run.program))}</details>",
        )
    px.visualize(run.program, name="a step of training", depth=0).save(folder / "step.svg")
    alt = "a graph of the whole step, too large to read here: the network, its derivatives, and Adam"
    return Section(
        "The step as a graph",
        "By `px.visualize`: each box is an equation, in the colour of the plugin that its primitive comes from. The "
        "picture is a link to itself, to zoom into.",
        drawing("step.svg", alt),
    )


def _of_learning(run: Run, folder: Path) -> Section:
    history = run.history
    figures.loss(history.train_loss, history.test_loss, folder / "loss.svg")
    figures.accuracy(history.train_accuracy, history.test_accuracy, folder / "accuracy.svg")
    return Section(
        "Learning",
        f"Loss and accuracy by epoch. Each of {len(history.test_loss)} epochs uses every training digit once, moved at "
        "random by up to a pixel. The test digits are not used for training.",
        files(
            (
                "loss.svg",
                f"a curve of the cross entropy of the test digits, from {history.test_loss[0]:.2f} after the first "
                f"epoch to {history.test_loss[-1]:.2f} after the last, and one of the training digits",
            ),
            (
                "accuracy.svg",
                f"a curve of the accuracy on the test digits, from {history.test_accuracy[0]:.0%} after the first "
                f"epoch to {history.test_accuracy[-1]:.1%} after the last, and one on the training digits",
            ),
        ),
    )


def _of_confusion(test: Digits, guesses: np.ndarray, folder: Path) -> Section:
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (test.labels, guesses), 1)
    figures.confusion(counts, folder / "confusion.svg")
    wrong = len(test) - np.trace(counts)
    confused = ", ".join(f"{count} × {i} as {j}" for (i, j), count in np.ndenumerate(counts) if i != j and count)
    return Section(
        "Confusion matrix",
        f"Counts of test digits by label and prediction; {wrong} of {len(test):,} are misread.",
        files(("confusion.svg", f"a table of ten rows and columns, filled along its diagonal; misread: {confused}")),
    )


def _of_doubt(test: Digits, chances: np.ndarray) -> Section:
    """The digits with the smallest margin between the probability of the label and the largest other one."""
    its_own = np.eye(10, dtype=bool)[test.labels]
    margin = chances[its_own] - np.where(its_own, 0, chances).max(1)
    cells = []
    for row in np.argsort(margin)[:8]:
        label, guess = int(test.labels[row]), int(chances[row].argmax())
        caption = f"read as {guess}" if guess != label else "correct"
        drawn = pixels.ink(test.images[row], f"a handwritten {label}"), pixels.bars(chances[row], label, guess)
        cells.append(Cell(drawn, f"{label},", caption, wrong=guess != label))
    return Section(
        "Misread digits",
        "The eight test digits with the worst predictions, worst first: misread digits, then correct ones with a small "
        "margin. The bars are the probabilities of 0 to 9: the label in blue, a wrong prediction in orange.",
        grid(cells, 8, 4),
    )


def _of_filters(run: Run, image: np.ndarray, label: int) -> Section:
    first = px.tree.map(np.asarray, run.parameters["first"])
    kernel, outputs = first["kernel"], np.asarray(convolve(first, image[None])[0])
    limit, reach = np.abs(kernel).max(), np.abs(outputs).max()
    cells = [
        Cell(
            (
                pixels.signed(kernel[..., 0, i], limit, f"kernel {i}"),
                pixels.signed(outputs[..., i], reach, f"output of kernel {i}"),
            ),
            caption=f"β = {slope:.2f}",
        )
        for i, slope in enumerate(first["slope"])
    ]
    return Section(
        "First-layer filters",
        f"The kernels of 3 × 3 pixels (red is positive, blue negative), below each kernel its output for the {label} "
        "shown under Saliency, and the learned slope β of its activation.",
        grid(cells, 8, 4),
    )


def _of_saliency(run: Run, shown: Digits) -> Section:
    slopes = saliency(run.parameters, shown.images, shown.labels)
    cells = [
        Cell(
            (
                pixels.ink(image, f"a handwritten {label}"),
                pixels.signed(slope, np.abs(slope).max() or 1, f"the gradient for the {label}"),
            )
        )
        for image, slope, label in zip(shown.images, slopes, shown.labels, strict=True)
    ]
    return Section(
        "Saliency",
        "The gradient of the log-probability of the label with respect to the pixels. More ink on red pixels makes the "
        "label more likely; on blue pixels, less likely.",
        grid(cells, 10, 5),
    )


def _of_gradients(run: Run, train: Digits, folder: Path) -> Section:
    lengths = gradient_norms(run.parameters, train)
    figures.norms(lengths, folder / "norms.svg")
    order = np.argsort(lengths)
    cells = [
        Cell((pixels.ink(train.images[row], f"a handwritten {train.labels[row]}"),), "", f"{lengths[row]:.2g}")
        for row in [*order[::-1][:8], *order[:8]]
    ]
    alt = f"a histogram of the norms on a logarithmic axis, from {lengths.min():.1g} to {lengths.max():.1g}"
    return Section(
        "Hard and easy digits",
        "The norm of the gradient of the loss for each single training digit: a histogram, and the eight digits with "
        "the largest and the eight with the smallest norms.",
        files(("norms.svg", alt)) + grid(cells, 8, 4),
    )


def _of_a_photograph(folder: Path) -> Section:
    image = gallery.photograph()
    first = gallery.Convolution("The photograph", "as it is", image.shape, image[0])
    cells = []
    for i, made in enumerate([first, *gallery.edges_of_a_photograph()]):
        name = f"photograph-{i}.webp"
        figures.photograph(made.picture, folder / name)
        alt = "a dahlia, orange on dark green" if i == 0 else f"the edges of its petals: {made.title.lower()}"
        cells.append(Cell((page.image(name, alt),), made.title, f"\n{made.call}\n{made.shape}"))
    return Section(
        "Edges of a photograph",
        "One kernel of 3 × 3 pixels with every option of a convolution: layout, padding, strides, dilation of the "
        "kernel and of the image, and the transposed convolution; with the shapes of the results.",
        grid(cells, 3, 2),
    )


def _of_curves(folder: Path) -> Section:
    figures.curves(*gallery.curves(), folder / "curves.svg")
    alt = "two waves as smooth lines through scattered dots"
    return Section(
        "In one dimension",
        "Two noisy curves (dots), smoothed by convolutions of width 3.",
        files(("curves.svg", alt)),
    )


def _of_a_solid(folder: Path) -> Section:
    data, surface = gallery.solid()
    limit = np.abs(surface).max()
    cells = [
        Cell(
            (
                pixels.ink(0.75 * data[0, :, :, height], f"section at height {height}"),
                pixels.signed(surface[0, :, :, height], limit, f"surface at height {height}"),
            ),
            caption=f"height {height}",
        )
        for height in np.linspace(10, 19, 8).round().astype(int)
    ]
    return Section(
        "In three dimensions",
        "Sections of a ring, and its surface by a kernel of 3 × 3 × 3 voxels: red is outside, blue inside.",
        grid(cells, 8, 4),
    )
