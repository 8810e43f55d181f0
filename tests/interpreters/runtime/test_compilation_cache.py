"""Compiled programs are found again by other processes, and a cache that is broken only costs time."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.core import _jaxlib
from primax.extend import options as config
from primax.interpreters.runtime import compilation_cache, device_put
from primax.plugins.arithmetic import add, mul

pytestmark = pytest.mark.usefixtures("in_32_bits")

ONES = np.ones(3, np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = config.compilation_cache_dir.value, config.persistent_cache_min_compile_time_secs.value
    px.config.update("compilation_cache_dir", tmp_path / "cache")
    px.config.update("persistent_cache_min_compile_time_secs", 0)
    yield tmp_path / "cache"
    px.config.update("compilation_cache_dir", before[0])
    px.config.update("persistent_cache_min_compile_time_secs", before[1])


def compile_events(caplog: Any, run: Callable[[], Any]) -> list[str]:
    """What was compiled and what was loaded during a call, in order."""
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="primax"):
        run()
    return [record.getMessage().split()[0] for record in caplog.records]


def program(scale: float = 3.0) -> Any:
    return px.jit(lambda x: mul(add(x, x), np.float32(scale)))


def test_a_program_is_compiled_once_and_then_loaded(folder: Path, caplog: Any) -> None:
    assert compile_events(caplog, lambda: program()(ONES)) == ["compiled"]
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns
    assert compile_events(caplog, lambda: program()(ONES)) == ["loaded"]
    assert file.stat().st_mtime_ns == before
    assert program()(ONES).tolist() == [6.0] * 3
    f = program()
    f(ONES)
    assert compile_events(caplog, lambda: f(ONES)) == []


def test_the_key_tells_programs_apart(folder: Path, caplog: Any) -> None:
    program()(ONES)
    assert compile_events(caplog, lambda: program(4.0)(ONES)) == ["compiled"]
    assert compile_events(caplog, lambda: program()(np.ones(4, np.float32))) == ["compiled"]
    assert compile_events(caplog, lambda: px.jit(lambda x: add(x, x), donate_argnums=0)(px.device_put(ONES))) == [
        "compiled"
    ]
    assert compile_events(caplog, lambda: px.jit(lambda x: add(x, x))(px.device_put(ONES))) == ["compiled"]
    assert len(list(folder.iterdir())) == 5


def test_the_key_depends_on_options_and_flags_but_not_on_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def lowered() -> Any:
        return px.jit(lambda x: add(x, x)).lower(ONES)._lowered.module

    def moved() -> Any:
        return px.jit(lambda x: add(x, x)).lower(ONES)._lowered.module

    device = px.devices()[0]
    options = device_put.compile_options([device])
    key = compilation_cache.key_of(lowered(), options, device)
    assert compilation_cache.key_of(moved(), options, device) == key
    other = device_put.compile_options([device])
    other.num_replicas = 2
    assert compilation_cache.key_of(lowered(), other, device) != key
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert compilation_cache.key_of(lowered(), options, device) != key


def test_quick_programs_are_not_kept(folder: Path) -> None:
    px.config.update("persistent_cache_min_compile_time_secs", 1000)
    program()(ONES)
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["empty", "garbage", "cut", "flipped"])
def test_a_damaged_file_is_ignored_and_replaced(folder: Path, caplog: Any, damage: str) -> None:
    program()(ONES)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(
        {
            "empty": b"",
            "garbage": b"what is this",
            "cut": whole[:-10],
            "flipped": whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
        }[damage]
    )
    with pytest.warns(UserWarning, match=f"{file.name} is ignored, since it is damaged"):
        assert compile_events(caplog, lambda: program()(ONES)) == ["compiled"]
    assert compile_events(caplog, lambda: program()(ONES)) == ["loaded"]


def test_a_file_that_xla_cannot_load_is_ignored_and_replaced(folder: Path, caplog: Any) -> None:
    program()(ONES)
    (file,) = folder.iterdir()
    compilation_cache.write(str(folder), file.stem, b"no executable")
    with pytest.warns(UserWarning, match="XLA cannot load it"):
        assert compile_events(caplog, lambda: program()(ONES)) == ["compiled"]
    assert compile_events(caplog, lambda: program()(ONES)) == ["loaded"]


def test_an_entry_under_the_name_of_another_program_is_ignored(folder: Path, caplog: Any) -> None:
    program()(ONES)
    (file,) = folder.iterdir()
    program(4.0)(ONES)
    (other,) = set(folder.iterdir()) - {file}
    other.write_bytes(file.read_bytes())
    with pytest.warns(UserWarning, match=f"{other.name} is ignored, since it is damaged"):
        assert compile_events(caplog, lambda: program(4.0)(ONES)) == ["compiled"]


def test_a_directory_that_cannot_be_written_costs_only_a_warning(tmp_path: Path, folder: Path, caplog: Any) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a directory")
    px.config.update("compilation_cache_dir", occupied / "cache")
    with pytest.warns(UserWarning, match="compilation cache: .* cannot be") as caught:
        assert program()(ONES).tolist() == [6.0] * 3
    assert any("cannot be written to" in str(one.message) for one in caught)


def test_nothing_half_written_is_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Any, target: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(UserWarning, match="no space left"):
        program()(ONES)
    assert list(folder.iterdir()) == []


PROCESS = """
import logging, sys
logging.basicConfig(format="%(message)s", stream=sys.stdout)
import numpy as np, primax as px
from primax.plugins.arithmetic import add
{lines}f = px.jit(lambda x: add(x, x))
assert f(np.ones(3, np.float32)).tolist() == [2.0] * 3
g = px.jit(lambda x: add(f(x), x), donate_argnums=0)
x = px.device_put(np.ones(3, np.float32), px.devices()[{device}])
assert g(x).tolist() == [3.0] * 3 and x.is_deleted()
"""


def test_another_process_does_not_compile(tmp_path: Path) -> None:
    def run(lines: int = 0, device: int = 0) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", PROCESS.format(lines="\n" * lines, device=device)],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PRIMAX_COMPILATION_CACHE_DIR": str(tmp_path),
                "PRIMAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "PRIMAX_LOG_COMPILES": "1",
                "PRIMAX_NUM_CPU_DEVICES": "2",
            },
        )
        assert done.returncode == 0, done.stderr
        return [line.split()[0] for line in done.stdout.splitlines()]

    assert run() == ["compiled", "compiled"]
    assert run() == ["loaded", "loaded"]
    assert run(lines=7) == ["loaded", "loaded"]
    assert run(device=1) == ["loaded", "compiled"]


@pytest.mark.skipif(
    _jaxlib.release < _jaxlib.QUIET_LOADING, reason="loading is not quiet there, so that nothing is kept"
)
def test_programs_are_kept_in_the_cache_of_the_user_unless_told_otherwise(tmp_path: Path) -> None:
    code = (
        "import primax as px; print(px.config.compilation_cache_dir, px.config.persistent_cache_min_compile_time_secs)"
    )

    def found(**environment: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRIMAX_", "JAX_", "XDG_"))}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**kept, **environment}
        )
        return done.stdout.strip()

    assert found(XDG_CACHE_HOME=str(tmp_path)) == f"{tmp_path / 'primax'} 0.0"
    assert found(HOME=str(tmp_path)) == f"{tmp_path / '.cache' / 'primax'} 0.0"
    assert found(PRIMAX_COMPILATION_CACHE_DIR="") == "None 0.0"


def test_eager_operations_are_kept_too(folder: Path, caplog: Any) -> None:
    px.clear_caches()
    assert "compiled" in compile_events(caplog, lambda: add(ONES, ONES))
    px.clear_caches()
    assert compile_events(caplog, lambda: add(ONES, ONES)) == ["loaded"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no modes here")
@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666])
def test_a_file_that_others_may_write_to_is_not_loaded(folder: Path, caplog: Any, mode: int) -> None:
    program()(ONES)
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    file.chmod(mode)
    with pytest.warns(UserWarning, match="another user owns it or can write to it"):
        assert compile_events(caplog, lambda: program()(ONES)) == ["compiled"]
    assert compile_events(caplog, lambda: program()(ONES)) == ["loaded"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_file_of_another_user_is_not_loaded(folder: Path, caplog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program()(ONES)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.warns(UserWarning, match="another user owns it"):
        assert compile_events(caplog, lambda: program()(ONES)) == ["compiled"]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed here")
def test_a_link_is_not_followed(folder: Path, tmp_path: Path, caplog: Any) -> None:
    program()(ONES)
    (file,) = folder.iterdir()
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert compile_events(caplog, lambda: program()(ONES)) == ["compiled"]


def test_programs_that_were_not_used_for_longest_go_when_there_are_too_many(folder: Path, caplog: Any) -> None:
    for scale in (1.0, 2.0, 3.0):
        program(scale)(ONES)
    files = {
        scale: path
        for scale, (_, _, path) in zip((1.0, 2.0, 3.0), compilation_cache.contents(str(folder)), strict=True)
    }
    assert compile_events(caplog, lambda: program(1.0)(ONES)) == ["loaded"]
    used = [path for _, _, path in compilation_cache.contents(str(folder))]
    assert used == [files[2.0], files[3.0], files[1.0]]
    compilation_cache.prune(str(folder), files[3.0].stat().st_size + files[1.0].stat().st_size)
    assert set(folder.iterdir()) == {files[3.0], files[1.0]}


def test_the_directory_stays_below_its_size(folder: Path) -> None:
    program()(ONES)
    size = sum(path.stat().st_size for path in folder.iterdir())
    with config.compilation_cache_max_size(3 * size):
        for scale in range(8):
            program(float(scale))(ONES)
            assert sum(path.stat().st_size for path in folder.iterdir()) <= 3 * size + 64


def test_what_a_process_left_half_written_goes(folder: Path) -> None:
    folder.mkdir()
    old, new = folder / "old.part", folder / "new.part"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (0, 0))
    compilation_cache.prune(str(folder), 2**20)
    assert list(folder.iterdir()) == [new]


def test_the_directory_of_the_user_may_be_unusable_without_a_word(
    tmp_path: Path, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a directory")
    unusable = str(tmp_path / "file" / "primax")
    monkeypatch.setattr(config.compilation_cache_dir, "default", unusable)
    with config.compilation_cache_dir(unusable), caplog.at_level(logging.DEBUG, logger="primax"):
        assert program()(ONES).tolist() == [6.0] * 3
        assert "cannot be written to" in caplog.text
        caplog.clear()
        program(2.0)(ONES)
        assert "cannot be written to" not in caplog.text  # once is enough
