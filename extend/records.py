"""Records of plugins, and the tables that plugins share."""

from __future__ import annotations

from primax.core.lazy_tables import Table
from primax.extend.host.plugin_host import PluginRecord, host

__all__ = ["Table", "plugins"]


def plugins(*, load: bool = False) -> list[PluginRecord]:
    """All plugins, in the order of their activation.

    Args:
      load: whether to activate the plugins that are not active yet; otherwise nothing is imported.

    Returns:
      Records with `name`, `source`, `distribution`, `version`, `state`, `reason`, `primitives`, `rules` and
      more; `as_dict()` gives plain data.

    Raises:
      PluginError: a variable in the environment names an unknown plugin; with `load`, also if a plugin fails
        that primax cannot do without.

    >>> from primax.extend import plugins
    >>> plugins()[0].name
    'arithmetic'
    """
    records = host.records()
    if load:
        host.activate()
    return records
