"""Wrapped functions with transformations and second results, as jax's tracing functions take them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, wraps
from typing import Any
from weakref import WeakKeyDictionary

from primax.core.arguments import name_of
from primax.core.cache import Cache
from primax.core.text.debug_info import DebugInfo
from primax.core.trace_state import thread

__all__ = [
    "DebugInfo",
    "StoreException",
    "WrappedFun",
    "cache",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]
__dir__ = __all__.copy


class StoreException(Exception):
    """A second result was read before it existed, or stored twice.

    Examples:
      >>> import primax as px
      >>> from primax.extend import linear_util as lu
      >>> from primax.extend.api_util import flatten_fun_nokwargs
      >>> flat, out_tree = flatten_fun_nokwargs(lu.wrap_init(lambda x: x), px.tree.structure((1,)))
      >>> out_tree()
      Traceback (most recent call last):
          ...
      primax.extend.linear_util.StoreException: the second result exists only once the wrapped function has been
      called
    """


class _Store:
    """Holds the second result of a transformation."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[Any] = []

    @property
    def full(self) -> bool:
        return bool(self._held)

    def store(self, value: Any) -> None:
        if self._held:
            raise StoreException("a wrapped function was called twice; wrap it again for each call")
        self._held.append(value)

    def get(self) -> Any:
        if not self._held:
            raise StoreException("the second result exists only once the wrapped function has been called")
        return self._held[0]


class WrappedFun:
    """A function with transformations around it. Two wrapped functions are equal if their parts are.

    Attributes:
      f: the function.
      f_transformed: the function with all transformations applied.
      transforms: each transformation with its static arguments, the outermost first.
      params: keyword arguments given in advance.
      debug_info: its description in messages.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> double = lu.transformation2(lambda f, *args: f(*(2 * x for x in args)))
      >>> fun = double(lu.wrap_init(max))
      >>> fun, fun.call_wrapped(1, 3)
      (<WrappedFun max, 1 transformations>, 6)
    """

    __slots__ = ("debug_info", "f", "f_transformed", "params", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any],
        transforms: tuple[tuple[Callable[..., Any], tuple[Hashable, ...]], ...] = (),
        params: tuple[tuple[str, Any], ...] = (),
        debug_info: DebugInfo | None = None,
    ) -> None:
        self.f = f
        self.f_transformed = f_transformed
        self.transforms = transforms
        self.params = params
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return name_of(self.f, "a function")

    def call_wrapped(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with its transformations around it."""
        return self.f_transformed(*args, **dict(self.params, **kwargs))

    def wrap(self, gen: Callable[..., Any], static: tuple[Any, ...], store: _Store | None = None) -> WrappedFun:
        """Add a transformation around all others."""
        before = () if store is None else (store,)
        outer = partial(gen, self.f_transformed, *before, *static)
        return WrappedFun(self.f, outer, ((gen, static), *self.transforms), self.params, self.debug_info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"<WrappedFun {self.__name__}, {len(self.transforms)} transformations>"

    def _parts(self) -> Any:
        return self.f, self.transforms, self.params


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: DebugInfo | None = None
) -> WrappedFun:
    """A wrapped function without transformations.

    Args:
      f: the function.
      params: keyword arguments to call it with.
      debug_info: its description in messages.

    >>> from primax.extend import linear_util as lu
    >>> lu.wrap_init(pow, {"mod": 5}).call_wrapped(2, 3)
    3
    """
    return WrappedFun(f, f, (), tuple(sorted((params or {}).items())), debug_info)


def _wrapped(fun: Any) -> WrappedFun:
    return fun if isinstance(fun, WrappedFun) else wrap_init(fun)


def transformation2(gen: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Make a transformation of functions from `gen(f, *static, *args, **kwargs)`, which calls `f`.

    Returns:
      `(fun, *static) -> WrappedFun`.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> @lu.transformation2
      ... def shifted(f, by, *args):
      ...     return f(*(x + by for x in args)) - by
      >>> shifted(lu.wrap_init(lambda x, y: x * y), 1).call_wrapped(2, 3)
      11
    """

    @wraps(gen)
    def transform(fun: Any, *static: Any) -> WrappedFun:
        return _wrapped(fun).wrap(gen, static)

    return transform


def transformation_with_aux2(gen: Callable[..., Any]) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Like `transformation2`, for `gen(f, store, *static, *args, **kwargs)`, which calls `store.store(second result)`.

    Returns:
      `(fun, *static) -> (WrappedFun, function that gives the second result)`.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> @lu.transformation_with_aux2
      ... def counted(f, store, *args):
      ...     store.store(len(args))
      ...     return f(*args)
      >>> fun, count = counted(lu.wrap_init(max))
      >>> fun.call_wrapped(1, 3), count()
      (3, 2)
    """

    @wraps(gen)
    def transform(fun: Any, *static: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = _Store()
        return _wrapped(fun).wrap(gen, static, store), store.get

    return transform


def transformation(gen: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Make a transformation of functions from a generator.

    Args:
      gen: a generator function `(*static, *args, **kwargs)`. It yields the arguments `(args, kwargs)` for the function,
        receives the function's result, and yields the result of the transformed function.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> @lu.transformation
      ... def shifted(by, *args):
      ...     result = yield [x + by for x in args], {}
      ...     yield result - by
      >>> shifted(lu.wrap_init(lambda x, y: x * y), 1).call_wrapped(2, 3)
      11
    """

    def around(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _run(gen, f, args, kwargs)

    return transformation2(wraps(gen)(around))


def transformation_with_aux(gen: Callable[..., Any]) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Like `transformation`, for generators that yield a pair of the result and a second one.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> @lu.transformation_with_aux
      ... def counted(*args):
      ...     result = yield args, {}
      ...     yield result, len(args)
      >>> fun, count = counted(lu.wrap_init(max))
      >>> fun.call_wrapped(1, 3), count()
      (3, 2)
    """

    def around(f: Callable[..., Any], store: _Store, *args: Any, **kwargs: Any) -> Any:
        result, second = _run(gen, f, args, kwargs)
        store.store(second)
        return result

    return transformation_with_aux2(wraps(gen)(around))


def _run(gen: Callable[..., Any], f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    steps = gen(*args, **kwargs)
    inner_args, inner_kwargs = next(steps)
    result = steps.send(f(*inner_args, **inner_kwargs))
    steps.close()
    return result


def merge_linear_aux(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[bool, Any]:
    """Find out which of two wrapped functions was called, by their second results.

    Returns:
      Whether it was the first, and its second result.

    Raises:
      StoreException: neither has been called, or both have.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> @lu.transformation_with_aux2
      ... def numbered(f, store, number, *args):
      ...     store.store(number)
      ...     return f(*args)
      >>> (one, first), (two, second) = numbered(lu.wrap_init(max), 1), numbered(lu.wrap_init(min), 2)
      >>> _ = two.call_wrapped(3, 4)
      >>> lu.merge_linear_aux(first, second)
      (False, 2)
    """
    values = []
    for is_first, get in ((True, first), (False, second)):
        try:
            values.append((is_first, get()))
        except StoreException:
            continue
    if len(values) != 1:
        raise StoreException(f"exactly one of the two functions must have been called, got {len(values)}")
    return values[0]


def cache(call: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the results of a function of a wrapped function and further arguments.

    Args:
      call: `(fun, *args)`, where `fun` was made by `wrap_init` and the arguments have hashes.

    Returns:
      The function with a cache. Its entries live as long as the wrapped function, and are dropped when a rule changes.

    Examples:
      >>> from primax.extend import linear_util as lu
      >>> @lu.cache
      ... def length(fun, n):
      ...     print("counting")
      ...     return len(fun.__name__) + n
      >>> fun = lu.wrap_init(max)
      >>> length(fun, 1), length(fun, 1)
      counting
      (4, 4)
    """
    kept: WeakKeyDictionary[Any, Cache] = WeakKeyDictionary()

    @wraps(call)
    def remembering(fun: WrappedFun, *args: Any) -> Any:
        cache = kept.get(fun.f)
        if cache is None:
            cache = kept[fun.f] = Cache(256)
        key = (fun.transforms, fun.params, args, thread.config)
        held = cache.find(key)
        if held is None:
            held = (call(fun, *args),)
            cache.put(key, held)
        return held[0]

    remembering.clear_cache = kept.clear  # type: ignore[attr-defined]
    return remembering
