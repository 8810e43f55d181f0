"""`jax._src.flattree`: the leaves of a pytree with its structure, which can be mapped over without flattening again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from primax import tree

__all__ = ["FlatTree", "flatten", "flatten_args", "pack", "pack_args"]


class FlatTree:
    """The leaves and the structure of a pytree.

    Attributes:
      vals: the leaves.
      tree: the structure.
    """

    def __init__(self, vals: Iterable[Any], tree: Any, *_: Any, **__: Any) -> None:
        self.vals = tuple(vals)
        self.tree = tree
        if len(self.vals) != tree.num_leaves:
            raise ValueError(f"FlatTree: vals must be {tree.num_leaves} leaves, got {len(self.vals)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlatTree) and self.vals == other.vals and self.tree == other.tree

    def __hash__(self) -> int:
        return hash((self.vals, self.tree))

    def __repr__(self) -> str:
        return f"FlatTree({self.vals})"

    def __len__(self) -> int:
        return len(self.vals)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.vals)

    def __getitem__(self, i: Any) -> Any:
        return self.vals[i]

    @staticmethod
    def flatten(tree_: Any, is_leaf: Any = None, **_: Any) -> FlatTree:
        """The leaves and the structure of a pytree."""
        return FlatTree(*tree.flatten(tree_, is_leaf))

    @staticmethod
    def flatten_args(*args: Any) -> FlatTree:
        """The leaves and the structure of `(args, {})`."""
        return FlatTree.flatten((args, {}))

    @staticmethod
    def pack(parts: Any) -> FlatTree:
        """The tree of tuples and dictionaries of such trees."""
        whole = tree.map(FlatTree.unflatten, parts, is_leaf=lambda x: isinstance(x, FlatTree))
        return FlatTree.flatten(whole)

    @staticmethod
    def pack_args(*args: Any, **kwargs: Any) -> FlatTree:
        """The tree of `(args, kwargs)`."""
        return FlatTree.pack((args, kwargs))

    def update(self, vals: Iterable[Any]) -> FlatTree:
        """Other leaves in the same structure."""
        return FlatTree(vals, self.tree)

    def map(self, f: Callable[[Any], Any]) -> FlatTree:
        """The tree of the values of a function of each leaf; they are leaves, whatever their type."""
        return self.update(map(f, self.vals))

    def map2(self, f: Callable[[Any, Any], Any], other: Sequence[Any]) -> FlatTree:
        """`map` with a second list of values; the function may come second, as in newer releases of JAX."""
        f, other = (f, other) if callable(f) else (other, f)
        return self.update(f(x, y) for x, y in zip(self.vals, other, strict=True))

    def unzip2(self) -> tuple[FlatTree, FlatTree]:
        """The trees of the first and of the second elements of leaves that are pairs."""
        return self.update(first for first, _ in self.vals), self.update(second for _, second in self.vals)

    def unpack(self) -> tuple[FlatTree, ...]:
        """The trees of the children of the outermost node."""
        vals = iter(self.vals)
        return tuple(FlatTree([next(vals) for _ in range(child.num_leaves)], child) for child in self.tree.children())

    def unflatten(self) -> Any:
        """The pytree."""
        return tree.unflatten(self.tree, self.vals)


flatten = FlatTree.flatten
flatten_args = FlatTree.flatten_args
pack = FlatTree.pack
pack_args = FlatTree.pack_args
