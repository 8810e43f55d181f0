"""Where primax differs from jax on purpose: the one table, each entry with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fuzz.compare import Difference


@dataclass(frozen=True)
class Meant:
    """A difference that is meant.

    Args:
      functions: a regular expression that the whole path of a function matches.
      sort: the sort of difference, such as "primax raises" or "weak type".
      reason: why primax does otherwise, in a sentence.
      text: a regular expression found in the text of the call; every call where empty.
      message: a regular expression found in the message of the difference.
      when: a further condition on the text of the call.
    """

    functions: str
    sort: str
    reason: str
    text: str = ""
    message: str = ""
    when: Callable[[str], bool] | None = None

    def holds(self, path: str, text: str, difference: Difference) -> bool:
        """Whether a difference of a call is this one."""
        return bool(
            difference.sort == self.sort
            and re.fullmatch(self.functions, path)
            and re.search(self.text, text)
            and re.search(self.message, difference.message)
            and (self.when is None or self.when(text))
        )


MEANT: tuple[Meant, ...] = ()


def is_meant(path: str, text: str, difference: Difference) -> bool:
    """Whether the table has the difference."""
    return any(meant.holds(path, text, difference) for meant in MEANT)
