from __future__ import annotations

import re

import pytest

from agent_tui_core.blocks import ToolResult
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.matcher import matches
from agent_tui_core.hooks.points import (
    HookDecision,
    PostToolUseEvent,
    PreToolUseEvent,
    UserPromptSubmitEvent,
)
from hooked import MATCHERS

PROMPT = UserPromptSubmitEvent("hello", ())
CALL = PreToolUseEvent("Bash", {"command": "ls"}, "c1", ())
RESULT = PostToolUseEvent("Bash", {"command": "ls"}, "c1", ToolResult("c1", "files"), ())


@pytest.mark.parametrize(("matcher", "tool", "wanted"), MATCHERS)
def test_a_matcher_is_a_list_of_names_or_an_unanchored_regex(
    matcher: str | None, tool: str, wanted: bool
) -> None:
    assert matches(matcher, tool) is wanted


def test_a_matcher_that_is_no_regex_is_refused_when_the_hook_is_added() -> None:
    with pytest.raises(re.error):
        Hooks().add_pre_tool_use(lambda _event: None, matcher="(")


async def test_each_prompt_hook_sees_what_the_one_before_made_of_it() -> None:
    seen: list[str] = []

    def shout(event: UserPromptSubmitEvent) -> HookDecision:
        seen.append(event.prompt)
        return HookDecision.modify_prompt(event.prompt.upper())

    async def note(event: UserPromptSubmitEvent) -> HookDecision:
        seen.append(event.prompt)
        return HookDecision.add_context("it is late")

    verdict = await Hooks().add_user_prompt_submit(shout).add_user_prompt_submit(note).on_prompt(PROMPT)
    assert seen == ["hello", "HELLO"]
    assert (verdict.prompt, verdict.context, verdict.blocked) == ("HELLO", ("it is late",), None)


async def test_a_prompt_hook_blocks_with_its_reason() -> None:
    verdict = (
        await Hooks().add_user_prompt_submit(lambda _e: HookDecision.block("no secrets")).on_prompt(PROMPT)
    )
    assert verdict.blocked == "no secrets"


async def test_rewritten_input_goes_on_to_the_next_hook() -> None:
    seen: list[object] = []
    hooks = (
        Hooks()
        .add_pre_tool_use(lambda _e: HookDecision.modify_input({"command": "ls -l"}))
        .add_pre_tool_use(lambda e: seen.append(e.tool_input))
    )
    verdict = await hooks.on_call(CALL)
    assert seen == [{"command": "ls -l"}]
    assert verdict.input == {"command": "ls -l"}
    assert verdict.behavior == "none"


@pytest.mark.parametrize(
    ("decisions", "wanted"),
    [
        ([HookDecision.allow(), HookDecision.deny("no")], "deny"),
        ([HookDecision.continue_(), HookDecision.deny("no")], "deny"),
        ([HookDecision.ask("hm"), HookDecision.allow()], "ask"),
        ([HookDecision.allow(), HookDecision.ask("hm")], "ask"),
        ([HookDecision.allow(), None], "allow"),
        ([None, None], "none"),
    ],
)
async def test_deny_beats_ask_beats_allow_in_any_order(
    decisions: list[HookDecision | None], wanted: str
) -> None:
    hooks = Hooks()
    for decision in decisions:
        hooks.add_pre_tool_use(lambda _e, decision=decision: decision)  # type: ignore[misc]
    assert (await hooks.on_call(CALL)).behavior == wanted


def _crash(_event: object) -> None:
    raise RuntimeError("boom")


def _nonsense(_event: object) -> HookDecision:
    return "yes"  # type: ignore[return-value]


@pytest.mark.parametrize(("hook", "words"), [(_crash, "boom"), (_nonsense, "str")])
async def test_a_hook_that_breaks_denies(hook: object, words: str) -> None:
    verdict = await Hooks().add_pre_tool_use(hook).on_call(CALL)  # type: ignore[arg-type]
    assert verdict.behavior == "deny"
    assert words in verdict.reason


async def test_a_hook_that_hangs_denies() -> None:
    import asyncio

    async def hang(_event: PreToolUseEvent) -> None:
        await asyncio.Event().wait()

    verdict = await Hooks(timeout=0.01).add_pre_tool_use(hang).on_call(CALL)
    assert verdict.behavior == "deny"
    assert "longer than" in verdict.reason


async def test_a_hook_that_does_not_match_is_not_asked() -> None:
    verdict = await Hooks().add_pre_tool_use(_crash, matcher="Write|Edit").on_call(CALL)
    assert verdict.behavior == "none"


async def test_a_result_hook_replaces_withholds_and_adds() -> None:
    hooks = Hooks().add_post_tool_use(lambda _e: HookDecision.modify_result("fewer files"))
    hooks.add_post_tool_use(lambda _e: HookDecision.add_context("and mind the rest"))
    assert (await hooks.on_result(RESULT)).result.content == "fewer files\n\nand mind the rest"
    withheld = await Hooks().add_post_tool_use(lambda _e: HookDecision.deny("a secret")).on_result(RESULT)
    assert withheld.result == ToolResult("c1", "a secret", is_error=True)
