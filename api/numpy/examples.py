"""Examples of functions that are made by other functions, for their documentation."""

from __future__ import annotations

from textwrap import indent

__all__ = ["EXAMPLES", "examples"]


def examples(text: str) -> str:
    """The end of the documentation of a function: a section with examples, and the indentation of its last line."""
    return indent("\nExamples:\n" + indent(text.strip("\n"), "  "), "    ") + "\n    "


# The examples of elementwise functions, Fourier transforms and windows, by name.
EXAMPLES = {
    "sin": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> px.grad(pnp.sin)(0.0)
Array(1., dtype=float32, weak_type=True)
>>> pnp.sin(pnp.array([0, 0])).dtype
dtype('float32')
""",
    "cos": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.cos(pnp.array([0, 0])), pnp.cos(np.inf)
(Array([1., 1.], dtype=float32), Array(nan, dtype=float32, weak_type=True))
""",
    "tan": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> abs(pnp.tan(pnp.float32(np.pi / 2))) > 1e7  # and finite, since no number is exactly pi/2
Array(True, dtype=bool)
""",
    "arcsin": """
>>> import primax.numpy as pnp
>>> pnp.arcsin(pnp.array([0.0, 2.0])), pnp.arcsin(pnp.array([2 + 0j])).dtype
(Array([ 0., nan], dtype=float32), dtype('complex64'))
""",
    "arccos": """
>>> import primax.numpy as pnp
>>> pnp.arccos(pnp.array([1.0, 2.0]))
Array([ 0., nan], dtype=float32)
""",
    "arctan": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.arctan(np.inf) == pnp.float32(np.pi / 2)
Array(True, dtype=bool)
""",
    "sinh": """
>>> import primax.numpy as pnp
>>> pnp.sinh(pnp.array([-0.0, 100.0]))
Array([-0., inf], dtype=float32)
""",
    "cosh": """
>>> import primax.numpy as pnp
>>> pnp.cosh(pnp.array([0.0, -100.0]))
Array([ 1., inf], dtype=float32)
""",
    "tanh": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.tanh(pnp.array([0.0, 20.0, -np.inf]))
Array([ 0.,  1., -1.], dtype=float32)
""",
    "arcsinh": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.arcsinh(pnp.array([-0.0, np.inf]))
Array([-0., inf], dtype=float32)
""",
    "arccosh": """
>>> import primax.numpy as pnp
>>> pnp.arccosh(pnp.array([1.0, 0.5]))
Array([ 0., nan], dtype=float32)
""",
    "arctanh": """
>>> import primax.numpy as pnp
>>> pnp.arctanh(pnp.array([0.0, 1.0, -1.0, 2.0]))
Array([  0.,  inf, -inf,  nan], dtype=float32)
""",
    "exp": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.exp(pnp.array([0.0, -np.inf, 100.0]))
Array([ 1.,  0., inf], dtype=float32)
>>> pnp.exp(0).dtype
dtype('float32')
""",
    "exp2": """
>>> import primax.numpy as pnp
>>> pnp.exp2(pnp.array([3, -1])).round(4)
Array([8. , 0.5], dtype=float32)
""",
    "expm1": """
>>> import primax.numpy as pnp
>>> x = pnp.float32(1e-10)
>>> pnp.expm1(x) == x, pnp.exp(x) - 1
(Array(True, dtype=bool), Array(0., dtype=float32))
""",
    "log": """
>>> import primax.numpy as pnp
>>> pnp.log(pnp.array([1.0, 0.0, -1.0])), pnp.log(pnp.array([-1 + 0j])).real
(Array([  0., -inf,  nan], dtype=float32), Array([0.], dtype=float32))
""",
    "log1p": """
>>> import primax.numpy as pnp
>>> x = pnp.float32(1e-10)
>>> pnp.log1p(x) == x, pnp.log(1 + x), pnp.log1p(-1.0)
(Array(True, dtype=bool), Array(0., dtype=float32), Array(-inf, dtype=float32, weak_type=True))
""",
    "sqrt": """
>>> import primax.numpy as pnp
>>> pnp.sqrt(pnp.array([4.0, -0.0, -1.0])), pnp.sqrt(pnp.array([-4 + 0j]))
(Array([ 2., -0., nan], dtype=float32), Array([0.+2.j], dtype=complex64))
""",
    "cbrt": """
>>> import primax.numpy as pnp
>>> pnp.cbrt(pnp.array([-8.0, 27.0])).round(5), pnp.array(-8.0) ** (1 / 3)
(Array([-2.,  3.], dtype=float32), Array(nan, dtype=float32, weak_type=True))
""",
    "square": """
>>> import primax.numpy as pnp
>>> pnp.square(pnp.array([-3, 2])), pnp.square(pnp.array([1 + 1j]))  # not the squared modulus
(Array([9, 4], dtype=int32), Array([0.+2.j], dtype=complex64))
""",
    "negative": """
>>> import primax.numpy as pnp
>>> pnp.negative(pnp.uint8(1)), -pnp.array([0.0])
(Array(255, dtype=uint8), Array([-0.], dtype=float32))
""",
    "invert": """
>>> import primax.numpy as pnp
>>> pnp.invert(pnp.array([0, 5])), pnp.invert(pnp.array([True, False])), pnp.invert(pnp.uint8(0))
(Array([-1, -6], dtype=int32), Array([False,  True], dtype=bool), Array(255, dtype=uint8))
""",
    "add": """
>>> import primax.numpy as pnp
>>> pnp.add(pnp.array([[1], [2]]), pnp.array([10, 20]))
Array([[11, 21],
       [12, 22]], dtype=int32)
>>> pnp.add(True, True), pnp.add.reduce(pnp.array([True, True]))
(Array(True, dtype=bool), Array(2, dtype=int32))
""",
    "subtract": """
>>> import primax.numpy as pnp
>>> pnp.subtract(pnp.uint8(1), pnp.uint8(2)), pnp.subtract(pnp.int8(1), 2.5)
(Array(255, dtype=uint8), Array(-1.5, dtype=float32, weak_type=True))
""",
    "multiply": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.multiply(pnp.array([1, 2], np.int8), 2.5), pnp.multiply(True, False)
(Array([2.5, 5. ], dtype=float32, weak_type=True), Array(False, dtype=bool))
""",
    "divide": """
>>> import primax.numpy as pnp
>>> pnp.divide(pnp.array([1, -1, 0]), 0)
Array([ inf, -inf,  nan], dtype=float32)
>>> pnp.divide(3, 2)
Array(1.5, dtype=float32, weak_type=True)
""",
    "maximum": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.maximum(pnp.array([1.0, np.nan]), 2.0), pnp.maximum.reduce(pnp.array([3, 5, 4]))
(Array([ 2., nan], dtype=float32), Array(5, dtype=int32))
""",
    "minimum": """
>>> import primax.numpy as pnp
>>> pnp.minimum(pnp.array([[1], [3]]), pnp.array([2, 4]))
Array([[1, 1],
       [2, 3]], dtype=int32)
""",
    "equal": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.equal(pnp.array([1.0, np.nan]), pnp.array([1, np.nan]))
Array([ True, False], dtype=bool)
""",
    "not_equal": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.not_equal(np.nan, np.nan), pnp.not_equal(-0.0, 0.0)
(Array(True, dtype=bool, weak_type=True), Array(False, dtype=bool, weak_type=True))
""",
    "bitwise_and": """
>>> import primax.numpy as pnp
>>> pnp.bitwise_and(pnp.array([12, -1]), 10)
Array([ 8, 10], dtype=int32)
""",
    "bitwise_or": """
>>> import primax.numpy as pnp
>>> pnp.bitwise_or(pnp.array([12, 0]), 3)
Array([15,  3], dtype=int32)
""",
    "bitwise_xor": """
>>> import primax.numpy as pnp
>>> pnp.bitwise_xor(12, 10), pnp.bitwise_xor.reduce(pnp.array([5, 7, 5]))
(Array(6, dtype=int32, weak_type=True), Array(7, dtype=int32))
""",
    "left_shift": """
>>> import primax.numpy as pnp
>>> pnp.left_shift(1, pnp.arange(4)), pnp.left_shift(pnp.uint8(255), 4)
(Array([1, 2, 4, 8], dtype=int32), Array(240, dtype=uint8))
""",
    "nextafter": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.nextafter(pnp.float32(1), 2.0) - 1 == np.finfo(np.float32).eps
Array(True, dtype=bool)
>>> pnp.nextafter(pnp.float16(0), 1), pnp.nextafter(1, 1).dtype
(Array(6.e-08, dtype=float16), dtype('float32'))
""",
    "arctan2": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> (pnp.arctan2(pnp.array([0.0, -0.0, 1.0]), pnp.array([-1.0, -1.0, 0.0])) / np.pi).round(4)
Array([ 1. , -1. ,  0.5], dtype=float32)
""",
    "less": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.less(pnp.array([1, np.nan]), 2), pnp.less(1 + 9j, 2 + 0j)
(Array([ True, False], dtype=bool), Array(True, dtype=bool, weak_type=True))
""",
    "less_equal": """
>>> import primax.numpy as pnp
>>> pnp.less_equal(pnp.array([1, 2, 3]), pnp.array([[2], [3]]))
Array([[ True,  True, False],
       [ True,  True,  True]], dtype=bool)
""",
    "greater": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.greater(pnp.array([1, np.nan]), 0), pnp.greater(1 + 2j, 1 + 1j)
(Array([ True, False], dtype=bool), Array(True, dtype=bool, weak_type=True))
""",
    "greater_equal": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.greater_equal(0.0, -0.0), pnp.greater_equal(np.nan, np.nan)
(Array(True, dtype=bool, weak_type=True), Array(False, dtype=bool, weak_type=True))
""",
    "log2": """
>>> import primax.numpy as pnp
>>> pnp.log2(pnp.array([8, 1, 0])).round(4)
Array([  3.,   0., -inf], dtype=float32)
""",
    "log10": """
>>> import primax.numpy as pnp
>>> pnp.log10(pnp.array([1.0, 0.0]))
Array([  0., -inf], dtype=float32)
""",
    "deg2rad": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> (pnp.deg2rad(pnp.array([0, 180])) / np.pi).round(4)
Array([0., 1.], dtype=float32)
""",
    "rad2deg": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.rad2deg(pnp.array([0.0, -np.pi])).round(3)
Array([   0.     , -180.00002], dtype=float32)
""",
    "fmax": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.fmax(pnp.array([1.0, np.nan, np.nan]), pnp.array([np.nan, 2.0, np.nan]))
Array([ 1.,  2., nan], dtype=float32)
""",
    "fmin": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.fmin(pnp.array([1.0, np.nan, 3.0]), pnp.array([np.nan, 2.0, 2.0]))
Array([1., 2., 2.], dtype=float32)
""",
    "isposinf": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.isposinf(pnp.array([np.inf, -np.inf, np.nan])), pnp.isposinf(3)
(Array([ True, False, False], dtype=bool), Array(False, dtype=bool))
""",
    "isneginf": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.isneginf(pnp.array([np.inf, -np.inf, np.nan]))
Array([False,  True, False], dtype=bool)
""",
    "floor": """
>>> import primax.numpy as pnp
>>> pnp.floor(pnp.array([-1.5, 1.5])), pnp.floor(3).dtype
(Array([-2.,  1.], dtype=float32), dtype('int32'))
""",
    "ceil": """
>>> import primax.numpy as pnp
>>> pnp.ceil(pnp.array([-0.5, 1.2])), pnp.ceil(3).dtype
(Array([-0.,  2.], dtype=float32), dtype('int32'))
""",
    "logical_and": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.logical_and(pnp.array([0, 2]), np.nan)
Array([False,  True], dtype=bool)
""",
    "logical_or": """
>>> import primax.numpy as pnp
>>> pnp.logical_or(pnp.array([0, 2]), 0), pnp.logical_or.reduce(pnp.array([0, 3]))
(Array([False,  True], dtype=bool), Array(True, dtype=bool))
""",
    "logical_xor": """
>>> import primax.numpy as pnp
>>> pnp.logical_xor(pnp.array([0, 2]), -1)
Array([ True, False], dtype=bool)
""",
    "logaddexp": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> pnp.logaddexp(-np.inf, 3.0), pnp.logaddexp(1000.0, 0.0)
(Array(3., dtype=float32, weak_type=True), Array(1000., dtype=float32, weak_type=True))
""",
    "logaddexp2": """
>>> import primax.numpy as pnp
>>> pnp.logaddexp2(3.0, 3.0)
Array(4., dtype=float32, weak_type=True)
""",
    "fft": """
>>> import primax.numpy as pnp
>>> pnp.fft.fft(pnp.array([1, 0, 0, 0])).real
Array([1., 1., 1., 1.], dtype=float32)
>>> pnp.fft.fft(pnp.ones(3), n=8).shape
(8,)
""",
    "ifft": """
>>> import primax.numpy as pnp
>>> pnp.fft.ifft(pnp.array([4, 0, 0, 0])).real
Array([1., 1., 1., 1.], dtype=float32)
""",
    "rfft": """
>>> import primax.numpy as pnp
>>> pnp.fft.rfft(pnp.ones(4)).real, pnp.fft.rfft(pnp.ones(5)).shape
(Array([4., 0., 0.], dtype=float32), (3,))
""",
    "irfft": """
>>> import primax.numpy as pnp
>>> pnp.fft.irfft(pnp.array([4, 0, 0])), pnp.fft.irfft(pnp.ones(3), n=5).shape  # an odd length must be given
(Array([1., 1., 1., 1.], dtype=float32), (5,))
""",
    "fft2": """
>>> import primax.numpy as pnp
>>> pnp.fft.fft2(pnp.ones((5, 2, 2)))[0].real, pnp.fft.fft2(pnp.ones((4, 3)), s=(8, 8)).shape
(Array([[4., 0.],
       [0., 0.]], dtype=float32), (8, 8))
""",
    "ifft2": """
>>> import primax.numpy as pnp
>>> pnp.fft.ifft2(pnp.array([[4, 0], [0, 0]])).real
Array([[1., 1.],
       [1., 1.]], dtype=float32)
""",
    "rfft2": """
>>> import primax.numpy as pnp
>>> pnp.fft.rfft2(pnp.ones((4, 6))).shape  # the last axis is halved
(4, 4)
""",
    "irfft2": """
>>> import primax.numpy as pnp
>>> pnp.fft.irfft2(pnp.ones((4, 4))).shape
(4, 6)
""",
    "fftn": """
>>> import primax.numpy as pnp
>>> pnp.fft.fftn(pnp.ones((2, 2, 2)), norm="forward")[0].real, pnp.fft.fftn(pnp.ones((2, 3, 4)), s=(8,)).shape
(Array([[1., 0.],
       [0., 0.]], dtype=float32), (2, 3, 8))
""",
    "ifftn": """
>>> import primax.numpy as pnp
>>> pnp.fft.ifftn(pnp.array([[4, 0], [0, 0]]), axes=(0,)).real
Array([[2., 0.],
       [2., 0.]], dtype=float32)
""",
    "rfftn": """
>>> import primax.numpy as pnp
>>> pnp.fft.rfftn(pnp.ones((3, 4, 5))).shape
(3, 4, 3)
""",
    "irfftn": """
>>> import primax.numpy as pnp
>>> pnp.fft.irfftn(pnp.ones((3, 4, 3)), s=(4, 5), axes=(1, 2)).shape
(3, 4, 5)
""",
    "bartlett": """
>>> import primax.numpy as pnp
>>> pnp.bartlett(5), pnp.bartlett(1)
(Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32), Array([1.], dtype=float32))
""",
    "blackman": """
>>> import primax.numpy as pnp
>>> pnp.blackman(5)[1:4].round(2)
Array([0.34, 1.  , 0.34], dtype=float32)
""",
    "hamming": """
>>> import primax.numpy as pnp
>>> pnp.hamming(3).round(2)
Array([0.08, 1.  , 0.08], dtype=float32)
""",
    "hanning": """
>>> import primax.numpy as pnp
>>> pnp.hanning(5), pnp.hanning(0)
(Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32), Array([], shape=(0,), dtype=float32))
""",
}
