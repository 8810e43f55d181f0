"""Jaxprs: typed programs in A-normal form, the caches of derived programs, and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from primax.core import config, rules
from primax.core.arguments import integer
from primax.core.avals import get_aval
from primax.core.cache import Cache
from primax.core.effects import Effects, OperandEffect, effects_of, no_effects
from primax.core.host_values import array_of
from primax.core.pickling import pickled
from primax.core.recursion import raised_recursion_limit
from primax.core.text.debug_info import DebugInfo
from primax.core.trace import thread


class Var:
    """A variable of a jaxpr; two variables are the same if they are the same object."""

    __slots__ = ("__weakref__", "aval")

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __reduce__(self) -> Any:
        return pickled(f"primax.extend.core:{type(self).__name__}", self.aval)

    def __repr__(self) -> str:
        return f"Var({self.aval.str_short()})@{id(self):x}"


class DropVar(Var):
    """An output of an equation that nothing reads; printed as `_`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant written into an equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: Any = None) -> None:
        self.val = val
        self.aval = get_aval(val) if aval is None else aval

    def __reduce__(self) -> Any:
        return pickled("primax.extend.core:Literal", self.val, self.aval)

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


Atom = Var | Literal


no_params: dict[str, Any] = {}  # shared by all equations without parameters; nothing may write to it


class JaxprEqn:
    """One application of a primitive.

    Attributes:
      primitive: the primitive.
      invars: its operands, variables or literals.
      outvars: the variables of its results.
      params: its static parameters.
      effects: its effects.
      source_info: the place in the user's program that made it; see `primax.core.source_info`.
    """

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        primitive: Any,
        invars: Any,
        outvars: Any,
        params: dict[str, Any],
        effects: Effects = no_effects,
        source_info: Any = None,
    ) -> None:
        self.primitive = primitive
        self.invars = invars
        self.outvars = outvars
        self.params = params
        self.effects = effects
        self.source_info = source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        """A copy with some attributes replaced."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return JaxprEqn(**{**fields, **changes})

    def __reduce__(self) -> Any:
        formatter.check_pickle(self)
        fields = self.primitive, self.invars, self.outvars, self.params, self.effects
        return pickled("primax.extend.core:JaxprEqn", *fields)

    def __repr__(self) -> str:
        return str(formatter.eqn(self))


def new_jaxpr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Any,
    params: dict[str, Any],
    effects: Iterable[Any] = no_effects,
    source_info: Any = None,
) -> JaxprEqn:
    """An equation; its parts are in the same order as for jax's function of this name."""
    return JaxprEqn(primitive, list(invars), list(outvars), params, frozenset(effects), source_info)


class Jaxpr:
    """A program: `{ lambda constvars ; invars. let eqns in outvars }`.

    Treat it as immutable: interpreters cache programs derived from it. `x64` is the value of `enable_x64` at staging.
    It decides the types of Python scalars, so the program is evaluated and transformed with the same value.
    """

    __slots__ = ("__weakref__", "_debug_info", "cache", "constvars", "effects", "eqns", "invars", "outvars", "x64")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
        effects: Effects = no_effects,
        debug_info: str | None = None,
        x64: bool | None = None,
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = eqns if type(eqns) is list else list(eqns)
        self.effects = effects
        self._debug_info = debug_info
        self.x64: bool = config.enable_x64.value if x64 is None else x64
        self.cache: Cache | None = None

    @property
    def debug_info(self) -> DebugInfo | None:
        """Information about the function that the program was traced from; as a string, the function's name."""
        known = self._debug_info
        if known is None or isinstance(known, DebugInfo):
            return known
        self._debug_info = debug_info = DebugInfo("a program", known)
        return debug_info

    @debug_info.setter
    def debug_info(self, known: str | None) -> None:
        self._debug_info = known

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.outvars]

    @property
    def jaxpr(self) -> Jaxpr:
        """The program itself; for a `ClosedJaxpr`, the program without the values of its constants."""
        return self

    @property
    def consts(self) -> list[Any]:
        """An empty list; an error if there are constvars, since only a `ClosedJaxpr` has their values."""
        if self.constvars:
            raise AttributeError(
                f"Jaxpr: the values of its {len(self.constvars)} constvars are consts of the ClosedJaxpr of this jaxpr"
            )
        return []

    @property
    def literals(self) -> list[Any]:
        """An older name of `consts`."""
        return self.consts

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some of `constvars, invars, outvars, eqns, effects, debug_info, x64` replaced.

        Effects on operands are computed again, unless `effects` is given.
        """
        names = "constvars", "invars", "outvars", "eqns", "effects", "x64"
        fields = {name: getattr(self, name) for name in names} | {"debug_info": self._debug_info}
        program = Jaxpr(**(fields | changes))
        if self.effects and "effects" not in changes and any(isinstance(e, OperandEffect) for e in self.effects):
            program.effects = effects_of(program.eqns, [*program.constvars, *program.invars])
        return program

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        name_stack: bool = False,
        print_shapes: bool = True,
        custom_pp_eqn_rules: bool = True,
        print_effects: bool = False,
        use_color: bool = False,
        width: int = 80,
    ) -> str:
        """The program as text, in jax's notation.

        Args:
          source_info: whether to print at each equation the line that made it.
          name_stack: whether to print at each equation its named scopes.
          print_shapes: whether to print the types of variables where they are bound.
          custom_pp_eqn_rules: whether the print rules of primitives select the parameters to print.
          print_effects: whether to print the effects of each program.
          use_color: whether to color keywords and types, for terminals.
          width: the number of columns to fill.
        """
        width = integer("pretty_print", "width", width)
        text = formatter.jaxpr(
            self,
            width=width,
            source_info=source_info,
            name_stack=name_stack,
            print_shapes=print_shapes,
            print_rules=custom_pp_eqn_rules,
            print_effects=print_effects,
        )
        return str(formatter.colored(text)) if use_color else text

    def __reduce__(self) -> Any:
        parts = self.constvars, self.invars, self.outvars, self.eqns, self.effects
        return pickled("primax.extend.core:Jaxpr", *parts, self._debug_info, self.x64)

    __copy__ = __deepcopy__ = lambda self, *_: self.replace()

    def __repr__(self) -> str:
        return self.pretty_print()

    def _repr_html_(self) -> str | None:
        return formatter.html(self)


class ClosedJaxpr(Jaxpr):
    """A jaxpr with the values of its constvars.

    It is a program itself and has all attributes of its jaxpr. In JAX 0.11 and later the two are one class.

    Attributes:
      jaxpr: the program without the values.
      consts: one value for each constvar.
    """

    __slots__ = ("_consts", "_jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        if len(jaxpr.constvars) != len(consts):
            raise TypeError(
                f"ClosedJaxpr: consts must have one value per constvar, "
                f"got {len(consts)} values for {len(jaxpr.constvars)} constvars"
            )
        self._jaxpr = jaxpr = opened(jaxpr)
        self._consts = list(consts)
        self.constvars = jaxpr.constvars
        self.invars = jaxpr.invars
        self.outvars = jaxpr.outvars
        self.eqns = jaxpr.eqns
        self.effects = jaxpr.effects
        self._debug_info = None
        self.x64 = jaxpr.x64
        self.cache: Cache | None = None

    @property
    def jaxpr(self) -> Jaxpr:
        return self._jaxpr

    @property
    def debug_info(self) -> DebugInfo | None:
        return self._jaxpr.debug_info

    @debug_info.setter
    def debug_info(self, known: str | None) -> None:
        self._jaxpr.debug_info = known

    @property
    def consts(self) -> list[Any]:
        return self._consts

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None, **changes: Any
    ) -> ClosedJaxpr:
        """A copy with the jaxpr, the constants, or attributes of the jaxpr replaced."""
        program = self.jaxpr if jaxpr is None else jaxpr
        return ClosedJaxpr(
            program.replace(**changes) if changes else program, self.consts if consts is None else consts
        )

    def __reduce__(self) -> Any:
        return pickled("primax.extend.core:ClosedJaxpr", self._jaxpr, self._consts)


class _Formatter:
    """The functions that print programs, set by `primax.core.text.printer`, and functions of outer rooms."""

    jaxpr: Callable[..., str]
    eqn: Callable[..., str]
    colored: Callable[[str], str]
    html: Callable[[Jaxpr], str | None] = staticmethod(lambda program: None)
    check_pickle: Callable[[JaxprEqn], None] = staticmethod(lambda eqn: None)


formatter = _Formatter()


def opened(program: Jaxpr | ClosedJaxpr) -> Jaxpr:
    """A program without the values of its constants."""
    return program.jaxpr if isinstance(program, ClosedJaxpr) else program


def cached(program: Jaxpr | ClosedJaxpr, key: Any, make: Callable[[], Any]) -> Any:
    """The result of `make()`, evaluated with the program's `enable_x64` and cached on the program.

    Args:
      program: the program that the result is derived from.
      key: identifies the result among those derived from the program.
      make: computes the result. Neither it nor the key should refer to the program, which would then keep itself alive
        until garbage is collected.
    """
    x64 = opened(program).x64
    if x64 is not config.enable_x64.value:
        with config.enable_x64(x64):
            return cached(program, key, make)
    cache = program.cache
    if cache is None:
        cache = program.cache = Cache(256)
    key = (key, thread.config)
    entry = cache.find(key)
    if entry is None:
        with raised_recursion_limit():
            entry = cache.get_or_make(key, make)
    return entry


def cached_by_interface(
    program: Jaxpr | ClosedJaxpr, key: tuple[Any, ...], interface: tuple[Any, ...], make: Callable[[], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """A derived program with at least the required outputs, cached on the program by the outputs that it has.

    If a rule first asks which outputs are needed, and then for a program with these, it gets the same program.

    Args:
      program: the program that the result is derived from.
      key: identifies the result among those derived from the program, apart from its outputs.
      interface: for each optional output (or input) whether the result must have it, or its place, as a batch axis.
      make: returns the derived program and its interface, which has at least the required outputs.
    """

    def make_or_share() -> tuple[Any, Any]:
        result = make()
        return cached(program, (*key, tuple(result[1])), lambda: result)  # type: ignore[no-any-return]

    return cached(program, (*key, interface), make_or_share)  # type: ignore[no-any-return]


def _last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation the variables that no later equation reads."""
    seen = {v for v in jaxpr.outvars if isinstance(v, Var)}
    drops: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        here: list[Var] = []
        for v in (*eqn.invars, *eqn.outvars):
            if isinstance(v, Var) and v not in seen:
                seen.add(v)
                here.append(v)
        drops.append(here)
    drops.reverse()
    return drops


def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation the variables that no later equation or output reads. Cached."""
    return cached(jaxpr, "last uses", lambda: _last_uses(jaxpr))  # type: ignore[no-any-return]


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """Evaluate a jaxpr by binding its equations under the current trace.

    Args:
      jaxpr: the program.
      consts: the values of its constvars.
      args: the values of its invars.
      propagate_source_info: whether new equations get the source lines of the equations of this program.

    Returns:
      The list of its outputs.

    Raises:
      TypeError: the number of arguments or constants differs from that of the jaxpr.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"eval_jaxpr: args must match invars, got {len(args)} arguments for {len(jaxpr.invars)} invars")
    if len(consts) != len(jaxpr.constvars):
        raise TypeError(
            f"eval_jaxpr: consts must match constvars, got {len(consts)} values for {len(jaxpr.constvars)} constvars"
        )
    if jaxpr.x64 is not config.enable_x64.value:
        with config.enable_x64(jaxpr.x64):
            outs = eval_jaxpr(jaxpr, consts, *args, propagate_source_info=propagate_source_info)
        return [array_of(x, v.aval) if type(v) is Literal else x for x, v in zip(outs, jaxpr.outvars, strict=True)]
    drops = last_uses(jaxpr)
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    here = thread.here
    before = here.source
    try:
        for eqn, dead in zip(jaxpr.eqns, drops, strict=True):
            values = [env[v] if type(v) is not Literal else v.val for v in eqn.invars]
            if propagate_source_info and eqn.source_info is not None:
                here.source = eqn.source_info
            if eqn.primitive.mutable_operands and (eqn.effects or any(v.aval.mutable for v in eqn.invars)):
                out = eqn.primitive.bind(*values, **eqn.params)
            else:
                out = thread.trace.process(eqn.primitive, values, eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out, strict=True))
            else:
                env[eqn.outvars[0]] = out
            for v in dead:
                env.pop(v, None)
    finally:
        here.source = before
    return [env[v] if type(v) is not Literal else v.val for v in jaxpr.outvars]


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function of a closed jaxpr; it returns a list of results."""

    def run(*args: Any) -> list[Any]:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    return run


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs, open or closed, among the parameters of an equation, including those in tuples and lists."""
    for value in params.values():
        yield from _jaxprs_in(value)


def _jaxprs_in(value: Any) -> Iterator[Jaxpr]:
    if isinstance(value, Jaxpr):
        yield value.jaxpr
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _jaxprs_in(item)


def holds_program(value: Any, or_function: bool = False) -> bool:
    """Whether a parameter of an equation is a program, or a tuple or list that has one in it.

    Args:
      value: the parameter.
      or_function: whether functions count as programs.
    """
    if isinstance(value, (tuple, list)):
        return any(holds_program(item, or_function) for item in value)
    return isinstance(value, Jaxpr) or (or_function and callable(value) and not isinstance(value, type))


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs held by the equations of a jaxpr."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def named_axes(program: Jaxpr | ClosedJaxpr) -> frozenset[Any]:
    """The names of the axes that must be in scope where a program runs."""
    jaxpr = opened(program)
    return cached(jaxpr, "named axes", lambda: _named_axes(jaxpr))  # type: ignore[no-any-return]


def _named_axes(jaxpr: Jaxpr) -> frozenset[Any]:
    names: set[Any] = set()
    functions = rules.named_axes_rules.functions
    for eqn in jaxpr.eqns:
        rule = functions.get(eqn.primitive)
        if rule is not None:
            names.update(rule(**eqn.params))
        else:
            names.update(*map(named_axes, jaxprs_in_params(eqn.params)))
    return frozenset(names)
