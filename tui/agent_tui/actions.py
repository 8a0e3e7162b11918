"""Owns the one registry of what a person can do: it feeds bindings, footer, help and palette.

Refuses to do any of it: an action names a method of the dashboard or the app, nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from textual.binding import Binding

from agent_tui_core.records import dataclass

Group: TypeAlias = Literal["Agents", "Approvals", "Reading", "Writing", "Program"]
GROUPS: tuple[Group, ...] = ("Agents", "Approvals", "Reading", "Writing", "Program")

AGENT_KEYS = 9
"""How many agents have a number key of their own."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do with a key, from the footer, in the palette."""

    id: str
    """The name that a config file uses to give it another key."""
    keys: str
    """Key names as Textual knows them, separated by commas; empty when it has none."""
    label: str
    """One or two words for the footer."""
    help: str
    """One sentence for the help screen and the palette."""
    group: Group
    action: str = ""
    """The Textual action; empty where the prompt box or a modal handles the key itself."""
    footer: int = 0
    """Its place among the footer's keys, the most important first; 0: not there."""
    on_app: bool = False
    """Works over a modal as well, because the app itself binds it."""
    leads: bool = False
    """It only leads somewhere, so it works over a question as well."""
    in_palette: bool = True
    shown_keys: str = ""
    """How the help screen writes the keys, where the list of them says it badly."""

    @property
    def display(self) -> str:
        """The keys as a person reads them."""
        return self.shown_keys or " ".join(key_words(key) for key in self.keys.split(",") if _is_shown(key))

    @property
    def title(self) -> str:
        """What the palette calls it."""
        return self.label[:1].upper() + self.label[1:]

    @property
    def first_key(self) -> str:
        """The first of the keys, short enough for a footer; empty when it has none."""
        first = self.keys.split(",")[0]
        return key_words(first).replace("ctrl+", "^") if first else ""


class Actions:
    """The registry with the user's keys applied."""

    def __init__(self, keys: Mapping[str, str] | None = None) -> None:
        self._keys = dict(keys or {})
        taken = {key for words in self._keys.values() for key in _split(words)}
        self._actions = tuple(_with_keys(action, self._keys.get(action.id), taken) for action in ACTIONS)

    def __iter__(self) -> Iterator[Action]:
        return iter(self._actions)

    def __getitem__(self, action_id: str) -> Action:
        return next(action for action in self._actions if action.id == action_id)

    def leading(self, key: str) -> Action | None:
        """What this key does over a question, where nothing else is reached."""
        found = (each for each in self._actions if each.leads and key in _split(each.keys))
        return next(found, None)

    @property
    def footer(self) -> tuple[Action, ...]:
        """What the footer shows, the most important first."""
        shown = [action for action in self._actions if action.footer and action.keys]
        return tuple(sorted(shown, key=lambda action: action.footer))

    def groups(self) -> Iterator[tuple[Group, tuple[Action, ...]]]:
        """What the help screen shows, group by group."""
        for group in GROUPS:
            listed = (a for a in self._actions if a.group == group and (a.display.strip() or a.in_palette))
            yield group, tuple(listed)

    def keymap(self) -> dict[str, str]:
        """The user's keys, for Textual's own keymap; it holds for bindings of modals as well."""
        return dict(self._keys)


def bindings(*, on_app: bool) -> list[Binding]:
    """The bindings of the app or of the dashboard, with their default keys.

    All have priority, because the prompt box would take keys for its own ends; the dashboard's
    `check_action` gives back what the prompt needs.
    """
    return [
        Binding(a.keys, a.action, a.label, show=False, priority=True, id=a.id, tooltip=a.help)
        for a in ACTIONS
        if a.keys and a.action and a.on_app == on_app
    ]


def key_words(key: str) -> str:
    """A key as a person reads it."""
    *modifiers, name = key.split("+")
    return "+".join([*modifiers, _KEY_WORDS.get(name, name)])


_KEY_WORDS = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "up": "↑",
    "down": "↓",
}
# What terminals without the Kitty protocol send for a shifted function key, and never worth a line of help.
_LEGACY_KEYS = frozenset({"f18"})


def _is_shown(key: str) -> bool:
    return bool(key) and key not in _LEGACY_KEYS


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


def _with_keys(action: Action, keys: str | None, taken: Iterable[str]) -> Action:
    """The action as it is bound: the user's keys win, also over the default keys of others."""
    if keys is not None:
        return replace(action, keys=",".join(_split(keys)), shown_keys="")
    kept = [key for key in _split(action.keys) if key not in taken]
    return action if kept == _split(action.keys) else replace(action, keys=",".join(kept), shown_keys="")


def _agent_key(number: int) -> Action:
    return Action(
        f"agent_{number}",
        f"alt+{number}",
        f"agent {number}",
        "Talk to agent 1 … 9.",
        "Agents",
        f"focus_agent({number})",
        leads=True,
        in_palette=False,
        shown_keys=f"alt+1…{AGENT_KEYS}" if number == 1 else " ",
    )


ACTIONS: tuple[Action, ...] = (
    Action("interrupt", "escape", "stop", "Stop the focused agent, and no other.", "Agents", "interrupt", 2),
    Action(
        "stop_all", "f8", "stop all", "Stop every agent that runs.", "Agents", "app.stop_all", 6, on_app=True
    ),
    Action(
        "next_agent",
        "f6",
        "next agent",
        "Talk to the next agent.",
        "Agents",
        "focus_next_agent(1)",
        4,
        leads=True,
    ),
    Action(
        "previous_agent",
        "shift+f6,f18",
        "previous agent",
        "Talk to the previous agent.",
        "Agents",
        "focus_next_agent(-1)",
        leads=True,
    ),
    *(_agent_key(number) for number in range(1, AGENT_KEYS + 1)),
    Action("new_agent", "ctrl+t", "new agent", "Add an agent.", "Agents", "app.new_agent", 8),
    Action(
        "close_agent",
        "ctrl+w",
        "close agent",
        "Close the focused agent; while you write: delete a word.",
        "Agents",
        "close_agent",
    ),
    Action(
        "compact",
        "",
        "summarise",
        "Summarise the focused agent's conversation for its model.",
        "Agents",
        "app.compact",
    ),
    Action("undo_compaction", "", "undo summary", "Undo the last summary.", "Agents", "app.undo_compaction"),
    Action(
        "approvals",
        "f2",
        "approve",
        "Open a question: the focused agent's own, else the oldest.",
        "Approvals",
        "app.approvals",
        3,
    ),
    Action(
        "forms",
        "f12",
        "answer for a tool",
        "Fill in what a server or a waiting tool call wants; the focused agent's first.",
        "Approvals",
        "app.forms",
    ),
    Action(
        "equipment",
        "f7",
        "tools, rules and trust",
        "See and change rules, hooks, servers, tools, processes, sandbox and project.",
        "Approvals",
        "app.equipment",
    ),
    Action(
        "next_mode",
        "shift+tab",
        "next mode",
        "Change what the focused agent may do unasked: ask, accept-edits, plan, auto.",
        "Approvals",
        "app.next_mode",
    ),
    Action(
        "zoom", "f4", "zoom", "Show the focused agent alone, or all again.", "Reading", "zoom", 5, leads=True
    ),
    Action(
        "reasoning",
        "f3",
        "reasoning",
        "Fold or unfold the model's reasoning.",
        "Reading",
        "toggle_reasoning",
        9,
        leads=True,
    ),
    Action("scroll_up", "pageup", "page up", "Scroll the focused agent up.", "Reading", "scroll('page_up')"),
    Action("scroll_down", "pagedown", "page down", "Scroll it down.", "Reading", "scroll('page_down')"),
    Action(
        "scroll_top",
        "ctrl+home",
        "go to the top",
        "Go to the beginning (home, while the prompt is empty).",
        "Reading",
        "scroll('home')",
    ),
    Action(
        "scroll_end",
        "ctrl+end",
        "go to the end",
        "Go to the end and follow it (end, likewise).",
        "Reading",
        "scroll('end')",
    ),
    Action(
        "scroll_top_empty",
        "home",
        "",
        "The same, while the prompt is empty.",
        "Reading",
        "scroll_empty('home')",
        in_palette=False,
        shown_keys=" ",
    ),
    Action(
        "scroll_end_empty",
        "end",
        "",
        "The same, while the prompt is empty.",
        "Reading",
        "scroll_empty('end')",
        in_palette=False,
        shown_keys=" ",
    ),
    Action("send", "enter", "send", "Send the prompt; a busy agent queues it.", "Writing", in_palette=False),
    Action(
        "send_now",
        "ctrl+g,alt+enter",
        "send now",
        "Interrupt the agent and go on with this prompt.",
        "Writing",
        in_palette=False,
    ),
    Action(
        "new_line",
        "ctrl+j,shift+enter",
        "new line",
        "Begin a new line in the prompt.",
        "Writing",
        in_palette=False,
    ),
    Action(
        "take_back",
        "up",
        "take back",
        "In an empty prompt: take the last queued one back, else recall.",
        "Writing",
        in_palette=False,
    ),
    Action(
        "go_on",
        "f9",
        "send queued",
        "Send the oldest queued prompt of an agent that was stopped.",
        "Writing",
        "go_on",
    ),
    Action(
        "stop_or_quit",
        "ctrl+c",
        "stop",
        "Copy what is selected, else stop the focused agent; twice: quit.",
        "Program",
        "stop_or_quit",
        in_palette=False,
    ),
    Action("theme", "", "theme…", "Choose colours, with a live preview.", "Program", "app.pick_theme"),
    Action("help", "f1", "help", "Show the keys and how it works.", "Program", "app.help", 1, leads=True),
    Action(
        "palette",
        "ctrl+p",
        "palette",
        "Everything that can be done, by name.",
        "Program",
        "app.command_palette",
        10,
        on_app=True,
        in_palette=False,
    ),
    Action("quit", "ctrl+q", "quit", "Leave; asks while agents run.", "Program", "app.quit", 7, on_app=True),
)
