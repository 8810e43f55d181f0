"""Rotations against scipy.spatial.transform."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy.spatial.transform import Rotation, Slerp
from primax.test_util import check_grads

scipy_transform = pytest.importorskip("scipy.spatial.transform")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

QUATS = np.random.default_rng(0).normal(size=(6, 4))
SEQUENCES = ("xyz", "zyx", "zxz", "yxy", "XYZ", "ZYX", "ZXZ", "YZY")


def both(*quats):
    quats = quats[0] if quats else QUATS
    return Rotation.from_quat(quats), scipy_transform.Rotation.from_quat(quats)


def same(got, want, rtol=1e-9):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("quats", [QUATS, QUATS[0]])
def test_rotations_are_read_and_written_as_by_scipy(quats):
    with px.enable_x64(True):
        got, want = both(quats)
        same(got.as_quat(canonical=True), want.as_quat(canonical=True))
        same(got.as_quat(scalar_first=True), want.as_quat(scalar_first=True))
        for name in ("as_matrix", "as_rotvec", "as_mrp", "magnitude"):
            same(getattr(got, name)(), getattr(want, name)())
        same(got.as_rotvec(degrees=True), want.as_rotvec(degrees=True))
        for kind in ("matrix", "rotvec", "mrp"):
            value = getattr(want, f"as_{kind}")()
            back = getattr(Rotation, f"from_{kind}")(value)
            same(back.as_matrix(), want.as_matrix())
        for seq in SEQUENCES:
            same(got.as_euler(seq, degrees=True), want.as_euler(seq, degrees=True))
            same(Rotation.from_euler(seq, want.as_euler(seq)).as_matrix(), want.as_matrix())
        same(got.inv().as_matrix(), want.inv().as_matrix())


def test_angles_about_parallel_axes_are_those_of_scipy():
    with px.enable_x64(True):
        for seq in SEQUENCES:
            middle = 0.0 if seq[0] == seq[2] else np.pi / 2
            for angle in (middle, -np.pi / 2 if middle else np.pi):
                quat = scipy_transform.Rotation.from_euler(seq, [0.3, angle, 0.5]).as_quat()
                with pytest.warns(UserWarning, match="Gimbal lock"):
                    want = scipy_transform.Rotation.from_quat(quat).as_euler(seq)
                same(Rotation.from_quat(quat).as_euler(seq), want, rtol=1e-6)


def test_matrices_of_all_kinds_give_their_quaternions():
    turns = np.concatenate([np.eye(4), QUATS, [[1, 1e-9, 0, 0], [0, 0.6, 0.8, 0]]])
    with px.enable_x64(True):
        _, want = both(turns)
        same(Rotation.from_matrix(want.as_matrix()).as_matrix(), want.as_matrix())
    narrow = Rotation.from_matrix(want.as_matrix().astype(np.float32))
    np.testing.assert_allclose(narrow.as_matrix(), want.as_matrix(), atol=1e-6)


def test_rotations_are_composed_applied_and_averaged_as_by_scipy():
    vectors = np.random.default_rng(1).normal(size=(6, 3))
    with px.enable_x64(True):
        got, want = both()
        one, scipy_one = both(QUATS[2])
        same((got * one).as_matrix(), (want * scipy_one).as_matrix())
        same((one * got).as_matrix(), (scipy_one * want).as_matrix())
        same(got.apply(vectors), want.apply(vectors))
        same(got.apply(vectors[0], inverse=True), want.apply(vectors[0], inverse=True))
        same(one.apply(vectors), scipy_one.apply(vectors))
        weights = np.arange(1.0, 7.0)
        same(got.mean().as_matrix(), want.mean().as_matrix())
        same(got.mean(weights).as_matrix(), want.mean(weights).as_matrix())
        joined = Rotation.concatenate([one, got])
        assert (len(joined), len(joined[1:3]), joined[0].single) == (7, 2, True)
        same(Rotation.identity(2).as_matrix(), np.stack([np.eye(3)] * 2))


def test_one_axis_takes_numbers_and_columns():
    assert Rotation.from_euler("z", 0.3).single
    np.testing.assert_allclose(Rotation.from_euler("y", np.float32([0.3, 0.4])).magnitude(), [0.3, 0.4], rtol=1e-5)
    assert len(Rotation.from_euler("X", np.float32([[0.3], [0.4]]))) == 2
    want = scipy_transform.Rotation.from_euler("zx", [[0.3, 1.0]]).as_matrix()
    np.testing.assert_allclose(Rotation.from_euler("zx", np.float32([[0.3, 1.0]])).as_matrix(), want, atol=1e-6)


def test_random_rotations_are_even():
    turns = Rotation.random(px.random.key(0), 2000)
    np.testing.assert_allclose(pnp.mean(turns.as_matrix(), 0), np.zeros((3, 3)), atol=0.05)
    assert Rotation.random(px.random.key(0)).single


def test_rotations_between_others_are_those_of_scipy():
    times = np.array([0.0, 0.5, 2.0, 2.5, 3.0, 7.0])
    at = np.array([0.0, 0.2, 0.5, 1.9, 6.9, 7.0])
    with px.enable_x64(True):
        got, want = both()
        between, scipy_between = Slerp.init(times, got), scipy_transform.Slerp(times, want)
        same(between(at).as_matrix(), scipy_between(at).as_matrix())
        same(between(1.0).as_matrix(), scipy_between(1.0).as_matrix())
        same(px.jit(lambda s, t: s(t).as_matrix())(between, at), scipy_between(at).as_matrix())


def test_times_may_be_lists():
    ends = Rotation.from_euler("zx", [[0.0, 0.0], [1.0, 0.5], [0.0, 2.0]])
    want = Slerp.init(pnp.array([0.0, 1.0, 3.0]), ends)(pnp.array([0.5, 2.0])).as_quat()
    np.testing.assert_array_equal(Slerp.init([0, 1, 3], ends)([0.5, 2.0]).as_quat(), want)


def test_numbers_do_not_make_rotations_weak():
    turned = Rotation.from_euler("z", 90, degrees=True)
    assert not any(x.weak_type for x in (turned.as_quat(), turned.as_matrix(), turned.as_rotvec(), turned.magnitude()))
    ends = Rotation.from_euler("z", [0.0, 1.0])
    assert not Slerp.init([0, 1], ends)(0.5).as_quat().weak_type


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3b11fnuz"])
def test_times_take_the_dtype_of_the_rotations(dtype):
    ends = Rotation.from_rotvec(pnp.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).astype(dtype))
    half = Slerp.init(np.int32([0, 1]), ends)(np.float32(0.5)).as_rotvec()
    assert half.dtype == dtype
    np.testing.assert_allclose(half.astype("float32"), [0, 0, 0.5], rtol=0.1)


def test_rotations_have_derivatives_at_the_identity_too():
    with px.enable_x64(True):
        for vector in (np.zeros(3), np.array([0.3, -0.2, 1.0]), np.array([1e-5, 0.0, 0.0])):
            check_grads(lambda v: Rotation.from_rotvec(v).as_matrix(), (vector,), 1)
            check_grads(lambda v: Rotation.from_rotvec(v).as_rotvec(), (vector,), 1)
        check_grads(lambda a: Rotation.from_euler("xyz", a).as_euler("ZXZ"), (np.array([0.1, 0.2, 0.3]),), 1)
    matrices = px.vmap(lambda q: Rotation.from_quat(q).as_matrix())(QUATS.astype(np.float32))
    np.testing.assert_allclose(matrices, both()[0].as_matrix(), atol=1e-5)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: Rotation.from_quat(np.zeros(3)),
            ValueError,
            r"from_quat: quat must have the shape \(4,\) or \(n, 4\)",
        ),
        (lambda: Rotation.from_matrix(np.zeros((3, 2))), ValueError, "from_matrix: matrix must have the shape"),
        (lambda: Rotation.from_rotvec(1j * np.ones(3)), TypeError, "from_rotvec: rotvec must be real"),
        (lambda: Rotation.from_euler("xyZ", np.zeros(3)), ValueError, "from_euler: seq must be up to three of xyz"),
        (lambda: Rotation.from_euler("xx", np.zeros(2)), ValueError, "must have other axes next to each other"),
        (lambda: Rotation.from_euler("xy", np.zeros(3)), ValueError, "from_euler: angles must have the shape"),
        (lambda: Rotation.identity().as_euler("xy"), ValueError, "as_euler: seq must have three axes"),
        (lambda: len(Rotation.identity()), TypeError, "must not be asked for its length"),
        (lambda: Rotation.identity()[0], TypeError, "must not be indexed"),
        (lambda: Rotation.identity(2).apply(np.ones((3, 3))), ValueError, "vectors must be one, or as many as the 2"),
        (lambda: Rotation.identity(2).mean(np.ones(3)), ValueError, r"weights must have the shape \(2,\)"),
        (lambda: Rotation.identity() * 2, TypeError, "unsupported operand"),
        (lambda: Slerp.init(np.zeros(2), Rotation.identity()), ValueError, "rotations must be two or more"),
        (lambda: Slerp.init(np.zeros(2), Rotation.identity(3)), ValueError, r"times must have the shape \(3,\)"),
    ],
)
def test_wrong_rotations_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
