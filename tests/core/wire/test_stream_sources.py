from __future__ import annotations

import re
from pathlib import Path

STREAMS = Path(__file__).parents[2] / "streams"
NAMED = (
    *("OpenAI", "Azure", "OpenRouter", "Ollama", "vLLM", "llama.cpp", "LM Studio", "DeepSeek", "Mistral"),
    *("Groq", "Gemini", "Kimi", "DashScope", "Bedrock"),
)
"""The providers of issue 3."""


def rows() -> list[list[str]]:
    lines = (STREAMS / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def test_every_recorded_stream_names_its_source() -> None:
    named = {name.strip("`"): source for name, _, _, source in rows()}
    assert set(named) == {path.stem for path in STREAMS.glob("*.sse")}
    for name, source in named.items():
        assert re.match(r"https://|RFC |[PR]\d", source), name


def test_every_provider_that_we_promise_to_read_has_a_stream() -> None:
    said = {of for _, ofs, _, _ in rows() for of in ofs.split(", ")}
    assert set(NAMED) <= said


def test_the_tests_that_are_named_for_other_shapes_exist() -> None:
    text = (STREAMS / "SOURCES.md").read_text(encoding="utf-8")
    there = {path.name for path in STREAMS.parent.glob("core/**/test_*.py")}
    assert set(re.findall(r"test_\w+\.py", text)) <= there
