"""Pictures of programs: jaxprs as graphs, coloured by the plugins that their primitives come from.

- `graph`: the drawing before its layout: nodes, edges, and boxes around the nodes of inner programs.
- `dot`: a graph as text in the language of Graphviz.
- `graphviz`: the program of that name, which makes images of such text.
- `picture`: `visualize` and its result.
"""

from __future__ import annotations

from primax.extend.drawing.picture import Picture, visualize

__all__ = ["Picture", "visualize"]
__dir__ = __all__.copy
