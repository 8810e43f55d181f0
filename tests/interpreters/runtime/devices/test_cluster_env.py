"""What clusters tell a process about the others."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace

import pytest

import primax as px
from primax.interpreters.runtime.devices import cluster_env
from primax.interpreters.runtime.devices.cluster_env import Place, detect, first_host

pytestmark = pytest.mark.any_word_size

_SLURM = {
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_NODELIST": "node[007-009],other",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}
_OMPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


@pytest.fixture
def surroundings(monkeypatch):
    """Sets environment variables, after all that tell of clusters are gone."""
    for prefix in (
        "SLURM_",
        "OMPI_",
        "PMIX_",
        "KUBERNETES_",
        "JOB_",
        "PRIMAX_CO",
        "JAX_CO",
        "PRIMAX_NUM_P",
        "JAX_NUM_P",
    ):
        for name in [name for name in cluster_env.os.environ if name.startswith(prefix)]:
            monkeypatch.delenv(name)
    return lambda values: [monkeypatch.setenv(name, value) for name, value in values.items()]


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("a", "a"),
        ("a,b", "a"),
        ("node12", "node12"),
        ("node[001-004,007],other", "node001"),
        ("n[3,5]-ib,x", "n3-ib"),
        ("login,n[1-2]", "login"),
    ],
)
def test_the_first_of_slurms_nodes_is_read(nodes, first):
    assert first_host(nodes) == first


def test_slurm_tells_the_place_and_all_tasks_agree_on_the_port(surroundings):
    surroundings(_SLURM)
    address, *rest = detect(None)
    assert rest == [8, 3, 1]
    host, port = address.split(":")
    assert host == "node007"
    assert 1024 < int(port) < 2**16
    surroundings({"SLURM_PROCID": "5"})
    assert detect("slurm").address == address
    surroundings({"SLURM_JOB_ID": "1235"})
    assert detect("slurm").address != address
    surroundings({"PRIMAX_COORDINATOR_PORT": "7777"})
    assert detect("slurm").address == "node007:7777"


def test_open_mpi_tells_the_place(surroundings):
    surroundings(_OMPI)
    address, *rest = detect(None)
    assert address.startswith("10.96.0.1:")
    assert rest == [4, 2, 0]
    surroundings({"OMPI_MCA_orte_hnp_uri": "", "PMIX_NAMESPACE": "prterun-host-99@1"})
    assert detect("ompi").address is None
    surroundings({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"})
    assert detect("ompi").address.startswith("127.0.0.1:")


def test_kubernetes_tells_the_index_and_the_first_pod(surroundings, monkeypatch):
    surroundings({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2"})
    monkeypatch.setattr(socket, "getfqdn", lambda: "train-2.pods.ns.svc.cluster.local")
    address, *rest = detect(None)
    assert address.startswith("train-0.pods.ns.svc.cluster.local:")
    assert rest == [None, 2, None]
    monkeypatch.setattr("primax.interpreters.runtime.devices.backends._clients", {})
    with pytest.raises(ValueError, match=r"num_processes must be given, or set as variables PRIMAX_NUM_PROCESSES"):
        px.distributed.initialize()


def test_mpi4py_is_used_only_where_it_is_asked_for(surroundings, monkeypatch):
    rank = SimpleNamespace(Get_rank=lambda: 1)
    sent = []
    world = SimpleNamespace(
        Get_rank=lambda: 0,
        Get_size=lambda: 2,
        bcast=lambda value, root: sent.append(value) or value,
        Split_type=lambda kind: rank,
    )
    module = SimpleNamespace(COMM_WORLD=world, COMM_TYPE_SHARED=0)
    monkeypatch.setattr(cluster_env.Mpi4py, "is_present", lambda: True)
    monkeypatch.setattr(cluster_env, "import_module", {"mpi4py.MPI": module}.get)
    assert detect(None) == Place()
    assert detect("mpi4py") == Place(sent[0], 2, 0, 1)
    assert sent[0].startswith(socket.gethostname())


def test_a_cluster_that_is_unknown_or_absent_is_refused(surroundings):
    with pytest.raises(ValueError, match=r"cluster_detection_method must be one of \['k8s', .* got 'pbs'"):
        detect("pbs")
    with pytest.raises(
        RuntimeError, match=r"cluster_detection_method='slurm' must be the way in which this process was started"
    ):
        detect("slurm")
    assert detect("deactivate") == Place()
    assert "mpi4py" not in sys.modules
