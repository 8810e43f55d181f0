"""The pytree registries, and the functions that declare a class to be a pytree node."""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from primax.core._jaxlib import pytree
from primax.core.arguments import sequence
from primax.core.avals import aval_handlers

if TYPE_CHECKING:
    PyTreeDef: TypeAlias = Any
else:
    PyTreeDef = pytree.PyTreeDef

DictKey = pytree.DictKey
FlattenedIndexKey = pytree.FlattenedIndexKey
GetAttrKey = pytree.GetAttrKey
SequenceKey = pytree.SequenceKey

Key: TypeAlias = Any
KeyPath: TypeAlias = tuple[Key, ...]
Aux: TypeAlias = Hashable
Class = TypeVar("Class", bound=type)


def _new_registry(name: str) -> Any:
    """Make an empty registry whose treedefs can be pickled as `primax.core.tree.<name>`."""
    new = pytree.PyTreeRegistry(
        enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True, enable_dict=True
    )
    new.__module__ = "primax.core.tree"
    new.__name__ = name
    return new


# An Array is a leaf in `registry`, and a node in the other two: jaxlib's dispatch flattens arguments with
# `dispatch_registry` and rebuilds results with `result_registry`. Arrays are registered there in different ways, each
# the fastest for its purpose. The registries differ only for arrays and NumPy scalars.
registry = _new_registry("registry")
dispatch_registry = _new_registry("dispatch_registry")
result_registry = _new_registry("result_registry")
registries = registry, dispatch_registry, result_registry

_lock = threading.RLock()
# The names of the children of each registered class: the fields of a dataclass; () for other classes.
_child_names: dict[type, tuple[str, ...]] = {}


def is_namedtuple(cls: type) -> bool:
    """Whether `cls` was made by `collections.namedtuple` or `typing.NamedTuple`."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def child_names(cls: type) -> tuple[str, ...] | None:
    """The names of the children of a registered dataclass; () for another registered class, None otherwise."""
    return _child_names.get(cls)


def _check_new(who: str, nodetype: Any, argument: str = "nodetype") -> None:
    """Raise an error for a class that no registry accepts, before the first registry changes."""
    if not isinstance(nodetype, type):
        raise TypeError(f"{who}: {argument} must be a class, got {nodetype!r}")
    if nodetype in aval_handlers or issubclass(nodetype, np.generic):
        raise ValueError(
            f"{who}: {argument} must be a class of containers, got {nodetype!r}, whose instances are values that "
            "programs compute with: leaves"
        )
    taken = nodetype in _child_names
    if not taken and not is_namedtuple(nodetype):  # C++ calls every namedtuple a node, but one may still be registered
        taken = any(one.is_node(nodetype) for one in registries)
    if taken:
        raise ValueError(
            f"{who}: {argument} must be a class that is not a pytree node yet, got {nodetype!r}, "
            "which is one already; register a class once, where it is defined"
        )


def _check_callable(who: str, **functions: Any) -> None:
    for argument, function in functions.items():
        if not callable(function):
            raise TypeError(f"{who}: {argument} must be callable, got {function!r}")


def _register(
    who: str,
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Aux]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Aux]] | None,
) -> None:
    """Add a class to all registries, or to none if one fails."""
    _check_callable(who, flatten_func=flatten_func, unflatten_func=unflatten_func)
    if flatten_with_keys is not None:
        _check_callable(who, flatten_with_keys=flatten_with_keys)
    with _lock:
        _check_new(who, nodetype)
        for one in registries:
            one.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)
        _child_names[nodetype] = ()


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Aux]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Aux]] | None = None,
) -> None:
    """Declare that instances of a class are containers of other pytrees.

    Args:
        nodetype: the class. Its subclasses are not included.
        flatten_func: takes an instance; returns its children and hashable static data.
        unflatten_func: takes the static data and the children; returns an instance. It must accept
            any objects as children, since transformations put tracers and markers there.
        flatten_with_keys_func: like `flatten_func`, with `(key, child)` pairs for children.

    Raises:
        TypeError: `nodetype` is not a class, or a function is not callable.
        ValueError: the class is a pytree node already, or a class of leaves, such as `float`.

    >>> from primax import tree, tree_util
    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> tree_util.register_pytree_node(
    ...     Interval, lambda i: ((i.low, i.high), None), lambda aux, children: Interval(*children))
    >>> tree.leaves([Interval(1, 2), 3])
    [1, 2, 3]
    """
    _register("register_pytree_node", nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Aux]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Aux]] | None = None,
) -> None:
    """Declare a class to be a pytree node whose children have keys, for error messages and paths.

    Args:
        nodetype: the class.
        flatten_with_keys: takes an instance; returns `(key, child)` pairs and hashable static data.
        unflatten_func: takes the static data and the children; returns an instance.
        flatten_func: a faster function for the children and the static data, where the keys are not needed.

    Raises:
        TypeError: `nodetype` is not a class, or a function is not callable.
        ValueError: the class is a pytree node already, or a class of leaves, such as `float`.

    >>> from primax import tree, tree_util
    >>> class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> tree_util.register_pytree_with_keys(
    ...     Point, lambda p: (((tree_util.GetAttrKey("x"), p.x),), None), lambda aux, xs: Point(*xs))
    >>> tree_util.keystr(tree.leaves_with_path([Point(1.5)])[0][0])
    '[0].x'
    """
    _check_callable("register_pytree_with_keys", flatten_with_keys=flatten_with_keys)

    def without_keys(node: Any) -> tuple[list[Any], Aux]:
        pairs, aux = flatten_with_keys(node)
        return [child for _, child in pairs], aux

    _register(
        "register_pytree_with_keys",
        nodetype,
        without_keys if flatten_func is None else flatten_func,
        unflatten_func,
        flatten_with_keys,
    )


def _check_methods(who: str, cls: Any, *methods: str) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"{who}: cls must be a class, got {cls!r}")
    missing = [method for method in methods if not hasattr(cls, method)]
    if missing:
        raise TypeError(f"{who}: {cls!r} must define {' and '.join(missing)}")


def register_pytree_node_class(cls: Class) -> Class:
    """Class decorator: register a class as a pytree node by its method `tree_flatten` and classmethod `tree_unflatten`.

    Args:
        cls: a class with `tree_flatten(self) -> (children, aux)` and `tree_unflatten(cls, aux, children)`.

    Raises:
        TypeError: the class lacks a method.
        ValueError: the class is a pytree node already, or a class of leaves, such as `float`.

    >>> from primax import tree, tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Box:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def tree_flatten(self):
    ...         return (self.value,), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> tree.map(lambda x: x + 1, Box(2)).value
    3
    """
    who = "register_pytree_node_class"
    _check_methods(who, cls, "tree_flatten", "tree_unflatten")
    _register(who, cls, cls.tree_flatten, cls.tree_unflatten, None)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: register a class as a pytree node by `tree_flatten_with_keys` and `tree_unflatten`.

    Args:
        cls: a class with the method `tree_flatten_with_keys(self) -> (pairs, aux)` and the classmethod
            `tree_unflatten(cls, aux, children)`. It may have a method `tree_flatten(self)`, which is faster.

    Raises:
        TypeError: the class lacks a method.
        ValueError: the class is a pytree node already, or a class of leaves, such as `float`.

    >>> from primax import tree_util
    >>> @tree_util.register_pytree_with_keys_class
    ... class Named:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def tree_flatten_with_keys(self):
    ...         return ((tree_util.GetAttrKey("value"), self.value),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> tree_util.tree_leaves_with_path(Named(2))
    [((GetAttrKey(name='value'),), 2)]
    """
    _check_methods("register_pytree_with_keys_class", cls, "tree_flatten_with_keys", "tree_unflatten")
    register_pytree_with_keys(
        cls,
        cls.tree_flatten_with_keys,  # type: ignore[attr-defined]
        cls.tree_unflatten,  # type: ignore[attr-defined]
        getattr(cls, "tree_flatten", None),
    )
    return cls


def _names(who: str, argument: str, names: Any) -> list[str]:
    listed = [] if isinstance(names, str) else sequence(who, argument, names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in listed):
        what = "the string " if isinstance(names, str) else ""
        raise TypeError(f"{who}: {argument} must be a sequence of names, got {what}{names!r}")
    return listed


def _dataclass_fields(
    nodetype: Any, data: Sequence[str] | None, meta: Sequence[str] | None, drop: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Complete and check the field names given to `register_dataclass`."""
    who = f"register_dataclass of {nodetype.__qualname__}"
    if (data is None) != (meta is None):
        raise TypeError(f"{who}: data_fields and meta_fields must be given both or neither, got {data!r} and {meta!r}")
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data is None or meta is None:
        if not is_dataclass:
            raise TypeError(f"{who}: data_fields and meta_fields must be given, since it is not a dataclass")
        kept = [field for field in dataclasses.fields(nodetype) if field.name not in drop]
        data = [field.name for field in kept if not field.metadata.get("static", False)]
        meta = [field.name for field in kept if field.metadata.get("static", False)]
    data, meta = _names(who, "data_fields", data), _names(who, "meta_fields", meta)
    named = [*data, *meta]
    repeated = sorted({name for name in named if named.count(name) > 1})
    if repeated:
        raise ValueError(f"{who}: each field must be named once, got {repeated} more than once")
    if is_dataclass:
        init_fields = {field.name for field in dataclasses.fields(nodetype) if field.init} - set(drop)
        missing, unexpected = sorted(init_fields - set(named)), sorted(set(named) - init_fields)
        if missing or unexpected:
            raise ValueError(
                f"{who}: data_fields and meta_fields must together be the fields that __init__ takes, "
                f"missing {missing}, unexpected {unexpected}; a field may be left out by drop_fields"
            )
    return tuple(data), tuple(meta)


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Declare a dataclass to be a pytree node; usable as a decorator.

    Args:
        nodetype: a dataclass, or a class whose constructor takes its fields by keyword.
        data_fields: the fields that are children. For a dataclass the default is every field not
            marked by `dataclasses.field(metadata={"static": True})`.
        meta_fields: the fields that are static data. They must be hashable, and are compared by `==`.
        drop_fields: the fields of a dataclass that flattening drops.

    Raises:
        TypeError: `nodetype` is not a class, or one of the two field lists is missing.
        ValueError: the lists and the fields of `__init__` differ, or the class is a pytree node already.

    >>> import dataclasses
    >>> from primax import tree, tree_util
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = tree.static(default="dense")
    >>> tree.map(lambda w: w * 2, Layer(1.5))
    Layer(weight=3.0, name='dense')
    """
    _check_new("register_dataclass", nodetype)
    data, meta = _dataclass_fields(
        nodetype, data_fields, meta_fields, tuple(_names("register_dataclass", "drop_fields", drop_fields))
    )
    with _lock:
        _check_new("register_dataclass", nodetype)
        for one in registries:
            one.register_dataclass_node(nodetype, list(data), list(meta))
        _child_names[nodetype] = data
    return nodetype


def register_static(cls: Class) -> Class:
    """Class decorator: instances are pytrees without leaves. They are static data, compared by `==`.

    Args:
        cls: a class.

    Raises:
        TypeError: `cls` is not a class.
        ValueError: the class is a pytree node already, or a class of leaves, such as `float`.

    >>> from primax import tree, tree_util
    >>> @tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> tree.leaves([Mode("train"), 1])
    [1]
    """
    who = "register_static"
    _check_new(who, cls, "cls")
    _register(who, cls, lambda node: ((), node), lambda node, _: node, None)
    return cls


def static(**kwargs: Any) -> Any:
    """`dataclasses.field(**kwargs)`, marked as static data for `register_dataclass`.

    >>> from primax import tree
    >>> tree.static(default=3).metadata["static"]
    True
    """
    return dataclasses.field(metadata={**(kwargs.pop("metadata", None) or {}), "static": True}, **kwargs)


def _by_key(keys: Iterable[Any], values: Iterable[Any]) -> list[tuple[Key, Any]]:
    return [(DictKey(key), value) for key, value in zip(keys, values, strict=True)]


def _ordered_dict_with_keys(node: Any) -> tuple[list[tuple[Key, Any]], Aux]:
    return _by_key(node, node.values()), tuple(node)


def _default_dict_flatten(node: Any) -> tuple[list[Any], Aux]:
    keys = tuple(sorted(node))
    return [node[key] for key in keys], (node.default_factory, keys)


def _default_dict_with_keys(node: Any) -> tuple[list[tuple[Key, Any]], Aux]:
    values, aux = _default_dict_flatten(node)
    return _by_key(sorted(node), values), aux


def _default_dict_unflatten(aux: Any, values: Any) -> Any:
    factory, keys = aux
    return collections.defaultdict(factory, zip(keys, values, strict=True))


register_pytree_node(
    collections.OrderedDict,
    lambda node: (list(node.values()), tuple(node)),
    lambda keys, values: collections.OrderedDict(zip(keys, values, strict=True)),
    _ordered_dict_with_keys,
)
register_pytree_node(collections.defaultdict, _default_dict_flatten, _default_dict_unflatten, _default_dict_with_keys)
