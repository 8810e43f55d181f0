"""jaxlib's module `ir`: importing this module gives jaxlib's."""

import sys

from primax.core import _jaxlib

sys.modules[__name__] = _jaxlib.ir
