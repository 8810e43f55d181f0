"""Traces and memory profiles, and events that libraries record."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import monitoring, profiler


def names(data):
    return {event.name for plane in data.planes for line in plane.lines for event in line.events}


def test_a_trace_has_blocks_steps_and_calls_by_their_names(tmp_path):
    @profiler.annotate_function
    def step_of_a_test(x):
        return px.jit(pnp.sin)(x)

    with profiler.trace(tmp_path) as session:
        with profiler.StepTraceAnnotation("train", step_num=3):
            step_of_a_test(np.float32(1)).block_until_ready()
        with profiler.TraceAnnotation("a block of a test", batch=2):
            pass
    found = names(session.profile_data)
    assert {"a block of a test", "train"} <= found
    assert any(name.endswith("step_of_a_test") for name in found)
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_a_trace_begins_and_ends_by_calls(tmp_path):
    with pytest.raises(RuntimeError, match="stop_trace: no trace is being recorded"):
        profiler.stop_trace()
    profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="start_trace: a trace is being recorded already"):
        profiler.start_trace(tmp_path)
    assert isinstance(profiler.stop_trace(), profiler.ProfileData)


def test_files_for_perfetto_are_written_and_links_refused(tmp_path):
    profiler.start_trace(tmp_path, create_perfetto_trace=True)
    with profiler.TraceAnnotation("a block for perfetto"):
        pass
    profiler.stop_trace()
    (path,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    with gzip.open(path, "rb") as file:
        traced = json.load(file)
    assert "metadata" not in traced
    assert "a block for perfetto" in {event.get("name") for event in traced["traceEvents"]}
    with pytest.raises(ValueError, match="log_dir must be a folder where create_perfetto_trace is, got None"):
        profiler.ProfileSession(create_perfetto_trace=True)
    with pytest.raises(NotImplementedError, match=r"create_perfetto_link must be False; write a file by .*, got True"):
        profiler.ProfileSession(create_perfetto_link=True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: profiler.start_trace(3), TypeError, "ProfileSession: log_dir must be a path, got 3"),
        (lambda: profiler.trace(profiler_options=3).__enter__(), TypeError, "profiler_options must be a Prof"),
        (lambda: profiler.start_server("a"), TypeError, "start_server: port must be an integer, got 'a'"),
        (lambda: profiler.start_server(-1), ValueError, r"start_server: port must be in \[1, 65535\], got -1"),
        (lambda: profiler.save_device_memory_profile(3), TypeError, "filename must be a path, got 3"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_begun(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert not profiler._at_work


def test_memory_is_profiled(tmp_path):
    kept = pnp.ones(1000)
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert len((tmp_path / "memory.prof").read_bytes()) > 100
    assert kept.shape == (1000,)


def test_listeners_hear_of_events_until_they_are_taken_out():
    heard = []

    def listener(*args, **metadata):
        heard.append((args, metadata))

    for register in (
        monitoring.register_event_listener,
        monitoring.register_event_duration_secs_listener,
        monitoring.register_event_time_span_listener,
        monitoring.register_scalar_listener,
    ):
        register(listener)
    monitoring.record_event("/a", n=1)
    monitoring.record_event_duration_secs("/b", 0.5)
    monitoring.record_event_time_span("/c", 1.0, 2.0)
    monitoring.record_scalar("/d", 3)
    assert heard == [(("/a",), {"n": 1}), (("/b", 0.5), {}), (("/c", 1.0, 2.0), {}), (("/d", 3), {})]
    monitoring.unregister_event_listener(listener)
    monitoring.record_event("/a")
    assert len(heard) == 4
    with pytest.raises(ValueError, match="unregister_event_listener: callback must be registered"):
        monitoring.unregister_event_listener(listener)
    monitoring.clear_event_listeners()
    monitoring.record_scalar("/d", 3)
    assert len(heard) == 4


def test_listeners_hear_of_compilation_under_the_names_of_jax(tmp_path, jax):
    def told(module, run):
        heard = []
        module.monitoring.register_event_duration_secs_listener(
            lambda event, seconds, **metadata: heard.append((event, seconds >= 0, metadata))
        )
        try:
            run(module)
        finally:
            module.monitoring.clear_event_listeners()
        return [each for each in heard if each[0].startswith("/jax/core/compile/")]

    def run(module):
        def twice(x):
            return x * 2 + 17

        jitted = module.jit(twice)
        jitted(np.ones(5, "f4"))
        jitted(np.ones(5, "f4"))
        lowered = jitted.lower(np.ones((5, 6), "f4"))
        lowered.compile()
        module.make_jaxpr(twice)(1)

    assert told(px, run) == told(jax, run)
    heard = []
    monitoring.register_event_listener(lambda event, **metadata: heard.append(event))
    monitoring.register_event_time_span_listener(lambda event, start, end, **metadata: heard.append(start <= end))
    options = "compilation_cache_dir", "persistent_cache_min_compile_time_secs"
    before = [px.config.read(option) for option in options]
    try:
        for option, value in zip(options, (tmp_path, 0), strict=True):
            px.config.update(option, value)
        for _ in range(2):
            px.jit(lambda x: x * 3 + 19)(np.ones(5, "f4"))
    finally:
        monitoring.clear_event_listeners()
        for option, value in zip(options, before, strict=True):
            px.config.update(option, value)
    assert [event for event in heard if "cache_" in str(event)] == [
        "/jax/compilation_cache/cache_misses",
        "/jax/compilation_cache/cache_hits",
    ]
    assert heard.count(True) == 6


@pytest.mark.parametrize("name", [name for name in monitoring.__all__ if name.startswith("register_")])
def test_what_is_no_function_does_not_listen(name):
    with pytest.raises(TypeError, match=rf"^{name}: callback must be callable, got 3$"):
        getattr(monitoring, name)(3)
    monitoring.record_event("/a")
    monitoring.record_event_duration_secs("/b", 0.5)
    monitoring.record_event_time_span("/c", 1.0, 2.0)
    monitoring.record_scalar("/d", 3)


@pytest.mark.parametrize(
    "pid, port, message",
    [(np.ones(2), 9000, "pid must be an integer"), (-1, 9000, "pid must be the number"), (7, 2**31, "port must be in")],
)
def test_a_process_and_a_port_are_numbers(pid, port, message):
    with pytest.raises((TypeError, ValueError), match=f"^register_subprocess: {message}"):
        profiler.register_subprocess(pid, port)


def test_names_of_blocks_are_strings_and_functions_are_called():
    with pytest.raises(TypeError, match=r"^TraceAnnotation: name must be a string, got 3"):
        profiler.TraceAnnotation(3)
    with pytest.raises(TypeError, match=r"^annotate_function: func must be callable, got 3"):
        profiler.annotate_function(3)
