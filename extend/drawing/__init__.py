"""Pictures of programs: jaxprs as graphs, coloured by the plugins that their primitives come from.

- `graph`: what is drawn: nodes, edges between them, and boxes around those of programs within programs.
- `dot`: a graph as text in the language of Graphviz.
- `graphviz`: the program of that name, which makes images of such text.
- `picture`: what users see.
"""

from __future__ import annotations

from primax.extend.drawing.picture import Picture, visualize

__all__ = ["Picture", "visualize"]
