"""The signatures of transformations for type checkers; `primax.interpreters` defines them.

A gradient has the type of the argument. The classes are those that type checkers see for functions: they read the type
of the first argument at the call, where that of a lambda is known.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from primax.interpreters.pullback import Pullback

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_T = TypeVar("_T")
_Aux = TypeVar("_Aux")

class _Gradient(Generic[_P]):
    def __call__(self: _Gradient[Concatenate[_T, _Q]], x: _T, /, *args: _Q.args, **kwargs: _Q.kwargs) -> _T: ...

class _GradientWithAux(Generic[_P, _R]):
    def __call__(
        self: _GradientWithAux[Concatenate[_T, _Q], tuple[Any, _Aux]], x: _T, /, *args: _Q.args, **kwargs: _Q.kwargs
    ) -> tuple[_T, _Aux]: ...

class _ValueAndGradient(Generic[_P, _R]):
    def __call__(
        self: _ValueAndGradient[Concatenate[_T, _Q], _R], x: _T, /, *args: _Q.args, **kwargs: _Q.kwargs
    ) -> tuple[_R, _T]: ...

@overload
def grad(
    fun: Callable[_P, Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> _Gradient[_P]: ...
@overload
def grad(  # type: ignore[overload-overlap]
    fun: Callable[_P, _R],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> _GradientWithAux[_P, _R]: ...
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
def value_and_grad(  # type: ignore[overload-overlap]
    fun: Callable[_P, _R],
    argnums: Literal[0] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> _ValueAndGradient[_P, _R]: ...
@overload
def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[_P, tuple[_R, Any]]: ...
@overload
def jvp(
    fun: Callable[..., _R],
    primals: tuple[Any, ...] | list[Any],
    tangents: tuple[Any, ...] | list[Any],
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[_R, _Aux]],
    primals: tuple[Any, ...] | list[Any],
    tangents: tuple[Any, ...] | list[Any],
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def linearize(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[_R, Callable[..., _R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[_R, _Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[_R, Callable[..., _R], _Aux]: ...
@overload
def vjp(
    fun: Callable[..., _R],
    *primals: Any,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: bool | tuple[Any, ...] = True,
) -> tuple[_R, Pullback]: ...
@overload
def vjp(
    fun: Callable[..., tuple[_R, _Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: bool | tuple[Any, ...] = True,
) -> tuple[_R, Pullback, _Aux]: ...
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
