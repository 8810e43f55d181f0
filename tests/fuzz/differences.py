"""Where primax differs from jax on purpose: the one table, each entry with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from fuzz.compare import Difference

JAX = tuple(int(part) for part in metadata.version("jax").split(".")[:3] if part.isdigit())


@dataclass(frozen=True)
class Meant:
    """A difference that is meant.

    Args:
      functions: a regular expression that the whole path of a function matches.
      sort: a regular expression that the whole sort of difference matches, such as "primax raises" or "nan|value".
      reason: why primax does otherwise, in a sentence.
      text: a regular expression found in the text of the call; every call where empty.
      message: a regular expression found in the message of the difference.
      when: a further condition on the text of the call.
      since: the first release of jax that differs.
      before: the first release of jax that does not differ any more.
    """

    functions: str
    sort: str
    reason: str
    text: str = ""
    message: str = ""
    when: Callable[[str], bool] | None = None
    since: tuple[int, ...] = (0,)
    before: tuple[int, ...] = (99,)

    def holds(self, path: str, text: str, difference: Difference) -> bool:
        """Whether a difference of a call is this one."""
        return bool(
            self.since <= JAX < self.before
            and re.fullmatch(self.sort, difference.sort)
            and re.fullmatch(self.functions, path)
            and re.search(self.text, text)
            and re.search(self.message, difference.message)
            and (self.when is None or self.when(text))
        )


JAX_LACKS: tuple[Meant, ...] = (
    Meant(
        r"numpy\.polyval",
        "jax raises",
        "The program has an equation for each coefficient, whatever unroll says.",
        message=r"`unroll` must be",
    ),
    Meant(
        r"numpy\.\w*split",
        "jax raises",
        "What lies beyond the end is empty, as in NumPy.",
        message=r"Sizes passed to split must be nonnegative",
    ),
    Meant(
        r"numpy\.(insert|delete)",
        "jax raises",
        "Booleans say where, as in NumPy.",
        message=r"index array must be integer typed",
    ),
    Meant(
        r".*",
        "jax raises",
        "Types of numbers that take no argument are zero, as NumPy's.",
        message=r"_ScalarMeta.__call__",
    ),
    Meant(
        r".*",
        "jax raises",
        "Integers of 2 and 4 bits, and floats of 8 and fewer, are computed like all others.",
        message=r"narrow-width integers|2-bit and 4-bit integers|does not accept dtype u?int[24]\b|got u?int[24]\b|"
        r"float8|float4|float6|8-bit floats|unsupported operand type [SU][24]\b|Invalid integer data type 'V'",
    ),
    Meant(r".*", "jax raises", "It is not implemented in jax.", message=r"NotImplementedError|is not implemented"),
    Meant(
        r"(nn|scipy)\..*",
        "jax raises",
        "Integers and booleans are converted to the default float dtype, as everywhere.",
        message=r"does not accept dtype (u?int\d+|bool)|dtype=(u?int\d+|bool) is not supported",
    ),
    Meant(
        r".*",
        "jax raises",
        "jax fails inside, with an error that names no argument; primax computes the value.",
        message=r"raises (IndexError: (tuple index|index is) out of|AttributeError|AssertionError|\w+RuntimeError: )|"
        r"unhashable type|Non-hashable static|argument after \*|safe_(zip|map)|scan body function carry|"
        r"not subscriptable|len\(\) of unsized|cannot unpack non-iterable|"
        r"object is not iterable|iteration over a 0-d|Slice size at index \d+ in gather op",
    ),
    Meant(
        r"numpy\..*",
        "jax raises",
        "Arguments that NumPy has are taken.",
        message=r"got an unexpected keyword argument",
    ),
    Meant(
        r"scipy\..*",
        "jax raises",
        "Parameters that have a default in SciPy have it here.",
        message=r"missing \d+ required positional argument",
    ),
    Meant(
        r"numpy\.piecewise",
        "jax raises",
        "All values are converted to the dtype of the array, as in NumPy.",
        message=r"switch branches must have equal output types",
    ),
    Meant(
        r"lax\.dynamic_(slice|update_slice|slice_in_dim|update_slice_in_dim|index_in_dim|update_index_in_dim)",
        "jax raises",
        "Starts are integers of any dtypes.",
        message=r"must be integers of the same type",
    ),
    Meant(
        r"lax\.linalg\.(eigh|cholesky)",
        "jax raises",
        "Matrices of integers are converted to floats.",
        message=r"does not accept dtype (u?int\d+|bool)",
    ),
    Meant(
        r"numpy\.(setxor1d|setdiff1d|union1d|intersect1d|unique\w*)",
        "jax raises",
        "Sets of size 0 are empty.",
        text=r"size=0",
        message=r"zero-size array to reduction",
    ),
    Meant(
        r"(numpy|Array)\..*",
        "jax raises",
        "Operands get their common dtype before that of the result counts: of uint64 and int64 a float, of an array "
        "and a number of Python that of the array.",
        message=r"preferred_element_type` must not be narrower",
        when=lambda text: "preferred_element_type" not in text or "uint64" in text,
    ),
    Meant(
        r"numpy\.array_(str|repr)",
        "jax raises",
        "Scalars of NumPy print as arrays of rank 0.",
        message=r"descriptor '__getitem__' requires",
    ),
    Meant(
        r"numpy\.logical_\w+\.(reduce|accumulate|reduceat)",
        "jax raises",
        "An argument dtype is that of the result, whatever it is.",
        text=r"dtype=",
        message=r"does not accept dtype (float|bfloat|complex)",
    ),
    Meant(
        r"scipy\.linalg\.(hankel|toeplitz)",
        "jax raises",
        "A number is a row of one element, as in SciPy.",
        message=r"must be at least 1-dimensional",
    ),
    Meant(
        r"numpy\.extract",
        "jax raises",
        "A size beyond that of the array is filled up, as in compress and nonzero.",
        message=r"size must be positive and not greater",
    ),
    Meant(
        r"(numpy|scipy)\..*",
        "jax raises",
        "Booleans are counted like numbers; jax makes ranges of their dtype inside.",
        message=r"(iota|sub) does not accept dtype bool",
    ),
    Meant(
        r"numpy\.\w+\.accumulate",
        "jax raises",
        "Without an axis the array is raveled, as in cumsum.",
        text=r"axis=None|, None",
    ),
    Meant(
        r"random\..*",
        "jax raises",
        "Parameters are converted to the dtype of the result, and broadcast as everywhere in numpy.",
        message=r"cannot safely cast|same number of dimensions|do not have equal|incompatible shapes",
    ),
    Meant(
        r"lax\..*",
        "jax raises",
        "Negative axes count from the end in lax too.",
        message=r"out of bounds: dimension -|dimension must be between 0 and|got dimension=-|negative|Invalid axis -",
    ),
    Meant(r"local_devices", "jax raises", "The first argument is a platform, that of jax the number of a process."),
    Meant(
        r"lax\.reduce_window(_shape_tuple)?",
        "jax raises",
        "Dilations are 1 where they are not given.",
        message=r"length|could not be broadcast together with shapes \(\d+,\) \(0,\)",
    ),
    Meant(
        r"numpy\.(kaiser|hamming|hanning|blackman|bartlett)",
        "jax raises",
        "Windows of negative length are empty, as NumPy's.",
        message=r"nonnegative|negative",
    ),
    Meant(
        r"nn\.initializers\..*|scipy\.signal\..*|numpy\.fft\..*",
        "jax raises",
        "Narrow floats are computed as float32.",
        message=r"bfloat16|float16",
    ),
    Meant(
        r"scipy\.stats\..*",
        "jax raises",
        "Narrow floats are computed as float32.",
        message=r"bfloat16 is not supported|float16 is not supported",
    ),
)


VALUES: tuple[Meant, ...] = (
    Meant(
        r"(nn|scipy\.special)\.(log_)?softmax|nn\.(log_sigmoid|hard_tanh|squareplus|log1mexp)",
        "nan|value",
        "Integers are converted to floats before one is subtracted or negated, which may overflow, not after.",
        text=r"'u?int",
    ),
    Meant(
        r"numpy\.(nan)?(percentile|quantile|median)",
        "nan|value",
        "Between an infinity and itself lies that infinity; in jax it depends on whether there is one element.",
        text=r"\binf\b",
        message=r"primax: \S*inf\b.*jax: \S*nan",
    ),
    Meant(
        r"numpy\.logaddexp2?(\.\w+)?",
        "nan|value",
        "Complex numbers whose powers are 0 or infinite have a sum; jax subtracts infinities.",
        text=r"complex",
        message=r"primax: (?!.*nan.*jax).*jax: .*nan",
    ),
    Meant(
        r"lax\.(sort|sort_key_val|top_k)",
        "value",
        "Integers of 2 and 4 bits are sorted; XLA leaves them in another order.",
        text=r"'u?int[24]'",
    ),
    Meant(
        r"numpy\.unique\w*",
        "shape",
        "The size that is asked for is that of the result, of arrays without elements too.",
        text=r"size=",
    ),
    Meant(
        r"lax\.clamp",
        "value",
        "Complex numbers are compared by their imaginary parts where the real ones are equal, as in max and min.",
        text=r"complex",
    ),
    Meant(
        r"lax\.igammac?",
        "nan",
        "At a = 0 the function has its limit, as in SciPy.",
        text=r"\b0\.0\b",
        message=r"primax: \S*\((0|1)\.0\), jax: \S*nan",
    ),
    Meant(
        r"lax\.igamma_grad_a",
        "nan",
        "At infinity the function is 1 for each a, so that its derivative is 0.",
        text=r"\binf\b",
        message=r"primax: \S*\(-?0\.0\), jax: \S*nan",
    ),
    Meant(
        r"numpy\.(setxor1d|setdiff1d|intersect1d|isin)",
        "value",
        "Elements that are said to be distinct and are not give what comes of it.",
        text=r"assume_unique=True",
    ),
    Meant(
        r"scipy\.special\.(beta|betaln)",
        "nan",
        "Where gamma functions have poles their quotient has a limit, or is infinite as in SciPy.",
        message=r"jax: \S*nan",
    ),
    Meant(
        r"random\.weibull_min",
        "value",
        "Without a shape each of the parameters has a number of its own; in jax all share one.",
    ),
    Meant(
        r"scipy\.stats\.gumbel_r\.logsf",
        "nan",
        "Far to the right the logarithm is -x; SciPy and jax take that of a number that underflows.",
        message=r"jax: \S*-inf",
    ),
    Meant(
        r"numpy\.(setxor1d|setdiff1d|union1d|intersect1d|unique\w*)",
        "nan",
        "Complex numbers of which one part is NaN are elements like others; jax takes them for what fills the result.",
        text=r"complex\(.*nan.*size=|size=.*complex\(.*nan",
    ),
    Meant(
        r"numpy\.geomspace",
        "nan",
        "The ends are those given, where they are 0 too.",
        message=r"primax: \S*\((?!nan|inf).*jax: .*nan",
    ),
    Meant(
        r"numpy\.einsum_path",
        "value",
        "Which order is chosen among those of one cost is nobody's promise.",
    ),
    Meant(
        r"numpy\.polydiv",
        "nan",
        "What is divided leaves 0, also where the quotient is not finite.",
        message=r"primax: \S*\(-?0\.0(\+0j)?\), jax: .*nan",
    ),
    Meant(
        r"scipy\.fft\..*",
        "nan",
        "Sums of infinities are infinite or NaN, in no order that is promised.",
        text=r"\binf\b",
    ),
    Meant(
        r"scipy\.fft\..*",
        "value",
        "Sums of infinities are infinite or NaN, in no order that is promised.",
        text=r"\binf\b",
        message=r"primax: .*(inf|nan).*jax: .*(inf|nan)",
    ),
)

CHECKED: tuple[Meant, ...] = (
    Meant(
        r"lax\..*",
        "primax raises",
        "Dtypes are checked whatever the shapes; jax returns early where arrays are empty.",
        text=r"np\.zeros\(|\(\[\]",
        message=r"TypeError: .* must be (floating|complex|integer|boolean|real|a number|an array of numbers)",
    ),
    Meant(
        r"scipy\..*",
        "primax raises",
        "Integers of Python that do not fit the default int dtype are refused everywhere.",
        message=r"Python int must fit",
    ),
    Meant(
        r"scipy\.stats\..*|random\..*|scipy\.special\..*",
        "primax raises",
        "Densities, parameters of distributions and special functions take real numbers.",
        message=r"must (all )?be real|data must be an integer",
    ),
    Meant(
        r"lax\.slice(_in_dim)?",
        "primax raises",
        "Bounds beyond the end are refused; jax moves them where the length is that of the axis.",
        message=r"bounds must satisfy",
    ),
    Meant(
        r"nn\.initializers\.variance_scaling", "primax raises", "Arguments are checked when the initializer is made."
    ),
    Meant(
        r"numpy\.(polyadd|polysub|polyder|polymul|polyint|polydiv|roots|polyval|poly)",
        "primax raises",
        "Polynomials have coefficients of rank 1; jax computes something of other ranks.",
        message=r"rank 1|a vector",
    ),
    Meant(
        r"numpy\.\w+\.reduceat",
        "primax raises",
        "Positions out of range are refused, as NumPy refuses them.",
        message=r"indices must be in",
    ),
    Meant(
        r"lax\.collapse",
        "primax raises",
        "Axes out of range are refused; jax takes the nearest in range.",
        message=r"_dimension must be in",
    ),
    Meant(
        r"(numpy|Array)\.(nan)?(var|std)",
        "primax raises",
        "Variances are not computed in integers; jax takes no notice of such a dtype.",
        message=r"dtype must be floating or complex",
    ),
    Meant(
        r"Array\.addressable_data",
        "primax raises",
        "The number of a part is an integer.",
        message=r"index must be an integer",
    ),
    Meant(
        r"numpy\.gradient",
        "primax raises",
        "One array of positions is for one axis, as in NumPy.",
        message=r"varargs must be one number",
    ),
    Meant(
        r"numpy\.histogram(_bin_edges|2d|dd)?",
        "primax raises",
        "Bins and ranges that make no sense are refused, as NumPy refuses them.",
        message=r"(bins|range|a) must be",
    ),
)

OTHER_TYPES: tuple[Meant, ...] = (
    Meant(
        r"lax\.(top_k|approx_max_k|approx_min_k)|lax\.linalg\.(lu|schur|hessenberg|tridiagonal)|scipy\.linalg\.schur",
        "type",
        "Several results are a tuple, as the annotations of jax and SciPy promise; jax returns a list.",
        message=r"primax: tuple .*jax: list|^primax: tuple",
    ),
    Meant(
        r"lax\.stop_gradient|lax\.optimization_barrier|ad_checkpoint\.checkpoint_name|lax\.p?copy",
        "type",
        "NumPy arrays come back as arrays of the library.",
        message=r"primax: Array (.|\n)*jax: (Typed\w+|ndarray)",
    ),
    Meant(r"Array\.at", "type", "What indexes stands for has a name of its own.", message="primax: At "),
    Meant(r"Array\.unsafe_buffer_pointer", "value", "Arrays lie where there is room."),
    Meant(r"Array\.__iter__", "type", "Iterators are of no promised type."),
    Meant(
        r"Array\.__dlpack_device__",
        "type",
        "A kind of device is an int, as the protocol says.",
        message="jax: DLDeviceType",
    ),
    Meant(
        r"random\.key_(dtype|impl)",
        "type",
        "The type of a key's dtype has a name of its own.",
        message="KeyTy|PRNGSpec|str",
    ),
    Meant(r"lax\.conv.*_shape_tuple", "type", "Sizes are ints of Python.", message=r"jax: int(64|32) np\.int"),
    Meant(r"lax\.broadcast_shapes", "type", "A shape is a tuple.", message=r"primax: tuple"),
    Meant(r"lax\.shape_as_value", "type|dtype", "An array of the library, of the default int dtype without sizes too."),
    Meant(
        r"scipy\.linalg\.(pascal|invpascal|helmert|hilbert|invhilbert)|numpy\.tri",
        "dtype",
        "Where no dtype is given it is the default float dtype, in 64 bits too.",
        message="primax: float64, of jax: float32",
    ),
    Meant(r"lax\.empty", "dtype", "Arrays of 64 bits are not made where they are not enabled."),
    Meant(
        r"(numpy|Array)\.(flatnonzero|nonzero|argwhere|where)",
        "dtype",
        "Positions are integers whatever fills the rest.",
        text="fill_value",
    ),
    Meant(
        r"numpy\.logaddexp2?\.(reduce|accumulate|reduceat)",
        "dtype",
        "The dtype is the one asked for, or else that of the function's result; initial has no influence on it.",
    ),
    Meant(
        r"numpy\.pow(er)?|Array\.__r?pow__",
        "dtype",
        "An exponent promotes like all operands, whether its value is known beforehand or not.",
        message=r"primax: u?int\d+, of jax: u?int\d+",
    ),
    Meant(
        r"numpy\.(Array\.)?argpartition|Array\.argpartition",
        "dtype",
        "Positions have the default int dtype, as argsort's.",
    ),
    Meant(r"lax\.linalg\.qdwh", "weak type", "The number of iterations is an int32."),
    Meant(
        r"scipy\..*|numpy\.linalg\..*",
        "dtype",
        "Booleans and integers of fewer than 64 bits become float32, as in all functions of one argument.",
        text=r"'(bool|u?int(2|4|8|16|32))'|True|False",
        message="primax: float32, of jax: float64",
    ),
    Meant(
        r"scipy\.stats\.norm\.(isf|ppf)",
        "dtype",
        "The dtype is that of the arguments, not the default one.",
        message="primax: float32, of jax: float64",
    ),
    Meant(
        r"numpy\.\w+\.at",
        "dtype",
        "An array that is changed keeps its dtype, as NumPy's does.",
        message="of jax: (bool|float)",
    ),
    Meant(
        r"numpy\.unravel_index",
        "dtype",
        "Positions counted from the end are of 32 bits or more: those in large arrays do not fit fewer.",
        message=r"primax: int(32|64), of jax: int(2|4|8|16)\b",
    ),
    Meant(
        r"lax\.linalg\.cholesky",
        "dtype",
        "Integers are converted to the default float dtype, as everywhere.",
        message="primax: float64, of jax: float32",
    ),
    Meant(
        r"random\.(double_sided_maxwell|weibull_min)",
        "dtype",
        "An argument dtype is that of the result.",
        text=r"dtype=|float16",
    ),
    Meant(
        r"numpy\.fft\.r?fftfreq",
        "dtype",
        "An argument dtype is that of the result.",
        text=r"dtype=",
        message=r"of jax: float",
    ),
    Meant(
        r"numpy\.(cov|corrcoef)",
        "dtype",
        "Covariances of nothing have the dtype that covariances of something have.",
        text=r"zeros\(|\(\[\]",
        message="primax: float32, of jax: float64",
    ),
    Meant(
        r"numpy\.array_(str|repr)",
        "value",
        "Elements print with the digits of their own dtype, and arrays under the name of their class that users know.",
    ),
    Meant(r"numpy\.einsum_path", "type", "A path is told as a string, as NumPy's is.", message="primax: str"),
    Meant(r"lax\.linalg\.qdwh", "dtype", "The number of iterations is an int32."),
    Meant(
        r"scipy\.signal\.(stft|istft|csd|welch)",
        "dtype",
        "Frequencies and times have the default float dtype, as SciPy's.",
        message="primax: float64, of jax: float32",
    ),
    Meant(
        r"tree_util\.treedef_is_leaf",
        "value",
        "A structure without leaves is no leaf.",
        text=r"structure\((None|\(\))\)",
    ),
)

WEAK: tuple[Meant, ...] = (
    Meant(
        r"numpy\.(unique\w*|union1d|setdiff1d)",
        "weak type",
        "Elements are weak where those given are, complex ones too.",
        message=r"primax: True.*complex",
    ),
    Meant(
        r"scipy\.(stats|special)\..*",
        "weak type",
        "The type of the result is strong if that of an array argument is, whatever constants a formula holds.",
        text=r"\b(A|array)\(|True|False",
        message="primax: False",
    ),
    Meant(
        r"scipy\.(stats|special)\..*",
        "weak type",
        "The type of the result is weak if those of all arguments are, whatever constants a formula holds.",
        message="primax: True",
        when=lambda text: not re.search(r"\bA\(|array\(", text),
    ),
    Meant(
        r".*",
        "weak type",
        "Whether booleans are of weak type tells nothing: they promote to every other dtype anyway.",
        message=r"\(bool\)",
    ),
    Meant(
        r"nn\.squareplus",
        "weak type|dtype",
        "Booleans and a number of Python have the default float dtype, as in other activations.",
        text=r"'bool'|True|False",
    ),
    Meant(
        r"lax\.linalg\..*",
        "weak type",
        "Booleans that are converted to floats are floats of no weak type, as integers are.",
        text=r"'bool'",
        message="primax: False",
    ),
)

THE_STANDARD: tuple[Meant, ...] = (
    Meant(
        r"numpy\.(floor_divide|divmod)|Array\.__r?(floordiv|divmod)__",
        "value",
        "Infinity divided by a number is infinity, as the array API standard has it; in jax and NumPy it is NaN.",
        message=r"primax: \S*inf\b.*jax: \S*nan",
    ),
    Meant(
        r"numpy\.expm1",
        "nan",
        "Complex numbers that are not finite have the values of the array API standard; in jax and NumPy they are NaN.",
        message=r"jax: .*nan",
    ),
    Meant(
        r"(numpy|dtypes)\.finfo",
        "type",
        "Limits are numbers of Python, as the array API standard has them.",
        message=r"primax: float\b",
    ),
    Meant(
        r"numpy\.asarray",
        "primax raises",
        "A copy of a NumPy array is refused where the caller refuses it; jax makes one.",
        message=r"copy is False",
    ),
)

# tests/support/oracle.py has the same for the other tests.
RELEASES: tuple[Meant, ...] = (
    Meant(
        r"numpy\.(meshgrid|broadcast_arrays|atleast_[123]d)",
        "type",
        "Several arrays come in a tuple, as from newer releases of jax and NumPy.",
        message="primax: tuple.*jax: list",
        before=(0, 12),
    ),
    Meant(r"numpy\.sinc", "nan", "It is 0 at infinity.", message="primax: 0", before=(0, 11)),
    Meant(
        r"lax\.abs|numpy\.(abs|absolute)|Array\.__abs__",
        "nan",
        "The modulus of a number with an infinite part is infinite.",
        message="primax: .*inf",
        before=(0, 12),
    ),
    Meant(r"numpy\.log2", "weak type", "It keeps weak types.", message="primax: True", before=(0, 11)),
    Meant(
        r"random\.multinomial", "shape|.* raises", "The shape leaves out the outcomes.", text="shape=", before=(0, 12)
    ),
    Meant(
        r"numpy\.polyfit",
        "jax raises",
        "Integers are converted to floats.",
        message="not compatible with finfo",
        since=(0, 11),
    ),
    Meant(
        r"lax\.linalg\.qdwh",
        "nan|value",
        "A tolerance of 1 or more tells nothing of the result.",
        text=r"eps=[1-9]",
    ),
    Meant(
        r"numpy\.cross",
        "jax raises",
        "Vectors of length 2 lie in a plane.",
        message="must be 3|Dimension",
        since=(0, 12),
    ),
)

MEANT = RELEASES + VALUES + WEAK + JAX_LACKS + CHECKED + OTHER_TYPES + THE_STANDARD


def is_meant(path: str, text: str, difference: Difference) -> bool:
    """Whether the table has the difference."""
    return any(meant.holds(path, text, difference) for meant in MEANT)
