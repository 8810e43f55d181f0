"""What the first type of a user's changes: programs are split, and operators call the methods of the values' class."""

from __future__ import annotations

from typing import Any

from primax.extend.core import UserType
from primax.extend.core.user_types import value_classes
from primax.extend.provisional.user_types import divert_operators, install_splitter
from primax.plugins.user_types.splitting import split


def _class_of(x: Any) -> Any:
    """The class of the values for which an object stands; None if it is no value of a user's type."""
    aval = getattr(x, "aval", None)
    if isinstance(aval, UserType):
        return aval.value_class
    return type(x) if type(x) in value_classes else None


def install() -> None:
    """Prepare for values of users' types."""
    install_splitter(split)
    divert_operators(_class_of)
