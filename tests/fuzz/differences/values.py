"""Values, NaN and shapes that are others than jax's."""

from __future__ import annotations

from fuzz.differences.entry import Meant, refused_by_numpy

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
        r"(numpy|Array)\.argsort",
        "value",
        "Equals need not keep their order; here they do, in jax their order is the reverse.",
        text=r"(?=.*stable=False)(?=.*descending=True)",
    ),
    Meant(
        r"scipy\.stats\.norm\.(ppf|isf)",
        "value",
        "The function is computed in the dtype of the result; in jax and SciPy in that of its first argument.",
        text=r"norm\.\w+\((A|array)\([^']*'float32'\).*'float64'",
        message="primax: np.float64",
    ),
    Meant(
        r"numpy\.kaiser",
        "value",
        "The function of the shape is computed in the dtype of the window; in jax in that of the shape.",
        text=r"'(bool|u?int\d+|float16|bfloat16|float32)'",
    ),
    Meant(
        r"numpy\.(unique\w*|intersect1d)",
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
        r"scipy\.special\.(beta|betaln)",
        "nan|value",
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
        r"lax\.scaled_dot",
        "value",
        "Operands are multiplied as they are; jax rounds wider ones to bfloat16.",
        text=r"'(float32|float64|u?int\d+)'",
    ),
    Meant(
        r"live_arrays",
        "structure|shape|dtype|weak type|nan|value",
        "Each library lists its own arrays, of all that the process has computed.",
        text=r"^m\.live_arrays\(",
    ),
    Meant(
        r"scipy\.special\.hyp2f1",
        "nan|value",
        "Where a or b is c, and not positive, the series has ended before its pole; jax has a pole. Large polynomials "
        "are their sums, where jax overflows.",
        message=r"jax: (np\.\w+\()?-?inf",
    ),
    Meant(
        r"(numpy\.|Array\.)(nonzero|argwhere|flatnonzero)",
        "value",
        "An array without elements is filled up with `fill_value` as any other, in jax with zeros.",
        text=r"zeros\(\(.*fill_value=|\[\].*fill_value=",
        message=r"jax: \S*\(0\)",
    ),
    Meant(
        r"numpy\.einsum_path",
        "value",
        "Which order is chosen among those of one cost is nobody's promise.",
    ),
    Meant(
        r"numpy\.(polymul|convolve|correlate)|scipy\.signal\.\w*(convolve|correlate)\w*",
        "nan|value",
        "Sums of products of complex numbers that are not finite are infinite or NaN, as the order has it.",
        text=r"complex\(.*(inf|nan)",
        message=r"primax: .*(inf|nan).*jax: .*(inf|nan)",
    ),
    Meant(
        r"numpy\.polydiv",
        "shape",
        "A remainder of zeros is one zero, as in NumPy; jax leaves out all, and other numbers near 0.",
        text=r"trim_leading_zeros=True",
        message=r"primax: \(\d+,\), of jax: \(\d+,\)",
    ),
    Meant(
        r"scipy\.stats\.dirichlet\.(log)?pdf",
        "nan|value",
        "Where a number is 0 the density is infinite, 0 or neither, as its formula says; in SciPy, too, or an error.",
        message=r"primax: (?!.*-inf.*jax).*jax: \S*(-inf|\(0\.0\))",
        text=r"False|\b0(\.0)?\b|-0\.0",
    ),
    Meant(
        r"scipy\.stats\.multinomial\.(log)?pmf",
        "nan|value",
        "Each vector of counts is compared with the number of trials; jax adds up those of all.",
        text=r"multinomial\.\w+\(\w+\(\[\[",
        message=r"jax: \S*(-inf|\(0\.0\))",
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
    Meant(
        r"Array\.sum",
        "nan|value",
        "The method counts `initial`, as the function does; jax's leaves it out.",
        text=r"initial=",
    ),
    Meant(
        r"scipy\.special\.logit",
        "value",
        "Above 1 lies the cut of the logarithm. XLA drops the sign of the zero that says which side it is.",
        text=r"complex",
        message=r"[+-]3\.14\S*j.*[+-]3\.14\S*j",
    ),
    Meant(
        r"scipy\.special\.poch",
        "value",
        "Where a sum is rounded to a pole of the gamma function the quotient is infinite.",
        message=r"primax: \S*inf.*jax: \S*nan",
    ),
    Meant(
        r"numpy\.(nan)?(percentile|quantile)",
        "nan|value",
        "Negative weights have no quantiles: NumPy refuses them.",
        text="weights=",
        when=refused_by_numpy,
    ),
    Meant(
        r"numpy\.unravel_index",
        "value",
        "There are no positions in an array without elements: NumPy refuses them.",
        text=r"\b0\b",
        when=refused_by_numpy,
    ),
    Meant(
        r"numpy\.digitize",
        "value",
        "Bins in no order have no places between them: NumPy refuses them.",
        when=refused_by_numpy,
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
