"""Connections between processes, by which a process learns that another has ended.

Process 0 listens at a common address until all processes have connected or the time is over. The connections stay open:
a closed connection means that its process has ended, and a message on it that the process fails or leaves. Process 0
forwards messages.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

LEFT = "has left"
_ENDED = "has ended without notice: it was killed, or has crashed"
_GRACE = 5.0  # seconds for which process 0 sends its error to the others
_Socket = socket.socket


def split_address(function: str, argument: str, address: Any) -> tuple[str, int]:
    """The host and the port of an address such as `10.0.0.1:1234`.

    Raises:
      TypeError: `address` is not a str.
      ValueError: `address` does not have this form.
    """
    if not isinstance(address, str):
        raise TypeError(f"{function}: {argument} must be a str such as '10.0.0.1:1234', got {address!r}")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ValueError(f"{function}: {argument} must be host and port, such as '10.0.0.1:1234', got {address!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


class _Lines:
    """A connection that transmits objects, each as a line of JSON."""

    def __init__(self, connection: _Socket) -> None:
        self.socket = connection
        self._rest = b""
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, **entries: Any) -> None:
        """Send an object; nothing happens if the connection has ended."""
        with contextlib.suppress(OSError):
            self.socket.sendall(json.dumps(entries).encode() + b"\n")

    def receive(self, timeout: float) -> list[dict[str, Any]] | None:
        """The objects that arrive within a time, perhaps none; None at the end of the connection."""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self.socket, selectors.EVENT_READ)
                if not selector.select(max(timeout, 0.0)):
                    return []
            data = self.socket.recv(65536)
        except (OSError, ValueError):  # it has been closed
            return None
        if not data or len(self._rest) > 2**20:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        try:
            messages = [json.loads(line) for line in lines]
        except ValueError:
            return None
        return messages if all(isinstance(message, dict) for message in messages) else None

    def end(self) -> None:
        """End the connection, which wakes the listening thread."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.end()
        self.socket.close()


class Links:
    """The connections of this process to the others, and their states.

    Attributes:
      index: the index of this process.
      count: the number of processes.
      host: the address of this machine for the others.
      news: for each process that has ended, fails or leaves, the reason.
      left: for each process that leaves, the time of the news.
    """

    def __init__(self, index: int, count: int, host: str, lines: Mapping[int, _Lines]) -> None:
        self.index = index
        self.count = count
        self.host = host
        self.news: dict[int, str] = {}
        self.left: dict[int, float] = {}
        self._lines = dict(lines)
        self._lock = threading.RLock()
        if index == 0 and count > 1:
            selector = selectors.DefaultSelector()
            for process, lines_of in lines.items():
                selector.register(lines_of.socket, selectors.EVENT_READ, process)
            threading.Thread(target=self._forward, args=(selector,), name="primax processes", daemon=True).start()
        os.register_at_fork(after_in_child=self._drop)

    @property
    def lost(self) -> dict[int, str]:
        """The processes that have ended or failed, with the reason."""
        self._listen()
        return {process: news for process, news in list(self.news.items()) if news != LEFT}

    def tell(self, news: str) -> None:
        """Inform the others that this process leaves or fails."""
        for lines in list(self._lines.values()):
            lines.send(process=self.index, news=news)

    def _drop(self) -> None:
        """Close the connections inherited from the parent process of a fork."""
        for lines in list(self._lines.values()):
            lines.socket.close()

    def close(self) -> None:
        """End the connections."""
        for lines in list(self._lines.values()):
            if self.index == 0:
                lines.end()  # the listening thread closes it
            else:
                lines.close()

    def wait_for_all_to_leave(self, timeout: float) -> list[int]:
        """Wait until all others leave; returns those that do not leave in time, or have ended without leaving."""
        deadline = time.monotonic() + timeout
        others = set(range(self.count)) - {self.index}
        while not self.lost and others - self.news.keys() and time.monotonic() < deadline:
            time.sleep(0.01)
        return sorted(process for process in others if self.news.get(process) != LEFT)

    def wait_for_ends(self, timeout: float) -> None:
        """Wait for a time until all connections have ended, so the others have read all messages."""
        deadline = time.monotonic() + timeout
        while self._lines and time.monotonic() < deadline:
            self._listen()
            time.sleep(0.01)

    def _note(self, process: int, news: str) -> bool:
        with self._lock:
            if process in self.news:
                return False
            self.news[process] = news
            if news == LEFT:
                self.left[process] = time.monotonic()
            return True

    def _listen(self) -> None:
        """Receive messages from process 0."""
        if self.index == 0:
            return
        with self._lock:
            messages: Any = True
            while messages and 0 in self._lines:
                messages = self._lines[0].receive(0)
                if messages is None:
                    self._note(0, _ENDED)
                    self._lines.pop(0).close()
                for message in messages or ():
                    self._note(message["process"], message["news"])

    def _forward(self, selector: selectors.BaseSelector) -> None:
        """Receive the messages of the others in process 0, and forward them to all."""
        with selector:
            while self._lines:
                for key, _ in selector.select():
                    process = key.data
                    messages = self._lines[process].receive(0)
                    if messages is None:
                        selector.unregister(key.fileobj)
                        self._lines.pop(process).close()
                        self._announce(process, _ENDED)
                    for message in messages or ():
                        self._announce(process, message["news"])

    def _announce(self, process: int, news: str) -> None:
        if self._note(process, news):
            for other, lines in list(self._lines.items()):
                if other != process:
                    lines.send(process=process, news=news)


def meet(
    address: tuple[str, int],
    bind: tuple[str, int] | None,
    index: int,
    count: int,
    versions: str,
    timeout: float,
    start: Callable[[], Any],
) -> tuple[Links, Any]:
    """Wait for the other processes.

    Args:
      address: the address of process 0.
      bind: the address at which process 0 listens; by default all addresses of its machine.
      index: the index of this process.
      count: the number of processes.
      versions: a text that must be equal in all processes.
      timeout: the seconds to wait.
      start: called by process 0 when all processes have connected, before the others continue.

    Returns:
      The connections, and in process 0 the result of `start`.

    Raises:
      RuntimeError: processes do not connect in time, or are incompatible.
    """
    deadline = time.monotonic() + timeout
    if index == 0:
        return _host(bind or ("", address[1]), count, versions, timeout, deadline, start)
    return _join(address, index, count, versions, timeout, deadline), None


def _server(bind: tuple[str, int]) -> _Socket:
    host, port = bind
    if not host and socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):  # an address family may be disabled
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(bind, family=family, backlog=1024)
    except OSError as error:
        raise RuntimeError(
            f"distributed.initialize: process 0 cannot listen at {host or 'any address'}, port {port}: {error}"
        ) from None


def _host(
    bind: tuple[str, int], count: int, versions: str, timeout: float, deadline: float, start: Callable[[], Any]
) -> tuple[Links, Any]:
    present: dict[int, _Lines] = {}
    try:
        with _server(bind) as server:
            while len(present) < count - 1:
                _admit(server, present, count, versions, deadline)
                missing = sorted(set(range(1, count)) - present.keys())
                if missing and time.monotonic() >= deadline:
                    raise RuntimeError(f"{_processes(missing)} did not connect within {timeout:g} s")
                for lines in present.values():
                    lines.send(missing=missing)
        started = start()
    except Exception as error:
        for lines in present.values():
            lines.send(error=str(error))
            lines.close()
        raise RuntimeError(f"distributed.initialize: {error}") from None
    for lines in present.values():
        lines.send(go=True)
    host = next((lines.socket.getsockname()[0] for lines in present.values()), "127.0.0.1")
    return Links(0, count, _plain(host), present), started


def _admit(server: _Socket, present: dict[int, _Lines], count: int, versions: str, deadline: float) -> None:
    """Accept the next process, if one connects within a second.

    Raises:
      RuntimeError: the process is incompatible with the others.
    """
    server.settimeout(max(min(1.0, deadline - time.monotonic()), 0.01))
    try:
        connection, peer = server.accept()
    except TimeoutError:
        return
    lines = _Lines(connection)
    hello = lines.receive(5.0)
    if not hello or "primax" not in hello[0]:  # another program has connected
        lines.close()
        return
    index, its_count, its_versions = hello[0]["primax"]
    problem = None
    if its_count != count:
        problem = f"num_processes is {its_count} in process {index}, but {count} in process 0"
    elif its_versions != versions:
        problem = f"process {index} runs {its_versions}, but process 0 runs {versions}"
    elif index in present or not 0 < index < count:
        problem = f"there are two processes with the number {index}; the second is at {peer[0]}"
    if problem:
        lines.send(error=problem)
        lines.close()
        raise RuntimeError(problem)
    present[index] = lines


def _join(address: tuple[str, int], index: int, count: int, versions: str, timeout: float, deadline: float) -> Links:
    where = f"process 0, which should be at {address[0]}:{address[1]}"
    problem = "nothing listens at this address"
    missing: list[int] | None = None
    while time.monotonic() < deadline + (_GRACE if missing else 0):
        try:
            connection = socket.create_connection(address, timeout=max(min(5.0, deadline - time.monotonic()), 0.1))
        except OSError as error:
            problem = str(error)
            time.sleep(0.1)
            continue
        lines = _Lines(connection)
        lines.send(primax=(index, count, versions))
        while time.monotonic() < deadline + _GRACE:
            messages = lines.receive(0.5)
            if messages is None:  # the process has ended, or another program uses the port
                problem = "it closed the connection"
                break
            for message in messages:
                if message.get("go"):
                    return Links(index, count, _plain(connection.getsockname()[0]), {0: lines})
                if "error" in message:
                    lines.close()
                    raise RuntimeError(f"distributed.initialize: {message['error']}")
                missing = message.get("missing", missing)
        lines.close()
        time.sleep(0.1)
    if missing:
        raise RuntimeError(f"distributed.initialize: {_processes(missing)} did not connect within {timeout:g} s")
    raise RuntimeError(
        f"distributed.initialize: process {index} could not reach {where}, within {timeout:g} s ({problem}); it has "
        "not started, has stopped waiting, or has another address"
    )


def _plain(host: str) -> str:
    """An IPv4 address in its usual notation."""
    return host.removeprefix("::ffff:")


def _processes(numbers: list[int]) -> str:
    return f"process {numbers[0]}" if len(numbers) == 1 else f"the processes {numbers}"
