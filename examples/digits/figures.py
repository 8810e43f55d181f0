"""Drawings of curves and counts as SVG, in the colours of the page, and photographs as WebP."""

from __future__ import annotations

import io
import re
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from digits.page import COLORS

__all__ = ["accuracy", "confusion", "curves", "loss", "norms", "photograph", "style"]

INK, FAINT, GRID, BLUE, ORANGE = (COLORS[name][0] for name in ("ink", "faint", "grid", "blue", "orange"))
SIZE = (4.2, 2.9)


def style() -> None:
    """Set the style of all drawings; they are written to files, and no window opens."""
    matplotlib.use("agg")
    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "digits",
            "figure.constrained_layout.use": True,
            "figure.figsize": SIZE,
            "font.family": "DejaVu Sans",
            "font.size": 10,
            "text.color": INK,
            "axes.edgecolor": FAINT,
            "axes.labelcolor": INK,
            "axes.titlecolor": INK,
            "axes.titlesize": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": GRID,
            "xtick.color": FAINT,
            "ytick.color": FAINT,
            "legend.frameon": False,
        }
    )


def _save(figure: Figure, file: Path) -> None:
    """Write a drawing without a background, with colours that depend on the screen, and the fonts of the reader."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    text = re.sub(r"'DejaVu Sans'(, \w[\w -]*|, '[^']*')*", "system-ui, sans-serif", buffer.getvalue())
    styles = {}
    for i, scheme in enumerate(("light", "dark")):
        variables = "; ".join(f"--{name}: {pair[i]}" for name, pair in COLORS.items())
        styles[scheme] = f"svg {{ {variables} }}"
    for name, (light, _) in COLORS.items():
        text = text.replace(light, f"var(--{name})")
    rules = f"{styles['light']} @media (prefers-color-scheme: dark) {{ {styles['dark']} }}"
    text = re.sub(r"(<svg[^>]*>)", rf"\1\n <style>{rules}</style>", text, count=1)
    file.write_text(text, encoding="utf-8")


def loss(train: list[float], test: list[float], file: Path) -> None:
    figure, axes = plt.subplots()
    epochs = np.arange(1, len(train) + 1)
    marker = "o" if len(epochs) < 3 else None
    axes.semilogy(epochs, train, color=FAINT, marker=marker, label="training digits, shifted")
    axes.semilogy(epochs, test, color=BLUE, lw=2, marker=marker, label="test digits")
    axes.set(title="Cross entropy", xlabel="epoch")
    axes.legend()
    _save(figure, file)


def accuracy(train: list[float], test: list[float], file: Path) -> None:
    figure, axes = plt.subplots()
    epochs = np.arange(1, len(train) + 1)
    marker = "o" if len(epochs) < 3 else None
    axes.plot(epochs, 100 * np.array(train), color=FAINT, marker=marker)
    axes.plot(epochs, 100 * np.array(test), color=BLUE, lw=2, marker=marker)
    axes.axhline(97, color=ORANGE, lw=1, ls=":")
    axes.text(epochs[-1], 96.7, "97 %", color=ORANGE, va="top", ha="right")
    axes.set(title="Accuracy in percent", xlabel="epoch")
    if min(test[2:], default=0) > 0.85:
        axes.set_ylim(85, 100.5)
    _save(figure, file)


def confusion(counts: np.ndarray, file: Path) -> None:
    """The number of digits of each label (row) with each prediction (column)."""
    figure, axes = plt.subplots(figsize=(4.2, 4))
    for (i, j), count in np.ndenumerate(counts):
        if count:
            fill, ink = (COLORS["light-blue"][0], INK) if i == j else (COLORS["light-orange"][0], ORANGE)
            axes.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, color=fill, lw=0))
            axes.text(j, i, count, ha="center", va="center", color=ink, weight="normal" if i == j else "bold")
    axes.set(xticks=range(10), yticks=range(10), xlabel="prediction", ylabel="digit", aspect="equal")
    axes.set(xlim=(-0.5, 9.5), ylim=(9.5, -0.5))
    axes.set_xticks(np.arange(-0.5, 10), minor=True)
    axes.set_yticks(np.arange(-0.5, 10), minor=True)
    axes.grid(False)
    axes.grid(which="minor")
    axes.tick_params(which="both", length=0)
    _save(figure, file)


def norms(lengths: np.ndarray, file: Path) -> None:
    figure, axes = plt.subplots()
    positive = np.maximum(lengths, 1e-9)
    axes.hist(positive, np.geomspace(positive.min(), positive.max() * 1.01, 40), color=BLUE)
    axes.set(xscale="log", xlabel="norm of the gradient", ylabel="training digits")
    _save(figure, file)


def curves(noisy: np.ndarray, smooth: np.ndarray, file: Path) -> None:
    figure, axes = plt.subplots(figsize=(5, 2.9))
    for channel, color in enumerate((BLUE, ORANGE)):
        axes.plot(noisy[0, :, channel], ".", color=color, alpha=0.4, ms=4)
        axes.plot(smooth[0, :, channel], color=color, lw=2, label=f"channel {channel}")
    axes.set(xlabel="position", xlim=(0, 199))
    axes.legend(loc="lower left", ncols=2)
    _save(figure, file)


def photograph(image: np.ndarray, file: Path) -> None:
    """Write an array of shape (height, width, 3), from 0 to 1."""
    plt.imsave(file, np.ascontiguousarray(image), format="webp", pil_kwargs={"quality": 85})
