"""A regression: traces, potential energy, a few steps of NUTS, and variational inference."""

import json

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
from numpyro.infer.util import log_density

x = jnp.linspace(-1.0, 1.0, 10)
y = 2 * x + 0.5


def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 3.0))
    shift = numpyro.sample("shift", dist.Cauchy(0.0, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("y", dist.Normal(slope * x + shift, noise), obs=y)


density, _ = log_density(model, (x, y), {}, {"slope": 1.0, "shift": 0.2, "noise": 0.7})
mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=10, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), x, y)
guide = autoguide.AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
result = svi.run(jax.random.PRNGKey(1), 20, x, y, progress_bar=False)
print(
    json.dumps(
        {
            "density": float(density),
            "samples": list(mcmc.get_samples()["slope"].shape),
            "losses": result.losses[:5].tolist(),
            "gamma": float(dist.Gamma(2.0, 3.0).log_prob(0.4)),
        }
    )
)
