"""Clusters: detection of the other processes, and of this process's index, from environment variables of launchers."""

from __future__ import annotations

import os
import re
import socket
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple


class Place(NamedTuple):
    """The place of a process among others; None for each unknown value.

    Attributes:
      address: host and port of process 0.
      size: the number of processes.
      rank: the index of this process.
      local_rank: its index among the processes of the same machine.
    """

    address: str | None = None
    size: int | None = None
    rank: int | None = None
    local_rank: int | None = None


def variable(name: str) -> str | None:
    """The environment variable `PRIMAX_<name>`, or else `JAX_<name>`; None if neither is set."""
    return os.environ.get(f"PRIMAX_{name}") or os.environ.get(f"JAX_{name}")


def _port(job: str) -> int:
    """The port for the processes of a job: the given one, or one computed from the job."""
    port = variable("COORDINATOR_PORT")
    if port is not None:
        return int(port)
    return 49152 + sum((place + 1) * ord(letter) for place, letter in enumerate(job)) % 12000


def _number(name: str) -> int | None:
    text = os.environ.get(name)
    return None if text is None else int(text)


class Cluster:
    """A kind of cluster.

    Attributes:
      name: the name for users.
      automatic: whether it is detected without a request.
    """

    name: str
    automatic = True

    @classmethod
    def is_present(cls) -> bool:
        """Whether a launcher of this kind has started this process."""
        raise NotImplementedError

    @classmethod
    def place(cls) -> Place:
        """The place of this process in the cluster."""
        raise NotImplementedError


class Slurm(Cluster):
    """Slurm, whose `srun` has started the processes."""

    name = "slurm"

    @classmethod
    def is_present(cls) -> bool:
        return all(f"SLURM_{part}" in os.environ for part in ("JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID"))

    @classmethod
    def place(cls) -> Place:
        host = first_host(os.environ["SLURM_STEP_NODELIST"])
        return Place(
            f"{host}:{_port(os.environ['SLURM_JOB_ID'])}",
            _number("SLURM_NTASKS"),
            _number("SLURM_PROCID"),
            _number("SLURM_LOCALID"),
        )


def first_host(nodes: str) -> str:
    """The first host in Slurm's list of nodes, such as `node001` in `node[001-004,7],other`."""
    before, bracket = re.match(r"([^,[]*)(\[?)", nodes).groups()  # type: ignore[union-attr]
    if not bracket:
        return before
    inside, _, after = nodes[len(before) + 1 :].partition("]")
    number = re.split(r"[-,]", inside, maxsplit=1)[0]
    return before + number + after.split(",", 1)[0]


class OpenMpi(Cluster):
    """Open MPI, whose `mpirun` has started the processes."""

    name = "ompi"

    @classmethod
    def is_present(cls) -> bool:
        return "OMPI_COMM_WORLD_SIZE" in os.environ and "OMPI_COMM_WORLD_RANK" in os.environ

    @classmethod
    def place(cls) -> Place:
        count = _number("OMPI_COMM_WORLD_SIZE")
        uri = os.environ.get("OMPI_MCA_orte_hnp_uri", "")  # noqa: SIM112
        job = uri.partition(".")[0] or os.environ.get("PMIX_NAMESPACE", "")
        match = re.search(r"tcp6?://\[?([0-9a-fA-F.:]+?)\]?[,:]\d*", uri)
        if match is not None:
            host: str | None = match[1]
        else:
            host = "127.0.0.1" if _number("OMPI_COMM_WORLD_LOCAL_SIZE") == count else None
        return Place(
            None if host is None else f"[{host}]:{_port(job)}" if ":" in host else f"{host}:{_port(job)}",
            count,
            _number("OMPI_COMM_WORLD_RANK"),
            _number("OMPI_COMM_WORLD_LOCAL_RANK"),
        )


class Mpi4py(Cluster):
    """Any MPI, through the package mpi4py; only on request, since its import starts MPI."""

    name = "mpi4py"
    automatic = False
    module = "mpi4py.MPI"

    @classmethod
    def is_present(cls) -> bool:
        return find_spec(cls.module.partition(".")[0]) is not None

    @classmethod
    def place(cls) -> Place:
        mpi: Any = import_module(cls.module)
        world = mpi.COMM_WORLD
        address = None
        if world.Get_rank() == 0:
            with socket.socket() as free:
                free.bind(("", 0))
                address = f"{socket.gethostname()}:{variable('COORDINATOR_PORT') or free.getsockname()[1]}"
        address = world.bcast(address, root=0)
        here = world.Split_type(mpi.COMM_TYPE_SHARED)
        return Place(address, world.Get_size(), world.Get_rank(), here.Get_rank())


class Kubernetes(Cluster):
    """Kubernetes: a Job of completion mode Indexed, whose pods a headless service names.

    Pods do not know how many they are: the variable `PRIMAX_NUM_PROCESSES` or the argument must say it.
    """

    name = "k8s"

    @classmethod
    def is_present(cls) -> bool:
        return "KUBERNETES_SERVICE_HOST" in os.environ and "JOB_COMPLETION_INDEX" in os.environ

    @classmethod
    def place(cls) -> Place:
        index = _number("JOB_COMPLETION_INDEX")
        own, dot, domain = socket.getfqdn().partition(".")
        job = own.removesuffix(f"-{index}")
        return Place(f"{job}-0{dot}{domain}:{_port(job)}", None, index, None)


CLUSTERS: tuple[type[Cluster], ...] = (Slurm, OpenMpi, Kubernetes, Mpi4py)


def detect(method: str | None) -> Place:
    """The place of this process according to its cluster; all None if there is no cluster.

    Args:
      method: the name of the kind of cluster; None for the first that is present, `"deactivate"` for none.

    Raises:
      ValueError: there is no such kind of cluster.
      RuntimeError: no launcher of this kind has started this process.
    """
    if method == "deactivate":
        return Place()
    if method is None:
        return next((kind.place() for kind in CLUSTERS if kind.automatic and kind.is_present()), Place())
    named = {kind.name: kind for kind in CLUSTERS}
    kind = named.get(method) if isinstance(method, str) else None
    if kind is None:
        raise ValueError(
            f"distributed.initialize: cluster_detection_method must be one of {sorted(named)} or 'deactivate', "
            f"got {method!r}"
        )
    if not kind.is_present():
        raise RuntimeError(
            f"distributed.initialize: cluster_detection_method={method!r} must be the way in which this process was "
            f"started; it is for: {kind.__doc__}"
        )
    return kind.place()
