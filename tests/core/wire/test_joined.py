from agent_tui_core.events import ReasoningDelta, StreamEvent, TextDelta, ToolUseDelta
from agent_tui_core.wire.answer import TOGETHER, joined


def call(arguments: str, *, place: int = 0) -> ToolUseDelta:
    return ToolUseDelta(place, f"c{place}", "Bash", arguments)


def test_a_few_pieces_stay_what_they_are() -> None:
    few: list[StreamEvent] = [TextDelta(str(number)) for number in range(TOGETHER - 1)]
    assert joined(few) == few


def test_many_pieces_become_few_and_lose_nothing() -> None:
    many: list[StreamEvent] = [TextDelta(f"{number} ") for number in range(100)]
    got = joined(many)
    assert len(got) == -(-100 // TOGETHER)
    assert "".join(event.text for event in got if isinstance(event, TextDelta)) == "".join(
        f"{number} " for number in range(100)
    )


def test_only_pieces_of_the_same_are_joined() -> None:
    opaque = {"signature": "s"}
    mixed: list[StreamEvent] = [
        *[TextDelta("a")] * 5,
        *[ReasoningDelta("r")] * 5,
        ReasoningDelta("", opaque),
        ReasoningDelta("after"),
        *[call("1")] * 5,
        *[call("2", place=1)] * 5,
        TextDelta("b"),
    ]
    assert joined(mixed) == [
        TextDelta("aaaaa"),
        ReasoningDelta("rrrrr"),
        ReasoningDelta("", opaque),
        ReasoningDelta("after"),
        call("11111"),
        call("22222", place=1),
        TextDelta("b"),
    ]
