"""A falling stone, in metres and seconds.

Run it by `python examples/units/stone.py`.
"""

from __future__ import annotations

from units import Quantity, UnitError, m, s, with_units

import primax as px
import primax.numpy as pnp


def fallen(t, g):
    """The distance that a stone falls in the time t."""
    return 0.5 * g * t**2


def main():
    t, g = Quantity(2.0, s), Quantity(9.81, m / s**2)
    times = Quantity(pnp.arange(3.0), s)
    print("way             ", *with_units(fallen)(t, g))
    print("speed           ", *with_units(px.jit(px.grad(fallen)))(t, g))
    print("acceleration    ", *with_units(px.grad(px.grad(fallen)))(t, g))
    print("from many times ", *with_units(px.vmap(fallen, (0, None)))(times, g))
    print("inside jit      ", px.jit(lambda t: with_units(fallen)(Quantity(t, s), g).value)(2.0))
    try:
        with_units(px.jit(lambda t, g: t + fallen(t, g)))(t, g)
    except UnitError as error:
        print("UnitError:", error)


if __name__ == "__main__":
    main()
