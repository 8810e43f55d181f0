"""Pytrees: nested containers of arrays; functions that map, reduce, flatten and unflatten them."""

from primax.core.tree import static
from primax.core.tree import tree_all as all
from primax.core.tree import tree_broadcast as broadcast
from primax.core.tree import tree_flatten as flatten
from primax.core.tree import tree_flatten_with_path as flatten_with_path
from primax.core.tree import tree_leaves as leaves
from primax.core.tree import tree_leaves_with_path as leaves_with_path
from primax.core.tree import tree_map as map
from primax.core.tree import tree_map_with_path as map_with_path
from primax.core.tree import tree_reduce as reduce
from primax.core.tree import tree_reduce_associative as reduce_associative
from primax.core.tree import tree_structure as structure
from primax.core.tree import tree_transpose as transpose
from primax.core.tree import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
__dir__ = __all__.copy
