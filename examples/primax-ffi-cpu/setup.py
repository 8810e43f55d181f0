"""The build of the C++ part; everything else is in pyproject.toml."""

from pathlib import Path

import jaxlib.version
from setuptools import Extension, setup

# The same as primax.extend.ffi.include_dir(), but the build needs only jaxlib.
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
