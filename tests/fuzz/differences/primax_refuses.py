"""What primax refuses and jax computes."""

from __future__ import annotations

from fuzz.differences.entry import Meant

PRIMAX_REFUSES: tuple[Meant, ...] = (
    Meant(
        r"example_libraries\.stax\.\w+",
        "primax raises",
        "Arguments are checked when the layer is made; jax looks at them when it is used.",
        message=r"must (be|have)",
    ),
    Meant(
        r"experimental\.scheduling_groups\.scheduling_group",
        "primax raises",
        "The name of a group is looked at when the decorator is made; jax looks at it when it is used.",
        message=r"name must be a str",
    ),
    Meant(
        r"Shard",
        "primax raises",
        "Arguments are checked when the part is made; jax looks at them when it is asked where the part lies.",
        message=r"Shard: (sharding|global_shape|device) must be",
    ),
    Meant(
        r"experimental\.sparse\.CS[RC]",
        "primax raises",
        "The shape is looked at when the matrix is made; jax looks at it when it is used.",
        message=r"shape must be two sizes",
    ),
    Meant(
        r"ds",
        "primax raises",
        "Arguments are checked when the part is made; jax looks at them when it is an index.",
        message=r"ds: (start|size|stride) must (be|not be)",
    ),
    Meant(
        r"sharding\.(auto|explicit)_axes|experimental\.sparse\.sparsify|named_call",
        "primax raises",
        "What is no function is refused when it is given; jax refuses it when it is called.",
        message="must be callable",
    ),
    Meant(
        r"lax\.broadcast_to_rank",
        "primax raises",
        "A rank that is less than the array's is refused; jax returns the array as it is.",
        message=r"rank must be at least",
    ),
    Meant(
        r"lax\.concatenate",
        "primax raises",
        "The operands have the dimension along which they are joined; jax returns a single one as it is.",
        message=r"dimension must be in",
    ),
    Meant(
        r"numpy\.linalg\.pinv",
        "primax raises",
        "What is said to be Hermitian is square; jax returns early where there are no elements.",
        text=r"hermitian=True",
        message=r"as many rows as columns",
    ),
    Meant(
        r"experimental\.layout\.Layout",
        "primax raises",
        "The axes of a layout are integers.",
        message=r"must be (an integer|a sequence)",
    ),
    Meant(
        r"lax\.padtype_to_pads",
        "primax raises",
        "Sizes and strides are integers; jax looks at them for some paddings alone.",
        message=r"must be a sequence of integers",
    ),
    Meant(
        r"random\.weibull_min",
        "primax raises",
        "The parameters broadcast to the shape, as for other distributions; jax returns an array of another shape.",
        message=r"parameters must broadcast to shape",
    ),
    Meant(
        r"lax\.dot(_general)?|numpy\.\w+",
        "primax raises",
        "A product of complex numbers is complex; jax drops its imaginary part.",
        message=r"preferred_element_type must be complex",
    ),
    Meant(r"random\.rademacher", "primax raises", "Booleans have no sign.", message=r"signed numbers, got bool"),
    Meant(
        r"numpy\.(convolve|correlate)|scipy\.signal\.\w+",
        "primax raises",
        "Sums of products of floats are no integers; jax cuts them off.",
        message=r"preferred_element_type must be of the kind",
    ),
    Meant(
        r"random\.choice",
        "primax raises",
        "There is a probability for each element, as in NumPy, also where nothing is drawn.",
        message=r"p must be of shape",
    ),
    Meant(
        r"random\.(choice|permutation)",
        "primax raises",
        "A number of elements is an integer, as in NumPy; jax drops what follows the point.",
        message=r"must be an integer or an array with an axis",
    ),
    Meant(
        r"numpy\.(asarray|array|astype)|Array\.astype",
        "primax raises",
        "Whether to copy is said by a bool or None; jax takes the truth of any value.",
        message=r"copy must be a bool or None, got (?!True|False|np\.)",
    ),
    Meant(
        r"random\.choice",
        "primax raises",
        "The mode is checked; jax looks at it only where it makes a difference.",
        message=r"mode must be 'highest', 'high', 'low' or None",
    ),
    Meant(
        r"lax\.full",
        "primax raises",
        "A number must fit its dtype even if no element holds it; jax looks at it only where there is one.",
        message=r"Python int must fit",
    ),
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
        r"numpy\.(polyder|polymul|polyint|polydiv|roots|polyval|poly)",
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
    Meant(
        r"numpy\.(ufunc|frompyfunc)",
        "primax raises",
        "A function has no negative number of arguments or results.",
        message=r"(nin|nout|nargs) must not be negative",
    ),
    Meant(
        r"experimental\.sparse\.(CSC|CSR|COO)",
        "primax raises",
        "A matrix has vectors of data and indices; three numbers are none.",
        message="must have one dimension",
    ),
    Meant(
        r"nn\.standardize|lax\.linalg\.(svd|eigh)",
        "primax raises",
        "The algorithm is one of those that there are, whether it is used or not.",
        message=r"algorithm must be",
    ),
    Meant(
        r"lax\.composite|experimental\.(checkify\.checkify|custom_partitioning\.custom_partitioning)",
        "primax raises",
        "What is no function is refused at once, not when it is called.",
        message=r"(decomposition|fun|f) must be callable",
    ),
    Meant(
        r"lax\.pcast",
        "primax raises",
        "What values may become is looked at outside of mapped functions, too.",
        message=r"to must be 'varying'",
    ),
    Meant(
        r"random\.multinomial",
        "primax raises",
        "Counts are real numbers; jax converts them to booleans and complex numbers, too.",
        message=r"dtype must be a float dtype, got (bool|complex)",
    ),
    Meant(
        r"Array\.addressable_data",
        "primax raises",
        "Parts that the array does not have are refused; jax returns an array on one device for every index.",
        message=r"index must be",
    ),
    Meant(
        r"ffi\.ffi_call",
        "primax raises",
        "Types of results are looked at when the call is made; jax looks at them when it is used.",
        message=r"result_shape_dtypes must",
    ),
    Meant(
        r"experimental\.custom_partitioning\.SdyShardingRule",
        "primax raises",
        "Mappings are looked at when the rule is made; jax looks at them when it is used.",
        message=r"mappings must be a sequence",
    ),
)
