"""The program `dot` of Graphviz, where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["FORMATS", "HINT", "installed", "render"]

FORMATS = ("svg", "png", "pdf")
HINT = "install it (apt install graphviz, brew install graphviz, conda install graphviz)"


def installed() -> str | None:
    """The path of the program; None if it is not installed."""
    shutil: Any = import_module("shutil")  # like subprocess below, needed only for images
    path: str | None = shutil.which("dot")
    return path


def render(text: str, form: str) -> bytes:
    """Lay out a graph and make an image of it.

    Args:
      text: the graph, in Graphviz's language.
      form: "svg", "png" or "pdf".

    Raises:
      RuntimeError: Graphviz is not installed, or fails.
    """
    program = installed()
    if program is None:
        raise RuntimeError(
            f"visualize: {form} needs Graphviz, whose program dot is not on the path; {HINT}, or save a .dot file"
        )
    subprocess: Any = import_module("subprocess")
    options = ["-Gdpi=144"] if form == "png" else []
    done = subprocess.run([program, f"-T{form}", *options], input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"visualize: Graphviz failed: {done.stderr.decode(errors='replace').strip()}")
    image: bytes = done.stdout
    return image
