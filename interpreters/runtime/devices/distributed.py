"""Several processes that compute together: joining, comparison of programs, and loss of processes."""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.arguments import integer, real_number, sequence
from primax.core.errors import XlaError
from primax.interpreters.runtime import fork_guard
from primax.interpreters.runtime.devices import backends
from primax.interpreters.runtime.devices.cluster_env import Place, detect, variable
from primax.interpreters.runtime.devices.peer_links import LEFT, Links, meet, split_address
from primax.interpreters.runtime.executable import effects_barrier

_PREFIX = "primax/programs"
_LOOK = 0.05  # seconds between checks of the other processes
_LONGEST_SLEEP = 2e-3
_RULE = "all processes must run the same programs over their common devices, in the same order"


class Runtime:
    """The state of this process among others.

    Attributes:
      client: the client of jaxlib's coordination service.
      service: the service itself, in process 0.
      links: the connections to the other processes.
      local_device_ids: the accelerators that this process uses; None for all.
      patience: the seconds for which it waits until others reach a program.
      shutdown_timeout: the seconds for which it waits until others end.
    """

    def __init__(
        self,
        client: Any,
        service: Any,
        links: Links,
        local_device_ids: tuple[int, ...] | None,
        patience: float,
        shutdown_timeout: float,
    ) -> None:
        self.client = client
        self.service = service
        self.links = links
        self.local_device_ids = local_device_ids
        self.patience = patience
        self.shutdown_timeout = shutdown_timeout
        self._lock = threading.Lock()
        self._own: dict[tuple[int, ...], list[str]] = {}
        self._await: Callable[[Any], Any] = fork_guard.await_buffer

    @property
    def process_index(self) -> int:
        return int(self.links.index)

    @property
    def process_count(self) -> int:
        return int(self.links.count)

    def make_cpu_client(self, count: int | None) -> Any:
        """The client for the CPUs of all processes; every process must create it."""
        collectives = _jaxlib.make_gloo_tcp_collectives(self.client, hostname=self.links.host)

        def make() -> Any:
            return _jaxlib.xla_client.make_cpu_client(
                distributed_client=self.client,
                node_id=self.process_index,
                num_nodes=self.process_count,
                collectives=collectives,
                num_devices=count,
                get_global_topology_timeout_minutes=max(1, int(self.patience / 60)),
            )

        return self.waiting_for(make, "the devices of the other processes")

    def waiting_for(self, work: Callable[[], Any], what: str) -> Any:
        """The result of a function that waits for other processes, which are monitored during the wait."""
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(work())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, name=f"primax waits for {what}", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_LOOK)
            if thread.is_alive():
                self.look(what, None)
        if errors:
            raise errors[0]
        return results[0]

    def program(self, text: str, devices: Sequence[Any], name: str) -> Callable[[], None]:
        """A function to call before the first run of a program; it compares the program with those of other processes.

        Args:
          text: the program.
          devices: its devices.
          name: its name, for messages.
        """
        described = f"{[device.id for device in devices]} {text}".encode()
        digest = f"{hashlib.sha256(described).hexdigest()[:32]} {name}"
        members = tuple(sorted({device.process_index for device in devices}))
        return lambda: self._agree(members, digest)

    def _agree(self, members: tuple[int, ...], digest: str) -> None:
        """Wait until the members have reached the same program, before its first run.

        Raises:
          XlaError: a member has reached another program, does not arrive, or is lost.
        """
        group = "-".join(map(str, members))
        with self._lock:
            order = self._own.setdefault(members, [])
            if digest in order:
                return
            number = len(order)
            order.append(digest)
        folder = f"{_PREFIX}/{group}/{number}"
        self.client.key_value_set(f"{folder}/{self.process_index}", digest)
        begin = time.monotonic()
        while True:
            entries = self.client.key_value_dir_get(folder)
            theirs = {int(key.rpartition("/")[2]): value for key, value in entries}
            for other, value in sorted(theirs.items()):
                if value != digest:
                    raise XlaError(_differ(self.process_index, digest, other, value, number))
            missing = [member for member in members if member not in theirs]
            if not missing:
                return
            waited = time.monotonic() - begin
            if waited > self.patience:
                raise XlaError(
                    f"process {missing[0]} has not called the program {_name(digest)!r} within {self.patience:g} s; "
                    f"{_RULE}; otherwise increase initialization_timeout"
                )
            self.look(f"it to call the program {_name(digest)!r}", begin)
            time.sleep(min(max(waited / 10, 1e-3), 2 * _LOOK))

    def look(self, what: str, since: float | None) -> None:
        """Check that the other processes still run.

        Args:
          what: the awaited event, for messages.
          since: the start of the wait; None to ignore it.

        Raises:
          XlaError: a process is lost, so the wait would not end.
        """
        for process, news in self.links.lost.items():
            raise XlaError(f"process {process} {news}; process {self.process_index} waits for {what}")
        now = time.monotonic()
        for process, when in list(self.links.left.items()):
            if now - max(when, since or 0.0) > self.shutdown_timeout:
                raise XlaError(
                    f"process {process} ended its program {now - when:.0f} s ago; process {self.process_index} "
                    f"still waits for {what}"
                )

    def await_buffer(self, b: Any) -> None:
        """Wait until a buffer is computed or has failed."""
        begin = time.monotonic()
        next_look = begin + _LOOK
        while not b.is_ready():
            now = time.monotonic()
            if now >= next_look:
                next_look = now + _LOOK
                self.look(f"a value of type {b.aval.str_short()}", begin)
            time.sleep(min(max((now - begin) / 50, 1e-5), _LONGEST_SLEEP))
        try:
            self._await(b)
        except XlaError as error:
            self.explain(error)
            raise

    def explain(self, error: XlaError) -> None:
        """Name the lost process if a program failed because of it; XLA reports only that a connection has ended.

        Raises:
          XlaError: a process is lost.
        """
        if "Gloo" in str(error):
            for _ in range(20):
                self.look("what it sends", None)
                time.sleep(_LOOK / 2)


def _name(digest: str) -> str:
    return digest.partition(" ")[2]


def _differ(own: int, digest: str, other: int, theirs: str, number: int) -> str:
    """The message about two processes that call different programs."""
    what = f"{_name(theirs)!r}, but process {own} runs {_name(digest)!r}"
    if _name(theirs) == _name(digest):
        what = f"a program {_name(digest)!r} that differs from that of process {own}"
    return f"program number {number + 1} over the devices of several processes: process {other} runs {what}; {_RULE}"


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: Any = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: float = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
) -> None:
    """Join the other processes, before any computation. All processes must call it.

    Arguments that are None are read from the variables `PRIMAX_COORDINATOR_ADDRESS`, `PRIMAX_NUM_PROCESSES` and
    `PRIMAX_PROCESS_ID` (or `JAX_...`), or else are those of Slurm, Open MPI or Kubernetes.

    Args:
      coordinator_address: the host and port of process 0.
      num_processes: the number of processes.
      process_id: the index of this process, from 0 on.
      local_device_ids: the accelerators that this process uses, one or several; None for all. The number of its CPU
        devices is the value of the option `num_cpu_devices`.
      cluster_detection_method: `slurm`, `ompi`, `k8s` or `mpi4py`; None for the first of the former three that is
        present; `deactivate` for none.
      initialization_timeout: the seconds for which processes wait for each other, here and at their first programs.
      heartbeat_timeout_seconds: the seconds of silence after which a process counts as dead.
      shutdown_timeout_seconds: the seconds for which a process waits for the others at its end.
      coordinator_bind_address: the address at which process 0 listens; by default all addresses of its machine.

    Raises:
      RuntimeError: this function was called before, or after a computation; or a process, which the message names, does
        not arrive in time or is incompatible with the others.
      TypeError, ValueError: an argument is missing or invalid.
    """
    function = "distributed.initialize"
    if backends.joined.runtime is not None:
        raise RuntimeError(f"{function}: it must be called only once, and this process has already joined the others")
    if backends.made():
        raise RuntimeError(
            f"{function}: it must be called before the first use of devices, but {backends.made()} are in use; "
            "call it at the start of the program"
        )
    timeouts = (
        ("initialization_timeout", initialization_timeout),
        ("heartbeat_timeout_seconds", heartbeat_timeout_seconds),
        ("shutdown_timeout_seconds", shutdown_timeout_seconds),
    )
    for argument, value in timeouts:
        if not real_number(function, argument, value) > 0:
            raise ValueError(f"{function}: {argument} must be positive, got {value!r}")
    coordinator, count, index = _place(
        function, coordinator_address, num_processes, process_id, cluster_detection_method
    )
    address = split_address(function, "coordinator_address", coordinator)
    bind = coordinator_bind_address or variable("COORDINATOR_BIND_ADDRESS")
    where = None if bind is None else split_address(function, "coordinator_bind_address", bind)
    ids = None
    if local_device_ids is not None:
        values = (
            [local_device_ids]
            if np.ndim(local_device_ids) == 0
            else sequence(function, "local_device_ids", local_device_ids)
        )
        ids = tuple(integer(function, "each of local_device_ids", id) for id in values)
    heartbeat, at_end = int(np.ceil(heartbeat_timeout_seconds)), int(np.ceil(shutdown_timeout_seconds))
    begin = int(np.ceil(initialization_timeout))

    def start() -> Any:
        return _jaxlib.get_distributed_runtime_service(
            bind or f"[::]:{address[1]}",
            count,
            heartbeat_timeout=heartbeat,
            cluster_register_timeout=begin,
            shutdown_timeout=at_end,
        )

    versions = f"jaxlib {'.'.join(map(str, _jaxlib.release))}"
    links, service = meet(address, where, index, count, versions, float(initialization_timeout), start)
    client = _jaxlib.get_distributed_runtime_client(
        coordinator,
        index,
        init_timeout=begin,
        shutdown_timeout=at_end,
        heartbeat_timeout=heartbeat,
        use_compression=True,
    )
    client.connect()
    runtime = Runtime(client, service, links, ids, float(initialization_timeout), float(shutdown_timeout_seconds))
    backends.joined.runtime = runtime
    fork_guard.await_buffer = runtime.await_buffer
    atexit.register(_at_exit)


def _place(function: str, address: Any, count: Any, index: Any, method: str | None) -> tuple[str, int, int]:
    """The address of process 0, the number of processes, and this one's index: given, or of the cluster.

    Raises:
      ValueError: a value is unknown or impossible.
    """
    address = variable("COORDINATOR_ADDRESS") if address is None else address
    count = variable("NUM_PROCESSES") if count is None else count
    index = variable("PROCESS_ID") if index is None else index
    detected = Place()
    if None in (address, count, index) or method is not None:
        detected = detect(method)
    address = detected.address if address is None else address
    count = detected.size if count is None else count
    index = detected.rank if index is None else index
    missing = [
        name
        for name, value in (("coordinator_address", address), ("num_processes", count), ("process_id", index))
        if value is None
    ]
    if missing:
        raise ValueError(
            f"{function}: {', '.join(missing)} must be given, or set as variables {_variables(missing)}: no cluster "
            f"was detected that supplies them"
        )
    count = int(count) if isinstance(count, str) else integer(function, "num_processes", count)
    index = int(index) if isinstance(index, str) else integer(function, "process_id", index)
    if count < 1:
        raise ValueError(f"{function}: num_processes must be positive, got {count}")
    if not 0 <= index < count:
        raise ValueError(f"{function}: process_id must be at least 0 and below num_processes={count}, got {index}")
    return address, count, index


def _variables(arguments: Sequence[str]) -> str:
    return ", ".join(f"PRIMAX_{argument.upper()}" for argument in arguments)


def is_initialized() -> bool:
    """Whether this process has joined others, by `initialize`."""
    return backends.joined.runtime is not None


def shutdown() -> None:
    """Leave the other processes; all of them must call it. Nothing happens if this process is alone.

    The end of a program calls it, too. Afterwards arrays over several processes cannot be computed.

    Raises:
      RuntimeError: other processes, which the message names, do not leave within `shutdown_timeout_seconds`.
    """
    runtime = backends.joined.runtime
    if runtime is None:
        return
    effects_barrier()
    problem = _leave(runtime)
    if problem:
        raise RuntimeError(f"distributed.shutdown: {problem}")


def _leave(runtime: Runtime) -> str | None:
    """Leave together with all processes; returns an error message if one process does not."""
    links = runtime.links
    links.tell(LEFT)
    missing = links.wait_for_all_to_leave(runtime.shutdown_timeout)
    lost = links.lost
    if lost:
        process, news = next(iter(lost.items()))
        return f"process {process} {news}"
    if missing:
        return f"process {missing[0]} does not end its program within {runtime.shutdown_timeout:g} s"
    runtime.client.shutdown()
    if runtime.service is not None:
        runtime.service.shutdown()
    links.close()
    backends.joined.runtime = None
    fork_guard.await_buffer = runtime._await
    return None


def _at_exit() -> None:
    """Leave at the end of the program. If that fails, end at once, since XLA's threads would wait without end."""
    runtime = backends.joined.runtime
    if runtime is None or fork_guard.is_forked():
        return
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    if error is None and not runtime.links.lost:
        try:
            effects_barrier()
        except XlaError as failed:
            print(f"primax: {failed}", file=sys.stderr)
            error = failed
    if error is not None:
        runtime.links.tell(f"failed: {type(error).__name__}: {error}"[:2000])
        for process, news in runtime.links.lost.items():
            print(f"primax: process {process} {news}", file=sys.stderr)
        if runtime.service is not None:
            runtime.links.wait_for_ends(2.0)  # the service ends with this process, and the others need it
    else:
        problem = _leave(runtime)
        if problem is None:
            return
        print(f"primax: {problem}; process {runtime.process_index} ends", file=sys.stderr)
        runtime.links.tell(f"failed: {problem}"[:2000])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
