"""The prescribed shardings of the arguments and results of a jitted function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.provisional.sharding import canonical_sharding
from primax.extend.sharding import PartitionSpec
from primax.plugins.devices import constrain_all, require_determined


class JitShardings:
    """The shardings of arguments and results, as given to `jit`.

    Args:
      ins: a tree of shardings, a prefix of the tree of arguments.
      outs: the same for the results.

    Raises:
      TypeError: a leaf is neither a sharding, a specification, a device nor None.
    """

    __slots__ = ("ins", "key", "outs")

    def __init__(self, ins: Any, outs: Any) -> None:
        self.ins = ins
        self.outs = outs
        parts = []
        for what, shardings in (("in_shardings", ins), ("out_shardings", outs)):
            leaves, structure = tree.flatten(shardings, lambda x: x is None)
            for leaf in leaves:
                if not isinstance(leaf, PartitionSpec):
                    canonical_sharding("jit", what, leaf)
            parts.append((tuple(leaves), structure))
        self.key = tuple(parts)

    def of_inputs(self, in_tree: Any, avals: Sequence[Any], name: str) -> list[Any]:
        """For each flat argument its sharding, or None.

        Raises:
          ValueError: the structures differ, an argument is passed by keyword, or a sharding cannot divide an argument.
        """
        if self.ins is not None and in_tree.children()[1].num_leaves:
            raise ValueError(
                f"{name}: arguments must be positional where in_shardings is given, which has no entries for keywords"
            )
        prefix = tuple(self.ins) if isinstance(self.ins, list) else self.ins
        shardings = tree.flatten_axes(f"{name} in_shardings", in_tree, (prefix, None))
        return _canonical_shardings(shardings, avals, name, "in_shardings", "argument")

    def of_outputs(self, out_tree: Any, outs: Sequence[Any], name: str) -> list[Any]:
        """For each flat result its sharding, or None.

        Raises:
          ValueError: the structures differ, or a sharding cannot divide a result.
        """
        shardings = tree.flatten_axes(f"{name} out_shardings", out_tree, self.outs)
        return _canonical_shardings(shardings, list(map(core.get_aval, outs)), name, "out_shardings", "result")

    def constrain(self, values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
        """Flat values with the given shardings; values with None unchanged."""
        return constrain_all(values, shardings)


def _canonical_shardings(flat: Sequence[Any], avals: Sequence[Any], name: str, argument: str, what: str) -> list[Any]:
    shardings = [canonical_sharding(name, argument, sharding) for sharding in flat]
    for i, (sharding, aval) in enumerate(zip(shardings, avals, strict=True)):
        if sharding is not None:
            label = f"{name}: {argument} of {what} {i}, of type {aval.str_short()}"
            require_determined(label, sharding)
            sharding.check_shape(aval.shape, label)
    return shardings
