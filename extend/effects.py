"""Effects of programs, and jax's lists of allowed effects, which show the classes that `register_effect` knows."""

from __future__ import annotations

from collections.abc import Iterable

from primax.core.effects import (
    Effect,
    Effects,
    Mutates,
    OperandEffect,
    effect_kinds,
    kind_of,
    no_effects,
    register_effect,
)

__all__ = [
    "Effect",
    "Effects",
    "Mutates",
    "OperandEffect",
    "control_flow_allowed_effects",
    "custom_derivatives_allowed_effects",
    "lowerable_effects",
    "no_effects",
    "ordered_effects",
    "register_effect",
]
__dir__ = __all__.copy


class EffectTypeSet:
    """The classes of effects with one property, such as being allowed in control flow.

    Args:
      flag: the argument of `register_effect` for the property; "" if every registered class has it.
    """

    def __init__(self, flag: str = "") -> None:
        self._flag = flag

    def __repr__(self) -> str:
        names = sorted(kind.__name__ for kind, flags in effect_kinds.items() if getattr(flags, self._flag, True))
        return f"EffectTypeSet({', '.join(names)})"

    def add_type(self, effect_type: type[Effect]) -> None:
        """Register a class of effects with this property, or add the property to a registered class."""
        known = effect_kinds.get(effect_type)
        flags = known._asdict() if known is not None else {}
        register_effect(effect_type, **(flags | {self._flag: True} if self._flag else flags))

    def contains(self, effect: Effect) -> bool:
        """Whether an effect has this property."""
        try:
            return bool(getattr(kind_of(effect), self._flag, True))
        except TypeError:
            return False

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects with this property."""
        return [effect for effect in effects if self.contains(effect)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects without this property."""
        return [effect for effect in effects if not self.contains(effect)]


lowerable_effects = EffectTypeSet()
ordered_effects = EffectTypeSet("ordered")
control_flow_allowed_effects = EffectTypeSet("control_flow")
custom_derivatives_allowed_effects = EffectTypeSet("custom_derivatives")
