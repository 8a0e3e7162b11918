"""Owns the shapes in which hooks know a tool's result; refuses to know hooks and tools themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agent_tui_core.blocks import JsonObject, ToolResult

_Shape = Callable[[JsonObject, ToolResult], dict[str, Any]]


def tool_response(tool: str, input: JsonObject, result: ToolResult) -> dict[str, Any]:
    """The result as `tool_response`: for the built-in tools with the keys that people's hooks look for."""
    shape = _SHAPES.get(tool)
    if shape is not None:
        return shape(input, result)
    return {"content": [{"type": "text", "text": result.content}], "isError": result.is_error}


def response_text(value: object) -> str:
    """The words for the model of a result that a hook put in place of the tool's, in any of these shapes."""
    match value:
        case str():
            return value
        case {"file": {"content": str(text)}} | {"text": str(text)} | {"content": str(text)}:
            return text
        case {"stdout": str(out), "stderr": str(errors)} if errors:
            return "\n".join((out, errors)) if out else errors
        case {"stdout": str(out)}:
            return out
        case {"content": list(parts)}:
            return _joined(parts)
        case list():
            return _joined(value)
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


def _joined(parts: list[Any]) -> str:
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(parts) else json.dumps(parts, ensure_ascii=False)


def _bash(_input: JsonObject, result: ToolResult) -> dict[str, Any]:
    return {"stdout": result.content, "stderr": "", "interrupted": False, "isImage": False}


def _read(input: JsonObject, result: ToolResult) -> dict[str, Any]:
    file = {
        "filePath": input.get("file_path"),
        "content": result.content,
        "numLines": result.content.count("\n") + 1,
        "startLine": input.get("offset") or 1,
    }
    return {"type": "text", "file": file}


def _write(input: JsonObject, result: ToolResult) -> dict[str, Any]:
    return {
        "filePath": input.get("file_path"),
        "content": input.get("content"),
        "success": not result.is_error,
    }


def _edit(input: JsonObject, result: ToolResult) -> dict[str, Any]:
    return {
        "filePath": input.get("file_path"),
        "oldString": input.get("old_string"),
        "newString": input.get("new_string"),
        "replaceAll": bool(input.get("replace_all")),
        "success": not result.is_error,
    }


def _glob(_input: JsonObject, result: ToolResult) -> dict[str, Any]:
    names = result.content.splitlines()
    return {"filenames": names, "numFiles": len(names), "content": result.content}


def _grep(_input: JsonObject, result: ToolResult) -> dict[str, Any]:
    return {"mode": "content", "content": result.content, "numLines": result.content.count("\n") + 1}


_SHAPES: Final[Mapping[str, _Shape]] = {
    "Bash": _bash,
    "Read": _read,
    "Write": _write,
    "Edit": _edit,
    "Glob": _glob,
    "Grep": _grep,
}
