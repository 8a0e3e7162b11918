"""Owns what a server offers to be read: which URIs are its own, and how a model names them; refuses to fetch.

Only the server itself is asked for a resource, and only for one that it listed, linked to or has a template
for: a URI that a model was talked into reaches nobody.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from agent_tui_core.blocks import JsonObject
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import CallToolResult

READ_RESOURCE: Final = ("read_resource", "read_mcp_resource")
"""Names of the tool; the second where the server has a tool of the first."""
LONGEST_URI: Final = 2_000
INPUT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "uri": {
            "type": "string",
            "maxLength": LONGEST_URI,
            "description": "The URI of a resource, as a result or the list names it. Without it: the list.",
        }
    },
    "additionalProperties": False,
}

_MOST_OFFERED = 2_000
_MOST_SHOWN = 200
_MOST_PAGES = 20
_MOST_LINKS = 1_000
_NAMED = 200


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """One resource, or a template of such (`uri` has its variables in braces). All of it is foreign."""

    uri: str
    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Offered:
    """What a server listed."""

    resources: tuple[OfferedResource, ...] = ()
    templates: tuple[OfferedResource, ...] = ()
    more: bool = False
    """There is more than is kept here."""


def description(server: str) -> str:
    """What a model is told of the tool; words of ours."""
    return (
        f"Reads a resource of the MCP server {server} by its URI: one that a result of its tools links to, "
        "or one of its list. Without a URI it returns that list."
    )


async def offered(client: Client) -> Offered:
    """Ask for all that there is, within bounds."""
    resources, more = await _pages(client, "resources")
    try:
        templates, more_templates = await _pages(client, "templates")
    except Exception:  # noqa: BLE001 - a server without templates may refuse the question in any way
        templates, more_templates = (), False
    return Offered(resources, templates, more or more_templates)


async def lists_any(client: Client) -> bool:
    """Whether there is anything to read: many servers say that they have resources, and have none."""
    from mcp.shared.exceptions import MCPError

    if client.server_capabilities.resources is None:
        return False
    try:
        if (await client.list_resources(cache_mode="bypass")).resources:
            return True
        return bool((await client.list_resource_templates(cache_mode="bypass")).resource_templates)
    except (MCPError, ValueError):
        return False  # it may link to some yet


async def _pages(client: Client, what: str) -> tuple[tuple[OfferedResource, ...], bool]:
    found: list[OfferedResource] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page: list[Any]
        if what == "resources":
            listed = await client.list_resources(cursor=cursor, cache_mode="bypass")
            page, cursor = [(one.uri, one) for one in listed.resources], listed.next_cursor
        else:
            templates = await client.list_resource_templates(cursor=cursor, cache_mode="bypass")
            page = [(one.uri_template, one) for one in templates.resource_templates]
            cursor = templates.next_cursor
        found += [_offered(uri, one) for uri, one in page[: _MOST_OFFERED + 1] if len(uri) <= LONGEST_URI]
        if cursor is None or len(found) > _MOST_OFFERED:
            break
    return tuple(found[:_MOST_OFFERED]), cursor is not None or len(found) > _MOST_OFFERED


def _offered(uri: str, one: Any) -> OfferedResource:
    about = [one.mime_type or "", one.description or ""]
    return OfferedResource(uri, one.title or one.name, ": ".join(filter(None, about)))


class LinkedResources:
    """The URIs that a server's own results named, the newest of them."""

    def __init__(self) -> None:
        self._uris: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, uri: str) -> bool:
        return uri in self._uris

    def __bool__(self) -> bool:
        return bool(self._uris)

    def learn(self, result: CallToolResult) -> None:
        """Keep what a result links to."""
        for block in result.content[:_MOST_LINKS]:
            if block.type == "resource_link":
                self._keep(block.uri)
            elif block.type == "resource":
                self._keep(block.resource.uri)

    def _keep(self, uri: str) -> None:
        if len(uri) <= LONGEST_URI:
            self._uris[uri] = None
            self._uris.move_to_end(uri)
        while len(self._uris) > _MOST_LINKS:
            self._uris.popitem(last=False)


def owns(there: Offered, uri: str) -> bool:
    """Whether a server listed this URI, or has a template that it may come from."""
    if any(one.uri == uri for one in there.resources):
        return True
    climbs = ".." in re.split(r"[/\\]", unquote(unquote(uri)))
    return not climbs and any(_fits(one.uri, uri) for one in there.templates)


def _fits(template: str, uri: str) -> bool:
    """Whether the URI has the fixed parts of the template, in order; linear, whatever the template is."""
    parts = _fixed_parts(template)
    if not uri.startswith(parts[0]) or (len(parts) == 1 and uri != parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        at = uri.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return uri.endswith(parts[-1]) and len(uri) - len(parts[-1]) >= at


def _fixed_parts(template: str) -> list[str]:
    first, *rest = template.split("{")
    return [first, *(part.partition("}")[2] for part in rest)]


def as_list(there: Offered, server: str) -> str:
    """The list as a model reads it."""
    if not there.resources and not there.templates:
        return f"The MCP server {server} lists no resources."
    lines = [f"Resources of the MCP server {server}:", *map(_line, there.resources)]
    if there.templates:
        lines += [
            "Templates (put values in the place of what stands in braces):",
            *map(_line, there.templates),
        ]
    if there.more:
        lines.append("(there are more)")
    return "\n".join(lines)


def _line(one: OfferedResource) -> str:
    about = f" ({_cut(one.about)})" if one.about else ""
    return f"- {_cut(one.uri, LONGEST_URI)} {_cut(one.name)}{about}"


def _cut(foreign: str, most: int = _NAMED) -> str:
    line = safe_line(foreign[: 4 * most])
    return line if len(line) <= most else f"{line[: most - 1]}…"


def uri_of(input: Mapping[str, Any]) -> str:
    """The URI that a model named; empty: it wants the list."""
    return str(input.get("uri") or "").strip()


def tool_name(taken: Iterable[str]) -> str | None:
    """What the tool is called beside the server's own; None when it has both names."""
    names = set(taken)
    return next((name for name in READ_RESOURCE if name not in names), None)
