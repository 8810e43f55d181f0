"""Pictures of the trained network and of convolutions, one PNG file each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from digits import gallery
from digits.train import History

__all__ = [
    "confusion",
    "convolutions",
    "curves",
    "filters",
    "gradient_norms",
    "learning_curve",
    "misread",
    "saliency",
    "solid",
    "style",
]

INK, FAINT, BLUE, ORANGE = "#22304a", "#8a94a6", "#3565c4", "#e07b39"
PAPER, SIGNED = "Greys", "RdBu_r"


def style() -> None:
    """Set the style of all pictures; they are written to files, and no window opens."""
    matplotlib.use("agg")
    plt.rcParams.update(
        {
            "figure.dpi": 160,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "text.color": INK,
            "axes.edgecolor": FAINT,
            "axes.labelcolor": INK,
            "axes.titlecolor": INK,
            "axes.titlesize": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e8ebf0",
            "xtick.color": FAINT,
            "ytick.color": FAINT,
            "legend.frameon": False,
        }
    )


def _save(figure: Figure, file: Path) -> None:
    figure.savefig(file)
    plt.close(figure)


def _show(axes: Any, image: Any, *, title: str = "", color: str = INK, limit: float | None = None) -> Any:
    """Draw an image without axes: in grey, or with a limit in colours for numbers from -limit to limit."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color("#d5dae3")
    axes.set_title(title, color=color, pad=4)
    image = np.squeeze(image)
    if limit is None:
        return axes.imshow(image, cmap=PAPER, vmin=0, vmax=1)
    return axes.imshow(image, cmap=SIGNED, vmin=-limit, vmax=limit)


def learning_curve(history: History, file: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    epochs = np.arange(1, len(history.train_loss) + 1)
    marker = "o" if len(epochs) < 3 else None
    left.semilogy(epochs, history.train_loss, color=FAINT, marker=marker, label="shifted training digits")
    left.semilogy(epochs, history.test_loss, color=BLUE, lw=2, marker=marker, label="test digits")
    left.set(title="Cross entropy", xlabel="epoch")
    left.legend()
    right.plot(epochs, 100 * np.array(history.train_accuracy), color=FAINT, marker=marker)
    right.plot(epochs, 100 * np.array(history.test_accuracy), color=BLUE, lw=2, marker=marker)
    right.axhline(97, color=ORANGE, lw=1, ls=":")
    right.text(epochs[-1], 96.8, "97 %", color=ORANGE, va="top", ha="right")
    right.set(title="Accuracy in percent", xlabel="epoch")
    if min(history.test_accuracy[2:], default=0) > 0.85:
        right.set_ylim(85, 100.5)
    _save(figure, file)


def confusion(labels: np.ndarray, guesses: np.ndarray, file: Path) -> None:
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, guesses), 1)
    figure, axes = plt.subplots(figsize=(4.6, 4.4))
    right, wrong = (matplotlib.colors.to_rgb(color) for color in ("#b9cdf3", "#fbe3d3"))
    axes.imshow(np.where(np.eye(10, dtype=bool)[..., None], right, wrong), alpha=np.float32(counts > 0))
    for (i, j), count in np.ndenumerate(counts):
        if count:
            emphasis = {"color": ORANGE, "weight": "bold"} if i != j else {}
            axes.text(j, i, count, ha="center", va="center", **emphasis)
    axes.set(xticks=range(10), yticks=range(10), xlabel="prediction", ylabel="digit")
    axes.set_xticks(np.arange(-0.5, 10), minor=True)
    axes.set_yticks(np.arange(-0.5, 10), minor=True)
    axes.grid(False)
    axes.grid(which="minor", color="#e8ebf0")
    axes.tick_params(which="both", length=0)
    _save(figure, file)


def filters(kernel: np.ndarray, slopes: np.ndarray, responses: np.ndarray, image: np.ndarray, file: Path) -> None:
    count = kernel.shape[-1]
    figure = plt.figure(figsize=(9, 4.2))
    digit, grid = figure.subfigures(1, 2, width_ratios=(1.1, 7))
    _show(digit.subplots(), image, title="a digit")
    axes = grid.subplots(4, count // 2)
    limit, reach = np.abs(kernel).max(), np.abs(responses).max()
    for i in range(count):
        row, column = 2 * (i // (count // 2)), i % (count // 2)
        _show(axes[row, column], kernel[..., 0, i], title=f"β = {slopes[i]:.2f}", limit=limit)
        _show(axes[row + 1, column], responses[..., i], limit=reach)
    _save(figure, file)


def misread(images: np.ndarray, labels: np.ndarray, chances: np.ndarray, file: Path) -> None:
    """The digits with the smallest margin between the probability of the label and the largest other one."""
    its_own = np.eye(10, dtype=bool)[labels]
    margin = chances[its_own] - np.where(its_own, 0, chances).max(1)
    chosen = np.argsort(margin)[:8]
    figure, axes = plt.subplots(2, 8, figsize=(9, 2.2), height_ratios=(2, 1), squeeze=False)
    for top, bottom, row in zip(*axes, chosen, strict=False):
        guess = chances[row].argmax()
        wrong = guess != labels[row]
        title = f"{labels[row]}, read as {guess}" if wrong else f"{labels[row]}, correct"
        _show(top, images[row], title=title, color=ORANGE if wrong else FAINT)
        colors = [BLUE if digit == labels[row] else ORANGE if digit == guess else "#c9d0dc" for digit in range(10)]
        bottom.bar(range(10), chances[row], color=colors)
        bottom.set(ylim=(0, 1), yticks=[], xticks=range(10))
        bottom.tick_params(length=0, labelsize=6)
        bottom.grid(False)
        bottom.spines["left"].set_visible(False)
    for unused in axes[:, len(chosen) :].ravel():
        unused.set_axis_off()
    _save(figure, file)


def saliency(images: np.ndarray, slopes: np.ndarray, labels: np.ndarray, file: Path) -> None:
    figure, axes = plt.subplots(2, len(labels), figsize=(9, 2.2), squeeze=False)
    for column, label in enumerate(labels):
        _show(axes[0, column], images[column], title=str(label))
        _show(axes[1, column], slopes[column], limit=np.abs(slopes[column]).max() or 1)
    axes[0, 0].set_ylabel("digit", color=FAINT)
    axes[1, 0].set_ylabel("gradient", color=FAINT)
    _save(figure, file)


def gradient_norms(norms: np.ndarray, images: np.ndarray, labels: np.ndarray, file: Path) -> None:
    figure = plt.figure(figsize=(9, 3))
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.2))
    axes = left.subplots()
    positive = np.maximum(norms, 1e-9)
    axes.hist(positive, np.geomspace(positive.min(), positive.max() * 1.01, 40), color=BLUE)
    axes.set(xscale="log", xlabel="norm of the gradient", ylabel="training digits")
    order = np.argsort(norms)
    count = min(6, len(order))
    grid = right.subplots(2, count, squeeze=False)
    for row, (rows, name) in enumerate(((order[::-1][:count], "hardest"), (order[:count], "easiest"))):
        for column, place in enumerate(rows):
            _show(grid[row, column], images[place], title=f"{labels[place]}: {norms[place]:.2g}", color=FAINT)
        grid[row, 0].set_ylabel(name)
    _save(figure, file)


def convolutions(made: list[gallery.Convolution], image: np.ndarray, file: Path) -> None:
    figure, axes = plt.subplots(3, 3, figsize=(9, 10))
    _show(axes[0, 0], image, title=f"The photograph\n{image.shape}\n")
    for each, place in zip(made, axes.ravel()[1:], strict=True):
        _show(place, each.picture, title=f"{each.title}\n{each.call}\n{each.shape}")
    for place in axes.ravel():
        place.title.set_fontsize(7)
    _save(figure, file)


def curves(noisy: np.ndarray, smooth: np.ndarray, file: Path) -> None:
    figure, axes = plt.subplots(figsize=(9, 3))
    for channel, color in enumerate((BLUE, ORANGE)):
        axes.plot(noisy[0, :, channel], ".", color=color, alpha=0.35, ms=4)
        axes.plot(smooth[0, :, channel], color=color, lw=2, label=f"channel {channel}")
    axes.set(xlabel="position", xlim=(0, 199))
    axes.legend(loc="upper right")
    _save(figure, file)


def solid(data: np.ndarray, surface: np.ndarray, file: Path) -> None:
    """Sections of the solid at several heights, and below each the result of the convolution."""
    heights = np.linspace(9, 20, 8).round().astype(int)
    figure, axes = plt.subplots(2, len(heights), figsize=(9, 2.5))
    limit = np.abs(surface).max()
    for above, below, height in zip(*axes, heights, strict=True):
        _show(above, 0.75 * data[0, :, :, height], title=f"height {height}", color=FAINT)
        _show(below, surface[0, :, :, height], limit=limit)
    axes[0, 0].set_ylabel("the solid", color=FAINT)
    axes[1, 0].set_ylabel("its surface", color=FAINT)
    _save(figure, file)
