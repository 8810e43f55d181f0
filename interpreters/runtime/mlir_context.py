"""The MLIR contexts of modules, one at a time for each thread."""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any

from primax.core import _jaxlib
from primax.core.source_info import is_internal
from primax.interpreters.runtime import fork_guard


class SharedContext:
    """An MLIR context with the values derived from it; it is replaced sometimes, since contexts free nothing.

    Every thread has its own: XLA's compiler loads dialects into a module's context without the GIL, and no other thread
    may use the context meanwhile. In a `with` statement the context is the current one and no other thread can enter
    it, so a thread may also compile a module that another one built.
    """

    def __init__(self) -> None:
        self._in_use = threading.RLock()
        ir = _jaxlib.ir
        registry = ir.DialectRegistry()
        _jaxlib.mlir_ext.register_dialects(registry)
        context = _slim_context_class()()
        context.append_dialect_registry(registry)
        with _making:
            context.set_thread_pool(_thread_pool())
        # The extension modules register the dialects; the import of the Python classes of their operations takes long.
        _jaxlib.hlo_ext.register_dialect(context)
        _jaxlib.chlo_ext.register_dialect(context)
        _jaxlib.sdy_ext.register_dialect(context)
        _ = context.dialects["func"]
        self.context = context
        self.types: dict[Any, Any] = {}
        self.modules = 0
        with context:
            self.locations = _jaxlib.mlir_ext.TracebackToLocationCache(code_to_filename=_user_file, frame_limit=10)
            self.unknown = ir.Location.unknown()

    def __enter__(self) -> SharedContext:
        self._in_use.acquire()
        self.context.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.context.__exit__(*exc)
        self._in_use.release()


def _user_file(code: Any) -> str | None:
    """The file of a code object; None for files of primax."""
    return None if is_internal(code.co_filename) else code.co_filename


_MODULES_PER_CONTEXT = 256
# By thread, and not in a `threading.local`: threads of XLA that call Python lose their Python state after each call,
# and the objects of a context cannot be freed at that moment.
_of_threads: dict[int, SharedContext] = {}
_making = threading.Lock()


@functools.cache
def _slim_context_class() -> Any:
    context_class: Any = _jaxlib.ir.Context

    class SlimContext(context_class):  # type: ignore[misc]
        """A context that loads no dialects; to load all would take milliseconds."""

        def __init__(self) -> None:
            super(context_class, self).__init__()

    return SlimContext


@functools.cache
def _thread_pool() -> Any:
    """The threads of all contexts; called with `_making` held, since contexts do not keep their pool alive."""
    fork_guard.note_threads()
    return _jaxlib.ir.ThreadPool()


def shared_context() -> SharedContext:
    """The MLIR context for this thread's next module."""
    if fork_guard.forked.value:
        fork_guard.require_own_process()
    me = threading.get_ident()
    shared = _of_threads.get(me)
    if shared is None or shared.modules >= _MODULES_PER_CONTEXT:
        running = frozenset(sys._current_frames())  # without the frames, of which this one would refer to itself
        for ended in [ident for ident in list(_of_threads) if ident not in running]:
            _of_threads.pop(ended, None)
        shared = _of_threads[me] = SharedContext()
    shared.modules += 1
    return shared
