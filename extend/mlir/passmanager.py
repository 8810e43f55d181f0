"""jaxlib's module `passmanager`: importing this module gives jaxlib's."""

import sys

from primax.core import _jaxlib

sys.modules[__name__] = _jaxlib.passmanager
