"""Processes meet, and learn what becomes of each other; here they are threads."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from processes import HANG, free_address

from primax.interpreters.runtime.devices.peer_links import LEFT, meet, split_address

pytestmark = pytest.mark.any_word_size


def _meet_all(arguments, timeout=HANG):
    """What `meet` returns or raises in each of several threads; arguments are (index, count, versions)."""
    address = split_address("test", "address", free_address())
    results = {}

    def run(place, index, count, versions):
        try:
            results[place] = meet(address, None, index, count, versions, timeout, lambda: "service")
        except RuntimeError as error:
            results[place] = str(error)

    threads = [threading.Thread(target=run, args=(i, *each)) for i, each in enumerate(arguments)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    return [results[i] for i in range(len(arguments))]


def _call(address, words):
    """Connect to an address as soon as somebody listens there, and say something."""
    while True:
        try:
            with socket.create_connection(address, timeout=HANG) as connection:
                return connection.sendall(words)
        except ConnectionRefusedError:
            time.sleep(0.01)


def _until(condition):
    end = time.monotonic() + HANG
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def _heard(links):
    assert links.lost.keys() <= links.news.keys()
    return links.news


def test_processes_meet_and_hear_of_who_fails_leaves_or_ends():
    (first, service), (second, nothing), (third, _) = _meet_all([(0, 3, "v"), (1, 3, "v"), (2, 3, "v")])
    assert service == "service"
    assert nothing is None
    assert [links.host for links in (first, second, third)] == ["127.0.0.1"] * 3
    assert first.lost == second.lost == third.lost == {}
    second.tell("failed: ValueError: bad")
    assert _until(lambda: 1 in first.lost and 1 in third.lost)
    assert third.lost == {1: "failed: ValueError: bad"}
    third.tell(LEFT)
    assert _until(lambda: 2 in _heard(second) and 2 in _heard(first))
    assert 2 not in second.lost
    assert second.left.keys() == {2}
    third.close()  # it has left, so that nothing is new
    first.close()
    assert _until(lambda: 0 in second.lost)
    assert "has ended without notice" in second.lost[0]
    assert 2 not in second.lost
    second.close()


def test_all_wait_for_all_to_leave_and_hear_who_does_not():
    (first, _), (second, _) = _meet_all([(0, 2, "v"), (1, 2, "v")])
    assert first.wait_for_all_to_leave(0.05) == [1]
    second.tell(LEFT)
    assert first.wait_for_all_to_leave(HANG) == []
    first.tell(LEFT)
    assert second.wait_for_all_to_leave(HANG) == []
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ((1, 3, "v"), "num_processes is 3 in process 1, but 2 in process 0"),
        ((1, 2, "w"), "process 1 runs w, but process 0 runs v"),
        ((5, 2, "v"), "two processes with the number 5"),
    ],
)
def test_processes_that_do_not_fit_are_refused_in_both(second, problem):
    for message in _meet_all([(0, 2, "v"), second]):
        assert message.startswith("distributed.initialize: ")
        assert problem in message


def test_who_does_not_come_is_named_in_all_others():
    for message in _meet_all([(0, 4, "v"), (2, 4, "v")], timeout=2.0):
        assert "the processes [1, 3] did not connect within 2 s" in message


def test_a_process_without_process_0_says_where_that_should_be():
    (message,) = _meet_all([(1, 2, "v")], timeout=0.3)
    assert "process 1 could not reach process 0, which should be at 127.0.0.1:" in message
    assert "within 0.3 s" in message


@pytest.mark.parametrize("words", [b"", b"GET / HTTP/1.1\r\n\r\n", b"[1]\n", b'{"other": 1}\n'])
def test_strangers_who_call_are_let_go(words):
    address = split_address("test", "address", free_address())
    found = []
    host = threading.Thread(
        target=lambda: found.append(meet(address, address, 0, 2, "v", HANG, lambda: "started")), daemon=True
    )
    host.start()
    _call(address, words)
    links, _ = meet(address, None, 1, 2, "v", HANG, lambda: None)
    host.join(HANG)
    assert found[0][1] == "started"
    links.close()
    found[0][0].close()


def test_an_address_in_use_is_told():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with pytest.raises(RuntimeError, match=r"process 0 cannot listen at 127.0.0.1, port \d+"):
            meet(address, address, 0, 2, "v", 1.0, lambda: None)


@pytest.mark.parametrize("address", ["here", "host:", ":1", "h:99999", "h:x"])
def test_addresses_without_host_and_port_are_refused(address):
    with pytest.raises(ValueError, match=r"f: a must be host and port"):
        split_address("f", "a", address)
    with pytest.raises(TypeError, match=r"f: a must be a str"):
        split_address("f", "a", 3)
