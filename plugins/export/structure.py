"""The structure of arguments and results as JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

from primax.extend import dtypes
from primax.extend.core import UserType, tree
from primax.extend.provisional.arguments import check_function
from primax.extend.provisional.records import enter_reversibly


class _Known(NamedTuple):
    """A class of nodes that files have by name."""

    cls: type
    name: str
    to_bytes: Callable[[Any], bytes]
    from_bytes: Callable[[bytes], Any]
    from_children: Callable[[Any, Any], Any] | None


_by_class: dict[type, _Known] = {}
_by_name: dict[str, _Known] = {}


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Any], Any] | None = None,
) -> type:
    """Allow a class of pytree nodes in the arguments and results of exported functions.

    Args:
      nodetype: a class that is registered as a pytree node, here and where the function is loaded.
      serialized_name: its name in files; unique.
      serialize_auxdata: converts the node's static data to bytes.
      deserialize_auxdata: the inverse of it.
      from_children: `(static data, children) -> node`, which makes the node that has the structure; by default the
        static data are those of the structure.

    Raises:
      TypeError: `nodetype` is not a class, `serialized_name` not a str, or another argument not callable.
      ValueError: the class or the name is registered already.
    """
    name = "register_pytree_node_serialization"
    if not isinstance(nodetype, type):
        raise TypeError(f"{name}: nodetype must be a class, got {nodetype!r}")
    if not isinstance(serialized_name, str):
        raise TypeError(f"{name}: serialized_name must be a str, got {serialized_name!r}")
    check_function(name, "serialize_auxdata", serialize_auxdata)
    check_function(name, "deserialize_auxdata", deserialize_auxdata)
    if from_children is not None:
        check_function(name, "from_children", from_children)
    if nodetype in _by_class or serialized_name in _by_name:
        raise ValueError(
            f"{name}: {nodetype.__name__} and {serialized_name!r} must be new, got a second registration of one of them"
        )
    known = _Known(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children)
    enter_reversibly(_by_class, nodetype, known)
    enter_reversibly(_by_name, serialized_name, known)
    return nodetype


dtypes_by_name: dict[str, dtypes.ExtendedDType] = {}


def register_dtype_serialization(dtype: dtypes.ExtendedDType, *, serialized_name: str) -> dtypes.ExtendedDType:
    """Allow arrays of an extended dtype as arguments and results of exported functions that are written to files.

    Args:
      dtype: the dtype; the process that loads the function registers an equal one by the same name. Dtypes of keys need
        no registration.
      serialized_name: its name in files; unique.

    Returns:
      `dtype`.

    Raises:
      TypeError: `dtype` is not an extended dtype, or `serialized_name` not a str.
      ValueError: the name is that of another dtype, or the dtype has another name. A class that is defined again, as in
        a notebook, replaces the earlier one.
    """
    name = "register_dtype_serialization"
    if not dtypes.is_extended(dtype):
        raise TypeError(f"{name}: dtype must be an extended dtype, got {dtype!r}")
    if not isinstance(serialized_name, str):
        raise TypeError(f"{name}: serialized_name must be a str, got {serialized_name!r}")
    names = [known for known, other in dtypes_by_name.items() if other == dtype or known == serialized_name]
    if names != [serialized_name] * len(names) or any(_place(dtypes_by_name[x]) != _place(dtype) for x in names):
        raise ValueError(f"{name}: {dtype} and {serialized_name!r} must be new, got one of them again")
    dtypes_by_name[serialized_name] = dtype
    return dtype


def _place(dtype: Any) -> tuple[str, str]:
    """Where the class of a dtype is defined."""
    return type(dtype).__module__, type(dtype).__qualname__


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Allow a class of named tuples in the arguments and results of exported functions.

    Args:
      nodetype: the class; its fields must be the same where the function is loaded.
      serialized_name: its name in files; unique.

    Raises:
      ValueError: `nodetype` is not a named tuple, or the class or the name is registered already.
    """
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"register_namedtuple_serialization: nodetype must be a named tuple, got {nodetype!r}")
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda aux: b"",
        deserialize_auxdata=lambda data: nodetype,
    )


_KEYS = (str, int, float, bool)


def structure_to_json(treedef: Any, what: str) -> Any:
    """A treedef as lists, strings and numbers.

    Raises:
      ValueError: it has nodes of a class that is not registered for this; the message names the class and `what`.
    """
    data = treedef.node_data()
    if data is None:
        return "*"
    kind, aux = data
    if kind is type(None):
        return None
    children = [structure_to_json(child, what) for child in treedef.children()]
    if kind is tuple:
        return ["tuple", children]
    if kind is list:
        return ["list", children]
    if kind is dict:
        for key in aux:
            if type(key) not in _KEYS:
                raise ValueError(f"export: keys of dicts in {what} must be strings or numbers, got {key!r}")
        return ["dict", children, list(aux)]
    known = _by_class.get(kind)
    if known is None and isinstance(aux, UserType):
        raise ValueError(
            f"export: {what} hold a value of type {aux.str_short()}, and such values have no serialized form; "
            "export a function of its arrays, which makes the value"
        )
    if known is None:
        kinds = (
            "register_namedtuple_serialization" if hasattr(kind, "_fields") else "register_pytree_node_serialization"
        )
        raise ValueError(
            f"export: {what} has a node of type {kind.__module__}.{kind.__qualname__}, which has no serialized form; "
            f"give it one with primax.export.{kinds}"
        )
    return ["node", children, known.name, base64.b64encode(known.to_bytes(aux)).decode()]


def structure_from_json(described: Any) -> Any:
    """The inverse of `structure_to_json`.

    Raises:
      ValueError: a class of nodes is not registered here.
    """
    if described is None or described == "*":
        return tree.tree_structure(None if described is None else 0)
    kind, children, rest = _node(described)
    parts = [structure_from_json(child) for child in children]
    if kind == "node":
        known = _by_name.get(rest[0])
        if known is None:
            raise ValueError(
                f"deserialize: the exported function uses a class of pytree nodes called {rest[0]!r}, which this "
                "process has not registered (primax.export.register_pytree_node_serialization)"
            )
        aux = known.from_bytes(base64.b64decode(rest[1]))
        if known.from_children is not None:
            return tree.tree_structure(known.from_children(aux, [tree.unflatten(p, [0] * p.num_leaves) for p in parts]))
        data: Any = (known.cls, aux)
    else:
        data = {"tuple": (tuple, None), "list": (list, None)}.get(kind) or (dict, list(rest[0]))
    return tree.PyTreeDef.from_node_data_and_children(tree.registry, data, parts)


def _node(described: Any) -> tuple[str, list[Any], list[Any]]:
    """The kind of a node, its children and its other entries."""
    kind, children, *rest = described if isinstance(described, list) and len(described) > 1 else (None, None)
    if isinstance(kind, str) and isinstance(children, list):
        if kind in ("tuple", "list") and not rest:
            return kind, children, rest
        if kind == "dict" and len(rest) == 1 and isinstance(rest[0], list):
            keys = rest[0]
            if len(set(map(repr, keys))) == len(keys) == len(children) and all(type(key) in _KEYS for key in keys):
                return kind, children, rest
        if kind == "node" and len(rest) == 2 and all(isinstance(part, str) for part in rest):
            return kind, children, rest
    raise ValueError(
        f"deserialize: the header of data must have structures of trees, but has {described!r}; "
        "Exported.serialize() does not write such"
    )
