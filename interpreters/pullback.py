"""Derivatives at a point, as `linearize` and `vjp` return them: pytrees of their residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from primax.core import tree
from primax.core.array_protocol import protocol_of
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, NO_VALUE, get_aval, is_void, same_type
from primax.core.errors import TangentTypeError
from primax.core.host_values import from_host
from primax.core.placement import cotangent_aval, placed_like
from primax.core.tree.registry import register_pytree_node_class
from primax.interpreters.call_signature import avals_of
from primax.interpreters.linearize import Tape
from primax.interpreters.tangents import Zero, instantiate_zeros

Places = tuple[int | None, ...]  # for each leaf of the arguments its index among the residuals, or None
_REST = (Tape, tuple, tree.PyTreeDef, tuple, tree.PyTreeDef, tuple)  # the types of the static parts of a derivative


class _Absent:
    """A placeholder for a value; a pytree without leaves."""

    __slots__ = ()

    def tree_flatten(self) -> tuple[tuple[()], None]:
        """No leaves."""
        return (), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Sequence[Any]) -> _Absent:
        """Another instance."""
        return cls()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@register_pytree_node_class
class NotNeeded(_Absent):
    """Replaces an argument that the derivative does not need."""

    __slots__ = ()


@register_pytree_node_class
class NotSaveable(_Absent):
    """Replaces an argument that is not kept, and must be restored before the derivative is applied."""

    __slots__ = ()


class Derivative:
    """A derivative at a point, as a function that is a pytree with its residuals as leaves.

    Attributes:
      inputs: the identities of the leaves of the arguments; residuals with these identities are arguments.
    """

    __slots__ = ("_args", "_parts", "_tape", "in_avals", "in_tree", "inputs", "out_avals", "out_tree")

    def __init__(
        self, tape: Tape | None, in_tree: Any, in_avals: Sequence[Any], out_tree: Any, out_avals: Sequence[Any]
    ) -> None:
        self._tape = tape
        self._parts: tuple[Sequence[Any], Tape, Places] | None = None  # residuals, tape without them, indices
        self._args: list[Any] | None = None  # the arguments among the residuals, set at the first request
        self.inputs: tuple[int, ...] = ()
        self.in_tree = in_tree
        self.in_avals = in_avals
        self.out_tree = out_tree
        self.out_avals = out_avals

    @property
    def tape(self) -> Tape:
        """The recorded derivative."""
        if self._args is not None:
            return self._restored()
        if self._tape is None:
            residuals, empty, _ = self._as_parts()
            if any(type(x) is NotSaveable for x in residuals):
                return self._restored()
            self._tape = empty.with_residuals(residuals)
        return self._tape

    def _as_parts(self) -> tuple[Sequence[Any], Tape, Places]:
        """The residuals, the rest of the tape, and the positions of the arguments among the residuals."""
        if self._parts is None:
            assert self._tape is not None
            residuals, empty = self._tape.residuals()
            place = {id(x): i for i, x in enumerate(residuals)}
            self._parts = residuals, empty, tuple(map(place.get, self.inputs))
        return self._parts

    def _residuals(self) -> list[Any]:
        """The residuals, with the current values of the arguments after assignments."""
        residuals, _, places = self._as_parts()
        values = list(residuals)
        if self._args is not None:
            for place, x in zip(places, self._leaves_of_args(), strict=True):
                if place is not None and type(x) not in (NotNeeded, NotSaveable):
                    values[place] = x
        return values

    def _leaves_of_args(self) -> Iterator[Any]:
        for i, (node, x) in enumerate(zip(self.in_tree.children(), self._args or (), strict=True)):
            try:
                yield from node.flatten_up_to(x)
            except ValueError as error:
                raise ValueError(f"args_res[{i}] must have the structure of the argument, {node}; {error}") from None

    def _restored(self) -> Tape:
        """The recorded derivative with the current values of its arguments.

        Raises:
          ValueError: an argument is missing.
          TypeError: an argument has another type.
        """
        _, empty, places = self._as_parts()
        values = self._residuals()
        missing = []
        for i, (place, want) in enumerate(zip(places, self.in_avals, strict=True)):
            if place is None:
                continue
            x = values[place]
            if type(x) is NotSaveable:
                missing.append(self._name(i))
                continue
            try:
                have = get_aval(x)
            except NO_VALUE as error:
                raise TypeError(f"vjp_fun: {self._name(i)} must be of type {want.str_short()}: {error}") from error
            if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
                raise TypeError(f"vjp_fun: {self._name(i)} must be of type {want.str_short()}, got {have.str_short()}")
            values[place] = from_host(x)
        if missing:
            raise ValueError(
                f"vjp_fun: {', '.join(missing)} must be restored before the call, since saveable_args excluded it; "
                "assign it to vjp_fun.args_res"
            )
        return empty.with_residuals(values)

    def _name(self, leaf: int) -> str:
        """The name of a leaf of the arguments in messages: its path, or its number if its class rejects paths."""
        for i, node in enumerate(self.in_tree.children()):
            if leaf < node.num_leaves:
                try:
                    paths = tree.tree_leaves_with_path(tree.unflatten(node, range(node.num_leaves)))
                except Exception:  # a user's class may raise any error for values that are not arrays
                    return f"leaf {leaf} of args_res[{i}]"
                return f"args_res[{i}]{tree.keystr(paths[leaf][0])}"
            leaf -= node.num_leaves
        raise AssertionError("the leaf belongs to no argument")

    def tree_flatten(self) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """The residuals, and the static parts."""
        _, empty, places = self._as_parts()
        rest = empty, places, self.in_tree, tuple(self.in_avals), self.out_tree, tuple(self.out_avals)
        return self._residuals(), rest

    @classmethod
    def tree_unflatten(cls, rest: tuple[Any, ...], residuals: Sequence[Any]) -> Derivative:
        """The function with other residuals."""
        if type(rest) is not tuple or tuple(map(type, rest)) != _REST:
            raise TypeError(f"tree_unflatten: rest must be what tree_flatten returned, got {rest!r}")
        if not isinstance(residuals, list | tuple):
            raise TypeError(f"tree_unflatten: residuals must be a sequence, got {residuals!r}")
        empty, places, in_tree, in_avals, out_tree, out_avals = rest
        function = cls(None, in_tree, in_avals, out_tree, out_avals)
        function._parts = residuals, empty, places
        return function


@register_pytree_node_class
class Pushforward(Derivative):
    """The function that `linearize` returns."""

    __slots__ = ()

    def __call__(self, *tangents: Any) -> Any:
        """Apply the derivative; takes one tangent per argument of the function."""
        leaves, tangent_tree = tree.flatten(tangents)
        tree.require_same_structure(
            "f_lin: tangents must have the structure of the primals", self.in_tree, tangent_tree, "primals", "tangents"
        )
        tangent_avals = [aval.to_tangent_aval() for aval in self.in_avals]
        for have, want in zip(avals_of(leaves, tangents, "f_lin"), tangent_avals, strict=True):
            if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
                raise TangentTypeError(f"f_lin: tangents must be of type {want.str_short()}, got {have.str_short()}")
        inexact = [x for x, want in zip(leaves, tangent_avals, strict=True) if not is_void(want)]
        outs = [from_host(instantiate_zeros(t)) for t in self.tape.replay(*inexact)]
        return tree.unflatten(self.out_tree, list(map(placed_like, outs, self.out_avals)))


@register_pytree_node_class
class Pullback(Derivative):
    """The function that `vjp` returns.

    `args_res` are the residuals that are arguments of the function, and `opaque_residuals` are the others.
    """

    __slots__ = ()

    def __call__(self, ct: Any) -> Any:
        leaves, ct_tree = tree.flatten(ct)
        tree.require_same_structure(
            "vjp: the cotangent must have the structure of the function's result",
            self.out_tree,
            ct_tree,
            "result",
            "cotangent",
            TangentTypeError,
        )
        cts: list[Any] = []
        ct_avals = avals_of(leaves, (ct,), "vjp")
        for x, have, aval in zip(leaves, ct_avals, self.out_avals, strict=True):
            want = aval.to_tangent_aval()
            if have.shape != want.shape if is_void(want) else not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
                raise TangentTypeError(
                    f"vjp: the cotangent of a result of type {aval.str_short()} must be of type {want.str_short()}, "
                    f"got {have.str_short()}"
                )
            cts.append(Zero(want) if is_void(want) else x)
        return tree.unflatten(self.in_tree, pull_back(self.tape, cts, self.in_avals))

    def with_refs(self, *refs: Any) -> Callable[[Any], tuple[Any, ...]]:
        """A function like this one that adds cotangents to references, and returns None in place of these cotangents.

        Args:
          refs: one for each argument: a reference, a container of these with the structure of the argument, or None to
            return the cotangent.

        Raises:
          ValueError: the structure differs from that of the arguments, or a reference occurs twice.
          TypeError: an entry is neither a reference nor None, or its type is not that of the cotangent.
        """
        flat = tree.flatten_axes("with_refs", self.in_tree, refs)
        for i, (ref, want) in enumerate(zip(flat, self.in_avals, strict=True)):
            if ref is not None:
                have, where = get_aval(ref), self._name(i).replace("args_res", "refs")
                if not (have.mutable and same_type(have.inner_aval, want, ALL_BUT_SHAPE_AND_DTYPE)):
                    got = have.str_short()
                    raise TypeError(f"with_refs: {where} must be a reference to {want.str_short()}, got {got}")
                if any(ref is other for other in flat[:i]):
                    raise ValueError(f"with_refs: {where} must be a reference of its own, got {ref!r} twice")

        def pull_back_into_refs(ct: Any) -> tuple[Any, ...]:
            cts = tree.flatten(self(ct))[0]
            for i, ref in enumerate(flat):
                if ref is not None:
                    get_aval(ref).add(ref, cts[i])
                    cts[i] = None
            return tree.unflatten(self.in_tree, cts)  # type: ignore[no-any-return]

        return pull_back_into_refs

    def __repr__(self) -> str:
        return f"<pullback to {self.in_tree}>"

    @property
    def args_res(self) -> list[Any]:
        """The arguments, one by one, with `NotNeeded()` or `NotSaveable()` for those that are not residuals.

        The derivative uses the value that is assigned to an entry.
        """
        if self._args is None:
            residuals, _, places = self._as_parts()
            leaves = [NotNeeded() if place is None else residuals[place] for place in places]
            self._args = list(tree.unflatten(self.in_tree, leaves))
        return self._args

    @args_res.setter
    def args_res(self, args: Sequence[Any]) -> None:
        count = len(self.in_tree.children())
        if not isinstance(args, list | tuple) or len(args) != count:
            raise TypeError(f"args_res must be a list with an entry for each of the {count} arguments, got {args!r}")
        self._args = list(args)

    @property
    def opaque_residuals(self) -> list[Any]:
        """The residuals that are not arguments."""
        residuals, _, places = self._as_parts()
        return [x for i, x in enumerate(residuals) if i not in places]

    def replace(self, **changes: Any) -> Pullback:
        """A copy with other `args_res`.

        Raises:
          TypeError: `changes` names another attribute, or the value is not a list with an entry for each argument.
        """
        if changes.keys() - {"args_res"}:
            raise TypeError(f"replace: only args_res can be replaced, got {', '.join(changes)}")
        leaves, rest = self.tree_flatten()
        copy = type(self).tree_unflatten(rest, leaves)
        assert isinstance(copy, Pullback)
        if changes:
            copy.args_res = changes["args_res"]
        return copy

    def leave_out(self, saveable: Any) -> None:
        """Drop the arguments for which a tree of bools is False, as `vjp` does for `saveable_args`."""
        kept = list(_spread(saveable, self.in_tree, ""))
        residuals, empty, places = self._as_parts()
        saved = {place for place, keep in zip(places, kept, strict=True) if keep}
        gone = set(places) - saved
        self._parts = [NotSaveable() if i in gone else x for i, x in enumerate(residuals)], empty, places
        self._tape = None


def _spread(saveable: Any, node: Any, path: str) -> Iterator[bool]:
    """The bools of `saveable_args`, one for each leaf of the arguments.

    Raises:
      TypeError: `saveable` contains other values than bools and containers.
      ValueError: a container and the argument in its place have different numbers of entries.
    """
    if isinstance(saveable, bool):
        yield from [saveable] * node.num_leaves
        return
    if not isinstance(saveable, tuple | list | dict):
        raise TypeError(f"vjp: saveable_args{path} must be a bool or a tuple of bools, got {saveable!r}")
    if node.node_data() is None:
        raise ValueError(f"vjp: saveable_args{path} must be a bool, which stands for one array, got {saveable!r}")
    try:
        entries = sorted(saveable.items()) if isinstance(saveable, dict) else list(enumerate(saveable))
    except TypeError:
        raise TypeError(f"vjp: saveable_args{path} must have keys of the same type, got {saveable!r}") from None
    children = node.children()
    if len(entries) != len(children):
        raise ValueError(
            f"vjp: saveable_args{path} must be a bool, or have as many entries as there are in its place, "
            f"{len(children)}, got {len(entries)}"
        )
    for (key, entry), child in zip(entries, children, strict=True):
        yield from _spread(entry, child, f"{path}[{key!r}]")


def pull_back(tape: Tape, cts: Sequence[Any], in_avals: Sequence[Any]) -> list[Any]:
    """The cotangents of all inputs as values, including zeros and float0."""
    in_cts = iter(tape.transpose(cts))
    results = []
    for aval in in_avals:
        tangent = aval.to_tangent_aval()
        ct = Zero(tangent) if is_void(tangent) else next(in_cts)
        x = from_host(instantiate_zeros(ct))
        if aval.weak_type and type(ct) is not Zero and not get_aval(x).weak_type:
            x = protocol_of(tangent).convert(x, tangent)
        is_placed = getattr(aval, "placement", None) is not None
        results.append(placed_like(x, cotangent_aval(aval)) if is_placed else x)
    return results
