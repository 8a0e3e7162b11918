"""What settings say of how a server and its models are asked, and the words for what cannot be."""

from pathlib import Path

import pytest

from agent_tui_core.config.equipment import EquipmentSettings
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.config.project_settings import read_settings
from agent_tui_core.config.servers import secret_headers
from agent_tui_core.errors import ConfigError
from agent_tui_core.messages import RequestOptions

SECRET = "azure-0123456789"
PROVIDER = '[providers.p]\nbase_url = "https://h.example/v1?api-version=2024-10-21"\n'


def planned(text: str, folder: Path, environ: dict[str, str] | None = None):  # type: ignore[no-untyped-def]
    file = folder / "config.toml"
    file.write_text(text)
    known = {"AGENT_TUI_DATA_DIR": str(folder), "AGENT_TUI_CONFIG_DIR": str(folder), **(environ or {})}
    return plan(load_settings(file, environ=known), Flags(workspace=folder), known)


WHOLE = (
    PROVIDER
    + """
headers = { HTTP-Referer = "https://me.example", X-Title = "mine" }
headers_env = { api-key = "AZURE_KEY" }
extra_body = { provider = { order = ["a"] } }
idle_timeout = 30
retries = 0
max_concurrent_requests = 2

[agents.a]
model = "m"
top_p = 0.5
stop = ["END"]
seed = 7
reasoning_effort = "high"
think_tags = "open"
extra_body = { top_k = 40 }
"""
)


def test_all_of_it_reaches_the_plan_and_the_address_keeps_its_query(tmp_path: Path) -> None:
    made = planned(WHOLE, tmp_path, {"AZURE_KEY": SECRET})
    server, agent = made.providers["p"], made.agents[0]
    assert server.base_url.endswith("?api-version=2024-10-21")
    assert server.headers == {"HTTP-Referer": "https://me.example", "X-Title": "mine"}
    assert secret_headers(server, {"AZURE_KEY": SECRET}) == {"api-key": SECRET}
    assert (server.idle_timeout, server.retries, server.max_concurrent_requests) == (30, 0, 2)
    assert server.extra_body == {"provider": {"order": ["a"]}}
    assert agent.options == RequestOptions(
        top_p=0.5,
        stop=("END",),
        seed=7,
        reasoning_effort="high",
        think_tags="open",
        extra_body={"top_k": 40},
    )
    assert SECRET not in repr(made)


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ('headers = { "X A" = "b" }', 'providers.p.headers."X A"', "no name of an HTTP header"),
        ('headers = { Host = "elsewhere" }', "providers.p.headers.Host", "by itself"),
        ('headers = { api-key = "azure" }', "providers.p.headers.api-key", "headers_env"),
        ('headers = { Authorization = "Bearer x" }', "providers.p.headers.Authorization", "headers_env"),
        ('headers = { X-A = "one\\r\\nX-B: two" }', "providers.p.headers.X-A", "line ends"),
        ("headers = { X-A = 1 }", "providers.p.headers.X-A", "text in quotes"),
        ('headers_env = { X-A = "sk-secret" }', "providers.p.headers_env.X-A", "in capitals"),
        ('headers = {x-a = "b"}\nheaders_env = { X-A = "A" }', "providers.p.headers_env.X-A", "twice"),
        ('api_key_env = "A"\nheaders_env = { Authorization = "B" }', "providers.p.api_key_env", "sets too"),
        ('extra_body = { messages = "x" }', "providers.p.extra_body", "'messages'"),
        ("extra_body = { at = 2024-01-01 }", "providers.p.extra_body", "a date, which is not JSON"),
        ("extra_body = { n = nan }", "providers.p.extra_body", "not JSON"),
        ("idle_timeout = 0", "providers.p.idle_timeout", "at least 0.1"),
        ("retries = -1", "providers.p.retries", "at least 0"),
        ("max_concurrent_requests = 0", "providers.p.max_concurrent_requests", "at least 1"),
        ("max_concurrent_requests = 1.5", "providers.p.max_concurrent_requests", "a whole number"),
        ("[agents.a]\ntop_p = 1.1", "agents.a.top_p", "at most 1"),
        ('[agents.a]\nstop = "END"', "agents.a.stop", "a list"),
        ('[agents.a]\nstop = [""]', "agents.a.stop", "a list of texts"),
        ('[agents.a]\nseed = "7"', "agents.a.seed", "a whole number"),
        ('[agents.a]\nreasoning_effort = "hard"', "agents.a.reasoning_effort", "'xhigh' or 'max'"),
        ('[agents.a]\nthink_tags = "shut"', "agents.a.think_tags", "true, false or 'open'"),
        ("[agents.a]\nextra_body = { tools = [] }", "agents.a.extra_body", "'tools'"),
        ('protocol = "responses"\n[agents.a]\nstop = ["A"]', "agents.a.stop", "no such field"),
        ('protocol = "anthropic"\n[agents.a]\nseed = 1', "agents.a.seed", "no such field"),
        ('protocol = "anthropic"\n[agents.a]\ntemperature = 1.5', "agents.a.temperature", "0 to 1"),
    ],
)
def test_what_cannot_be_sent_is_an_error_at_the_start(text: str, key: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(f'{PROVIDER}models = ["m"]\n{text}', tmp_path, {"A": "a", "B": "b"})
    assert key in str(caught.value)
    assert why in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("value", ["", "  ", "one\ntwo", "ż"])
def test_a_header_whose_variable_cannot_be_used_is_an_error_at_the_start(value: str, tmp_path: Path) -> None:
    text = f'{PROVIDER}models = ["m"]\nheaders_env = {{ api-key = "AZURE_KEY" }}\n'
    with pytest.raises(ConfigError, match="AZURE_KEY") as caught:
        planned(text, tmp_path, {"AZURE_KEY": value} if value else {})
    assert "providers.p.headers_env.api-key" in str(caught.value)
    assert not value.strip() or value not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[providers.p]\nbase_url = "http://evil"\nheaders = { X-A = "b" }', "[providers]"),
        ("[agents.a]\nextra_body = { provider = {} }", "extra_body"),
        ('[agents.a]\nheaders = { X-A = "b" }', "headers"),
        ('[agents.a]\nheaders_env = { X-A = "OPENAI_API_KEY" }', "headers_env"),
    ],
)
def test_a_project_adds_no_server_header_or_field(text: str, said: str, tmp_path: Path) -> None:
    problems: list[str] = []
    found = read_settings(text.encode(), tmp_path, EquipmentSettings(), problems)
    assert found.agents == {}
    assert said in "".join(problems)
