"""Flattening of trees by jaxlib, with errors for endless trees and for predicates that raise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from primax.core.tree.paths import keystr
from primax.core.tree.registry import KeyPath, PyTreeDef, registry

TOO_DEEP = (
    "tree.flatten: tree must not contain itself or be nested deeper than Python's stack, "
    "got containers nested too deeply"
)
_UNSORTED = "Comparator raised exception while sorting pytree dictionary keys"


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None, call: Any = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves and the structure of a tree.

    Args:
        tree: any object.
        is_leaf: returns True for nodes that count as leaves.
        call: the pair of positional and keyword arguments that the tree is of, if it is; an error names the argument.

    Raises:
        RecursionError: the tree contains itself, or is too deep.
        ValueError: the keys of a dict cannot be sorted, or `is_leaf` returns a value that is not a bool.
    """
    try:
        if is_leaf is None:
            return registry.flatten(tree)  # type: ignore[no-any-return]
        return _by_predicate(registry.flatten, tree, is_leaf)  # type: ignore[no-any-return]
    except SystemError as error:
        raise too_deep(error) from None
    except ValueError as error:
        raise_unsorted(error, tree, call)
        raise


def flatten_with_path(
    tree: Any, is_leaf: Callable[[KeyPath, Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """`flatten`, with the key path of every leaf; `is_leaf` takes the path and the node."""
    try:
        if is_leaf is None:
            return registry.flatten_with_path(tree)  # type: ignore[no-any-return]
        return _by_predicate(registry.flatten_with_path, tree, is_leaf)  # type: ignore[no-any-return]
    except SystemError as error:
        raise too_deep(error) from None
    except ValueError as error:
        raise_unsorted(error, tree)
        raise


def too_deep(error: SystemError) -> BaseException:
    """The error to raise for a SystemError of jaxlib, which may stand for the end of the stack."""
    return RecursionError(TOO_DEEP) if isinstance(error.__cause__, RecursionError) else error


def raise_unsorted(error: ValueError, tree: Any, call: Any = None) -> None:
    """Raise an error with the keys, if jaxlib raised one since it cannot sort the keys of a dict; see `flatten`."""
    if str(error) != f"{_UNSORTED}.":
        return
    is_leaf = lambda path, node: _unlike_keys(node) is not None  # noqa: E731
    for path, node in registry.flatten_with_path(tree if call is None else call, is_leaf)[0]:
        keys = _unlike_keys(node)
        if keys is not None:
            where = keystr(path) if call is None else "argument" + keystr(path[1:])
            text = f"{_UNSORTED}: keys of a dict must be comparable, got {keys[0]!r} and {keys[1]!r}"
            raise ValueError(f"{text}{where and f' at {where}'}") from None


def _unlike_keys(node: Any) -> tuple[Any, Any] | None:
    """Two keys of a dict that cannot be compared; None if it can be sorted, or is not a dict."""
    keys = None

    def compare(a: Any, b: Any) -> int:
        nonlocal keys
        keys = b, a
        return -1 if a < b else 1

    try:
        sorted(node if type(node) is dict else (), key=cmp_to_key(compare))
    except Exception:
        return keys
    return None


def _nothing(_: None) -> int:
    return 0


def _nested(levels: int) -> tuple[Any, ...]:
    nested: tuple[Any, ...] = ()
    for _ in range(levels):
        nested = (nested,)
    return nested


# Each node is at most one level deeper than the node before it, so one check of the stack is valid for several nodes.
_AHEAD = 12
_deep, _as_deep = _nested(_AHEAD + 4), _nested(_AHEAD + 4)


def _levels_left() -> int:
    """The number of nodes to visit before the next check of the stack; Python counts the depth of C calls separately.

    Raises:
        RecursionError: the stack has no room for another call.
    """
    try:
        return _AHEAD if _deep == _as_deep else 0  # C code compares them, by one nested call for each of their levels
    except RecursionError:
        max((None,), key=_nothing)
        return 0


def _by_predicate(flatten_all: Callable[..., Any], tree: Any, is_leaf: Callable[..., Any]) -> Any:
    """Flatten with a predicate, and raise its error after flattening.

    jaxlib counts the depth of its recursion. An exception that leaves the recursion does not reduce the count, so each
    would make the stack of the thread smaller forever. Therefore the wrapper catches the first error and treats all
    later nodes as leaves.
    """
    failure: BaseException | None = None
    left = 0

    def guarded(*node: Any) -> bool | None:
        nonlocal failure, left
        if left:
            left -= 1
        elif failure is not None:
            return True
        else:
            try:
                left = _levels_left()
            except RecursionError:
                failure = RecursionError(TOO_DEEP)
                return True
        try:
            answer = is_leaf(*node)
            if answer is True or answer is False or answer is None:
                return answer
            raise ValueError(f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean")
        except BaseException as error:
            failure, left = error, 0
            return True

    flattened = flatten_all(tree, guarded)
    if failure is not None:
        raise failure
    return flattened
