"""The C++ part of the package; all else is in pyproject.toml."""

from pathlib import Path

import jaxlib.version
from setuptools import Extension, setup

# What primax.extend.ffi.include_dir() returns; to build, jaxlib is enough.
headers = Path(jaxlib.version.__file__).parent / "include"

setup(
    ext_modules=[
        Extension(
            "primax_ffi_cpu._recurrence",
            sources=["src/primax_ffi_cpu/recurrence.cc"],
            include_dirs=[str(headers)],
            extra_compile_args=["-std=c++17", "-O3"],
            language="c++",
        )
    ]
)
