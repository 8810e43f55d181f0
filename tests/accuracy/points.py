"""The points at which functions are compared."""

from __future__ import annotations

import itertools
import math
import random

from accuracy.formats import Format

DENSE = range(-10, 8)  # binades with more points: most of what functions do, they do here


def parts(form: Format, landmarks: tuple[float, ...], step: int, each: int, seed: int = 0) -> list[float]:
    """Numbers of both signs: in every `step`-th binade `each`, more around 1, and neighbors of the landmarks."""
    rng = random.Random(f"{form.name} {seed}")
    sizes: set[float] = {form.tiny, form.largest, form.neighbor(form.tiny, 1), form.neighbor(form.largest, -1)}
    first = form.least + rng.randrange(step)
    for exponent in itertools.chain(range(first, form.most + 1, step), DENSE):
        if form.least <= exponent <= form.most:
            count = each * (4 if exponent in DENSE else 1)
            sizes.update(math.ldexp(1.0 + rng.random(), exponent) for _ in range(count))
            sizes.add(math.ldexp(1.0, exponent))
    sizes.update(k / 2 for k in range(1, 26, max(step // 4, 1)))
    values = {s * form.rounded(v) for v in sizes for s in (1.0, -1.0)}
    for landmark in landmarks:
        near = form.rounded(landmark)
        values.update(form.neighbor(near, k) for k in (-9, -2, -1, 0, 1, 2, 9))
        if landmark:
            for bits in range(2, form.precision, 1 if step < 8 else 4):
                values.update(form.rounded(landmark * (1.0 + s * 2.0**-bits)) for s in (1.0, -1.0))
    normal = sorted(v for v in values if form.tiny <= abs(v) <= form.largest)
    return [*normal, 0.0, -0.0, math.inf, -math.inf, math.nan]


def unary(form: Format, landmarks: tuple[float, ...], step: int, each: int) -> list[tuple[complex, ...]]:
    if not form.is_complex:
        return [(x,) for x in parts(form, landmarks, step, each)]
    finite = [x for x in parts(form, landmarks, max(step * 8, 1), 1) if math.isfinite(x)]
    rng = random.Random(form.name)
    pairs = [(rng.choice(finite), rng.choice(finite)) for _ in range(each * len(finite) * 4 // max(step // 4, 1))]
    pairs += [(x, s * 0.0) for x in finite for s in (1.0, -1.0)] + [(s * 0.0, x) for x in finite for s in (1.0, -1.0)]
    near = [form.rounded(x) for x in landmarks]
    pairs += [(a, rng.choice(finite)) for a in near for _ in range(20)]
    pairs += [(rng.choice(finite), a) for a in near for _ in range(20)]
    pairs += [(x, s * x) for x in finite[:: max(step, 2)] for s in (1.0, -1.0)]
    return [(complex(a, b),) for a, b in pairs]


def several(form: Format, landmarks: tuple[tuple[float, ...], ...], step: int, each: int) -> list[tuple[complex, ...]]:
    """Random pairs, triples, ... of such numbers; some of equal size, some equal."""
    rng = random.Random(f"{form.name} {len(landmarks)}")
    if form.is_complex:
        axes = [[x for (x,) in unary(form, marks, step, 1)] for marks in landmarks]
    else:
        axes = [[x for x in parts(form, marks, step, 1) if math.isfinite(x)] for marks in landmarks]
    count = 1700 * each // max(step, 1) + 40
    tuples = [tuple(rng.choice(axis) for axis in axes) for _ in range(count)]
    if form.is_complex:
        return tuples
    for _ in range(count // 2):
        x = rng.choice(axes[0])
        near = [form.rounded(x * rng.uniform(0.25, 4.0) * rng.choice((1.0, -1.0))) for _ in axes[1:]]
        tuples.append((x, *near))
    for _ in range(count // 2):  # ordinary sizes
        tuples.append(tuple(form.rounded(rng.uniform(0.05, 20.0) * rng.choice((1.0, 1.0, -1.0))) for _ in axes))
    for _ in range(count // 8):
        x = rng.choice(axes[0])
        tuples.append((x, *(rng.choice((x, -x)) for _ in axes[1:])))
    return [t for t in tuples if all(v == 0 or form.tiny <= abs(v) <= form.largest for v in t)]
