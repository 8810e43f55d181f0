"""Flattening of trees by jaxlib, with errors for endless trees and for predicates that raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core.tree_registry import KeyPath, PyTreeDef, registry

TOO_DEEP = (
    "tree.flatten: tree must not hold itself, nor be deeper than the stack of Python, "
    "got containers in each other without end"
)


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves and the structure of a tree.

    Raises:
        RecursionError: the tree holds itself, or is too deep.
        ValueError: the keys of a dict cannot be sorted, or `is_leaf` returns something else than a bool.
    """
    try:
        if is_leaf is None:
            return registry.flatten(tree)  # type: ignore[no-any-return]
        return _by_predicate(registry.flatten, tree, is_leaf)  # type: ignore[no-any-return]
    except SystemError as error:
        raise too_deep(error) from None


def flatten_with_path(
    tree: Any, is_leaf: Callable[[KeyPath, Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """As `flatten`, with the key path of every leaf; `is_leaf` takes the path and the node."""
    try:
        if is_leaf is None:
            return registry.flatten_with_path(tree)  # type: ignore[no-any-return]
        return _by_predicate(registry.flatten_with_path, tree, is_leaf)  # type: ignore[no-any-return]
    except SystemError as error:
        raise too_deep(error) from None


def too_deep(error: SystemError) -> BaseException:
    """What to raise for an error of jaxlib, which says in this way that it met the end of the stack."""
    return RecursionError(TOO_DEEP) if isinstance(error.__cause__, RecursionError) else error


def _nothing(_: None) -> int:
    return 0


def _check_room() -> None:
    """Raise where the stack has no room for another call from C, which Python counts apart."""
    max((None,), key=_nothing)


def _by_predicate(flatten_all: Callable[..., Any], tree: Any, is_leaf: Callable[..., bool]) -> Any:
    """Flatten with a predicate whose errors are raised afterwards.

    jaxlib counts how deep it is, and does not count back where an exception passes through: each would take some of
    the stack of the thread for good. So none does: after the first, all nodes are leaves.
    """
    failures: list[BaseException] = []

    def guarded(*node: Any) -> bool | None:
        if failures:
            return True
        try:
            _check_room()
        except RecursionError:
            failures.append(RecursionError(TOO_DEEP))
            return True
        try:
            answer = is_leaf(*node)
            if answer is not None and type(answer) is not bool:
                raise ValueError(f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean")
        except BaseException as error:
            failures.append(error)
            return True
        return answer

    flattened = flatten_all(tree, guarded)
    if failures:
        raise failures[0]
    return flattened
