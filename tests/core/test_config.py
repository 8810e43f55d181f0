"""Options: values, overrides, validation and the environment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from primax.core.trace_state import thread
from primax.extend import options as config_module
from primax.extend.options import (
    Option,
    compilation_cache_dir,
    config,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    log_compiles,
    numpy_dtype_promotion,
    persistent_cache_min_compile_time_secs,
    strict_plugins,
)


def in_new_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PRIMAX_", "JAX_"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def restored():
    before = {option: option.get_global() for option in config}
    yield
    for option, value in before.items():
        option.update(value)


def test_all_is_sorted_and_exists():
    assert config_module.__all__ == sorted(config_module.__all__)
    assert all(hasattr(config_module, name) for name in config_module.__all__)


def test_defaults_without_environment():
    code = "from primax import config; print([o.short_name for o in config if o.value != o.default])"
    result = in_new_process(code)
    assert result.stdout == "[]\n", result.stderr


def test_options_with_values_are_context_managers_too(tmp_path):
    with numpy_dtype_promotion("strict"), default_matmul_precision("high"), compilation_cache_dir(tmp_path):
        assert numpy_dtype_promotion.value == "strict"
        assert default_matmul_precision.value == "high"
        assert compilation_cache_dir.value == str(tmp_path)
        with default_matmul_precision(None), compilation_cache_dir(None):
            assert default_matmul_precision.value is None
            assert compilation_cache_dir.value is None
        with persistent_cache_min_compile_time_secs(2):
            assert persistent_cache_min_compile_time_secs.value == 2.0


@pytest.mark.usefixtures("restored")
def test_update_sets_the_value_of_every_thread_with_or_without_prefix():
    before = enable_x64.value
    seen = []
    config.update("enable_x64", not before)
    thread = threading.Thread(target=lambda: seen.append(enable_x64.value))
    thread.start()
    thread.join()
    assert seen == [not before]
    config.update("primax_enable_x64", before)
    assert enable_x64.value is before


@pytest.mark.usefixtures("restored")
def test_update_does_not_end_an_override():
    with log_compiles(True):
        config.update("log_compiles", False)
        assert log_compiles.value is True
    assert log_compiles.value is False


def test_config_reads_options_as_attributes():
    with enable_x64(True):
        assert config.enable_x64 is True
        assert config.primax_enable_x64 is True
        assert config.values["enable_x64"] is True
    assert {option.short_name for option in config} <= set(dir(config))


def test_config_refuses_unknown_names_and_assignment():
    with pytest.raises(AttributeError, match=r"Unrecognized config option: 'enable_x46'; did you mean 'enable_x64'\?"):
        config.update("enable_x46", True)
    with pytest.raises(AttributeError, match="option: 'enable_x46'"):
        _ = config.enable_x46
    with pytest.raises(AttributeError, match=r"config\.update\('enable_x64', True\)"):
        config.enable_x64 = True


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("enable_x64", "yes", "enable_x64: value must be True or False, got 'yes'"),
        ("enable_x64", 1, "enable_x64: value must be True or False, got 1"),
        (
            "numpy_dtype_promotion",
            "loose",
            "numpy_dtype_promotion: value must be one of 'standard', 'strict', got",
        ),
        (
            "default_matmul_precision",
            "higher",
            "default_matmul_precision: value must be one of None, 'default'",
        ),
        ("default_matmul_precision", [], r"got \[\]"),
        ("compilation_cache_dir", 3, "compilation_cache_dir: value must be a path or None, got 3"),
        ("persistent_cache_min_compile_time_secs", -1, "seconds, zero or more, got -1"),
        ("persistent_cache_min_compile_time_secs", float("nan"), "got nan"),
        ("persistent_cache_min_compile_time_secs", True, "got True"),
    ],
)
def test_values_are_validated(name, value, message):
    option = next(o for o in config if o.short_name == name)
    before = option.value
    with pytest.raises(ValueError, match=message):
        config.update(name, value)
    with pytest.raises(ValueError, match=message):
        option(value)
    assert option.value == before


def test_listing_names_each_option_with_its_documentation():
    listing = repr(config)
    for option in config:
        assert isinstance(option, Option)
        assert f"{option.short_name} = {option.value!r}" in listing
        assert option.doc in listing
        assert option.env in listing


@pytest.mark.parametrize(
    "text, value", [("1", True), ("true", True), ("ON", True), ("0", False), ("no", False), ("Off", False)]
)
def test_flags_come_from_the_environment(text, value):
    code = "from primax import config; print(config.enable_x64, config.strict_plugins)"
    result = in_new_process(code, PRIMAX_ENABLE_X64=text, PRIMAX_STRICT_PLUGINS=text)
    assert result.stdout == f"{value} {value}\n", result.stderr


def test_other_options_come_from_the_environment():
    code = "from primax import config; print(config.values)"
    result = in_new_process(
        code,
        PRIMAX_COMPILATION_CACHE_DIR="/somewhere",
        PRIMAX_NUMPY_DTYPE_PROMOTION="strict",
        PRIMAX_DEFAULT_MATMUL_PRECISION="highest",
        PRIMAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0.5",
    )
    for part in (
        "'compilation_cache_dir': '/somewhere'",
        "'numpy_dtype_promotion': 'strict'",
        "'default_matmul_precision': 'highest'",
        "'persistent_cache_min_compile_time_secs': 0.5",
    ):
        assert part in result.stdout, result.stderr


def test_a_bad_environment_variable_is_named():
    result = in_new_process("import primax.core.config", PRIMAX_ENABLE_X64="maybe")
    assert "environment variable PRIMAX_ENABLE_X64 must be True or False, got 'maybe'" in result.stderr


@pytest.mark.parametrize(
    "option, value",
    [
        (enable_x64, None),
        (disable_jit, None),
        (numpy_dtype_promotion, "strict"),
        (default_matmul_precision, "highest"),
    ],
    ids=lambda x: getattr(x, "short_name", ""),
)
def test_settings_depend_on_options_that_affect_tracing(option, value):
    before = thread.config
    with option(not option.value if value is None else value):
        assert thread.config is not before
        with option(option.value):
            inside = thread.config
        assert thread.config is inside
    assert thread.config is before


@pytest.mark.parametrize("option", [strict_plugins, log_compiles], ids=lambda o: o.short_name)
def test_settings_ignore_options_that_do_not(option):
    before = thread.config
    with option(not option.value):
        assert thread.config is before


def test_settings_for_the_process_reach_threads_without_overrides(restored):
    seen = []

    def look():
        seen.append((thread.config, enable_x64.value))

    before = thread.config
    for value in (not enable_x64.value, enable_x64.value):
        config.update("enable_x64", value)
        other = threading.Thread(target=look)
        other.start()
        other.join()
        assert seen[-1] == (thread.config, value)
    assert thread.config.values == before.values  # the same object only if no other thread is alive
    assert seen[0][0].values != before.values


def test_settings_of_a_thread_with_overrides_follow_the_process_when_those_end(restored):
    with disable_jit(True):
        inside = thread.config
        config.update("enable_x64", not enable_x64.value)
        assert thread.config is not inside
        with disable_jit(False):
            changed = thread.config
    assert thread.config is changed
