"""Library functions of arrays of the same dtype promote nothing that strict promotion would refuse."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import image, nn, ops
from primax.example_libraries import optimizers
from primax.scipy import interpolate, ndimage, optimize, special, stats
from primax.scipy.cluster import vq
from primax.scipy.sparse import linalg
from primax.scipy.spatial.transform import Rotation, Slerp

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.array([0.5, 1.5, 2.5])
I = np.array([1, 2, 3], np.int32)
TURNS = np.eye(3)
UNARY = "exp1 expi dawsn erfcx erfcinv sici fresnel spence loggamma wofz".split()
L_BFGS = "l-bfgs-experimental-do-not-rely-on-this"


def steps(name, *args):
    def run(x):
        optimizer = getattr(optimizers, name)(*args)
        return optimizer.params_fn(optimizer.update_fn(1, x, optimizer.init_fn(x)))

    return run


CALLS = {
    **{name: lambda x, name=name: getattr(special, name)(x) for name in UNARY},
    "complex loggamma": lambda x: special.loggamma(px.lax.complex(x, x)),
    "complex gamma": lambda x: special.gamma(px.lax.complex(x, x)),
    "complex wofz": lambda x: special.wofz(px.lax.complex(x, -x)),
    "expn": lambda x: special.expn(I, x),
    "owens_t": lambda x: special.owens_t(x, x),
    "hyp1f1": lambda x: special.hyp1f1(x, x, x),
    "hyp2f1": lambda x: special.hyp2f1(x, x, x, x / 3),
    "bessel_jn": lambda x: special.bessel_jn(x, v=2),
    "sph_harm_y": lambda x: special.sph_harm_y(I, I, x, x),
    "mode": stats.mode,
    "rankdata": stats.rankdata,
    "sem": stats.sem,
    "truncnorm": lambda x: stats.truncnorm.logcdf(x, -1.0, 3.0),
    "vonmises": lambda x: stats.vonmises.pdf(x, 2.0),
    "wrapcauchy": lambda x: stats.wrapcauchy.pdf(x, 0.2),
    "multinomial": lambda x: stats.multinomial.logpmf(I, 6, x / 4),
    "gaussian_kde": lambda x: stats.gaussian_kde(x).logpdf(x),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, [x / 2], 1, "reflect"),
    "map_coordinates of ints": lambda x: ndimage.map_coordinates(I, [x / 2], 1),
    "RegularGridInterpolator": lambda x: interpolate.RegularGridInterpolator((x,), x)(x),
    "minimize": lambda x: optimize.minimize(lambda y: ((y - 1) ** 2).sum(), x, method="BFGS").x,
    "little memory": lambda x: optimize.minimize(lambda y: ((y - 1) ** 2).sum(), x, method=L_BFGS).x,
    "cg": lambda x: linalg.cg(lambda v: 2 * v, x)[0],
    "bicgstab": lambda x: linalg.bicgstab(lambda v: 2 * v, x)[0],
    "gmres": lambda x: linalg.gmres(lambda v: 2 * v, x)[0],
    "incremental": lambda x: linalg.gmres(lambda v: 2 * v, x, solve_method="incremental")[0],
    "Rotation": lambda x: Rotation.from_matrix(Rotation.from_euler("ZXZ", x).as_matrix()).as_euler("xyz"),
    "Slerp": lambda x: Slerp.init(x, Rotation.from_rotvec(x[:, None] * TURNS))(x).as_mrp(),
    "vq": lambda x: vq.vq(x, x),
    "resize": lambda x: [image.resize(x, (5,), method) for method in image.ResizeMethod],
    "scale_and_translate": lambda x: image.scale_and_translate(x, (5,), (0,), x[:1], x[:1], "linear"),
    "segment_max": lambda x: ops.segment_max(x, I),
    "buckets": lambda x: ops.segment_sum(x, I, 4, bucket_size=2),
    "minmax": pnp.minmax,
    "top_k": lambda x: pnp.top_k(x, 2, mode="smallest"),
    "jet": lambda x: px.experimental.jet.jet(pnp.sin, (x,), ([x, x],)),
    "gamma": lambda x: px.random.gamma(px.random.key(0), x, method="approximate"),
    "poisson": lambda x: px.random.poisson(px.random.key(0), x, method="approximate"),
    "scaled_matmul": lambda x: nn.scaled_matmul(x[None, None], x[None, None], x[None, None, :1], x[None, None, :1]),
    **{name: steps(name, 0.1) for name in ("sgd", "adagrad", "rmsprop", "rmsprop_momentum", "adam", "adamax", "sm3")},
    **{name: steps(name, 0.1, 0.8) for name in ("momentum", "nesterov")},
}


@pytest.mark.parametrize("wide", [False, True])
def test_nothing_is_promoted(wide):
    refused = {}
    with px.enable_x64(wide), px.numpy_dtype_promotion("strict"):
        x = X.astype(np.float64 if wide else np.float32)
        for name, call in CALLS.items():
            try:
                px.eval_shape(call, x)
            except px.dtypes.TypePromotionError as error:
                refused[name] = str(error)
    assert refused == {}


def test_no_rank_is_promoted():
    refused = {}
    with px.numpy_rank_promotion("raise"):
        for name, call in CALLS.items():
            try:
                px.eval_shape(call, X.astype(np.float32))
            except ValueError as error:
                refused[name] = str(error)
    assert refused == {}


# Operators in their examples mix dtypes or ranks.
MIXED = {
    "dtype": {"concat", "promote_types", "result_type", "axis_index", "pmean", "dft", "pow"},
    "rank": {"array_equiv", "dot_product_attention", "gumbel", "multivariate_normal"},
}
LIBRARIES = """
    lax lax.linalg nn nn.initializers numpy numpy.fft numpy.linalg ode ops image random scipy.cluster.vq scipy.fft
    scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.spatial.transform
    scipy.special scipy.stats
"""


@pytest.mark.slow
@pytest.mark.parametrize("option", ["rank", "dtype"])
@pytest.mark.parametrize("library", LIBRARIES.split())
def test_examples_of_functions_promote_nothing(library, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    module = importlib.import_module(f"primax.{library}")
    refused = {}
    with px.numpy_rank_promotion("raise") if option == "rank" else px.numpy_dtype_promotion("strict"):
        for name in sorted(set(module.__all__) - MIXED[option]):
            examples = doctest.DocTestParser().get_examples(getattr(module, name).__doc__ or "")
            source = "".join(example.source for example in examples)
            if "tempfile" in source:
                continue
            try:
                exec(source, {})
            except Exception as error:
                # Other errors are what the example shows, and a function may promote the arguments of the example.
                if "promotion is" in str(error) and not str(error).startswith(f"{name}: "):
                    refused[name] = str(error)
    assert refused == {}
