"""The signatures of transformations for type checkers; `primax.interpreters` defines them.

A gradient has the type of the argument.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from primax.interpreters.pullback import Pullback

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_Aux = TypeVar("_Aux")

@overload
def grad(
    fun: Callable[Concatenate[_T, _P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def grad(
    fun: Callable[Concatenate[_T, _P], tuple[Any, _Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[Concatenate[_T, _P], tuple[_T, _Aux]]: ...
@overload
def grad(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[_P, Any]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_T, _P], _R],
    argnums: Literal[0] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[Concatenate[_T, _P], tuple[_R, _T]]: ...
@overload
def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[_P, tuple[_R, Any]]: ...
@overload
def jvp(
    fun: Callable[..., tuple[_R, _Aux]],
    primals: tuple[Any, ...] | list[Any],
    tangents: tuple[Any, ...] | list[Any],
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def jvp(
    fun: Callable[..., _R],
    primals: tuple[Any, ...] | list[Any],
    tangents: tuple[Any, ...] | list[Any],
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def linearize(
    fun: Callable[..., tuple[_R, _Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[_R, Callable[..., _R], _Aux]: ...
@overload
def linearize(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[_R, Callable[..., _R]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[_R, _Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: bool | tuple[Any, ...] = True,
) -> tuple[_R, Pullback, _Aux]: ...
@overload
def vjp(
    fun: Callable[..., _R],
    *primals: Any,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: bool | tuple[Any, ...] = True,
) -> tuple[_R, Pullback]: ...
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Hashable] = ()
) -> Callable[..., tuple[Any, ...]]: ...
def jacfwd(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]: ...
def jacrev(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[_P, Any]: ...

jacobian = jacrev

def hessian(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]: ...
