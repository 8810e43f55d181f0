"""What primax computes and jax refuses."""

from __future__ import annotations

from fuzz.differences.entry import Meant

JAX_REFUSES: tuple[Meant, ...] = (
    Meant(
        r"lax\.scaled_dot",
        "jax raises",
        "Vectors have a product too.",
        message=r"0-rank and 1-rank operands|must have the same rank.*rank: 1",
    ),
    Meant(
        r"lax\.scaled_dot",
        "jax raises",
        "A block may be of one element.",
        message=r"The ratio of \w+ contracting dim \d+ to its scale's dim size \(1\) must be at least 2",
    ),
    Meant(
        r"scipy\.linalg\.polar",
        "jax raises",
        "Integers become floats, as in all decompositions.",
        message=r"data type <class 'numpy\.u?int\d+'> not inexact",
    ),
    Meant(
        r"lax\.conv",
        "jax raises",
        "Without spatial dimensions there are no strides, and an empty array has none.",
        text=r"np\.zeros\(\(0, \d+\)\), '\w+'\), '(SAME|VALID|SAME_LOWER)'",
        message=r"floor_divide' not supported",
    ),
    Meant(
        r"experimental\.sparse\.(csr|coo)_fromdense",
        "jax raises",
        "Matrices of truth values have sparse forms too; jax builds a program that XLA refuses.",
        text=r"'bool'",
        message="verifier errors",
    ),
    Meant(
        r"numpy\.(arg)?partition",
        "jax raises",
        "Without an axis the array is flattened, as in NumPy; the order of each part is open.",
        text="axis=None",
    ),
    Meant(
        r"scipy\.special\.(log_)?ndtr",
        "jax raises",
        "Floats of 16 and 8 bits are floats too.",
        text=r"float16|float8",
        message="is not supported",
    ),
    Meant(
        r"Array\.(var|std)",
        "jax raises",
        "The method has the arguments of the function.",
        message="unexpected keyword argument 'mean'",
    ),
    Meant(
        r"no_tracing",
        "jax raises",
        "Constants are made without a trace.",
        message="'no_tracing' is set",
    ),
    Meant(
        r"no_execution",
        "jax raises",
        "Constants are placed without a program that is executed.",
        message=r"no_execution config option",
    ),
    Meant(
        r"numpy\.place",
        "jax raises",
        "Where there are no elements none is replaced, as in NumPy.",
        message=r"empty array\nprimax: Array\(\[\]",
    ),
    Meant(
        r"numpy\.put",
        "jax raises",
        "An array of rank 0 has one element to put, as in NumPy.",
        message=r"Cannot broadcast to shape with fewer dimensions: arr_shape=\(1,\) shape=\(\)",
    ),
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
        r"Array\.argsort",
        "jax raises",
        "The method takes the arguments of the function.",
        message=r"unexpected keyword argument 'dtype'",
    ),
    Meant(
        r"scipy\.linalg\.sqrtm",
        "jax raises",
        "Stacks of matrices have stacks of roots, as in SciPy.",
        text=r"\[\[\[|zeros\(\(\d+, \d+, ",
        message=r"diag input must be 1d or 2d",
    ),
    Meant(
        r"numpy\.polyadd",
        "jax raises",
        "Booleans are added, as in NumPy.",
        message=r"add does not accept dtype bool",
    ),
    Meant(
        r"(numpy|Array)\.(Array\.)?(arg)?partition",
        "jax raises",
        "Booleans have an order, as in NumPy.",
        message=r"neg does not accept dtype bool",
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
    Meant(
        r"numpy\.meshgrid",
        "jax raises",
        "Arrays are immutable, so that those that share memory and those that do not are alike.",
        text=r"copy=False",
        message=r"only supports copy=True",
    ),
    Meant(
        r"scipy\.stats\.multinomial\.\w+",
        "jax raises",
        "Counts are whole numbers of any dtype, as in SciPy.",
        message=r"must be of integer type",
    ),
    Meant(
        r"example_libraries\.stax\.\w+",
        "jax raises",
        "The sizes of a layer are looked at when it is initialized.",
        message=r"init_fun",
    ),
)
