"""Rotations in three dimensions under scipy.spatial.transform's names, stored as quaternions (x, y, z, w)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import pi
from typing import Any, NamedTuple

import numpy as np

from primax import numpy as pnp
from primax import random
from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.arguments import integer
from primax.numpy.promotion import promote

__all__ = ["Rotation", "Slerp"]
__dir__ = __all__.copy

_AXES = {"x": 0, "y": 1, "z": 2}


def _read(function: str, name: str, value: Any, *endings: tuple[int, ...]) -> Array:
    """Convert to a floating array whose last axes have given lengths, and which may have one axis before them."""
    x = _floats(function, value)
    if dtypes.is_complex(x.dtype):
        raise TypeError(f"{function}: {name} must be real, got {x.dtype}")
    for ending in endings:
        if x.ndim <= len(ending) + 1 and x.shape[x.ndim - len(ending) :] == ending and x.ndim >= len(ending):
            return x
    shapes = " or ".join(f"{ending} or (n, {', '.join(map(str, ending))})" for ending in endings)
    raise ValueError(f"{function}: {name} must have the shape {shapes}, got {x.shape}")


def _floats(function: str, value: Any) -> Array:
    """Convert numbers, an array or a list of numbers, to an array of a floating dtype that is not weak."""
    if isinstance(value, list | tuple):
        value = pnp.array(value)
    (x,) = promote(function, value, to=dtypes.to_inexact_dtype)
    x = pnp.asarray(x)
    return pnp.asarray(x, dtype=x.dtype)


def _norm(x: Any) -> Array:
    """The norm of vectors along the last axis, with derivative 0 at 0."""
    square = pnp.sum(x * x, axis=-1, keepdims=True)
    zero = square == 0
    return pnp.where(zero, 0, pnp.sqrt(pnp.where(zero, 1, square)))


def _normalized(quat: Any) -> Array:
    return quat / pnp.sqrt(pnp.sum(quat * quat, axis=-1, keepdims=True))


def _product(p: Any, q: Any) -> Array:
    """The Hamilton product."""
    pv, pw, qv, qw = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = pw * qv + qw * pv + pnp.cross(pv, qv)
    return pnp.concatenate([vector, pw * qw - pnp.sum(pv * qv, axis=-1, keepdims=True)], axis=-1)


def _sequence(function: str, seq: Any) -> tuple[str, bool]:
    """The axes in lower case, and whether they rotate with the body."""
    if not isinstance(seq, str) or not 1 <= len(seq) <= 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"{function}: seq must be up to three of xyz, or of XYZ, got {seq!r}")
    if any(a == b for a, b in pairwise(seq)):
        raise ValueError(f"{function}: seq must have other axes next to each other, got {seq!r}")
    return seq.lower(), seq.isupper()


def _from_matrix(m: Any) -> Array:
    """S. W. Shepperd, "Quaternion from rotation matrix" (1978): from the largest of four squares."""
    diagonal = [m[..., i, i] for i in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    rows = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        row: list[Any] = [None] * 4
        row[i] = 1 - trace + 2 * diagonal[i]
        row[j], row[k] = m[..., j, i] + m[..., i, j], m[..., k, i] + m[..., i, k]
        row[3] = m[..., k, j] - m[..., j, k]
        rows.append(pnp.stack(row, axis=-1))
    last = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    rows.append(pnp.stack([*last, 1 + trace], axis=-1))
    squares = pnp.stack([*diagonal, trace], axis=-1)
    which = pnp.argmax(squares, axis=-1)[..., None]
    quat = rows[3]
    for i in range(3):
        quat = pnp.where(which == i, rows[i], quat)
    return _normalized(quat)


def _from_rotvec(vector: Any) -> Array:
    angle = _norm(vector)
    # sin(angle / 2) / angle
    scale = 0.5 * pnp.sinc(angle / (2 * pi))
    return pnp.concatenate([scale * vector, pnp.cos(angle / 2)], axis=-1)


def _as_rotvec(quat: Any) -> Array:
    quat = pnp.where(quat[..., 3:] < 0, -quat, quat)
    vector, w = quat[..., :3], quat[..., 3:]
    length = _norm(vector)
    small = length < 1e-3
    safe = pnp.where(small, 1, length)
    ratio = length / w
    near = 2 / w * (1 - ratio * ratio / 3)
    return pnp.where(small, near, 2 * pnp.arctan2(safe, w) / safe) * vector


def _rotation_about(axis: int, angle: Any) -> Array:
    parts = [pnp.zeros_like(angle)] * 3
    parts[axis] = pnp.sin(angle / 2)
    return pnp.stack([*parts, pnp.cos(angle / 2)], axis=-1)


def _as_euler(quat: Any, axes: str, intrinsic: bool) -> Array:
    """E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion" (2022); a free last angle is 0."""
    i, j, k = (_AXES[axis] for axis in (axes[::-1] if intrinsic else axes))
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = quat[..., i], quat[..., j], quat[..., k] * sign, quat[..., 3]
    a, b, c, d = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
    middle = 2 * pnp.arctan2(pnp.hypot(c, d), pnp.hypot(a, b))
    tiny = 10 * float(dtypes.finfo(quat.dtype).eps) ** 0.5 if quat.dtype == np.float32 else 1e-7
    at_zero, at_pi = pnp.abs(middle) < tiny, pnp.abs(middle - pi) < tiny
    free = at_zero | at_pi
    half_sum = pnp.arctan2(pnp.where(at_pi, 0.0, b), pnp.where(at_pi, 1.0, a))
    half_diff = pnp.arctan2(pnp.where(at_zero, 0.0, d), pnp.where(at_zero, 1.0, c))
    first, third = half_sum - half_diff, half_sum + half_diff
    alone = pnp.where(at_zero, 2 * half_sum, 2 * half_diff * (1 if intrinsic else -1))
    if intrinsic:
        first, third = pnp.where(free, 0, first), pnp.where(free, alone, third)
    else:
        first, third = pnp.where(free, alone, first), pnp.where(free, 0, third)
    if not symmetric:
        third, middle = third * sign, middle - pi / 2
    angles = pnp.stack([third, middle, first] if intrinsic else [first, middle, third], axis=-1)
    return pnp.where(angles > pi, angles - 2 * pi, pnp.where(angles < -pi, angles + 2 * pi, angles))


class Rotation(NamedTuple):
    """One rotation or several: a pytree of unit quaternions, of shape (4,) or (n, 4).

    >>> import primax as px
    >>> turn = px.scipy.spatial.transform.Rotation.from_euler("z", 90.0, degrees=True)
    >>> px.numpy.round(turn.apply(px.numpy.array([1.0, 0.0, 0.0])), 3).tolist()
    [0.0, 1.0, 0.0]
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Create rotations from quaternions (x, y, z, w) of any nonzero length.

        Args:
          quat: an array of shape (4,) or (n, 4).

        Raises:
          TypeError: `quat` is complex, or not an array.
          ValueError: `quat` has another shape.
        """
        return cls(_normalized(_read("Rotation.from_quat", "quat", quat, (4,))))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Create rotations from orthogonal matrices of determinant 1.

        Args:
          matrix: an array of shape (3, 3) or (n, 3, 3).

        Raises:
          TypeError: `matrix` is complex, or not an array.
          ValueError: `matrix` has another shape.
        """
        return cls(_from_matrix(_read("Rotation.from_matrix", "matrix", matrix, (3, 3))))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Create rotations from rotation vectors, which are along the axis and have the angle as length.

        Args:
          rotvec: an array of shape (3,) or (n, 3).
          degrees: whether angles are in degrees.

        Raises:
          TypeError: `rotvec` is complex, or not an array.
          ValueError: `rotvec` has another shape.
        """
        vector = _read("Rotation.from_rotvec", "rotvec", rotvec, (3,))
        return cls(_from_rotvec(vector * (pi / 180) if degrees else vector))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Create rotations from modified Rodrigues parameters: vectors along the axis, of length tan(angle / 4).

        Args:
          mrp: an array of shape (3,) or (n, 3).

        Raises:
          TypeError: `mrp` is complex, or not an array.
          ValueError: `mrp` has another shape.
        """
        vector = _read("Rotation.from_mrp", "mrp", mrp, (3,))
        square = pnp.sum(vector * vector, axis=-1, keepdims=True)
        return cls(pnp.concatenate([2 * vector, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Create rotations from angles about successive axes.

        Args:
          seq: up to three axes: of "xyz" for fixed axes, of "XYZ" for axes that rotate with the body.
          angles: for one axis, a number or an array of shape (n,) or (n, 1); for several axes, of shape (len(seq),) or
            (n, len(seq)).
          degrees: whether angles are in degrees.

        Raises:
          TypeError: `angles` is complex, or not an array.
          ValueError: `seq` is not such a string, or `angles` has another shape.
        """
        axes, intrinsic = _sequence("Rotation.from_euler", seq)
        if len(axes) == 1:
            angles = _read("Rotation.from_euler", "angles", angles, (), (1,))
            angles = angles if angles.ndim == 2 else angles[..., None]
        else:
            angles = _read("Rotation.from_euler", "angles", angles, (len(axes),))
        if degrees:
            angles = angles * (pi / 180)
        quat = _rotation_about(_AXES[axes[0]], angles[..., 0])
        for i, axis in enumerate(axes[1:], 1):
            after = _rotation_about(_AXES[axis], angles[..., i])
            quat = _product(quat, after) if intrinsic else _product(after, quat)
        return cls(quat)

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The identity.

        Args:
          num: the number of rotations; a single one if None.
          dtype: the dtype of the quaternions.
        """
        one = pnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else pnp.tile(one, (integer("Rotation.identity", "num", num), 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Uniformly distributed rotations.

        Args:
          random_key: a random key.
          num: the number of rotations; a single one if None.
        """
        shape = (4,) if num is None else (integer("Rotation.random", "num", num), 4)
        return cls(_normalized(random.normal(random_key, shape)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Concatenate rotations.

        Args:
          rotations: a sequence of `Rotation`s.
        """
        return cls(pnp.concatenate([pnp.atleast_2d(rotation.quat) for rotation in rotations]))

    @property
    def single(self) -> bool:
        """Whether this is a single rotation."""
        return bool(self.quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Rotation: a single rotation must not be asked for its length")
        return int(self.quat.shape[0])

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("Rotation: a single rotation must not be indexed")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Any) -> Rotation:
        """The composition: first `other`, then this rotation."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(_normalized(_product(*pnp.broadcast_arrays(self.quat, other.quat))))

    def inv(self) -> Rotation:
        """The inverse rotations."""
        signs = pnp.array([-1, -1, -1, 1], self.quat.dtype)
        return Rotation(self.quat * pnp.broadcast_to(signs, self.quat.shape))

    def magnitude(self) -> Array:
        """The angles, from 0 to pi."""
        return 2 * pnp.arctan2(_norm(self.quat[..., :3])[..., 0], pnp.abs(self.quat[..., 3]))

    def apply(self, vectors: Any, inverse: bool = False) -> Array:
        """Rotate vectors.

        Args:
          vectors: an array of shape (3,) or (n, 3). The numbers of vectors and of rotations must be equal, or one of
            them 1.
          inverse: whether to apply the inverse rotations.

        Raises:
          TypeError: `vectors` is complex, or not an array.
          ValueError: `vectors` has another shape.
        """
        vectors = _read("Rotation.apply", "vectors", vectors, (3,))
        matrix = self.as_matrix()
        try:
            return pnp.einsum(
                "...ji,...j->...i" if inverse else "...ij,...j->...i", matrix, vectors, precision="highest"
            )
        except ValueError:
            raise ValueError(
                f"Rotation.apply: vectors must be one, or as many as the {len(self)} rotations, got {vectors.shape}"
            ) from None

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """The quaternions (x, y, z, w), of shape (4,) or (n, 4).

        Args:
          canonical: whether to choose signs such that w is positive, or the first nonzero number if w is 0.
          scalar_first: whether to return (w, x, y, z).
        """
        quat = self.quat
        if canonical:
            x, y, z, w = (quat[..., i] for i in range(4))
            decisive = pnp.where(w != 0, w, pnp.where(x != 0, x, pnp.where(y != 0, y, z)))
            quat = pnp.where(decisive[..., None] < 0, -quat, quat)
        return pnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """The orthogonal matrices, of shape (3, 3) or (n, 3, 3)."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return pnp.stack([pnp.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """The rotation vectors, which are along the axis and have the angle as length, at most pi.

        Args:
          degrees: whether angles are in degrees.
        """
        vector = _as_rotvec(self.quat)
        return vector * (180 / pi) if degrees else vector

    def as_mrp(self) -> Array:
        """The modified Rodrigues parameters: vectors along the axis, of length tan(angle / 4) <= 1."""
        quat = pnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """The angles about three axes.

        Args:
          seq: three axes, as for `from_euler`.
          degrees: whether angles are in degrees.

        Returns:
          Angles of shape (3,) or (n, 3). If the first and the last axis are parallel, only the sum of their
          angles is determined, and one of them is 0.

        Raises:
          ValueError: `seq` does not have three axes.
        """
        axes, intrinsic = _sequence("Rotation.as_euler", seq)
        if len(axes) != 3:
            raise ValueError(f"Rotation.as_euler: seq must have three axes, got {seq!r}")
        angles = _as_euler(self.quat, axes, intrinsic)
        return angles * (180 / pi) if degrees else angles

    def mean(self, weights: Any = None) -> Rotation:
        """The mean rotation, which minimizes the weighted distance to all rotations.

        Args:
          weights: one weight per rotation; equal weights if None.

        Raises:
          ValueError: `weights` has another shape.

        Source: F. L. Markley et al., "Averaging quaternions" (2007).
        """
        quat = pnp.atleast_2d(self.quat)
        weights = pnp.ones(quat.shape[0], quat.dtype) if weights is None else pnp.asarray(weights)
        if weights.shape != quat.shape[:1]:
            raise ValueError(f"Rotation.mean: weights must have the shape {quat.shape[:1]}, got {weights.shape}")
        sums = pnp.einsum("n,ni,nj->ij", weights, quat, quat, precision="highest")
        return Rotation(pnp.linalg.eigh(sums)[1][:, -1])


class Slerp(NamedTuple):
    """Spherical linear interpolation between rotations at given times; create it by `Slerp.init`.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.scipy.spatial.transform import Rotation, Slerp
      >>> turns = Rotation.from_euler("z", pnp.array([0.0, 90.0]), degrees=True)
      >>> slerp = Slerp.init(pnp.array([0.0, 1.0]), turns)
      >>> slerp(pnp.array([0.5])).as_euler("xyz", degrees=True).round()
      Array([[ 0.,  0., 45.]], dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """Create an interpolation, a function of the time.

        Args:
          times: increasing times, an array or a list of shape (n,), n > 1. They take the dtype of the rotations.
          rotations: n rotations.

        Raises:
          TypeError: `rotations` is not a `Rotation`, or `times` does not hold numbers.
          ValueError: `rotations` is a single rotation, or the numbers of times and of rotations differ.

        Source: K. Shoemake, "Animating rotation with quaternion curves" (1985).

        >>> import primax as px
        >>> from primax.scipy.spatial.transform import Rotation, Slerp
        >>> ends = Rotation.from_euler("z", px.numpy.array([0.0, 1.0]))
        >>> between = Slerp.init(px.numpy.array([0.0, 2.0]), ends)
        >>> round(float(between(0.5).magnitude()), 4)
        0.25
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp.init: rotations must be a Rotation, got {rotations!r}")
        if rotations.single or len(rotations) < 2:
            raise ValueError("Slerp.init: rotations must be two or more, got one")
        times = _floats("Slerp.init", times).astype(rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise ValueError(f"Slerp.init: times must have the shape ({len(rotations)},), got {times.shape}")
        earlier, later = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        rotvecs = (earlier.inv() * later).as_rotvec()
        return cls(times, pnp.diff(times), rotations, rotvecs)

    def __call__(self, times: Any) -> Rotation:
        """The rotations at given times; before the first time and after the last one the speed stays constant.

        Args:
          times: a number, or an array or a list of shape (n,). They take the dtype of the rotations.
        """
        times = _floats("Slerp", times).astype(self.times.dtype)
        if times.ndim > 1:
            raise ValueError(f"Slerp: times must be a number or of rank 1, got {times.shape}")
        place = pnp.clip(pnp.searchsorted(self.times, times, side="right") - 1, 0, self.timedelta.shape[0] - 1)
        part = (times - self.times[place]) / self.timedelta[place]
        return Rotation(self.rotations.quat[place]) * Rotation.from_rotvec(self.rotvecs[place] * part[..., None])
