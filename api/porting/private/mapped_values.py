"""`vmap` over values of types that packages written for JAX register, with functions that take and join elements."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from primax.extend.core import tree

__all__ = ["is_vmappable", "register", "unregister"]


class Registered(NamedTuple):
    """How values of a type are mapped.

    Attributes:
      spec_type: the type of their entries in `in_axes` and `out_axes`.
      to_elt: `(cont, get_idx, x, spec)` returns an element; `cont(array, axis)` is an element of an array.
      from_elt: `(cont, size, x, spec)` returns a value of all elements; `cont(size, array, axis)` stacks its `array`s.
    """

    spec_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]


_vmap_module: Any = import_module("primax.interpreters.vmap")  # where the hook is
_registered: dict[type, Registered] = {}


def is_vmappable(x: Any) -> bool:
    """Whether a value is of a registered type."""
    return type(x) in _registered


def register(data_type: type, registered: Registered) -> None:
    """Let `vmap` map values of a type."""
    _registered[data_type] = registered
    _vmap_module.of_registered_values = _mapped


def unregister(data_type: type) -> None:
    """Remove the registration of a type.

    Raises:
      KeyError: the type is not registered.
    """
    del _registered[data_type]
    if not _registered:
        _vmap_module.of_registered_values = None


def _axes(what: str, structure: Any, axes: Any) -> list[Any]:
    """One entry for each leaf; registered entries are leaves."""
    kinds = tuple({each.spec_type for each in _registered.values()} - {int})
    entries, axes_tree = tree.flatten(axes, lambda x: x is None or isinstance(x, kinds))
    places = tree.unflatten(axes_tree, range(len(entries)))
    return [entries[i] for i in tree.flatten_axes(what, structure, places)]


def _mapped(fun: Any, in_axes: Any, out_axes: Any, axis_size: Any, options: dict[str, Any]) -> Callable[..., Any]:
    axes_of_args = tuple(in_axes) if isinstance(in_axes, list) else in_axes

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten(args)
        in_specs = _axes("vmap in_axes", structure, axes_of_args)
        parts: list[Any] = []  # the arrays of registered arguments, and their axes
        part_axes: list[Any] = []

        def take(array: Any, axis: Any) -> Any:
            parts.append(array)
            part_axes.append(axis)
            return array

        for x, spec in zip(leaves, in_specs, strict=True):
            if is_vmappable(x):
                _registered[type(x)].to_elt(take, lambda: 0, x, spec)
        size = getattr(axis_size, "n", axis_size)
        results: dict[str, Any] = {}

        def inner(parts: list[Any], position: Any, rest: list[Any], keywords: dict[str, Any]) -> Any:
            elements, others = iter(parts), iter(rest)
            values = [
                _registered[type(x)].to_elt(lambda array, axis: next(elements), lambda: position, x, spec)
                if is_vmappable(x)
                else next(others)
                for x, spec in zip(leaves, in_specs, strict=True)
            ]
            outs, results["tree"] = tree.flatten(fun(*tree.unflatten(structure, values), **keywords))
            results["specs"] = _axes("vmap out_axes", results["tree"], out_axes)
            results["outs"] = outs
            arrays: list[Any] = []
            results["axes"] = arrays_axes = []

            def put(size: Any, array: Any, axis: Any) -> Any:
                arrays.append(array)
                arrays_axes.append(axis)
                return array

            for out, spec in zip(outs, results["specs"], strict=True):
                if is_vmappable(out):
                    _registered[type(out)].from_elt(put, size, out, spec)
                else:
                    put(size, out, spec)
            return arrays

        ordinary = [(x, axis) for x, axis in zip(leaves, in_specs, strict=True) if not is_vmappable(x)]
        inner.of_elements = True  # type: ignore[attr-defined]  # for `vmap` itself
        numpy = import_module("primax.numpy")
        sizes = [array.shape[axis] for array, axis in zip(parts, part_axes, strict=True) if axis is not None]
        sizes += [numpy.shape(x)[axis] for x, axis in ordinary if axis is not None]
        sizes += [numpy.shape(x)[0] for x in tree.flatten(kwargs)[0]]
        if size is None and not sizes:
            raise ValueError(
                "vmap: at least one argument must be mapped (in_axes not None), or axis_size must be given"
            )
        size = sizes[0] if size is None else size
        arrays = _vmap_module.vmap(
            inner, (part_axes, 0, [axis for _, axis in ordinary], 0), 0, axis_size=size, **options
        )(parts, numpy.arange(size), [x for x, _ in ordinary], kwargs)
        stacked = iter(
            array[0] if axis is None else numpy.moveaxis(array, 0, axis)
            for array, axis in zip(arrays, results["axes"], strict=True)
        )
        outs = [
            _registered[type(out)].from_elt(lambda size, array, axis: next(stacked), size, out, spec)
            if is_vmappable(out)
            else next(stacked)
            for out, spec in zip(results["outs"], results["specs"], strict=True)
        ]
        return tree.unflatten(results["tree"], outs)

    return mapped
