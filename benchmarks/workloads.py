"""Workloads that run unchanged on any module with JAX's public names.

Usage: python workloads.py MODULE [NAME ...]
Prints one JSON line per workload: {"name":..., "value": seconds-per-unit, "unit":...}
Each figure is the minimum of several repetitions, taken inside one process.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import time

# Workloads of meshes have eight devices, in one process or in two.
if any(name.startswith(("mesh_", "two_process_")) for name in sys.argv[2:]):
    count = "4" if sys.argv[2].startswith("two_process_") else "8"
    os.environ.update(PRIMAX_NUM_CPU_DEVICES=count, JAX_NUM_CPU_DEVICES=count, XLA_FLAGS="")

T0 = time.perf_counter()
M = importlib.import_module(sys.argv[1])
IMPORT_S = time.perf_counter() - T0
import numpy as np

lax = importlib.import_module(sys.argv[1] + ".lax")
jnp = importlib.import_module(sys.argv[1] + ".numpy")
WL = {}


def workload(f):
    WL[f.__name__] = f
    return f


def best(fn, reps=5, inner=1):
    fn()
    out = []
    for _ in range(reps):
        gc.collect()
        gc.disable()
        t = time.perf_counter()
        for _ in range(inner):
            fn()
        out.append((time.perf_counter() - t) / inner)
        gc.enable()
    return min(out)


def sync(x):
    return M.block_until_ready(x)


def f32(*s):
    return np.random.RandomState(0).randn(*s).astype(np.float32)


def chain(n):
    def f(x):
        for _ in range(n // 4):
            x = lax.sin(x)
            x = lax.mul(x, x)
            x = lax.add(x, x)
            x = lax.neg(x)
        return x

    return f


def mlp_params(sizes=(784, 512, 512, 10)):
    r = np.random.RandomState(0)
    return [
        (jnp.asarray(r.randn(m, n).astype(np.float32) * 0.05), jnp.asarray(np.zeros(n, np.float32)))
        for m, n in itertools.pairwise(sizes)
    ]


def mlp_loss(params, batch):
    x, y = batch
    for w, b in params[:-1]:
        x = jnp.tanh(jnp.dot(x, w) + b)
    w, b = params[-1]
    logits = jnp.dot(x, w) + b
    logits = logits - jnp.max(logits, axis=1, keepdims=True)
    logp = logits - jnp.log(jnp.sum(jnp.exp(logits), axis=1, keepdims=True))
    return -jnp.mean(jnp.sum(logp * y, axis=1))


@workload
def import_s():
    return IMPORT_S, "s"


@workload
def first_result_s():
    t = time.perf_counter()
    sync(M.jit(lambda x: x + 1)(f32(8)))
    return IMPORT_S + time.perf_counter() - t, "s since import began"


@workload
def jit_call_1arg():
    f = M.jit(lambda x: x + 1)
    x = jnp.asarray(f32(8))

    def go():
        for _ in range(2000):
            y = f(x)
        sync(y)

    return best(go) / 2000, "s/call"


@workload
def jit_call_100args():
    f = M.jit(lambda *a: a[0] + 1)
    xs = [jnp.asarray(f32(8)) for _ in range(100)]

    def go():
        for _ in range(500):
            y = f(*xs)
        sync(y)

    return best(go) / 500, "s/call"


@workload
def jit_call_pytree():
    f = M.jit(lambda d: d["p"][0]["w"] + 1)
    d = {
        "p": [{"w": jnp.asarray(f32(8)), "b": jnp.asarray(f32(8))} for _ in range(10)],
        "s": (jnp.asarray(f32(8)), None),
    }

    def go():
        for _ in range(1000):
            y = f(d)
        sync(y)

    return best(go) / 1000, "s/call"


@workload
def jit_call_new_number():
    """A step counter: each call has a number that no earlier call had."""
    f = M.jit(lambda x, i: x + i)
    x, numbers = jnp.asarray(f32(8)), itertools.count()

    def go():
        for i in itertools.islice(numbers, 1000):
            y = f(x, i)
        sync(y)

    return best(go) / 1000, "s/call"


@workload
def jit_call_numpy():
    f = M.jit(lambda x, y: x + y)
    x, y = f32(8), f32(8)

    def go():
        for _ in range(1000):
            z = f(x, y)
        sync(z)

    return best(go) / 1000, "s/call"


@workload
def compiled_call():
    x = jnp.asarray(f32(8))
    f = M.jit(lambda x: x + 1).lower(x).compile()

    def go():
        for _ in range(1000):
            y = f(x)
        sync(y)

    return best(go) / 1000, "s/call"


@workload
def eager_iterate():
    x = jnp.asarray(f32(8))

    def go():
        for _ in range(200):
            for y in x:  # noqa: B007
                pass
        sync(y)

    return best(go) / 200, "s/array"


@workload
def eager_fori_loop():
    x = jnp.asarray(f32(8))

    def double(i, x):
        return x * 2

    def go():
        for _ in range(100):
            y = lax.fori_loop(0, 5, double, x)
        sync(y)

    return best(go) / 100, "s/loop"


@workload
def eager_density():
    norm = importlib.import_module(sys.argv[1] + ".scipy.stats").norm
    x = jnp.asarray(f32(8))

    def go():
        for _ in range(100):
            y = norm.logpdf(x)
        sync(y)

    return best(go) / 100, "s/call"


@workload
def eager_add():
    x, y = jnp.asarray(f32(8)), jnp.asarray(f32(8))

    def go():
        for _ in range(1000):
            z = x + y
        sync(z)

    return best(go) / 1000, "s/op"


@workload
def eager_lax_sin():
    x = jnp.asarray(f32(8))

    def go():
        for _ in range(1000):
            z = lax.sin(x)
        sync(z)

    return best(go) / 1000, "s/op"


@workload
def eager_getitem():
    x = jnp.asarray(f32(64, 8))

    def go():
        for i in range(200):
            z = x[i % 64]
        sync(z)

    return best(go) / 200, "s/op"


@workload
def eager_grad_control_flow():
    def f(x):
        y = x
        for _ in range(10):
            if y > 0:
                y = lax.sin(y) * x
            else:
                y = lax.cos(y) + x
        return y

    g = M.grad(f)
    return best(lambda: sync(g(1.5)), inner=5), "s/grad of 20 eager ops"


@workload
def trace_4000():
    f = chain(4000)
    x = f32(8)
    return best(lambda: M.make_jaxpr(lambda x: f(x))(x), 3) / 4000, "s/eqn"


@workload
def trace_jvp_2000():
    f = chain(2000)
    x = f32(8)
    return best(lambda: M.make_jaxpr(lambda x: M.jvp(f, (x,), (x,)))(x), 3) / 2000, "s/primal eqn"


@workload
def trace_grad_2000():
    f = chain(2000)
    x = f32(8)
    return best(lambda: M.make_jaxpr(M.grad(lambda x: jnp.sum(f(x))))(x), 3) / 2000, "s/primal eqn"


@workload
def trace_vmap_2000():
    f = chain(2000)
    x = f32(4, 8)
    return best(lambda: M.make_jaxpr(M.vmap(lambda x: f(x)))(x), 3) / 2000, "s/primal eqn"


@workload
def trace_grad_vmap_jit():
    x = f32(4, 8)

    def go():
        return M.make_jaxpr(M.grad(lambda x: jnp.sum(M.vmap(M.jit(chain(1000)))(x))))(x)

    return best(go, 3) / 1000, "s/primal eqn"


@workload
def lower_2000():
    f = chain(2000)
    x = f32(8)
    return best(lambda: M.jit(lambda x: f(x)).lower(x), 3) / 2000, "s/eqn (trace+lower)"


@workload
def mlp_first_step():
    params, batch = mlp_params(), (f32(128, 784), np.eye(10, dtype=np.float32)[np.arange(128) % 10])

    def go():
        def step(p, b):
            g = M.grad(mlp_loss)(p, b)
            return [(w - 0.1 * dw, c - 0.1 * dc) for (w, c), (dw, dc) in zip(p, g, strict=True)]

        sync(M.jit(step)(params, batch))

    return best(go, 3), "s trace+lower+compile+run"


@workload
def mlp_trace_lower():
    params, batch = mlp_params(), (f32(128, 784), np.eye(10, dtype=np.float32)[np.arange(128) % 10])

    def go():
        def step(p, b):
            g = M.grad(mlp_loss)(p, b)
            return [(w - 0.1 * dw, c - 0.1 * dc) for (w, c), (dw, dc) in zip(p, g, strict=True)]

        M.jit(step).lower(params, batch)

    return best(go, 5), "s trace+lower"


@workload
def mlp_step():
    params, batch = (
        mlp_params(),
        (jnp.asarray(f32(128, 784)), jnp.asarray(np.eye(10, dtype=np.float32)[np.arange(128) % 10])),
    )

    @M.jit
    def step(p, b):
        g = M.grad(mlp_loss)(p, b)
        return [(w - 0.1 * dw, c - 0.1 * dc) for (w, c), (dw, dc) in zip(p, g, strict=True)]

    def go():
        p = params
        for _ in range(20):
            p = step(p, batch)
        sync(p)

    return best(go) / 20, "s/step"


def conv_loss(params, batch):
    x, y = batch
    for k in params[:-1]:
        x = lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jnp.maximum(x, 0)
    x = jnp.mean(x, axis=(1, 2))
    logits = jnp.dot(x, params[-1])
    return jnp.mean((logits - y) ** 2)


@workload
def convnet_step():
    params = [
        jnp.asarray(f32(3, 3, 3, 32) * 0.1),
        jnp.asarray(f32(3, 3, 32, 64) * 0.1),
        jnp.asarray(f32(64, 10) * 0.1),
    ]
    batch = (jnp.asarray(f32(32, 32, 32, 3)), jnp.asarray(f32(32, 10)))

    @M.jit
    def step(p, b):
        return [w - 0.1 * d for w, d in zip(p, M.grad(conv_loss)(p, b), strict=True)]

    def go():
        p = params
        for _ in range(10):
            p = step(p, batch)
        sync(p)

    return best(go) / 10, "s/step"


@workload
def adam_trace():
    params = [f32(3, 3, 3, 32) * 0.1, f32(3, 3, 32, 64) * 0.1, f32(64, 10) * 0.1]
    batch = f32(32, 32, 32, 3), f32(32, 10)

    def step(p, m, v, t, b):
        g = M.grad(conv_loss)(p, b)
        m = [0.9 * x + 0.1 * d for x, d in zip(m, g, strict=True)]
        v = [0.99 * x + 0.01 * d * d for x, d in zip(v, g, strict=True)]
        steps = [x / (1 - 0.9**t) / (jnp.sqrt(y / (1 - 0.99**t)) + 1e-8) for x, y in zip(m, v, strict=True)]
        return [w - 0.01 * d for w, d in zip(p, steps, strict=True)], m, v

    return best(lambda: M.make_jaxpr(lambda *a: step(*a))(params, params, params, np.float32(3), batch), 5), "s/trace"


@workload
def numpy_trace():
    x, w, i = f32(8, 16), f32(16, 4), np.array([3, 1, 2])

    def f(x, w, i):
        y = jnp.einsum("ij,jk->ik", x - jnp.mean(x, axis=0), w) / jnp.std(w)
        y = jnp.where(y > 0, y, jnp.clip(y, -1, 1))
        rows = y[i, 1:] + y[:3, :-1]
        return jnp.concatenate([rows, jnp.cumsum(rows, axis=1)]).at[0].set(0.0), jnp.argmax(y, axis=1)

    return best(lambda: M.make_jaxpr(lambda *a: f(*a))(x, w, i), 5, 10), "s/trace"


@workload
def eager_take():
    x, i = jnp.asarray(f32(64, 8)), jnp.asarray(np.array([3, 1, 2]))

    def go():
        for _ in range(200):
            y = x[i]
        sync(y)

    return best(go) / 200, "s/op"


@workload
def eager_normal():
    key = M.random.key(0)

    def go():
        for _ in range(200):
            x = M.random.normal(key, (1000,))
        sync(x)

    return best(go) / 200, "s/op"


@workload
def scan_rnn_grad_step():
    W = jnp.asarray(f32(64, 64) * 0.05)
    xs = jnp.asarray(f32(100, 16, 64))

    def loss(W, xs):
        def cell(h, x):
            h = jnp.tanh(jnp.dot(h, W) + x)
            return h, h

        _, ys = lax.scan(cell, jnp.zeros((16, 64), np.float32), xs)
        return jnp.sum(ys**2)

    g = M.jit(M.grad(loss))
    return best(lambda: sync(g(W, xs))), "s/step"


@workload
def scan_rnn_trace():
    W = f32(64, 64)
    xs = f32(100, 16, 64)

    def loss(W, xs):
        def cell(h, x):
            h = jnp.tanh(jnp.dot(h, W) + x)
            return h, h

        _, ys = lax.scan(cell, jnp.zeros((16, 64), np.float32), xs)
        return jnp.sum(ys**2)

    return best(lambda: M.make_jaxpr(M.grad(lambda W, xs: loss(W, xs)))(W, xs), 5), "s/trace"


@workload
def cond_grad_trace():
    def f(x):
        for _ in range(10):
            x = lax.cond(jnp.sum(x) > 0, lambda x: jnp.sin(x) * x, lambda x: jnp.cos(x) + x, x)
        return jnp.sum(x)

    x = f32(8)
    return best(lambda: M.make_jaxpr(M.grad(lambda x: f(x)))(x), 5) / 10, "s/cond"


@workload
def custom_jvp_grad_trace():
    @M.custom_jvp
    def f(x):
        return jnp.sin(x) * x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), (jnp.cos(x) * x + jnp.sin(x)) * t

    def g(x):
        for _ in range(50):
            x = f(x)
        return jnp.sum(x)

    x = f32(8)
    return best(lambda: M.make_jaxpr(M.grad(lambda x: g(x)))(x), 5) / 50, "s/call"


@workload
def hessian_trace():
    def f(x):
        return jnp.sum(jnp.tanh(jnp.dot(x, x)) * jnp.exp(-(x**2)))

    x = f32(6)
    return best(lambda: M.make_jaxpr(M.jacfwd(M.jacrev(lambda x: f(x))))(x), 5), "s/trace"


@workload
def growth_trace():
    x = f32(8)
    t = []
    for n in (2000, 16000):
        f = chain(n)
        t.append(best(lambda f=f: M.make_jaxpr(lambda x: f(x))(x), 2) / n)
    return t[1] / t[0], "per-eqn cost at 16k over 2k (1 = linear)"


def divided():
    """A mesh of eight devices, and the sharding along it."""
    mesh = M.make_mesh((8,), ("data",), (M.sharding.AxisType.Auto,))
    return mesh, M.sharding.NamedSharding(mesh, M.sharding.PartitionSpec("data"))


@workload
def mesh_jit_call():
    f = M.jit(lambda x: x + 1)
    x = M.device_put(f32(64, 8), divided()[1])

    def calls():
        for _ in range(200):
            y = f(x)
        sync(y)

    return best(calls, 20) / 200, "s / call on eight devices"


@workload
def mesh_device_put():
    x, sharding = f32(64, 8), divided()[1]
    return best(lambda: sync(M.device_put(x, sharding)), 20, 20), "s / 16 kB to eight devices"


def layers(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w) + x
    return (x**2).mean()


def mapped_loss(mesh):
    P = M.sharding.PartitionSpec
    return M.shard_map(
        lambda ws, x: lax.pmean(layers(ws, x), "data"), mesh=mesh, in_specs=(P(), P("data")), out_specs=P()
    )


@workload
def mesh_grad_trace():
    mesh, _ = divided()
    ws, x = [f32(8, 8)] * 6, f32(64, 8)
    return best(lambda: M.make_jaxpr(M.grad(mapped_loss(mesh)))(ws, x), 40), "s / trace of grad of shard_map"


@workload
def two_process_step():
    """Process 0 starts process 1 and passes the address of the coordinator."""
    address = os.environ.get("WORKLOAD_ADDRESS")
    other = None
    if address is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, __file__, sys.argv[1], "two_process_step"]
        other = subprocess.Popen(command, env={**os.environ, "WORKLOAD_ADDRESS": address}, stdout=subprocess.DEVNULL)
    if M.__name__ == "jax":
        M.config.update("jax_cpu_collectives_implementation", "gloo")
    M.distributed.initialize(address, 2, int(other is None))
    mesh, sharding = divided()
    x = M.device_put(f32(256, 64), sharding)
    whole = M.sharding.NamedSharding(mesh, M.sharding.PartitionSpec())
    ws = [M.device_put(f32(64, 64) / 8, whole) for _ in range(4)]
    step = M.jit(lambda ws, x: [w - 0.01 * g for w, g in zip(ws, M.grad(mapped_loss(mesh))(ws, x), strict=True)])

    def train():
        found = ws
        for _ in range(10):
            found = sync(step(found, x))

    seconds = best(train, 10) / 10
    M.distributed.shutdown()
    if other is not None:
        other.wait()
    return seconds, "s / step of two processes with four devices each"


def per_call(f, *args, reps=5):
    return best(lambda: sync(f(*args)), reps), "s/call"


@workload
def conv_transpose_kernel_grad():
    x, k = jnp.asarray(f32(8, 16, 16, 32)), jnp.asarray(f32(3, 3, 32, 32))

    def loss(k, x):
        return jnp.sum(lax.conv_transpose(x, k, (2, 2), "SAME") ** 2)

    return per_call(M.jit(M.grad(loss)), k, x)


@workload
def depthwise_conv_grad():
    x, k = jnp.asarray(f32(8, 32, 32, 32)), jnp.asarray(f32(3, 3, 1, 32))
    options = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": 32}

    def loss(k, x):
        return jnp.sum(lax.conv_general_dilated(x, k, (1, 1), "SAME", **options) ** 2)

    return per_call(M.jit(M.grad(loss, (0, 1))), k, x)


@workload
def conv_3d():
    x, k = jnp.asarray(f32(2, 12, 16, 16, 16)), jnp.asarray(f32(3, 3, 3, 16, 16))
    numbers = ("NDHWC", "DHWIO", "NDHWC")
    return per_call(
        M.jit(lambda x, k: lax.conv_general_dilated(x, k, (1,) * 3, "SAME", dimension_numbers=numbers)), x, k
    )


@workload
def cumsum_last_axis():
    return per_call(M.jit(lambda x: jnp.cumsum(x, -1)), jnp.asarray(f32(4096, 512)))


@workload
def cumprod_narrow():
    return per_call(M.jit(lambda x: jnp.cumprod(x, -1)), jnp.asarray(f32(65536, 32)))


@workload
def eager_accumulate():
    return per_call(jnp.subtract.accumulate, jnp.asarray(f32(1000, 100)))


@workload
def eager_associative_scan():
    return per_call(lax.associative_scan, lax.add, jnp.asarray(f32(1000, 100)))


@workload
def searchsorted_million():
    a = jnp.sort(jnp.asarray(f32(1_000_000)))
    return per_call(jnp.searchsorted, a, jnp.asarray(f32(2, 500_000)[1].repeat(2)), reps=3)


@workload
def ref_trace_1000():
    def f(ref, x):
        for i in range(1000):
            ref[i % 8] = x[i % 8] * 2.0
        return ref[0]

    x = jnp.asarray(f32(8))
    ref = M.new_ref(x)
    return best(lambda: M.make_jaxpr(lambda ref, x: f(ref, x))(ref, x), 3) / 1000, "s/update"


@workload
def ref_loop():
    @M.jit
    def loop(ref):
        lax.fori_loop(0, 1000, lambda i, c: (ref.__setitem__((i, 0), 1.0), c)[1], 0)

    ref = M.new_ref(jnp.zeros((1000, 1000)))

    def go():
        loop(ref)
        sync(ref[0, 0])

    return best(go) / 1000, "s/update of 4 MB"


@workload
def jit_call_ref():
    @M.jit
    def step(ref):
        ref[0] += 1.0

    ref = M.new_ref(jnp.asarray(f32(8)))

    def go():
        for _ in range(500):
            step(ref)

    return best(go) / 500, "s/call"


@workload
def eager_ref_update():
    ref = M.new_ref(jnp.asarray(f32(8)))

    def go():
        for _ in range(500):
            ref[1] = 2.0

    return best(go) / 500, "s/update"


@workload
def jit_pullback():
    x = jnp.asarray(f32(8))

    def f(x):
        for _ in range(100):
            x = jnp.sin(x)
        return x

    _, pullback = M.vjp(f, x)
    apply = M.jit(lambda pullback, ct: pullback(ct))

    def go():
        for _ in range(200):
            y = apply(pullback, x)
        sync(y)

    return best(go) / 200, "s/call with a pullback of 100 residuals"


@workload
def peak_rss():
    f = chain(16000)
    M.make_jaxpr(f)(f32(8))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB peak after a 16k-eqn trace"


if __name__ == "__main__":
    for name in sys.argv[2:] or WL:
        try:
            v, u = WL[name]()
            print(json.dumps({"name": name, "value": v, "unit": u}), flush=True)
        except Exception as e:  # a missing feature gets a row with its error
            print(json.dumps({"name": name, "error": f"{type(e).__name__}: {e}"[:200]}), flush=True)
