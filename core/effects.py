"""Effects of primitives, such as printing or writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from primax.core.lazy_tables import LazyEntries


class Effect:
    """Base of effects. Instances are hashable; equal instances are the same effect."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OperandEffect(Effect):
    """Base of effects on one operand, such as reading or writing its contents.

    Attributes:
      operand: the index of the operand among those of an equation, or among the constants and inputs of a program.
    """

    operand: int


class Mutates(OperandEffect):
    """The effect of writing to one operand."""

    __slots__ = ()


Effects = frozenset[Effect]
no_effects: Effects = frozenset()


def effects_of(eqns: Iterable[Any], inputs: Iterable[Any]) -> Effects:
    """The effects of a program: those of its equations, with effects on operands referring to its inputs.

    Effects on values that the program itself creates are not included.

    Args:
      eqns: the equations.
      inputs: the constants and inputs.
    """
    effects: set[Effect] = set()
    places: dict[Any, int] | None = None
    for eqn in eqns:
        for effect in eqn.effects:
            if isinstance(effect, OperandEffect):
                if places is None:
                    places = {v: i for i, v in enumerate(inputs)}
                place = places.get(eqn.invars[effect.operand])
                if place is not None:
                    effects.add(replace(effect, operand=place))
            else:
                effects.add(effect)
    return frozenset(effects) if effects else no_effects


def moved_effects(effects: Effects, place: Callable[[int], int]) -> Effects:
    """The effects of an inner program as effects of its equation, with operands renumbered.

    Args:
      effects: the effects of the program.
      place: maps the index of an input to the index of the operand.
    """
    return frozenset(
        replace(effect, operand=place(effect.operand)) if isinstance(effect, OperandEffect) else effect
        for effect in effects
    )


class EffectKind(NamedTuple):
    """The permissions for the effects of one class."""

    ordered: bool
    control_flow: bool
    custom_derivatives: bool


effect_kinds: dict[type[Effect], EffectKind] = {}
_lazy = LazyEntries("effect", effect_kinds)


def register_effect(
    kind: type[Effect], *, ordered: bool = False, control_flow: bool = False, custom_derivatives: bool = False
) -> type[Effect]:
    """Register a class of effects.

    Args:
      kind: a subclass of `Effect`.
      ordered: whether these effects happen in program order, by a token that passes through the program.
      control_flow: whether loops and branches may contain them.
      custom_derivatives: whether functions with custom derivative rules may contain them.

    Raises:
      TypeError: `kind` is not a subclass of `Effect`, or `ordered` is True for effects on operands; their order is
        that of the equations with the same operand.
    """
    if not (isinstance(kind, type) and issubclass(kind, Effect)):
        raise TypeError(f"register_effect: kind must be a subclass of Effect, got {kind!r}")
    if ordered and issubclass(kind, OperandEffect):
        raise TypeError(
            f"register_effect: ordered must be False for {kind.__name__}, an effect on one operand, got True; it "
            "happens in the order of the equations that touch the operand"
        )
    _lazy.put(kind, EffectKind(ordered, control_flow, custom_derivatives))
    return kind


register_effect(Mutates, control_flow=True)


def kind_of(effect: Effect) -> EffectKind:
    """The registered kind of an effect, searched along its class's bases."""
    kind = effect_kinds.get(type(effect))
    if kind is None:
        _lazy.ask_for_class(type(effect))
        kind = _known_kind(effect)
    if kind is not None:
        return kind
    raise TypeError(f"effect {effect!r}: call register_effect({type(effect).__name__}, ...) before using it")


def _known_kind(effect: Effect) -> EffectKind | None:
    return next((effect_kinds[cls] for cls in type(effect).__mro__ if cls in effect_kinds), None)


def ordered_effects(effects: Effects) -> list[Effect]:
    """The ordered effects among `effects`, in a deterministic order."""
    if not effects:
        return []
    return sorted((effect for effect in effects if kind_of(effect).ordered), key=repr)
