"""Linear algebra built for GPUs: the calls of libraries that jax makes, in the same form, and what is around them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.lax import linalg
from primax.plugins.linalg import general, singular
from primax.plugins.linalg.tridiagonal import _solve_small

pytestmark = pytest.mark.usefixtures("in_32_bits")

S = px.ShapeDtypeStruct
F, C = np.float32, np.complex64
SQUARE, WIDE, TALL, HERMITIAN = S((2, 4, 4), F), S((2, 3, 5), F), S((2, 5, 3), F), S((2, 4, 4), C)
VECTORS = S((2, 4), F)


def calls(text: str) -> list[dict[str, str]]:
    """What is told of each custom call of a module: its target, how it is told what to do, layouts, memory, types."""
    found = []
    for line in text.splitlines():
        target = re.search(r"custom_call @(\w+)", line)
        if target is None:
            continue
        attributes = re.search(r"mhlo.backend_config = (\{[^}]*\})", line) or re.search(
            r"backend_config = (\{[^}]*\})", line
        )
        layouts = [
            re.sub(r" : tensor<\d*x?index>", "", each)
            for each in re.findall(r"\w+_layouts = \[(?:[^\]]|\]>)*?\](?=[,}])", line)
        ]
        aliases = re.findall(r"output_tuple_indices = \[(\d*)\], operand_index = (\d+)", line)
        types = line.split("} : ")[-1].split(" loc(")[0]
        found.append(
            {
                "target": target[1],
                "attributes": attributes[1] if attributes else "{}",
                "layouts": " ".join(sorted(layouts)),
                "aliases": str(aliases),
                "types": types,
            }
        )
    return found


def of_primax(f: Callable[..., Any], args: Any, platform: str) -> list[dict[str, str]]:
    return calls(px.export.export(px.jit(f), platforms=[platform])(*args).mlir_module())


def of_jax(f: Callable[..., Any], args: Any, platform: str) -> list[dict[str, str]]:
    jax = pytest.importorskip("jax")
    given = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]
    return calls(jax.jit(f).trace(*given).lower(lowering_platforms=(platform,)).as_text())


def _svd(algorithm: str | None = None, **options: Any) -> Any:
    return lambda l: lambda x: l.svd(x, algorithm=None if algorithm is None else l.SvdAlgorithm[algorithm], **options)


def _eigh(implementation: str | None, lower: bool) -> Any:
    return lambda l: (
        lambda x: l.eigh(
            x,
            lower=lower,
            symmetrize_input=False,
            implementation=None if implementation is None else l.EighImplementation[implementation],
        )
    )


def _eig(implementation: str | None) -> Any:
    return lambda l: (
        lambda x: l.eig(x, implementation=None if implementation is None else l.EigImplementation[implementation])
    )


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "lu": (lambda l: l.lu, (SQUARE,)),
    "lu, tall": (lambda l: l.lu, (TALL,)),
    "lu of a matrix": (lambda l: l.lu, (S((3, 3), F),)),
    "lu, complex": (lambda l: l.lu, (HERMITIAN,)),
    "cholesky": (lambda l: lambda x: l.cholesky(x, symmetrize_input=False), (SQUARE,)),
    "cholesky, complex": (lambda l: lambda x: l.cholesky(x, symmetrize_input=False), (HERMITIAN,)),
    "qr": (lambda l: lambda x: l.qr(x, full_matrices=False), (TALL,)),
    "qr, wide": (lambda l: l.qr, (WIDE,)),
    "qr, complex": (lambda l: l.qr, (HERMITIAN,)),
    "qr, pivoting": (lambda l: lambda x: l.qr(x, full_matrices=False, pivoting=True), (TALL,)),
    "product of reflections": (lambda l: l.householder_product, (TALL, S((2, 3), F))),
    "eigh": (_eigh(None, True), (SQUARE,)),
    "eigh, upper, QR": (_eigh("QR", False), (SQUARE,)),
    "eigh, complex, JACOBI": (_eigh("JACOBI", True), (HERMITIAN,)),
    "svd": (_svd(full_matrices=False), (TALL,)),
    "svd, whole": (_svd(), (WIDE,)),
    "svd, not small": (_svd(full_matrices=False), (S((2, 40, 33), F),)),
    "svd, large": (_svd(full_matrices=False), (S((1025, 1030), F),)),
    "singular values": (_svd(compute_uv=False), (TALL,)),
    "svd, QR": (_svd("QR"), (TALL,)),
    "svd, QR, wide": (_svd("QR", full_matrices=False), (WIDE,)),
    "svd, QR, wide, whole": (_svd("QR"), (WIDE,)),
    "svd, QR, values": (_svd("QR", compute_uv=False), (WIDE,)),
    "svd, JACOBI, complex": (_svd("JACOBI", full_matrices=False), (HERMITIAN,)),
    "svd, POLAR": (_svd("POLAR", full_matrices=False), (TALL,)),
    "eig with left vectors": (_eig(None), (SQUARE,)),
    "eig with left vectors, complex": (_eig("MAGMA"), (HERMITIAN,)),
    "eig by LAPACK": (_eig("LAPACK"), (SQUARE,)),
    "tridiagonal": (lambda l: l.tridiagonal, (HERMITIAN,)),
    "tridiagonal, upper": (lambda l: lambda x: l.tridiagonal(x, lower=False), (SQUARE,)),
    "tridiagonal solve": (lambda l: l.tridiagonal_solve, (VECTORS, VECTORS, VECTORS, S((2, 4, 3), F))),
    "tridiagonal solve, perturbed": (
        lambda l: lambda *args: l.tridiagonal_solve(*args, perturb_singular=True),
        (VECTORS, VECTORS, VECTORS, S((2, 4, 3), F)),
    ),
}


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
@pytest.mark.parametrize("name", CASES)
def test_libraries_are_called_as_jax_calls_them(name, platform):
    jlinalg = pytest.importorskip("jax.lax.linalg")
    make, args = CASES[name]
    want = of_jax(make(jlinalg), args, platform)
    assert want
    assert of_primax(make(linalg), args, platform) == want


# What `jax-cuda12-plugin` 0.10.2 registers of that which is called here.
REGISTERED = {
    "cu_lu_pivots_to_permutation",
    "cu_tridiagonal_solve_perturbed",
    "cuhybrid_eig_comp",
    "cuhybrid_eig_real",
    "cuhybrid_geqp3",
    "cusolver_geev_ffi",
    "cusolver_geqrf_ffi",
    "cusolver_gesvd_ffi",
    "cusolver_gesvdj_ffi",
    "cusolver_gesvdp_ffi",
    "cusolver_getrf_ffi",
    "cusolver_orgqr_ffi",
    "cusolver_ormqr_ffi",
    "cusolver_potrf_ffi",
    "cusolver_syevd_ffi",
    "cusolver_sytrd_ffi",
    "cusparse_gtsv2_ffi",
}


def test_what_is_called_is_what_the_plugin_for_cuda_registers() -> None:
    cases = [(make(linalg), args) for make, args in CASES.values()]
    cases += [
        (lambda x: linalg.eig(x, compute_left_eigenvectors=False), (SQUARE,)),
        (lambda a, taus, c: linalg.ormqr(a, taus, c), (SQUARE, VECTORS, S((2, 4, 2), F))),
    ]
    targets = {each["target"] for f, args in cases for each in of_primax(f, args, "cuda")}
    assert targets == REGISTERED


@pytest.mark.parametrize("aval", [SQUARE, HERMITIAN])
def test_eigenvalues_are_computed_by_cusolver_unless_left_vectors_are_asked_for(aval):
    f = linalg.eig
    (call,) = of_primax(lambda x: f(x, compute_left_eigenvectors=False), (aval,), "cuda")
    kind = "f32" if aval is SQUARE else "complex<f32>"
    results = (
        f"tensor<2x4x4x{kind}>, tensor<2x4xcomplex<f32>>, tensor<2x4x4x{kind}>, tensor<2x4x4x{kind}>, tensor<2xi32>"
    )
    assert call["types"] == f"(tensor<2x4x4x{kind}>) -> ({results})"
    assert (call["target"], call["attributes"]) == ("cusolver_geev_ffi", "{left = false, right = true}")
    asked = linalg.EigImplementation
    for implementation, target in ((asked.CUSOLVER, "cusolver_geev_ffi"), (asked.MAGMA, "cuhybrid_eig_\\w+")):
        options = {"compute_left_eigenvectors": False, "implementation": implementation}
        (call,) = of_primax(lambda x, options=options: f(x, **options), (aval,), "cuda")
        assert re.fullmatch(target, call["target"])
    (call,) = of_primax(lambda x: f(x, compute_left_eigenvectors=False), (aval,), "rocm")
    assert call["target"].startswith("hiphybrid_eig_")


def test_algorithms_that_gpus_do_not_know_are_refused() -> None:
    for f, message in (
        (
            _svd("DIVIDE_AND_CONQUER")(linalg),
            "svd: algorithm must be QR, JACOBI, POLAR, DEFAULT or None on platform 'cuda'",
        ),
        (_eigh("QDWH", True)(linalg), "eigh: implementation must be QR or JACOBI or None on platform 'cuda'"),
        (_eig("CUSOLVER")(linalg), "eig: implementation must not be CUSOLVER for left eigenvectors"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            of_primax(f, (SQUARE,), "cuda")
    with pytest.raises(NotImplementedError, match=r"There are lowerings for \['cpu'\], but .* 'cuda'"):
        of_primax(linalg.schur, (SQUARE,), "cuda")


def test_eigenvectors_of_real_matrices_are_unpacked() -> None:
    x = np.array([[[0, -2, 0, 0], [1, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]], np.diag([1.0, 2, 3, 4])], F)
    x[0] = np.roll(np.roll(x[0], 1, 0), 1, 1)
    values, vectors = np.linalg.eig(x)
    packed = vectors.real.copy()
    first = values.imag > 0
    for stack, column in zip(*np.nonzero(first), strict=True):
        packed[stack, :, column + 1] = vectors[stack, :, column].imag
    (got,) = general._unpacked(values.astype(C), packed.astype(F))
    np.testing.assert_allclose(got, vectors, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 2])
def test_tridiagonal_systems_of_few_rows_are_solved_without_a_library(rows):
    dl, d, du = np.random.default_rng(0).normal(size=(3, 2, rows)).astype(F)
    dl[:, 0], du[:, -1] = np.nan, np.nan  # they are not read
    b = np.ones((2, rows, 3), F)
    (got,) = _solve_small(dl, d, du, b)
    np.testing.assert_allclose(got, linalg.tridiagonal_solve(dl, d, du, b), rtol=1e-5)
    assert not of_primax(linalg.tridiagonal_solve, [S(x.shape, F) for x in (dl, d, du, b)], "cuda")


def test_empty_matrices_call_no_library() -> None:
    for f in (linalg.lu, linalg.qr, linalg.svd, linalg.eigh, linalg.eig, linalg.cholesky, linalg.tridiagonal):
        assert not of_primax(f, (S((0, 3, 3), F),), "cuda")
    assert not of_primax(linalg.lu, (S((2, 3, 0), F),), "cuda")


def test_singular_vectors_are_of_the_shapes_that_are_asked_for() -> None:
    for shape in ((2, 40, 33), (2, 33, 40), (3, 2), (2, 3)):
        for algorithm in (None, *singular._ROUTINES_OF_GPUS):
            for full in (False, True):
                f = _svd(algorithm and algorithm.name, full_matrices=full)(linalg)
                exported = px.export.export(px.jit(f), platforms=["cuda"])(S(shape, F))
                want = np.linalg.svd(np.ones(shape, F), full_matrices=full)
                assert [aval.shape for aval in exported.out_avals] == [want[0].shape, want[1].shape, want[2].shape]
