"""What a start becomes: flags before environment before settings before what is built in."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.config.models import (
    AgentSettings,
    DashboardSettings,
    ProviderSettings,
    Settings,
)
from agent_tui_core.config.profiles import SYSTEM_PROMPT, Flags, Plan, check_agent, plan
from agent_tui_core.config.servers import OPENAI_MODEL, ProviderProfile, api_key
from agent_tui_core.errors import ConfigError

LOCAL = ProviderSettings(base_url="http://127.0.0.1:9/v1", models=("small", "large"))
CLOUD = ProviderSettings(base_url="https://models.example/v1/", api_key_env="CLOUD_KEY")
TWO = Settings(
    providers={"local": LOCAL, "cloud": CLOUD},
    agents={
        "writer": AgentSettings(),
        "reviewer": AgentSettings(provider="cloud", model="careful", system_prompt="You review."),
    },
)


def placed(result: Plan) -> list[tuple[str, str | None, str | None]]:
    return [(agent.name, agent.provider, agent.model) for agent in result.agents]


def names(result: Plan) -> list[str]:
    return [agent.name for agent in result.agents]


def refusal(settings: Settings, flags: Flags, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        plan(settings, flags, environ or {})
    return str(caught.value)


# who is asked


def test_with_nothing_named_the_session_decides() -> None:
    result = plan(Settings(), Flags(), {})
    assert (result.agents, result.providers, result.demo) == ((), {}, False)
    assert result.profiles["default"].provider is None
    assert result.profiles["default"].system_prompt == SYSTEM_PROMPT
    assert result.profiles["default"].tools is None


def test_a_key_alone_means_openai() -> None:
    result = plan(Settings(), Flags(), {"OPENAI_API_KEY": "sk-x"})
    assert placed(result) == [("agent-1", "openai", OPENAI_MODEL)]
    assert result.providers["openai"].base_url == "https://api.openai.com/v1"
    assert result.providers["openai"].api_key_env == "OPENAI_API_KEY"


def test_anthropics_key_alone_means_anthropic_and_a_model_of_its_list() -> None:
    result = plan(Settings(), Flags(), {"ANTHROPIC_API_KEY": "sk-x"})
    assert placed(result) == [("agent-1", "anthropic", None)]
    assert result.providers == {
        "anthropic": ProviderProfile(
            "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", (), "anthropic"
        )
    }
    assert plan(Settings(), Flags(model="m"), {"ANTHROPIC_API_KEY": "k"}).agents[0].model == "m"


@pytest.mark.parametrize(
    ("settings", "environ"),
    [
        (Settings(), {"OPENAI_API_KEY": "sk-x"}),
        (Settings(), {"OPENAI_BASE_URL": "http://h/v1"}),
        (Settings(providers={"local": LOCAL}), {}),
    ],
)
def test_anthropics_key_counts_only_where_nothing_else_is_said(
    settings: Settings, environ: dict[str, str]
) -> None:
    result = plan(settings, Flags(), {"ANTHROPIC_API_KEY": "sk-x", **environ})
    (provider,) = result.providers.values()
    assert provider.protocol == "chat"
    assert provider.api_key_env != "ANTHROPIC_API_KEY"


def test_a_provider_of_the_file_has_its_protocol_and_its_ways() -> None:
    spoken = replace(LOCAL, protocol="responses", think_tags=True, thinking=True)
    provider = plan(Settings(providers={"local": spoken}), Flags(), {}).providers["local"]
    assert (provider.protocol, provider.think_tags, provider.thinking) == ("responses", True, True)


def test_an_address_takes_the_key_along_when_there_is_one() -> None:
    result = plan(Settings(), Flags(base_url="http://h:1/v1/"), {"OPENAI_API_KEY": "sk-x"})
    assert result.providers == {"h:1": ProviderProfile("h:1", "http://h:1/v1", "OPENAI_API_KEY", ())}
    assert plan(Settings(), Flags(base_url="http://h:1/v1"), {}).providers["h:1"].api_key_env is None


def test_a_provider_of_the_file_never_gets_the_openai_key() -> None:
    result = plan(Settings(providers={"local": LOCAL}), Flags(), {"OPENAI_API_KEY": "sk-x"})
    assert placed(result) == [("agent-1", "local", "small")]
    assert api_key(result.providers["local"], {"OPENAI_API_KEY": "sk-x"}) is None


def test_a_provider_of_the_file_gets_the_openai_key_when_it_asks_for_it() -> None:
    asking = ProviderSettings(base_url="http://h/v1", api_key_env="OPENAI_API_KEY")
    environ = {"OPENAI_API_KEY": "sk-x"}
    result = plan(Settings(providers={"p": asking}), Flags(), environ)
    assert api_key(result.providers["p"], environ) == "sk-x"


def test_the_first_provider_of_the_file_serves_who_names_none() -> None:
    result = plan(TWO, Flags(agents=("writer", "reviewer")), {"CLOUD_KEY": "k"})
    assert placed(result) == [("writer", "local", "small"), ("reviewer", "cloud", "careful")]
    assert result.agents[1].system_prompt == "You review."
    assert result.providers["cloud"].base_url == "https://models.example/v1"


@pytest.mark.parametrize(
    ("flag", "variable", "expected"),
    [
        ("http://flag/v1", "http://env/v1", "http://flag/v1"),
        (None, "http://env/v1", "http://env/v1"),
        (None, "", "http://127.0.0.1:9/v1"),
    ],
)
def test_the_address_is_taken_from_flag_then_environment_then_file(
    flag: str | None, variable: str, expected: str
) -> None:
    result = plan(TWO, Flags(base_url=flag), {"OPENAI_BASE_URL": variable})
    provider = result.agents[0].provider
    assert provider is not None
    assert result.providers[provider].base_url == expected


def test_an_address_by_flag_serves_every_profile_and_needs_no_other_key() -> None:
    result = plan(TWO, Flags(agents=("reviewer",), base_url="http://h/v1"), {})
    assert placed(result) == [("reviewer", "h", "careful")]
    assert {profile.provider for profile in result.profiles.values()} == {"h"}
    assert list(result.providers) == ["h"]


@pytest.mark.parametrize(
    ("flag", "variable", "expected"),
    [("flag", "env", "flag"), (None, "env", "env"), (None, None, "careful"), (None, "", "careful")],
)
def test_the_model_is_taken_from_flag_then_environment_then_file(
    flag: str | None, variable: str | None, expected: str
) -> None:
    environ = {"CLOUD_KEY": "k", **({} if variable is None else {"AGENT_TUI_MODEL": variable})}
    assert plan(TWO, Flags(agents=("reviewer",), model=flag), environ).agents[0].model == expected


def test_a_server_named_by_address_alone_is_asked_for_its_models() -> None:
    assert plan(Settings(), Flags(base_url="http://h/v1"), {}).agents[0].model is None


def test_a_bad_address_names_where_it_was_said() -> None:
    assert refusal(Settings(), Flags(base_url="h:1")).startswith("--base-url: ")
    assert refusal(Settings(), Flags(), {"OPENAI_BASE_URL": "h:1"}).startswith("OPENAI_BASE_URL: ")


# keys


def test_a_missing_key_names_provider_variable_and_remedy() -> None:
    said = refusal(TWO, Flags(agents=("reviewer",)))
    assert "providers.cloud.api_key_env" in said
    assert "CLOUD_KEY" in said
    assert "export" in said


def test_a_missing_key_is_no_matter_when_no_agent_needs_it() -> None:
    assert names(plan(TWO, Flags(agents=("writer",)), {})) == ["writer"]


def test_a_profile_that_is_not_started_can_be_checked_later() -> None:
    result = plan(TWO, Flags(agents=("writer",)), {})
    with pytest.raises(ConfigError, match="CLOUD_KEY"):
        check_agent(result.profiles["reviewer"], result.providers["cloud"], {})


@pytest.mark.parametrize("value", ["sk-\nx", "“sk-topsecret”", "sk\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        api_key(ProviderProfile("p", "http://h", "K", ()), {"K": value})
    assert "topsecret" not in str(caught.value)


def test_no_key_stands_in_a_plan() -> None:
    environ = {"OPENAI_API_KEY": "sk-topsecret", "CLOUD_KEY": "sk-topsecret"}
    for settings in (Settings(), TWO):
        assert "topsecret" not in repr(plan(settings, Flags(), environ))


# which agents


def test_a_count_makes_numbered_agents() -> None:
    result = plan(Settings(providers={"local": LOCAL}), Flags(count=3), {})
    assert names(result) == ["agent-1", "agent-2", "agent-3"]


def test_agents_can_be_counted_before_a_server_is_known() -> None:
    assert placed(plan(Settings(), Flags(count=2), {})) == [("agent-1", None, None), ("agent-2", None, None)]


def test_the_dashboard_table_says_who_is_there_at_the_start() -> None:
    settings = Settings(
        providers={"local": LOCAL},
        agents={"a": AgentSettings(model="m")},
        dashboard=DashboardSettings(agents=("a", "default", "a")),
    )
    assert placed(plan(settings, Flags(), {})) == [
        ("a", "local", "m"),
        ("agent-1", "local", "m"),
        ("a-2", "local", "m"),
    ]
    assert names(plan(settings, Flags(count=1), {})) == ["a"]
    assert names(plan(settings, Flags(agents=("x",)), {})) == ["x"]


def test_without_a_dashboard_table_the_first_profile_starts() -> None:
    assert names(plan(TWO, Flags(), {})) == ["writer"]


def test_a_profile_called_default_goes_before_the_first() -> None:
    settings = Settings(
        providers={"local": LOCAL},
        agents={"a": AgentSettings(model="x"), "default": AgentSettings(model="y")},
    )
    assert placed(plan(settings, Flags(), {})) == [("agent-1", "local", "y")]
    assert plan(settings, Flags(agents=("new",)), {}).agents[0].model == "y"


def test_a_name_can_take_a_profile() -> None:
    result = plan(TWO, Flags(agents=("ann=reviewer", "bob=default", "bob")), {"CLOUD_KEY": "k"})
    assert placed(result) == [
        ("ann", "cloud", "careful"),
        ("bob", "local", "small"),
        ("bob-2", "local", "small"),
    ]


def test_a_count_repeats_the_named_agents() -> None:
    assert names(plan(TWO, Flags(agents=("writer", "x"), count=5), {})) == [
        "writer",
        "x",
        "writer-2",
        "x-2",
        "writer-3",
    ]


def test_an_unknown_profile_gets_candidates() -> None:
    assert "did you mean 'reviewer'?" in refusal(TWO, Flags(agents=("ann=reviwer",)))


@pytest.mark.parametrize("said", ["", "=writer", " a", "a\x1b[2J", "x" * 41])
def test_a_name_that_cannot_be_shown_is_refused(said: str) -> None:
    assert "\x1b" not in refusal(TWO, Flags(agents=(said,)))


@pytest.mark.parametrize(
    "flags",
    [
        Flags(count=0),
        Flags(count=65),
        Flags(count=-1),
        Flags(agents=("a",) * 65),
        Flags(agents=("a", "b"), count=1),
    ],
)
def test_a_number_of_agents_that_makes_no_sense_is_refused(flags: Flags) -> None:
    assert "--agent" in refusal(Settings(), flags)


# the demo


def test_the_demo_leaves_every_provider_alone() -> None:
    environ = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://h/v1", "AGENT_TUI_MODEL": "m"}
    result = plan(TWO, Flags(demo=True), environ)
    assert (result.demo, result.agents, result.providers) == (True, (), {})
    assert {(profile.provider, profile.model) for profile in result.profiles.values()} == {(None, None)}


def test_the_demo_can_be_asked_for_by_number_or_name() -> None:
    assert placed(plan(TWO, Flags(demo=True, count=2), {})) == [
        ("agent-1", None, None),
        ("agent-2", None, None),
    ]
    assert placed(plan(TWO, Flags(demo=True, agents=("reviewer",)), {})) == [("reviewer", None, None)]


@pytest.mark.parametrize("flags", [Flags(demo=True, model="m"), Flags(demo=True, base_url="http://h/v1")])
def test_the_demo_and_a_real_model_exclude_each_other(flags: Flags) -> None:
    assert "--demo" in refusal(Settings(), flags)


# places


def test_the_workspace_is_the_flag_then_the_profile_then_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here", "flag", "profile"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "flag")
    monkeypatch.chdir(tmp_path / "here")
    home = AgentSettings(workspace=str(tmp_path / "profile"))
    settings = Settings(providers={"local": LOCAL}, agents={"a": home})
    assert plan(settings, Flags(), {}).agents[0].workspace == (tmp_path / "profile").resolve()
    flagged = plan(settings, Flags(workspace=Path("../link")), {})
    assert flagged.agents[0].workspace == flagged.workspace == (tmp_path / "flag").resolve()
    assert plan(settings, Flags(agents=("x",)), {}).workspace == (tmp_path / "here").resolve()


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    assert "--workspace" in refusal(Settings(), Flags(workspace=tmp_path / "none"))
    gone = Settings(providers={"local": LOCAL}, agents={"a": AgentSettings(workspace=str(tmp_path / "none"))})
    assert "workspace of 'a'" in refusal(gone, Flags())


def test_the_data_folder_is_the_flag_then_the_environment(tmp_path: Path) -> None:
    environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "env"), "AGENT_TUI_CONFIG_DIR": str(tmp_path / "config")}
    assert plan(Settings(), Flags(), environ).data_dir == tmp_path / "env"
    assert plan(Settings(), Flags(data_dir=tmp_path / "flag"), environ).data_dir == tmp_path / "flag"
    assert plan(Settings(), Flags(), environ).config_dir == tmp_path / "config"
    assert plan(Settings(), Flags(), {}).data_dir.is_absolute()


def test_theme_keys_and_mouse_are_passed_on() -> None:
    settings = Settings(dashboard=DashboardSettings(theme="paper", mouse=False), keys={"help": "f1"})
    result = plan(settings, Flags(), {})
    assert (result.theme, result.mouse, result.keys) == ("paper", False, {"help": "f1"})
    assert plan(settings, Flags(theme="night"), {}).theme == "night"


def test_a_folder_that_was_removed_under_us_is_an_error_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed = tmp_path / "doomed"
    doomed.mkdir()
    monkeypatch.chdir(doomed)
    doomed.rmdir()
    assert "--workspace" in refusal(Settings(), Flags())
    os.chdir(tmp_path)
