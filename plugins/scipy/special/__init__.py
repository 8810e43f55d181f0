"""Special functions under scipy.special's names."""

from __future__ import annotations

from primax.plugins.scipy.special.bessel import (
    i0,
    i0e,
    i1,
    i1e,
)
from primax.plugins.scipy.special.beta import (
    beta,
    betainc,
    betaln,
    comb,
    poch,
)
from primax.plugins.scipy.special.entropies import (
    boxcox,
    boxcox1p,
    entr,
    expit,
    kl_div,
    log_softmax,
    logit,
    logsumexp,
    rel_entr,
    softmax,
    xlog1py,
    xlogy,
)
from primax.plugins.scipy.special.errors import (
    erf,
    erfc,
    erfinv,
    log_ndtr,
    ndtr,
    ndtri,
)
from primax.plugins.scipy.special.gamma import (
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    multigammaln,
)
from primax.plugins.scipy.special.zeta import (
    bernoulli,
    polygamma,
    zeta,
)

__all__ = [
    "bernoulli",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "poch",
    "polygamma",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
