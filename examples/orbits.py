"""The planets and Halley's comet, by a third-party primitive under every transformation."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta
from importlib.metadata import entry_points, version

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.extend import plugins

AU, DAY = 149_597_870.7, 86_400.0  # in km and s

# Mean elements at J2000 by E. M. Standish, "Approximate positions of the planets" (JPL), in au and degrees:
# semi-major axis, eccentricity, inclination, mean longitude, longitude of perihelion, longitude of the node;
# then perihelion (million km) and greatest speed (km/s) by NASA's fact sheets, which differ by some 0.5 %.
# The comet is given for its perihelion of 1986 (International Halley Watch).
BODIES = {
    "Mercury": (0.38709927, 0.20563593, 7.00497902, 252.25032350, 77.45779628, 48.33076593, 46.000, 58.97),
    "Venus": (0.72333566, 0.00677672, 3.39467605, 181.97909950, 131.60246718, 76.67984255, 107.480, 35.26),
    "Earth": (1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0.0, 147.095, 30.29),
    "Mars": (1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891, 206.650, 26.50),
    "Jupiter": (5.20288700, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909, 740.595, 13.72),
    "Saturn": (9.53667594, 0.05386179, 2.48599187, 49.95424423, 92.59887831, 113.66242448, 1357.554, 10.14),
    "Uranus": (19.18916464, 0.04725744, 0.77263783, 313.23810451, 170.95427630, 74.01692503, 2732.696, 7.13),
    "Neptune": (30.06992276, 0.00859048, 1.77004347, -55.12002969, 44.96476227, 131.78422574, 4471.050, 5.47),
    "1P/Halley": (17.94130, 0.9672760, 162.2393, 170.7063, 170.7063, 58.8600, 87.83, 54.5),
}


def headline(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def check(what: str, found: float, wanted: float, tolerance: float) -> None:
    ok = abs(found - wanted) <= tolerance
    print(f"{'ok  ' if ok else 'BAD '} {what}: {found:.10g}, expected {wanted:.10g} within {tolerance:g}")
    if not ok:
        raise SystemExit(1)


def seconds(fun, *args, repeat=5) -> float:
    """The shortest of several timings, after a first call that compiles."""
    px.block_until_ready(fun(*args))
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        px.block_until_ready(fun(*args))
        times.append(time.perf_counter() - start)
    return min(times)


points = entry_points(group="primax", name="kepler")
if not points:
    sys.exit("primax-kepler is not installed; run `pip install examples/primax-kepler` first")
kepler_package = next(iter(points)).load()
kepler, Orbit, orbit_position = kepler_package.kepler, kepler_package.Orbit, kepler_package.orbit_position
px.config.update("enable_x64", True)

headline("Plugins")
E = kepler(1.0, 0.5)  # the first use of a primitive activates the plugins
print(f"primax {px.__version__}, jaxlib {version('jaxlib')}, numpy {version('numpy')}, on {px.devices()[0]}")
for record in plugins():
    whose = f"{record.source:10} {record.distribution} {record.version}".strip()
    print(f"{record.name:14} {record.state:8} primitives: {len(record.primitives):2}  {whose}")
    for rule in record.rules if record.name == "kepler" else ():
        print(f"  {rule.name}: {rule.kind:14} {rule.provenance}")

headline("The program: value and derivatives of the eccentric anomaly")
print(px.make_jaxpr(px.value_and_grad(kepler, argnums=(0, 1)))(1.0, 0.5))
text = px.jit(kepler).lower(1.0, 0.5).as_text().splitlines()
print("\n".join(["", *text[:9], f"    ... {len(text) - 12} more lines of StableHLO", *text[-3:]]))
print(f"\nkepler(1, 0.5) = {E}\ngradient = {[float(x) for x in px.grad(kepler, argnums=(0, 1))(1.0, 0.5)]}")
check("E - e sin E", float(E - 0.5 * pnp.sin(E)), 1.0, 1e-15)

headline("Perihelia and greatest speeds: vmap over nine orbits, jvp along time")
table = np.array(list(BODIES.values()))
a, e, inclination, longitude, perihelion, node = np.concatenate([table[:, :2].T, np.radians(table[:, 2:6].T)])
orbits = Orbit(a, e, inclination, node, perihelion - node, longitude - perihelion)
velocity = px.jit(px.vmap(lambda orbit: px.jvp(lambda t: orbit_position(t, orbit), (0.0,), (1.0,))))
places, velocities = (np.linalg.norm(x, axis=1) for x in velocity(orbits._replace(mean_anomaly=np.zeros(9))))
for name, distance, speed, row in zip(BODIES, places, velocities, table, strict=True):
    check(f"{name:9} perihelion, million km", distance * AU / 1e6, row[6], 0.007 * row[6])
    check(f"{name:9} greatest speed,   km/s", speed * AU / DAY, row[7], 0.007 * row[7])

headline("Mars in 2003, closer than in 60 000 years: Newton's method on the derivative of the distance")
earth, mars = (Orbit(*(x[list(BODIES).index(name)] for x in orbits)) for name in ("Earth", "Mars"))
J2000 = datetime(2000, 1, 1, 12)


def gap(t, of=earth, to=mars):
    """The distance in au of two bodies, t days after J2000."""
    return pnp.sqrt(pnp.sum(pnp.square(orbit_position(t, to) - orbit_position(t, of))))


newton = px.jit(lambda t: t - px.grad(gap)(t) / px.hessian(gap)(t))
t = float((datetime(2003, 8, 1) - J2000).days)
for _ in range(6):
    t = newton(t)
print(f"closest on {J2000 + timedelta(days=float(t)):%d %B %Y, %H:%M}; known: 27 August 2003, 09:51")
check("days after J2000", float(t), (datetime(2003, 8, 27, 9, 51) - J2000) / timedelta(days=1), 0.5)
check("d distance / d t", float(px.grad(gap)(t)), 0.0, 1e-12)
check("distance in au", float(gap(t)), 0.37272, 5e-4)
for name, slope in zip(Orbit._fields, px.jit(px.grad(gap, argnums=2))(t, earth, mars), strict=True):
    print(f"     d distance / d {name:16} of Mars = {float(slope):+.6f}")

headline("A million equations")
rng = np.random.default_rng(0)
M, ecc = px.device_put(rng.uniform(-99, 99, 1_000_000)), px.device_put(rng.uniform(0, 1, 1_000_000))
E = kepler(M, ecc)
check("greatest residual", float(pnp.max(pnp.abs(E - ecc * pnp.sin(E) - M))), 0.0, 1e-13)
both = px.vmap(px.value_and_grad(kepler, argnums=(0, 1)))
print(f"     jit(kepler)                     {seconds(px.jit(kepler), M, ecc) * 1e3:8.2f} ms")
print(f"     vmap(value_and_grad(kepler))    {seconds(both, M, ecc) * 1e3:8.2f} ms")
print(f"     jit(vmap(value_and_grad(...)))  {seconds(px.jit(both), M, ecc) * 1e3:8.2f} ms")
