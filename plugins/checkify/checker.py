"""`checkify`: an interpreter that carries the error of failed checks through a program, and returns it as a value."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import get_aval, tree
from primax.extend.interpreter import Interpreter, replay
from primax.extend.programs import stage
from primax.extend.provisional.arguments import avals_of, check_function, name_of, wraps
from primax.extend.provisional.sharding import vary
from primax.plugins.bitwise import bitwise_and
from primax.plugins.calls import evaluate
from primax.plugins.checkify.check import CheckEffect, check_p, first_of
from primax.plugins.checkify.errors import Error, JaxException, NaNError, Site, user_checks
from primax.plugins.collectives import axis_index
from primax.plugins.comparison import eq
from primax.plugins.structural import zeros_of

_NO_ERROR = np.int32(0)
_makes_nan_rules = core.rule_tables["makes_nan"]


class Checker(Interpreter):
    """Evaluates a program and records failed checks.

    It runs twice: first to find the sites of all checks, then to compute. So the error has the same structure in all
    branches and steps of loops. A rule `@Checker.rule(primitive)` is a function `(checker, eqn, *values)` that returns
    the results of the primitive. It calls `checker.check` for each possible failure, and `checker.run` for programs
    that the primitive holds.

    Attributes:
      errors: the enabled kinds of checks.
      state: the error so far: the number of the first site that failed, then the values that all sites left.
    """

    def __init__(self, errors: frozenset[type[JaxException]]) -> None:
        self.errors = errors
        self.sites: list[Site] = []
        self.numbers: dict[Any, int] = {}
        self.checked: dict[int, bool] = {}  # for each program, by its id, whether it contains sites
        self.searching = True
        self.state: list[Any] = []
        self.eqn: Any = None
        self.count = 0
        self.axes: tuple[Any, ...] = ()  # the axes of the mesh, inside a per-device program
        self.varies = False  # whether types record the axes along which values differ

    @contextlib.contextmanager
    def on_devices(self, axes: tuple[Any, ...], varies: bool) -> Iterator[None]:
        """A `with` block for a per-device program along axes of a mesh, in which failures record the device."""
        before = self.axes, self.varies
        self.axes, self.varies = (*self.axes, *axes), varies
        try:
            yield
        finally:
            self.axes, self.varies = before

    def start(self) -> None:
        """Start the computation, after all sites were found."""
        self.searching = False
        self.state = self.fresh()

    def fresh(self) -> list[Any]:
        """The error before any failure."""
        state = [_NO_ERROR, *(zeros_of(aval) for site in self.sites for aval in site.avals)]
        return [vary(x, frozenset(self.axes)) for x in state] if self.varies else state

    def check(
        self, failed: Any, kind: type[JaxException], describe: Callable[..., str], payload: Sequence[Any] = ()
    ) -> None:
        """Record a failure, unless one was recorded before.

        Args:
          failed: a boolean of any shape; the check fails if any element is True.
          kind: the kind of the check; nothing happens if it is not enabled.
          describe: makes the message from the values of `payload`.
          payload: arrays to keep for the message.
        """
        if kind not in self.errors:
            return
        if self.axes:
            describe, payload = _WithDevice(describe), [axis_index(self.axes), *payload]
        key = id(self.eqn), self.count
        self.count += 1
        if self.searching:
            if key not in self.numbers:
                self.numbers[key] = len(self.sites)
                self.sites.append(
                    Site(kind, describe, self.eqn.source_info, [_without_variance(get_aval(x)) for x in payload])
                )
            return
        number = self.numbers[key]
        p = core.primitives
        rank = len(get_aval(failed).shape)
        if rank:
            failed = p.reduce_or_p.bind(failed, axes=tuple(range(rank)))
        first = bitwise_and(failed, eq(self.state[0], _NO_ERROR))
        at = 1 + sum(len(site.avals) for site in self.sites[:number])
        state = list(self.state)
        state[0] = p.select_n_p.bind(first, state[0], np.int32(number + 1))
        for i, x in enumerate(payload, at):
            state[i] = p.select_n_p.bind(first, state[i], x)
        self.state = state

    def holds_sites(self, *programs: core.ClosedJaxpr) -> bool:
        """Whether programs contain checks, so that the checker must evaluate them itself.

        During the search for sites, this searches the programs.
        """
        if self.searching:
            for closed in programs:
                if id(closed) in self.checked:
                    continue
                before = len(self.sites), set(self.numbers)
                self._search(closed)
                self.checked[id(closed)] = len(self.sites) > before[0] or self._known(closed)
            return False
        return any(self.checked.get(id(closed), False) or _may_fail(closed) for closed in programs)

    def _known(self, closed: core.ClosedJaxpr) -> bool:
        """Whether the sites of a program were found before, at another place."""
        ids = {id(eqn) for eqn in closed.jaxpr.eqns}
        return any(number[0] in ids for number in self.numbers) or any(
            self.checked.get(id(inner), False)
            for eqn in closed.jaxpr.eqns
            for inner in eqn.params.values()
            if isinstance(inner, core.ClosedJaxpr)
        )

    def _search(self, closed: core.ClosedJaxpr) -> None:
        eqn, count = self.eqn, self.count

        def look(*values: Any) -> list[Any]:
            return self.interpret(closed, *values)

        core.trace_to_jaxpr(look, closed.in_avals, "a program", "checkify")
        self.eqn, self.count = eqn, count

    def run(self, closed: core.ClosedJaxpr, state: Sequence[Any], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The error after a program, from the error before it, and its results."""
        before, self.state = self.state, list(state)
        try:
            outs = self.interpret(closed, *values)
            return self.state, outs
        finally:
            self.state = before

    def equation(self, eqn: core.JaxprEqn, values: list[Any]) -> list[Any]:
        outer = self.eqn, self.count
        self.eqn, self.count = eqn, 0
        try:
            return super().equation(eqn, values)
        finally:
            self.eqn, self.count = outer

    def default(self, eqn: core.JaxprEqn, *values: Any) -> Any:
        outs = replay(eqn, values)
        if NaNError in self.errors:
            makes_nan = _makes_nan_rules.get_or_load(eqn.primitive)
            if makes_nan is not None and makes_nan(eqn):
                self.check_nan(eqn, outs)
        return outs if eqn.primitive.multiple_results else outs[0]

    def default_higher_order(self, eqn: core.JaxprEqn, *values: Any) -> Any:
        if _may_fail(eqn):
            raise core.MissingRuleError(
                f"checkify has no rule for {eqn.primitive}, which holds programs with checks; give it one by "
                f"Checker.rule({eqn.primitive}_p)"
            )
        return self.default(eqn, *values)

    def check_nan(self, eqn: core.JaxprEqn, outs: Sequence[Any]) -> None:
        """Record NaNs among the results of an equation."""
        p = core.primitives
        for x in outs:
            if dtypes.is_inexact(get_aval(x).dtype):
                text = f"nan generated by primitive: {eqn.primitive}."
                self.check(p.ne_p.bind(x, x), NaNError, lambda text=text: text)


def _without_variance(aval: Any) -> Any:
    """A type without the mesh axes along which its values differ."""
    return aval.update(vma=frozenset()) if getattr(aval, "vma", None) else aval


class _WithDevice:
    """The message of a failure, with the device."""

    def __init__(self, describe: Callable[..., str]) -> None:
        self.describe = describe

    def __call__(self, device: Any, *payload: Any) -> str:
        return f"at mapped index {int(device)}: {self.describe(*payload)}"

    def alone(self, device: Any, *payload: Any) -> str:
        """The message without the device."""
        return str(getattr(self.describe, "alone", self.describe)(*payload))


def _may_fail(holder: Any) -> bool:
    """Whether a program or an equation contains checks."""
    return any(isinstance(effect, CheckEffect) for effect in holder.effects)


def without_checks(fun: Callable[..., Sequence[Any]], args: Sequence[Any]) -> list[Any]:
    """The results of a function of flat arguments without its checks."""
    closed = core.trace_to_jaxpr(fun, list(map(get_aval, args)), "a rule", "checkify")
    checker = Checker(frozenset())
    checker.start()
    return checker.run(closed, checker.fresh(), args)[1]


@Checker.rule(check_p)
def _user_check(checker: Checker, eqn: core.JaxprEqn, pred: Any, *payload: Any) -> list[Any]:
    message = eqn.params["message"]
    failed = core.primitives.not_p.bind(pred)
    if message.kind not in checker.errors:
        return []
    checker.check(failed, message.kind, message, first_of(failed, list(payload)))
    return []


class _Checked:
    """A program with checks, as a program that takes and returns the error, too."""

    __slots__ = ("closed", "sites")

    def __init__(self, closed: core.ClosedJaxpr, sites: tuple[Site, ...]) -> None:
        self.closed = closed
        self.sites = sites


def checked_program(closed: core.ClosedJaxpr, errors: frozenset[type[JaxException]]) -> _Checked:
    """The program that returns the code of the error, the values that the sites left, and the results."""

    def make() -> _Checked:
        checker = Checker(errors)
        checker.holds_sites(closed)
        checker.start()

        def run(*values: Any) -> list[Any]:
            state, outs = checker.run(closed, checker.fresh(), values)
            return [*state, *outs]

        program = core.trace_to_jaxpr(run, closed.in_avals, closed.jaxpr.debug_info, "checkify")
        return _Checked(program, tuple(checker.sites))

    return core.cached(closed, ("checkify", errors), make)


def checkify(
    f: Callable[..., Any], errors: frozenset[type[JaxException]] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """A function that returns an error value and its result; the error records whether a check has failed.

    Checks work under `jit`, `vmap` and `grad`, in loops and branches; so does the returned function.

    Args:
      f: a function of arrays in any containers.
      errors: the kinds of checks: `user_checks` for those of `check`; `nan_checks`, `div_checks` and `index_checks` for
        automatic checks of operations; `float_checks` for the first two of these, `automatic_checks` for all three,
        `all_checks` for all kinds.

    Returns:
      A function of the same arguments that returns `(error, out)`. `error.get()` is the message of the first failure,
      and `error.throw()` raises it.

    Raises:
      TypeError: `f` is not callable, or `errors` is not a set of kinds of checks.

    >>> import primax as px, primax.numpy as pnp
    >>> from primax.experimental import checkify
    >>> f = px.jit(checkify.checkify(lambda x, i: pnp.sin(x)[i], errors=checkify.index_checks))
    >>> error, out = f(pnp.arange(3.0), 5)
    >>> print(error.get())
    out-of-bounds indexing for array of shape (3,): index 5 is out of bounds for axis 0 with size 3.
    """
    check_function("checkify", "f", f)
    kinds = frozenset(errors) if isinstance(errors, frozenset | set) else None
    if kinds is None or not all(isinstance(kind, type) and issubclass(kind, JaxException) for kind in kinds):
        raise TypeError(f"checkify: errors must be a set of kinds of checks, such as user_checks, got {errors!r}")

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = tree.flatten((args, kwargs))

        def call(positional: Any, named: Any) -> Any:
            return f(*positional, **named)

        avals = avals_of(leaves, (args, kwargs), "checkify", call=True)
        program = stage(f, in_tree, avals, name_of(f), "checkify", call)
        staged = checked_program(program.closed, kinds)
        flat = evaluate(staged.closed, leaves)
        count = 1 + sum(len(site.avals) for site in staged.sites)
        return Error(flat[0], flat[1:count], staged.sites), tree.unflatten(program.out_tree, flat[count:])

    return checked
