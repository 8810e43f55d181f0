"""What is known of plugins, for those who ask from Python."""

from __future__ import annotations

from primax.core.host import PluginRecord, host

__all__ = ["plugins"]


def plugins(*, load: bool = False) -> list[PluginRecord]:
    """All plugins, in the order of their activation.

    Args:
      load: whether to activate those that have not been; otherwise nothing is imported.

    Returns:
      Records with `name`, `source`, `distribution`, `version`, `state`, `reason`, `primitives`, `rules` and
      more; `as_dict()` gives plain data.

    Raises:
      PluginError: a variable in the environment names an unknown plugin; with `load`, also what a failing
        plugin that primax cannot do without raises.

    >>> from primax.extend import plugins
    >>> plugins()[0].name
    'structural'
    """
    records = host.records()
    if load:
        host.activate()
    return records
