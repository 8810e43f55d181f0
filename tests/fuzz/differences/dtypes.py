"""Types and dtypes that are others than jax's."""

from __future__ import annotations

from fuzz.differences.entry import Meant

DTYPES: tuple[Meant, ...] = (
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
    Meant(r"numpy\.einsum_path", "type", "A report has a class of its own.", message="primax: EinsumPathInfo"),
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
    Meant(
        r"nn\.logmeanexp",
        "dtype",
        "Booleans become float32 whether there is a `where` or not.",
        text=r"'bool'",
        message="primax: float32, of jax: float64",
    ),
    Meant(
        r"numpy\.(add|multiply)\.reduceat",
        "dtype",
        "Sums and products of narrow integers and booleans are of default width, as those of reduce and NumPy's are.",
        message=r"primax: u?int(32|64), of jax: (bool|u?int(2|4|8|16))\b",
    ),
)
