"""No words of the source stand where Textual would read markup; and the lint that says so can fail."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from agent_tui.actions import ACTIONS
from markup_lint import findings, findings_in

ROOT = Path(__file__).resolve().parents[2] / "tui" / "agent_tui"


def test_no_place_of_the_dashboard_reads_markup_in_words() -> None:
    assert findings(ROOT) == []


def test_no_words_of_the_registry_hold_a_bracket() -> None:
    assert [action.id for action in ACTIONS if "[" in action.label + action.help] == []


@pytest.mark.parametrize(
    "bad",
    [
        'Static(f"{name}", markup=False)',
        'Static("a" + name, markup=False)',
        'Static("%s" % name, markup=False)',
        'Static("{}".format(name), markup=False)',
        "Static(name, markup=False)",
        'Static(Content("fine"))',
        'Static("[bold]ours[/]", markup=False)',
        "Label(agent.name, markup=False)",
        'self.notify("fine")',
        "self.notify(one_line(name), markup=True)",
        "self.notify(one_line(name), markup=maybe)",
        'self.notify("x", title=name, markup=False)',
        'Content.from_markup("x")',
        "rich.text.Text.from_markup(name)",
        'widget.border_title = f"to {name}"',
        "widget.border_subtitle = name",
        'self.title = "agent " + name',
        "self.sub_title = name",
        "self.tooltip = name",
        'widget.tooltip = Content("x") if fine else name',
        "widget.update(name)",
        'widget.update("[red]x")',
        'widget.update(f"{name}")',
        'widget.update("\\n".join(lines))',
        "Option(name)",
        'Option(f"{name}")',
        "SystemCommand(name, 'help', run)",
        'SystemCommand(f"New {name}", "help", run)',
        'SystemCommand("fine", name, run)',
        'SystemCommand("fine", f"{name}", run)',
        "from textual.widgets import Markdown",
        'def f(words: str) -> None:\n    words = Content("x")\n    widget.update(words)',
        'def f() -> None:\n    words = Content("x") if a else b\n    widget.update(words)',
        'def f() -> None:\n    words = Content("x")\n    words += name\n    widget.update(words)',
    ],
)
def test_words_where_markup_would_be_read_are_found(bad: str) -> None:
    assert findings_in(ast.parse(bad), "bad.py")


@pytest.mark.parametrize(
    "good",
    [
        'Static("", markup=False)',
        "Static(id='x', markup=False)",
        "Static(Content(name), markup=False)",
        'Static(Content.assemble((name, "bold")), markup=False)',
        "self.notify(one_line(name), timeout=2, markup=False)",
        'widget.border_title = Content(f"to {name}") if name else None',
        'widget.update(Content("\\n").join(lines))',
        "seen.update({1, 2})",
        'SystemCommand(_plain(f"New {name}"), action.help, run)',
        "def made() -> Content:\n    return Content(name)\nwidget.update(made())",
        "def f(words: Content) -> None:\n    widget.update(words)",
        "def f() -> None:\n    words = Content(name).truncate(9)\n    widget.update(words)",
    ],
)
def test_contents_and_literals_of_ours_are_let_through(good: str) -> None:
    assert findings_in(ast.parse(good), "good.py") == []
