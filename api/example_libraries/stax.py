"""Layers of neural networks: pairs of a function that initializes parameters and a function that applies the layer.

A layer is `(init_fun, apply_fun)`: `init_fun(key, input_shape) -> (output_shape, params)` and
`apply_fun(params, inputs, **kwargs) -> outputs`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from primax import lax, nn, random
from primax import numpy as pnp
from primax.extend.core import Array
from primax.extend.provisional.arguments import integer, one_or_several, rename, sequence
from primax.nn.initializers import glorot_normal, normal, ones, zeros

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "parallel",
    "serial",
    "shape_dependent",
]
__dir__ = __all__.copy

Layer = tuple[Callable[..., Any], Callable[..., Any]]

# Older names, which programs for JAX import from here.
glorot, randn, logsoftmax = glorot_normal, normal, nn.log_softmax
elu, gelu, leaky_relu, log_softmax, relu = nn.elu, nn.gelu, nn.leaky_relu, nn.log_softmax, nn.relu
selu, sigmoid, softmax, softplus, standardize = nn.selu, nn.sigmoid, nn.softmax, nn.softplus, nn.standardize


def Dense(
    out_dim: int,
    W_init: Callable[..., Array] = glorot_normal(),  # noqa: B008
    b_init: Callable[..., Array] = normal(),  # noqa: B008
) -> Layer:
    """A dense layer: inputs @ W + b.

    Args:
      out_dim: the size of the last axis of the result.
      W_init: initializer of the matrix, of shape (inputs.shape[-1], out_dim).
      b_init: initializer of the bias of shape (out_dim,).

    >>> import primax as px
    >>> from primax.example_libraries import stax
    >>> init_fun, apply_fun = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(2))
    >>> out_shape, params = init_fun(px.random.key(0), (-1, 3))
    >>> out_shape, apply_fun(params, px.numpy.ones((5, 3))).shape
    ((-1, 2), (5, 2))
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        k1, k2 = random.split(rng)
        shape = (input_shape[-1], out_dim)
        return (*input_shape[:-1], out_dim), (W_init(k1, shape), b_init(k2, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return pnp.dot(inputs, W) + b

    return init_fun, apply_fun


def _kernel_shape(rhs_spec: str, filter_shape: Sequence[int], out_chan: int, in_chan: int) -> list[int]:
    sizes = iter(filter_shape)
    return [out_chan if c == "O" else in_chan if c == "I" else next(sizes) for c in rhs_spec]


def _sizes(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """Check sizes along axes.

    Raises:
      TypeError: a size is not an integer.
    """
    return tuple(integer(function, argument, size) for size in sequence(function, argument, value))


def _windows(function: str, argument: str, shape: Any, strides: Any, rank: int | None) -> tuple[Any, Any]:
    """The sizes and strides of windows; strides are 1 if `strides` is None.

    Raises:
      TypeError: a size is not an integer.
      ValueError: the number of sizes is neither `rank`, the number of spatial axes, nor equal to that of `strides`.
    """
    sizes = _sizes(function, argument, shape)
    steps = (1,) * len(sizes) if strides is None else _sizes(function, "strides", strides)
    if len(sizes) != len(steps) or rank not in (None, len(sizes)):
        axes = "spatial axis" if rank is None else f"of the {rank} spatial axes"
        raise ValueError(
            f"{function}: {argument} and strides must have a size for each {axes}, got {shape!r}, {strides!r}"
        )
    return sizes, steps


def _layouts(function: str, dimension_numbers: Any) -> tuple[str, str, str]:
    """The axes of inputs, kernels and outputs.

    Raises:
      TypeError: `dimension_numbers` is not three strings.
      ValueError: an axis is missing.
    """
    layouts = sequence(function, "dimension_numbers", dimension_numbers)
    if len(layouts) != 3 or not all(isinstance(layout, str) for layout in layouts):
        raise TypeError(f"{function}: dimension_numbers must be three strings, got {dimension_numbers!r}")
    inputs, kernels, outputs = layouts
    if "C" not in inputs or "I" not in kernels or "O" not in kernels:
        raise ValueError(
            f"{function}: dimension_numbers must have C among the axes of inputs, and I and O among those of kernels, "
            f"got {dimension_numbers!r}"
        )
    return inputs, kernels, outputs


def _layer_pairs(function: str, layers: Sequence[Any]) -> Any:
    """The functions `init_fun` of all layers, and their functions `apply_fun`.

    Raises:
      TypeError: a layer is not a pair of functions.
    """
    for layer in layers:
        if not (isinstance(layer, tuple | list) and len(layer) == 2 and all(map(callable, layer))):
            raise TypeError(f"{function}: layers must be pairs (init_fun, apply_fun), got {layer!r}")
    return zip(*layers, strict=True) if layers else ((), ())


def _biased(out_spec: str, out_chan: int) -> tuple[int, ...]:
    return tuple(out_chan if c == "C" else 1 for c in out_spec)


def _convolution(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    kernel_shape: Callable[[int], Any],
    strides: Sequence[int],
    padding: Any,
    W_init: Any,
    b_init: Any,
    shape_of: Callable[..., Any],
    convolve: Callable[..., Any],
) -> Layer:
    """A layer with kernels and a bias; `shape_of` and `convolve` compute the shape and the value of its result."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        kernel = kernel_shape(input_shape[lhs_spec.index("C")])
        output_shape = shape_of(input_shape, kernel, strides, padding, dimension_numbers)
        k1, k2 = random.split(rng)
        return output_shape, (W_init(k1, kernel), b_init(k2, _biased(out_spec, out_chan)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return convolve(inputs, W, strides, padding, dimension_numbers=dimension_numbers) + b

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    W_init: Callable[..., Array] | None = None,
    b_init: Callable[..., Array] = normal(1e-6),  # noqa: B008
) -> Layer:
    """A convolution.

    Args:
      dimension_numbers: the axes of inputs, kernels and outputs, such as ("NHWC", "HWIO", "NHWC").
      out_chan: the number of channels of the result.
      filter_shape: the spatial sizes of the kernels.
      strides: the strides of the windows, all 1 if None.
      padding: "VALID", "SAME", or pairs of numbers.
      W_init: initializer of the kernels.
      b_init: initializer of the bias.
    """
    layouts = _layouts("GeneralConv", dimension_numbers)
    sizes, steps = _windows("GeneralConv", "filter_shape", filter_shape, strides, len(layouts[1]) - 2)
    shapes = functools.partial(_kernel_shape, layouts[1], sizes, out_chan)
    functions = lax.conv_general_shape_tuple, lax.conv_general_dilated
    return _convolution(layouts, out_chan, shapes, steps, padding, W_init, b_init, *functions)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))


def GeneralConvTranspose(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    W_init: Callable[..., Array] | None = None,
    b_init: Callable[..., Array] = normal(1e-6),  # noqa: B008
) -> Layer:
    """A transposed convolution, with the arguments of `GeneralConv`. Strides multiply the spatial sizes of inputs."""
    layouts = _layouts("GeneralConvTranspose", dimension_numbers)
    sizes, steps = _windows("GeneralConvTranspose", "filter_shape", filter_shape, strides, len(layouts[1]) - 2)
    shapes = functools.partial(_kernel_shape, layouts[1], sizes, out_chan)
    functions = lax.conv_transpose_shape_tuple, lax.conv_transpose
    return _convolution(layouts, out_chan, shapes, steps, padding, W_init, b_init, *functions)


Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Callable[..., Array] = zeros,
    gamma_init: Callable[..., Array] = ones,
) -> Layer:
    """Batch normalization: subtract the mean along some axes, divide by the standard deviation, then scale and shift.

    Args:
      axis: the axes over which mean and variance are computed.
      epsilon: a number added to the variance.
      center: whether to shift the result.
      scale: whether to scale the result.
      beta_init: initializer of the shifts.
      gamma_init: initializer of the scales.

    Source: S. Ioffe and C. Szegedy, "Batch normalization" (2015).
    """
    axes = one_or_several("BatchNorm", "axis", axis, int)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        k1, k2 = random.split(rng)
        beta = beta_init(k1, shape) if center else ()
        gamma = gamma_init(k2, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        shape = tuple(1 if i in axes else size for i, size in enumerate(pnp.shape(x)))
        z = nn.standardize(x, axes, epsilon=epsilon)
        if scale:
            z = z * pnp.reshape(gamma, shape)
        return z + pnp.reshape(beta, shape) if center else z

    return init_fun, apply_fun


def elementwise(fun: Callable[..., Any], **fun_kwargs: object) -> Layer:
    """A layer without parameters that applies a function to its inputs.

    Args:
      fun: a function whose result has the shape of its argument.
      **fun_kwargs: keyword arguments of `fun`.
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return _unchanged, apply_fun


def _unchanged(rng: Any, input_shape: Any) -> tuple[Any, Any]:
    return input_shape, ()


Tanh = elementwise(pnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(pnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)


def _pooling(name: str, sentence: str, reducer: Any, start: Any, normalized: bool = False) -> Callable[..., Layer]:
    def pooling(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str | Sequence[int] | None = None,
    ) -> Layer:
        if spec is not None and not isinstance(spec, str):
            raise TypeError(f"{name}: spec must be a string such as 'NHWC', got {spec!r}")
        rank = sum(c not in "NC" for c in spec) if spec else None
        sizes, steps = _windows(name, "window_shape", window_shape, strides, rank)
        axes = spec or "N" + "S" * len(sizes) + "C"

        def everywhere(sizes: Sequence[int]) -> tuple[int, ...]:
            inner = iter(sizes)
            return tuple(1 if c in "NC" else next(inner) for c in axes)

        window, all_steps = everywhere(sizes), everywhere(steps)

        def pooled(inputs: Any) -> Any:
            out = lax.reduce_window(inputs, start, reducer, window, all_steps, padding)
            if not normalized:
                return out
            count = lax.reduce_window(pnp.ones_like(inputs), start, reducer, window, all_steps, padding)
            return out / count

        def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
            pads = lax.padtype_to_pads(input_shape, window, all_steps, padding)
            padded = (size + low + high for size, (low, high) in zip(input_shape, pads, strict=True))
            return tuple((n - w) // s + 1 for n, w, s in zip(padded, window, all_steps, strict=True)), ()

        def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
            return pooled(inputs)

        return init_fun, apply_fun

    rename(pooling, name)
    pooling.__doc__ = f"""{sentence}

    Args:
      window_shape: the spatial sizes of the windows.
      strides: the strides of the windows, all 1 if None.
      padding: "VALID" or "SAME".
      spec: the axes of inputs, such as "NHWC"; batch, spatial axes, channels if None.
    """
    return pooling


MaxPool = _pooling("MaxPool", "The maxima of windows.", lax.max, -math.inf)
SumPool = _pooling("SumPool", "The sums of windows.", lax.add, 0.0)
AvgPool = _pooling("AvgPool", "The means of windows, without their padding.", lax.add, 0.0, True)


def _flatten_layer() -> Layer:
    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        return (input_shape[0], functools.reduce(operator.mul, input_shape[1:], 1)), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return pnp.reshape(inputs, (inputs.shape[0], -1))

    return init_fun, apply_fun


Flatten = _flatten_layer()
Identity = (_unchanged, lambda params, inputs, **kwargs: inputs)


def FanOut(num: int) -> Layer:
    """Copies of the input, for `parallel`.

    Args:
      num: the number of copies.
    """
    return (lambda rng, input_shape: ([input_shape] * num, ())), (lambda params, inputs, **kwargs: [inputs] * num)


def _fan_in_sum() -> Layer:
    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return functools.reduce(operator.add, inputs)

    return (lambda rng, input_shape: (input_shape[0], ())), apply_fun


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:
    """Concatenate several inputs.

    Args:
      axis: the axis along which the inputs are joined.
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        first = list(input_shape[0])
        first[axis] = sum(shape[axis] for shape in input_shape)
        return tuple(first), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return pnp.concatenate(inputs, axis)

    return init_fun, apply_fun


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Dropout: set random inputs to 0, and scale the others up to keep the mean.

    Args:
      rate: the probability that an input is kept, as in JAX.
      mode: "train"; any other mode leaves inputs unchanged.

    In training, `apply_fun` needs a key: `apply_fun(params, inputs, rng=key)`.
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("Dropout: apply_fun must be given a key, apply_fun(params, inputs, rng=key), got None")
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return pnp.where(keep, inputs / rate, 0)

    return _unchanged, apply_fun


def _keys(rng: Any, count: int) -> tuple[None, ...] | Array:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Layers in series: each takes the output of the one before.

    Args:
      *layers: pairs `(init_fun, apply_fun)`.
    """
    inits, applies = _layer_pairs("serial", layers)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        params = []
        for init in inits:
            rng, layer_rng = random.split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for apply, param, key in zip(applies, params, keys, strict=True):
            inputs = apply(param, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers in parallel: the inputs are a sequence with one value for each layer.

    Args:
      *layers: pairs `(init_fun, apply_fun)`.
    """
    inits, applies = _layer_pairs("parallel", layers)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        keys = random.split(rng, len(layers))
        pairs = [init(key, shape) for init, key, shape in zip(inits, keys, input_shape, strict=True)]
        shapes, params = zip(*pairs, strict=True) if pairs else ((), ())
        return shapes, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> list[Any]:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        rows = zip(applies, params, inputs, keys, strict=True)
        return [apply(param, x, rng=key, **kwargs) for apply, param, x, key in rows]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that depends on the shape of its input.

    Args:
      make_layer: a function that takes the shape of the input and returns a layer.
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun
