"""jaxlib's dialect `math`: importing this module gives jaxlib's."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("jaxlib.mlir.dialects.math")
