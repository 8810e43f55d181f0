"""`jax.config` in the stand-in for JAX: the options of primax, and options of JAX that do not change results."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ContextDecorator
from typing import Any

from primax.core.config import config as _options
from primax.core.option import options
from primax.porting.absent import AbsentNameError, record

__all__ = [
    "JaxConfig",
    "_read",
    "config",
    "config_states",
    "config_with_absl",
    "enable_custom_prng",
    "legacy_prng_key",
    "parse_flags_with_absl",
    "state",
    "update",
]

# Options of JAX that primax lacks, with JAX's defaults. Those of the first table have no influence on results.
_FREE: dict[str, Any] = {
    "array_garbage_collection_guard": None,
    "captured_constants_report_frames": 0,
    "captured_constants_warn_bytes": 2_000_000_000,
    "check_proxy_envs": True,
    "compilation_cache_check_contents": False,
    "compilation_cache_expect_pgle": False,
    "compilation_cache_include_metadata_in_key": False,
    "compiler_detailed_logging_min_ops": 10,
    "compiler_enable_remat_pass": True,
    "cpu_collectives_implementation": "gloo",
    "cpu_enable_async_dispatch": True,
    "custom_jvp3": False,
    "custom_vjp3": False,
    "debug_leaked_clients_on_clear_backends": False,
    "debug_log_modules": "",
    "distributed_debug": False,
    "dump_ir_modes": "stablehlo",
    "dump_ir_to": "",
    "enable_compilation_cache": True,
    "enable_pgle": False,
    "enable_preemption_service": True,
    "enable_recoverability": False,
    "exec_time_optimization_effort": 0.0,
    "export_calling_convention_version": 10,
    "export_ignore_forward_compatibility": False,
    "hlo_source_file_canonicalization_regex": None,
    "include_debug_info_in_dumps": True,
    "include_full_tracebacks_in_locations": True,
    "log_checkpoint_residuals": False,
    "logging_level": "NOTSET",
    "memory_fitting_effort": 0.0,
    "memory_fitting_level": "O2",
    "mosaic_unzip_debug_locations": True,
    "optimization_level": "UNKNOWN",
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "persistent_cache_min_entry_size_bytes": 0,
    "pgle_aggregation_percentile": 90,
    "pgle_profiling_runs": 3,
    "pmap_no_rank_reduction": True,
    "pmap_shmap_merge": True,
    "pprint_use_color": True,
    "raise_persistent_cache_errors": False,
    "remat3": False,
    "remat_barrier_no_cotangents": False,
    "remove_custom_partitioning_ptr_from_cache_key": False,
    "scan3": False,
    "send_traceback_to_runtime": "off",
    "share_binary_between_hosts": False,
    "share_binary_between_hosts_timeout_ms": 1_200_000,
    "skip_slow_tests": False,
    "source_url_schema": None,
    "thread_guard": False,
    "traceback_in_locations_limit": 100,
    "tracer_error_num_traceback_frames": 5,
    "use_direct_linearize": True,
    "use_magma": "auto",
    "use_shardy_partitioner": True,
    "use_simplified_jaxpr_constants": False,
    "xla_profile_version": 0,
}
_FIXED: dict[str, Any] = {
    "allow_f16_reductions": True,
    "check_static_indices": False,
    "check_vma": True,
    "disable_bwd_checks": False,
    "disable_most_optimizations": False,
    "disable_vmap_shmap_error": False,
    "eager_constant_folding": False,
    "enable_custom_prng": False,
    "error_checking_behavior_divide": "ignore",
    "error_checking_behavior_nan": "ignore",
    "error_checking_behavior_oob": "ignore",
    "high_dynamic_range_gumbel": False,
    "legacy_prng_key": "allow",
    "mutable_array_checks": True,
    "random_seed_offset": 0,
    "remove_size_one_mesh_axis_from_type": False,
    "softmax_custom_jvp": False,
}


def _short(name: str) -> str:
    return name.removeprefix("jax_") if isinstance(name, str) else name


class JaxConfig:
    """All options, as attributes with or without the prefix `jax_`, and through `read` and `update`.

    Options of JAX that primax lacks are read as JAX's defaults. Options that do not change results may be
    set, and have no effect; setting any other option to another value raises an error.
    """

    def __init__(self) -> None:
        self._set: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "x64_enabled":
            name = "enable_x64"
        short = _short(name)
        for values in (self.__dict__.get("_set", {}), _FREE, _FIXED):
            if short in values:
                return values[short]
        return getattr(_options, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or callable(getattr(JaxConfig, name, None)):  # packages replace methods
            object.__setattr__(self, name, value)
        else:
            self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.values]

    def __reduce__(self) -> str:
        return "config"

    @property
    def values(self) -> dict[str, Any]:
        """The value of each option in the current thread, by JAX's names."""
        known = {**_FIXED, **_FREE, **_options.values, **self._set}
        return {f"jax_{name}": known[name] for name in sorted(known)}

    def read(self, name: str) -> Any:
        """The value of an option in the current thread."""
        return getattr(self, name)

    def update(self, name: str, val: Any) -> None:
        """Set an option for the process.

        Raises:
          AttributeError: the option does not exist, or primax supports only JAX's default.
        """
        short = _short(name)
        if short in _FREE:
            self._set[short] = val
        elif short not in _FIXED:
            _options.update(name, val)
        elif getattr(val, "value", val) != _FIXED[short]:
            record(f"jax.config.jax_{short}")
            rule = f"{name} must be {_FIXED[short]!r}, JAX's default, which primax works by"
            raise AbsentNameError(f"config.update: {rule}, got {val!r}", name=name, obj=self)

    def config_with_absl(self) -> None:
        """Let absl, if the program uses it, accept flags such as `--jax_enable_x64`."""
        flags = sys.modules.get("absl.flags")
        if flags is None:
            return
        for short, value in {**_FREE, **_options.values}.items():
            name = f"jax_{short}"
            if name in flags.FLAGS:
                continue
            if isinstance(value, bool):
                flags.DEFINE_bool(name, value, f"The option {name}.")
            else:
                flags.DEFINE_string(name, None, f"The option {name}.")

    def parse_flags_with_absl(self) -> None:
        """Set options from flags on the command line, such as `--jax_enable_x64` or `--jax_platforms=cpu`.

        If the program uses absl, its flags can be read afterwards, as after JAX's method of this name.
        """
        self.config_with_absl()
        flags = sys.modules.get("absl.flags")
        if flags is not None and not flags.FLAGS.is_parsed():
            flags.FLAGS(
                ["", *(word for word in sys.argv[1:] if word.startswith(("--jax", "--nojax")))], known_only=True
            )
        known = {**_FREE, **_options.values}
        for word in sys.argv[1:]:
            name, equals, text = word.lstrip("-").partition("=")
            short = name.removeprefix("no").removeprefix("jax_")
            if not word.startswith("--") or not name.startswith(("jax_", "nojax_")) or short not in known:
                continue
            if not equals:
                text = "false" if name.startswith("no") else "true"
            self.update(short, options[short].kind.read(text) if short in options else text)


config = JaxConfig()


class enable_custom_prng(ContextDecorator):
    """The decorator `jax.enable_custom_prng`, for typed keys from `PRNGKey`; primax only supports False.

    Raises:
      AttributeError: on entry, if the argument is true.
    """

    def __init__(self, new_val: bool = True) -> None:
        self._value = new_val

    def __enter__(self) -> None:
        config.update("jax_enable_custom_prng", self._value)

    def __exit__(self, *_: object) -> None:
        pass


class legacy_prng_key(ContextDecorator):
    """The decorator `jax.legacy_prng_key`, for the treatment of raw keys; primax only supports "allow".

    Raises:
      AttributeError: on entry, if the argument is "warn" or "error".
    """

    def __init__(self, new_val: str) -> None:
        self._value = new_val

    def __enter__(self) -> None:
        config.update("jax_legacy_prng_key", self._value)

    def __exit__(self, *_: object) -> None:
        pass


class _State(ContextDecorator):
    """An option of JAX that primax lacks: its value, and `with` blocks that set it."""

    def __init__(self, name: str, value: Any = None) -> None:
        self._name, self._new = name, value

    @property
    def value(self) -> Any:
        """The value of the option."""
        return config.read(self._name)

    def __call__(self, new_val: Any = True) -> Any:
        return _State(self._name, new_val)

    def __enter__(self) -> None:
        self._old = self.value
        config.update(self._name, self._new)

    def __exit__(self, *_: object) -> None:
        config.update(self._name, self._old)


def state(name: str) -> Any:
    """An option by its name in JAX, with or without the prefix `jax_`: it has a `value`, and a call sets it in a block.

    Raises:
      AttributeError: the option does not exist.
    """
    short = _short(name)
    if short in options:
        return options[short]
    if short in _FREE or short in _FIXED:
        return _State(name)
    raise AttributeError(f"jax.config has no option {name!r}")


class _States(Mapping[str, Any]):
    """All options by their names in JAX."""

    def __getitem__(self, name: str) -> Any:
        try:
            return state(name)
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(config.values)

    def __len__(self) -> int:
        return len(config.values)


config_states = _States()


def _read(name: str) -> Any:
    """The value of an option in the current thread."""
    return config.read(name)


def parse_flags_with_absl() -> None:
    """Set options from flags on the command line."""
    config.parse_flags_with_absl()


def config_with_absl() -> None:
    """Let absl accept flags for options."""
    config.config_with_absl()


def update(name: str, val: Any) -> None:
    """Set an option for the process."""
    config.update(name, val)


def __getattr__(name: str) -> Any:
    """An option, such as `enable_x64`: packages read `.value`, and call it."""
    if not name.startswith("_"):
        return state(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
