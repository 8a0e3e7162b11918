"""Owns what an approval shows of a call, and whether that is still true; refuses to ask anybody."""

from __future__ import annotations

import json
import logging

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.system_limits import what_broke
from agent_tui_core.tools.base import Tool, ToolContext

_log = logging.getLogger(__name__)


async def preview_call(tool: Tool, input: JsonObject, context: ToolContext) -> ApprovalPreview:
    """Return what a person has to see before this input runs; its JSON when the tool has nothing better.

    Raises `ToolError` when the call cannot work at all (no such file, the text to replace is not in it), and
    when the preview breaks: then nobody needs to be asked, and the model reads why.
    """
    if tool.preview is None:
        return ApprovalPreview("text", json.dumps(input, ensure_ascii=False, indent=2, default=str))
    try:
        return await tool.preview(input, context)
    except ToolError:
        raise
    except Exception as error:
        _log.exception("the preview of %s broke", tool.name)
        why = what_broke(error)
        raise ToolError(f"what {tool.name} would do cannot be shown, so it was not run: {why}") from error


async def preview_changed(
    tool: Tool,
    input: JsonObject,
    context: ToolContext,
    shown: ApprovalPreview,
) -> bool:
    """Whether running the input now would do something else than what the person was shown.

    True means: ask again, with a new preview; making that raises `ToolError` when the call has become
    impossible.
    """
    try:
        return await preview_call(tool, input, context) != shown
    except ToolError:
        return True
