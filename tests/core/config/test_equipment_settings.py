"""What the tables for rules, hooks, servers, tools and the sandbox may say, and the answers otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.rule_text import read_rule
from agent_tui_core.errors import ConfigError

SECRET = "sk-live-0123456789abcdef"
WHOLE = """
[permissions]
allow = ["Bash(npm run *)", "mcp__git", "mcp__git__*", "mcp__git__git_log", "deploy"]
ask = ["Bash(git push *)"]
deny = ["Read(*.key)", "Edit(/build/[a-c]/**)"]

[[hooks.PreToolUse]]
matcher = "Bash|Write"
command = "./check.sh"
timeout = 5
on_error = "deny"

[[hooks.Stop]]
command = "notify-send done"
compat = true

[mcp.servers.git]
command = "mcp-server-git"
args = ["--repository", "."]
env = { LOG = "debug" }
env_from = ["https_proxy"]

[mcp.servers.web]
url = "https://mcp.example/mcp"
headers_env = { Authorization = "WEB_TOKEN" }

[tools.deploy]
type = "external"
description = "Deploys."
command = ["./deploy.sh"]

[sandbox]
network = false
writable = ["~/.cache/pip"]

[agents.coder]
tools = ["Read", "deploy"]
mcp = ["git"]
network = true
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_all_tables_are_read(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, WHOLE), environ={})
    assert settings.permissions.ask == ("Bash(git push *)",)
    assert settings.hooks["PreToolUse"][0].timeout == 5
    assert settings.mcp.servers["git"].env_from == ("https_proxy",)
    assert settings.tools["deploy"].command == ("./deploy.sh",)
    assert settings.agents["coder"].mcp == ("git",)


SERVER = '[mcp.servers.web]\nurl = "https://mcp.example/mcp"\n'
PROGRAM = '[mcp.servers.git]\ncommand = "mcp-server-git"\n'
TOOL = '[tools.deploy]\ntype = "external"\ndescription = "Deploys."\n'
HOOK = '[[hooks.PreToolUse]]\ncommand = "./check.sh"\n'


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ('[permissions]\nallow = ["Bash(ls)", "Bash(ls"]', "permissions.allow[2]", "not a rule"),
        ('[permissions]\ndeny = ["bash"]', "permissions.deny[1]", "did you mean 'Bash'?"),
        ('[permissions]\ndeny = ["Weather"]', "permissions.deny[1]", "there is no tool 'Weather'"),
        ('[permissions]\ndeny = ["Read([z-a])"]', "permissions.deny[1]", "no gitignore pattern"),
        ('[permissions]\ndeny = ["Read(!*.key)"]', "permissions.deny[1]", "matches nothing"),
        ('[permissions]\ndeny = ["mcp__a(x)"]', "permissions.deny[1]", "only Bash and the file tools"),
        ('[permissions]\ndeny = ["Ba*"]', "permissions.deny[1]", "a star stands inside the brackets"),
        ('[permissions]\ndeny = "Bash"', "permissions.deny", "should be a list"),
        ('[permissions]\nalow = ["Bash"]', "permissions.alow", "did you mean 'allow'?"),
        ('[hooks]\nPreTool = [{command = "x"}]', "hooks.PreTool", "did you mean 'PreToolUse'?"),
        ('[hooks.PreToolUse]\ncommand = "x"', "hooks.PreToolUse", "write [[hooks.PreToolUse]]"),
        ('[[hooks.Stop]]\nmatcher = "x"', "hooks.Stop[1].command", "is missing"),
        (HOOK + 'matcher = "Ba("', "hooks.PreToolUse[1].matcher", "no regular expression"),
        (HOOK + 'comand = "x"', "hooks.PreToolUse[1].comand", "did you mean 'command'?"),
        (HOOK + 'compat = true\non_error = "ask"', "hooks.PreToolUse[1].on_error", "leave out one"),
        (HOOK + 'on_error = "pass"', "hooks.PreToolUse[1].on_error", "'ask', 'deny' or 'allow'"),
        (HOOK + "timeout = 0", "hooks.PreToolUse[1].timeout", "at least 0.1"),
        ('[[hooks.Stop]]\ncommand = " "', "hooks.Stop[1].command", "a line for the shell"),
        ("[mcp.servers.x]\ntimeout = 3", "mcp.servers.x", "either command"),
        (PROGRAM + 'url = "https://a.example"', "mcp.servers.git", "either command"),
        ('[mcp.servers.a__b]\ncommand = "x"', "mcp.servers.a__b", "single _"),
        ('[mcp.servers."a b"]\ncommand = "x"', 'mcp.servers."a b"', "single _"),
        ('[mcp.servers.x]\ncommand = "npx thing"', "mcp.servers.x.command", "belongs in args"),
        (PROGRAM + 'headers_env = { A = "B" }', "mcp.servers.git.headers_env", "env or env_from"),
        (PROGRAM + 'env = { "A B" = "c" }', 'mcp.servers.git.env."A B"', "the name of a variable"),
        (PROGRAM + f'env_from = ["{SECRET}"]', "mcp.servers.git.env_from[1]", "environment variable"),
        (SERVER + 'args = ["x"]', "mcp.servers.web.args", "headers_env"),
        ('[mcp.servers.x]\nurl = "mcp.example"', "mcp.servers.x.url", "https://mcp.example/mcp"),
        (f'[mcp.servers.x]\nurl = "https://u:{SECRET}@h"', "mcp.servers.x.url", "headers_env"),
        (
            '[mcp.servers.x]\nurl = "http://h.example"\nheaders_env = { A = "B" }',
            "mcp.servers.x.url",
            "in the clear",
        ),
        (SERVER + f'headers_env = {{ Authorization = "{SECRET}" }}', None, "in capitals"),
        (SERVER + 'headers_env = { "A b" = "TOKEN" }', None, "no name of an HTTP header"),
        (SERVER + 'headers_env = { Host = "TOKEN" }', "mcp.servers.web.headers_env.Host", "leave it out"),
        (SERVER + f'token = "{SECRET}"', "mcp.servers.web.token", "headers_env = {"),
        ('[mcp.server.x]\ncommand = "x"', "mcp.server", "did you mean 'servers'?"),
        ('[tools.Bash]\ntype = "external"\ndescription = "x"', "tools.Bash", "built-in"),
        ('[tools.bash]\ntype = "external"\ndescription = "x"', "tools.bash", "built-in"),
        ('[tools.mcp__a__b]\ntype = "external"\ndescription = "x"', "tools.mcp__a__b", "MCP servers"),
        ('[tools."a b"]\ntype = "external"\ndescription = "x"', 'tools."a b"', "letters, digits"),
        ('[tools.x]\ntype = "internal"\ndescription = "x"', "tools.x.type", "should be 'external'"),
        (TOOL + 'input_schema = { type = "string" }', "tools.deploy.input_schema", 'type = "object"'),
        (TOOL + 'env_from = ["a-b"]', "tools.deploy.env_from[1]", "environment variable"),
        ('[agents.a]\nmcp = ["gti"]\n' + PROGRAM, "agents.a.mcp[1]", "did you mean 'git'?"),
        ('[agents.a]\nmcp = ["git"]', "agents.a.mcp[1]", "none is defined"),
        ('[agents.a]\ntools = ["deplyo"]\n' + TOOL, "agents.a.tools[1]", "did you mean 'deploy'?"),
        ('[sandbox]\nwritable = ["cache"]', "sandbox.writable[1]", "a whole path"),
        ('[sandbox]\nwritable = ["/usr/.."]', "sandbox.writable[1]", "the whole system"),
        ('[sandbox]\nmode = "off"\nnetwork = false', "sandbox.network", "only a sandbox"),
        ('[agents.a]\nnetwork = false\n[sandbox]\nmode = "off"', "agents.a.network", "only a sandbox"),
        ('[sandbox]\nmode = "on"', "sandbox.mode", "'auto', 'off' or 'required'"),
        (
            '[sandbox]\nheaders_env = { A = "B" }',
            "sandbox.headers_env",
            "belongs in [providers.NAME] or [mcp.servers.NAME]",
        ),
    ],
)
def test_what_cannot_be_meant_names_file_key_and_remedy(
    tmp_path: Path, text: str, key: str | None, words: str
) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(file, environ={})
    assert caught.value.file == str(file)
    if key is not None:
        assert caught.value.key == key
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "server"),
    [("mcp__git", "mcp__git__"), ("mcp__git__*", "mcp__git__"), ("mcp__git__log", None), ("Bash", None)],
)
def test_a_rule_on_a_server_covers_its_tools(text: str, server: str | None) -> None:
    assert read_rule(text).server == server
