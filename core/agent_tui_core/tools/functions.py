"""Owns the way from a typed Python function to a tool: schema, descriptions, validated arguments.

Refuses functions whose input could not be described to a model: without types, with `*args`, `**kwargs`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints, overload

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput, as_output

if TYPE_CHECKING:
    from pydantic import BaseModel

DEFAULT_TIMEOUT = 600.0

_SECTION = re.compile(r"^(Args|Arguments|Parameters):\s*$")
_OTHER_SECTION = re.compile(r"^(Returns?|Raises|Yields?|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_REST_PARAMETER = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    writes: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    writes: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function: `@tool`, or `@tool(writes=False)`.

    The docstring's first part tells the model what the tool does; its `Args:` section (or `:param x:` lines),
    or `Annotated[int, Field(description=…)]`, what the parameters mean. A parameter of type `ToolContext` is
    not part of the input: it gets the context of the call. Raises TypeError for a function that cannot be a
    tool.
    """

    def make(function: Callable[..., Any]) -> Tool:
        about, parameters = parsed_docstring(inspect.getdoc(function) or "")
        model, places, context_name = _input_model(function, parameters)
        return Tool(
            name=name or function.__name__,
            description=description or about or (name or function.__name__),
            input_schema=_without_titles(model.model_json_schema()),
            run=_runner(function, model, places, context_name),
            takes_context=True,
            writes=writes,
            timeout=timeout,
        )

    return make if fn is None else make(fn)


def parsed_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return what a docstring says of the function, and what it says of each parameter."""
    about: list[str] = []
    parameters: dict[str, list[str]] = {}
    current: list[str] | None = None
    place = "about"
    for line in text.split("\n"):
        if _SECTION.match(line) or _OTHER_SECTION.match(line):
            place, current = ("parameters" if _SECTION.match(line) else "other"), None
        elif rest := _REST_PARAMETER.match(line):
            place, current = "parameters", parameters.setdefault(rest[1], [rest[2]])
        elif line.startswith(":"):
            place, current = "other", None
        elif place == "about":
            about.append(line)
        elif place == "parameters":
            found = _PARAMETER.match(line) if _indent(line) <= 4 else None
            if found:
                current = parameters.setdefault(found[1], [found[2]])
            elif current is not None:
                current.append(line.strip())
    said = {key: " ".join(lines).strip() for key, lines in parameters.items()}
    return "\n".join(about).strip(), {key: words for key, words in said.items() if words}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _input_model(
    function: Callable[..., Any], said: dict[str, str]
) -> tuple[type[BaseModel], dict[str, str], str | None]:
    """Return a model of the input, which of its fields is which parameter, and who gets the context."""
    from pydantic import ConfigDict, Field, create_model

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    places: dict[str, str] = {}
    context_name: str | None = None
    for number, (key, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a tool cannot have the parameter {parameter}")
        if key not in hints:
            raise TypeError(f"{function.__name__}: the parameter {key} needs a type")
        if hints[key] is ToolContext:
            context_name = key
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        # Names of our own, because pydantic keeps some for itself (`schema`, `copy`, `model_…`, `_x`).
        field = f"parameter_{number}"
        places[field] = key
        words: dict[str, Any] = (
            {"description": said[key]} if key in said else {}
        )  # an explicit None would hide `Annotated`
        fields[field] = (hints[key], Field(default, alias=key, **words))
    model = create_model(
        "ToolInput", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields
    )
    return model, places, context_name


def _runner(
    function: Callable[..., Any], model: type[BaseModel], places: dict[str, str], context_name: str | None
) -> Callable[..., Any]:
    def arguments(given: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        from pydantic import ValidationError

        try:
            checked = model.model_validate(given)
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
            raise ToolError(f"the input does not fit: {'; '.join(problems)}") from error
        values = {key: getattr(checked, field) for field, key in places.items()}
        return values | ({context_name: context} if context_name else {})

    if inspect.iscoroutinefunction(function):

        async def run_here(given: dict[str, Any], context: ToolContext) -> ToolOutput:
            return as_output(_plain(await function(**arguments(given, context))))

        return run_here

    def run_in_thread(given: dict[str, Any], context: ToolContext) -> Any:
        return _plain(function(**arguments(given, context)))

    return run_in_thread


def _plain(value: Any) -> Any:
    from pydantic import BaseModel

    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the titles that pydantic makes of names: they tell a model nothing and cost tokens."""
    done: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            done[key] = {name: _without_titles(inner) for name, inner in value.items()}
        elif isinstance(value, dict) and key not in ("default", "const", "examples"):
            done[key] = _without_titles(value)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            done[key] = [_without_titles(inner) for inner in value]
        elif key != "title":
            done[key] = value
    return done
