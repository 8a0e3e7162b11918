"""What a settings file may say, and what is answered to what it may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.models import BUILTIN_TOOLS, Settings
from agent_tui_core.errors import ConfigError

WHOLE = """
[providers.local]
base_url = "http://127.0.0.1:11434/v1"
models = ["small", "large"]

[providers.cloud]
base_url = "https://models.example/v1/"
api_key_env = "CLOUD_KEY"

[agents.reviewer]
provider = "cloud"
model = "large"
system_prompt = "You review."
tools = ["Read", "Grep"]
max_tool_iterations = 7
workspace = "~/code"
max_tokens = 4096
temperature = 0

[dashboard]
agents = ["reviewer", "default"]
theme = "paper"
mouse = false

[keys]
help = "f1,ctrl+g"
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write_file(text: str) -> Path:
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write_file


def refusal(file: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(file, environ={})
    assert caught.value.file == str(file)
    return caught.value


def test_a_whole_file_is_read(write: Callable[[str], Path]) -> None:
    settings = load_settings(write(WHOLE), environ={})
    assert settings.providers["local"].models == ("small", "large")
    assert settings.providers["cloud"].api_key_env == "CLOUD_KEY"
    reviewer = settings.agents["reviewer"]
    assert (reviewer.tools, reviewer.max_tool_iterations) == (("Read", "Grep"), 7)
    assert (reviewer.temperature, reviewer.max_tokens) == (0.0, 4096)
    assert settings.dashboard.agents == ("reviewer", "default")
    assert settings.dashboard.mouse is False
    assert settings.keys == {"help": "f1,ctrl+g"}


def test_an_empty_file_is_the_same_as_none(write: Callable[[str], Path]) -> None:
    assert load_settings(write(""), environ={}) == Settings()


def test_the_usual_file_need_not_exist(tmp_path: Path) -> None:
    assert load_settings(None, environ={"AGENT_TUI_CONFIG_DIR": str(tmp_path / "none")}) == Settings()


def test_the_usual_file_is_found_in_the_config_folder(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[dashboard]\ntheme = "paper"\n')
    assert load_settings(None, environ={"AGENT_TUI_CONFIG_DIR": str(tmp_path)}).dashboard.theme == "paper"


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    assert "no such settings file" in str(refusal(tmp_path / "missing.toml"))


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in str(refusal(tmp_path))


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ('[agents.reviewer]\nmodell = "x"', "agents.reviewer.modell", "did you mean 'model'?"),
        ('[agents.reviewer]\nMODEL = "x"', "agents.reviewer.MODEL", "did you mean 'model'?"),
        ("[agent.reviewer]", "agent", "did you mean 'agents'?"),
        ("[dashboard]\nagent = []", "dashboard.agent", "did you mean 'agents'?"),
        ('[agents.x]\nbase_url = "http://h"', "agents.x.base_url", "'base_url' belongs in [providers.NAME]"),
        ("zzz = 1", "zzz", "it may be 'providers', 'agents', 'dashboard', 'keys'"),
        ('[providers.p]\nbase_ulr = "http://h/v1"', "providers.p.base_ulr", "did you mean 'base_url'?"),
    ],
)
def test_an_unknown_key_names_the_nearest_right_one(
    write: Callable[[str], Path], text: str, key: str, said: str
) -> None:
    error = refusal(write(text))
    assert error.key == key
    assert said in str(error)


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ('[agents.a]\nmax_tool_iterations = "3"', "agents.a.max_tool_iterations", "a whole number, not text"),
        (
            "[agents.a]\nmax_tool_iterations = 2.5",
            "agents.a.max_tool_iterations",
            "not a number with a fraction",
        ),
        ("[agents.a]\nmax_tool_iterations = true", "agents.a.max_tool_iterations", "not true or false"),
        ("[agents.a]\nmax_tool_iterations = 0", "agents.a.max_tool_iterations", "at least 1"),
        ('[agents.a]\ntemperature = "hot"', "agents.a.temperature", "a number, not text"),
        ("[agents.a]\ntemperature = 2.1", "agents.a.temperature", "at most 2"),
        ("[agents.a]\ntemperature = nan", "agents.a.temperature", "at most 2"),
        ('[agents.a]\ntools = "Read"', "agents.a.tools", "a list"),
        ("[agents.a]\ntools = [1]", "agents.a.tools[1]", "text in quotes, not a number"),
        ("[agents.a]\nmodel = 1979-05-27", "agents.a.model", "text in quotes, not a date or time"),
        ("[dashboard]\nmouse = 1", "dashboard.mouse", "true or false, not a number"),
        ("agents = []", "agents", "a table, not a list"),
        ("agents = {a = 1}", "agents.a", "a table, not a number"),
        ("[providers.p]", "providers.p.base_url", "is missing"),
        (
            '[providers.p]\nbase_url = "http://h"\nprotocol = "claude"',
            "providers.p.protocol",
            "should be 'chat', 'anthropic' or 'responses'",
        ),
        (
            '[providers.p]\nbase_url = "http://h"\nthink_tags = 1',
            "providers.p.think_tags",
            "true, false or 'open'",
        ),
        ('[keys]\nhelp = ["f1"]', "keys.help", "text in quotes, not a list"),
        ('[keys]\nhelp = "f1,,f2"', "keys.help", "one key or several"),
    ],
)
def test_a_wrong_value_names_what_would_be_right(
    write: Callable[[str], Path], text: str, key: str, said: str
) -> None:
    error = refusal(write(text))
    assert error.key == key
    assert said in str(error)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[dashboard]\ntheme = paper\n", "line 2, column 9"),
        ("[dashboard]\ntheme = 'x\n", "line 2, column 11"),
        ("[dashboard\n", "line 1, column 11"),
        ("a = 1\n[x", "line 2, column 3"),
        ("a = 1\na = 2\n", "line 2"),
        ("a = " + "[" * 5000, "line 1"),
    ],
)
def test_a_syntax_error_names_line_and_column(write: Callable[[str], Path], text: str, where: str) -> None:
    assert f"{where}" in str(refusal(write(text)))


def test_bytes_that_are_not_utf8_name_their_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"# fine\n# \xff\n")
    assert "line 2: is not UTF-8" in str(refusal(file))


@pytest.mark.parametrize("name", ["api_key", "apikey", "api-key", "API_KEY", "key", "token", "secret"])
def test_a_key_in_the_file_is_sent_to_the_environment(write: Callable[[str], Path], name: str) -> None:
    error = refusal(write(f'[providers.p]\nbase_url = "http://h/v1"\n{name} = "sk-topsecret"'))
    assert "environment variable" in str(error)
    assert "api_key_env" in str(error)
    assert "sk-topsecret" not in str(error)


@pytest.mark.parametrize("value", ["sk-topsecret", "gsk_topsecret", "", "A B"])
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_repeated(
    write: Callable[[str], Path], value: str
) -> None:
    error = refusal(write(f'[providers.p]\nbase_url = "http://h/v1"\napi_key_env = "{value}"'))
    assert error.key == "providers.p.api_key_env"
    assert "topsecret" not in str(error)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("127.0.0.1:11434/v1", "http:// or https://"),
        ("ftp://host/v1", "http:// or https://"),
        ("file:///etc/passwd", "http:// or https://"),
        ("http://", "names no server"),
        ("http://user:topsecret@host/v1", "credentials"),
        ("http://host/v1?v=1&api_key=topsecret", "holds a key"),
        ("http://host/v1#x", "after #"),
        ("http://host:99999/v1", "is no URL"),
        ("http://[::1/v1", "is no URL"),
        (" http://host/v1", "spaces"),
        ("http://host\\u001b[2J/v1", "control characters"),
    ],
)
def test_an_address_that_is_none_is_refused_and_not_repeated(
    write: Callable[[str], Path], url: str, said: str
) -> None:
    error = refusal(write(f'[providers.p]\nbase_url = "{url}"'))
    assert error.key == "providers.p.base_url"
    assert said in str(error)
    assert "topsecret" not in str(error)


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (
            '[providers.local]\nbase_url = "http://h"\n[agents.a]\nprovider = "locl"',
            "agents.a.provider",
            "'local'",
        ),
        ('[agents.a]\nprovider = "local"', "agents.a.provider", "none is defined"),
        ('[agents.a]\ntools = ["Read", "Grpe"]', "agents.a.tools[2]", "did you mean 'Grep'?"),
        ('[agents.a]\ntools = ["bash"]', "agents.a.tools[1]", "did you mean 'Bash'?"),
        ('[agents.writer]\n[dashboard]\nagents = ["writr"]', "dashboard.agents[1]", "did you mean 'writer'?"),
    ],
)
def test_a_name_that_is_not_defined_gets_candidates(
    write: Callable[[str], Path], text: str, key: str, said: str
) -> None:
    error = refusal(write(text))
    assert error.key == key
    assert said in str(error)


@pytest.mark.parametrize("name", ['""', '"a=b"', '" a"', '"a\\u001b[2J"', '"a\\nb"', f'"{"a" * 41}"'])
def test_a_name_that_cannot_be_shown_is_refused(write: Callable[[str], Path], name: str) -> None:
    error = refusal(write(f"[agents.{name}]"))
    assert "\x1b" not in str(error)
    assert "a name" in str(error)


def test_a_control_character_in_an_unknown_key_never_reaches_the_message(
    write: Callable[[str], Path],
) -> None:
    assert "\x1b" not in str(refusal(write('"\\u001b]0;x\\u0007" = 1')))


def test_the_tools_that_a_file_may_name_are_the_built_in_ones() -> None:
    registry = pytest.importorskip("agent_tui_core.tools.registry")
    assert {tool.name for tool in registry.builtin_tools()} == set(BUILTIN_TOOLS)
