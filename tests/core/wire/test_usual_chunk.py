import json
from typing import Any

import pytest

from agent_tui_core.events import StreamEvent
from agent_tui_core.wire import chat_stream
from agent_tui_core.wire.chat_stream import ChatStream
from agent_tui_core.wire.sse import ServerSentEvent
from agent_tui_core.wire.usual_chunk import _Choice, _Chunk, _Delta, usual_text, usual_texts

USUAL: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "delta": {"content": "words"}, "logprobs": None, "finish_reason": None}],
}


class Watched(dict[str, Any]):
    """A dict that remembers which of its keys were asked for."""

    asked: set[str]

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


def watched(**items: object) -> Watched:
    made = Watched(items)
    made.asked = set()
    return made


def changed(**changes: Any) -> dict[str, Any]:
    return {**USUAL, **changes}


def choice(**changes: Any) -> dict[str, Any]:
    return changed(choices=[{**USUAL["choices"][0], **changes}])


def delta(**changes: Any) -> dict[str, Any]:
    return choice(delta={"content": "words", **changes})


UNUSUAL = [
    changed(object="error"),
    changed(type="error"),
    changed(error={"message": "no"}),
    changed(usage={"prompt_tokens": 1, "completion_tokens": 2}),
    changed(x_groq={"usage": {"prompt_tokens": 1}}),
    changed(base_resp={"status_code": 1004}),
    changed(choices=[]),
    changed(choices=[*USUAL["choices"], *USUAL["choices"]]),
    choice(index=1),
    choice(finish_reason="length"),
    choice(finish_reason="stop", native_finish_reason="SAFETY"),
    choice(error={"message": "no"}),
    choice(usage={"prompt_tokens": 1}),
    delta(content=""),
    delta(content=None),
    delta(content=[{"type": "text", "text": "a"}]),
    delta(refusal="never"),
    delta(reasoning="hm"),
    delta(reasoning_content="hm"),
    delta(reasoning_details=[{"type": "reasoning.text", "text": "hm"}]),
    delta(extra_content={"google": {"thought_signature": "x"}}),
    delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]),
    delta(function_call={"name": "f", "arguments": "{}"}),
    delta(content="half \ud83d"),
    {"error": "no"},
]


def test_a_usual_chunk_is_its_text() -> None:
    assert usual_text(json.dumps(USUAL)) == "words"
    assert (
        usual_text(json.dumps(delta(role="assistant", refusal=None, tool_calls=[], reasoning=""))) == "words"
    )
    assert usual_text(json.dumps(changed(surprise={"deep": [1, 2]}))) == "words"


@pytest.mark.parametrize("chunk", UNUSUAL, ids=lambda chunk: json.dumps(chunk)[-60:])
def test_what_could_mean_more_is_read_patiently(chunk: dict[str, Any]) -> None:
    assert usual_text(json.dumps(chunk)) == ""


@pytest.mark.parametrize("data", ["", "[DONE]", "null", "[]", "{", "NaN", '"words"', "[" * 5000])
def test_what_is_no_chunk_is_no_usual_one(data: str) -> None:
    assert usual_text(data) == ""


def test_every_key_that_the_patient_way_looks_at_is_known_to_the_usual_one() -> None:
    inner = watched(content="words")
    middle = watched(index=0, delta=inner, finish_reason=None)
    outer = watched(object="chat.completion.chunk", choices=[middle])
    events: list[StreamEvent] = []
    ChatStream()._read_chunk(outer, events)
    assert events
    only_beside_others = {"native_finish_reason"}
    assert inner.asked <= set(_Delta.__struct_fields__)
    assert middle.asked - only_beside_others <= set(_Choice.__struct_fields__)
    assert outer.asked <= set(_Chunk.__struct_fields__)


@pytest.mark.parametrize("data", [json.dumps(UNUSUAL[0]), "[DONE]", "{", "[" * 5000, ""])
def test_usual_chunks_are_taken_up_to_the_first_other_event(data: str) -> None:
    usual, other = ServerSentEvent(data=json.dumps(USUAL)), ServerSentEvent(data=data)
    rest = iter([usual, usual, other, usual])
    assert usual_texts(rest) == (["words", "words"], other)
    assert usual_texts(rest) == (["words"], None)
    assert usual_texts(rest) == ([], None)


def test_what_is_sent_as_an_error_is_no_usual_chunk() -> None:
    error = ServerSentEvent("error", json.dumps(USUAL))
    assert usual_texts(iter([error])) == ([], error)


@pytest.mark.parametrize("think_tags", [False, True])
def test_all_ways_say_the_same(monkeypatch: pytest.MonkeyPatch, think_tags: bool) -> None:
    words = ["<thi", "nk>a", "</think>", "b", "\u00e4\u65e5", "c\U0001f600"]
    chunks = [*(delta(content=word) for word in words), choice(delta={}, finish_reason="stop")]

    sent = [ServerSentEvent(data=json.dumps(each)) for each in chunks]

    def said() -> list[StreamEvent]:
        stream = ChatStream(think_tags=think_tags)
        return [event for each in sent for event in stream.feed(each)] + stream.close()

    usual = said()
    together = ChatStream(think_tags=think_tags)
    assert [*together.feed_all(sent)[0], *together.close()] == usual
    monkeypatch.setattr(chat_stream, "usual_text", lambda _: "")
    assert said() == usual
