"""Effects: what a primitive does besides computing its outputs."""

from __future__ import annotations

from dataclasses import dataclass

from primax.core import journal
from primax.core.rules import load_plugins

__all__ = ["Effect", "Effects", "effect_kinds", "no_effects", "register_effect"]


class Effect:
    """Base of effects. Instances are hashable; equal instances are the same effect."""

    __slots__ = ()


Effects = frozenset[Effect]
no_effects: Effects = frozenset()


@dataclass(frozen=True, slots=True)
class EffectKind:
    """What is allowed of the effects of one class."""

    ordered: bool
    control_flow: bool
    custom_derivatives: bool


effect_kinds: dict[type[Effect], EffectKind] = {}


def register_effect(
    kind: type[Effect], *, ordered: bool = False, control_flow: bool = False, custom_derivatives: bool = False
) -> type[Effect]:
    """Make a class of effects known.

    Args:
      kind: a subclass of `Effect`.
      ordered: whether these effects happen in program order, by a token threaded through the program.
      control_flow: whether they may stand inside loops and branches.
      custom_derivatives: whether they may stand inside functions with custom derivative rules.

    Raises:
      TypeError: `kind` is not a subclass of `Effect`.
    """
    if not (isinstance(kind, type) and issubclass(kind, Effect)):
        raise TypeError(f"register_effect: kind must be a subclass of Effect, got {kind!r}")
    journal.put(effect_kinds, kind, EffectKind(ordered, control_flow, custom_derivatives))
    return kind


def kind_of(effect: Effect) -> EffectKind:
    """The registered kind of an effect, searched along its class's bases."""
    found = _known_kind(effect)
    if found is None:
        load_plugins()
        found = _known_kind(effect)
    if found is not None:
        return found
    raise TypeError(f"effect {effect!r}: call register_effect({type(effect).__name__}, ...) before using it")


def _known_kind(effect: Effect) -> EffectKind | None:
    return next((effect_kinds[cls] for cls in type(effect).__mro__ if cls in effect_kinds), None)


def ordered_effects(effects: Effects) -> list[Effect]:
    """The ordered ones among `effects`, in an order that depends on them alone."""
    if not effects:
        return []
    return sorted((effect for effect in effects if kind_of(effect).ordered), key=repr)
