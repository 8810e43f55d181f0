"""The dimension numbers of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from primax.extend.provisional.arguments import integers
from primax.extend.provisional.typing import Shape


class ConvDimensionNumbers(NamedTuple):
    """The dimensions of the arrays of a convolution.

    Attributes:
      lhs_spec: the dimensions of batch and features of the image, then its spatial dimensions.
      rhs_spec: the dimensions of output and input features of the kernel, then its spatial dimensions.
      out_spec: the dimensions of batch and features of the result, then its spatial dimensions.
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


_ARGUMENTS = (("NC", "lhs"), ("OI", "rhs"), ("NC", "the result"))
# The accepted types of dimension numbers.
ConvGeneralDilatedDimensionNumbers: TypeAlias = Sequence[str] | ConvDimensionNumbers | None

_known: dict[Any, ConvDimensionNumbers] = {}


def conv_dimension_numbers(
    lhs_shape: Shape, rhs_shape: Shape, dimension_numbers: ConvGeneralDilatedDimensionNumbers
) -> ConvDimensionNumbers:
    """The dimension numbers of a convolution, from any of their forms.

    Args:
      lhs_shape: the shape of the image.
      rhs_shape: the shape of the kernel.
      dimension_numbers: three strings such as `("NHWC", "HWIO", "NHWC")`, for the image, the kernel and the result.
        N is the batch, C are features, O and I are output and input features; all other letters are spatial, in the
        order of the kernel. None means batch, features, spatial dimensions; for the kernel output features, input
        features, spatial dimensions. A `ConvDimensionNumbers` is used unchanged.

    Raises:
      TypeError: the ranks differ or are below 2; there are not three strings; a string does not have the length of the
        rank, repeats a letter, lacks one, or differs in its spatial letters; a `ConvDimensionNumbers` has no
        permutations.

    >>> import primax as px
    >>> px.lax.conv_dimension_numbers((1, 200, 198, 3), (3, 3, 3, 3), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    lhs_shape = integers(lhs_shape, "conv_general_dilated", "lhs_shape")
    rhs_shape = integers(rhs_shape, "conv_general_dilated", "rhs_shape")
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(
            "conv_general_dilated: lhs and rhs must have the same rank, "
            f"got {rank} and {len(rhs_shape)} for shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if rank < 2:
        raise TypeError(
            "conv_general_dilated: lhs must have a batch and a feature dimension, and rhs two feature dimensions, "
            f"got rank {rank} for shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if isinstance(dimension_numbers, list):
        dimension_numbers = tuple(dimension_numbers)
    key = (rank, type(dimension_numbers), dimension_numbers)
    try:
        return _known[key]
    except (KeyError, TypeError):
        pass
    if dimension_numbers is None:
        numbers = ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    elif isinstance(dimension_numbers, ConvDimensionNumbers):
        numbers = ConvDimensionNumbers(*map(tuple, dimension_numbers))
        for name, spec in numbers._asdict().items():
            if sorted(spec) != list(range(rank)):
                raise TypeError(
                    f"conv_general_dilated: {name} of dimension_numbers must be a permutation of the {rank} "
                    f"dimensions, got {spec} for shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}"
                )
        key = (rank, ConvDimensionNumbers, numbers)
    else:
        numbers = ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))
        for n, (layout, (_, argument)) in enumerate(zip(dimension_numbers, _ARGUMENTS, strict=True)):
            if len(layout) != rank:
                raise TypeError(
                    f"conv_general_dilated: dimension_numbers[{n}] must have one letter for each dimension of "
                    f"{argument}, got {len(layout)} in {layout!r} for rank {rank}"
                )
    if len(_known) < 1024:
        _known[key] = numbers
    return numbers


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The dimensions of image, kernel and result that three strings name: batch or output features, features, spatial.

    Args:
      dimension_numbers: see `conv_dimension_numbers`.

    Raises:
      TypeError: there are not three strings, a string repeats a letter or lacks one, or spatial letters differ.

    >>> import primax as px
    >>> px.lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    three = isinstance(dimension_numbers, tuple | list) and len(dimension_numbers) == 3
    if not three or not all(isinstance(layout, str) for layout in dimension_numbers):
        raise TypeError(
            "conv_general_dilated: dimension_numbers must be None, a ConvDimensionNumbers or three strings, such as "
            f"('NHWC', 'HWIO', 'NHWC'), got {dimension_numbers!r}"
        )
    spatial = [letter for letter in dimension_numbers[1] if letter not in "OI"]
    permutations = []
    for n, (layout, (channels, argument)) in enumerate(zip(dimension_numbers, _ARGUMENTS, strict=True)):
        if len(set(layout)) != len(layout):
            raise TypeError(f"conv_general_dilated: dimension_numbers[{n}] must not repeat a letter, got {layout!r}")
        if any(letter not in layout for letter in channels):
            raise TypeError(
                f"conv_general_dilated: dimension_numbers[{n}], of {argument}, must have the letters "
                f"{channels[0]} and {channels[1]}, got {layout!r}"
            )
        if sorted(layout) != sorted((*channels, *spatial)):
            raise TypeError(
                f"conv_general_dilated: dimension_numbers[{n}] must have the spatial letters of dimension_numbers[1], "
                f"{''.join(spatial)!r}, got {layout!r} for {dimension_numbers[1]!r}"
            )
        permutations.append(tuple([layout.index(letter) for letter in (*channels, *spatial)]))
    return tuple(permutations)
