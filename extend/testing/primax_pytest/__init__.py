"""The conformance kit within pytest: `pytest --primax PLUGIN`, and tests made by `conformance`.

pytest loads this package wherever primax is installed, so it stands outside of primax and imports the kit in its hooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from primax.extend.testing.runner import Check

__all__ = ["pytest_addoption", "pytest_collection_modifyitems", "pytest_configure", "pytest_generate_tests"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--primax PLUGIN`, which may be repeated."""
    parser.getgroup("primax").addoption(
        "--primax",
        action="append",
        default=[],
        metavar="PLUGIN",
        help="check the primitives of this primax plugin with its samples; without paths, collect nothing else",
    )


def pytest_configure(config: pytest.Config) -> None:
    """If plugins are named, collect only files that are named, too."""
    if config.option.primax and config.args_source is not config.ArgsSource.ARGS:
        config.args = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for each check of each named plugin; this runs first, so `-k` selects among these items too."""
    for name in config.option.primax:
        kit, errors = import_module("primax.extend.testing"), import_module("primax.core.errors")
        try:
            items += [_item(session, name, check) for check in kit.iter_checks(name)]
        except errors.PluginError as error:
            raise pytest.UsageError(f"--primax {name}: {error}") from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that `conformance` made, once for each of its checks."""
    make = getattr(metafunc.function, "primax_checks", None)
    if make is not None:
        together = metafunc.config.pluginmanager.hasplugin("xdist")
        metafunc.parametrize("primax_check", list(_parameters(make(), together)))


def _parameters(checks: Iterator[Check], together: bool) -> Iterator[Any]:
    """Checks as parameters; one worker runs the checks of one sample, because they share programs."""
    for check in checks:
        name = f"{check.plugin}::{check.label}"
        marks = [pytest.mark.xdist_group(name.rpartition("::")[0])] if together else []
        yield pytest.param(check, id=name, marks=marks)


def _item(session: pytest.Session, plugin: str, check: Check) -> CheckItem:
    name = f"{plugin}::{check.label}"
    item: CheckItem = CheckItem.from_parent(session, name=name, nodeid=name, check=check)
    if session.config.pluginmanager.hasplugin("xdist"):
        item.add_marker(pytest.mark.xdist_group(name.rpartition("::")[0]))
    return item


class CheckItem(pytest.Item):
    """One check of one sample."""

    def __init__(self, *, check: Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check

    def runtest(self) -> None:
        """Run the check."""
        outcome = self.check.run()
        if outcome.status == "not run":
            pytest.skip(outcome.message)
        import_module("primax.extend.testing").Report([outcome]).require()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message of the check, without the traceback of the kit."""
        if isinstance(excinfo.value, import_module("primax.extend.testing").ConformanceError):
            return "\n".join(outcome.message for outcome in excinfo.value.report.failed)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The heading of the report."""
        return self.path, None, self.name
