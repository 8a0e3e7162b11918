"""Owns the proof of what a sandboxed command can see, write and reach; refuses to look at arguments alone."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.sandbox import Sandbox, SandboxRules
from boxes import Shell, folder_at_home, git, needs_sandbox

pytestmark = needs_sandbox


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with folder_at_home() as folder:
        yield folder


@pytest.fixture
async def bash(workspace: Path) -> AsyncIterator[Shell]:
    shell = Shell(workspace)
    yield shell
    await shell.close()


async def test_the_workspace_is_writable_and_nothing_else(elsewhere: Path) -> None:
    workspace = elsewhere / "work"
    workspace.mkdir()
    (elsewhere / "beside").write_text("old")
    bash = Shell(workspace)
    await bash.output("echo new > made; mkdir -p a/b")
    assert (workspace / "made").read_text() == "new\n"
    for target in (elsewhere / "beside", elsewhere / "other", Path("/etc/x"), Path("/usr/x"), Path("/x")):
        done = await bash(f"echo changed > {target}")
        assert "Read-only file system" in done.content, target
        assert "It ran in a sandbox: only the workspace and /tmp" in done.content
    assert (elsewhere / "beside").read_text() == "old"
    assert sorted(elsewhere.iterdir()) == [elsewhere / "beside", workspace]
    await bash.close()


async def test_tmp_is_private_and_lasts_as_long_as_the_agent(bash: Shell) -> None:
    assert await bash.output("mktemp -u; echo $TMPDIR") != ""
    await bash.output("echo mine > /tmp/agent-tui-note")
    assert not Path("/tmp/agent-tui-note").exists()
    assert await bash.output("cat /tmp/agent-tui-note") == "mine"
    other = Shell(bash.workspace)
    assert (await other("cat /tmp/agent-tui-note")).is_error
    await other.close()


async def test_its_processes_are_alone_and_cannot_read_our_environment(bash: Shell) -> None:
    seen = (await bash.output("cat /proc/[0-9]*/comm | sort -u")).split()
    assert set(seen) <= {"bwrap", "sh", "bash", "cat", "sort"}
    assert (await bash(f"kill -0 {os.getpid()} 2>/dev/null; cat /proc/{os.getpid()}/environ")).is_error


async def test_a_companys_certificates_can_be_read_wherever_they_lie(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as outside:
        file = Path(outside, "ca.pem")
        file.write_text("a company")
        Path(outside, "beside").write_text("private")
        Path(outside, "certs").mkdir()
        Path(outside, "certs", "one.pem").write_text("another")
        linked = Path(outside, "linked.pem")
        linked.symlink_to(file)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        monkeypatch.setenv("SSL_CERT_DIR", f"{outside}/certs:/is/not/there")
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(linked))
        bash = Shell(workspace, network=False, confined=True)
        assert await bash.output('cat "$SSL_CERT_FILE"') == "a company"
        assert await bash.output('cat "$NODE_EXTRA_CA_CERTS"') == "a company"
        assert await bash.output('cat "${SSL_CERT_DIR%%:*}/one.pem"') == "another"
        assert (await bash(f"echo mine > {file}")).is_error
        assert (await bash(f"cat {outside}/beside")).is_error
        assert file.read_text() == "a company"
        await bash.close()


async def test_privileges_are_gone(bash: Shell) -> None:
    status = await bash.output("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")
    assert {line.split()[1].strip("0") for line in status.splitlines()} == {"", "1"}
    for attack in (
        "mount -o remount,rw /",
        "umount /tmp",
        "mount -t tmpfs none /mnt",
        "unshare -Urm mount -o remount,rw,bind /",
        "unshare -Urm umount /tmp",
        "printf '' > /proc/sys/kernel/core_pattern",
        "printf '' > /proc/sysrq-trigger",
        "printf '' > /sys/power/state",
    ):
        assert (await bash(attack)).is_error, attack
    sweep = (
        'find /proc -path "/proc/[0-9]*" -prune -o -path /proc/pressure -prune -o -type f -writable -print'
    )
    assert await bash.output(sweep) == "(no output)"


async def test_without_network_there_is_none_and_with_it_there_is(workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        for network, confined, reached in (
            (None, False, True),
            (True, True, True),
            (False, False, False),
            (None, True, False),
        ):
            shell = Shell(workspace, network=network, confined=confined)
            done = await shell(connect)
            assert ("reached" in done.content) == reached, (network, confined)
            assert ("no network" in shell.sandbox.words) == (not reached)
            await shell.close()


async def test_own_folders_are_hidden_even_inside_the_workspace(workspace: Path, tmp_path: Path) -> None:
    config, data = workspace / "config", tmp_path / "data"
    for folder in (config, data):
        folder.mkdir()
        (folder / "rules.toml").write_text("key = 1")
    shell = Shell(workspace, rules=SandboxRules("auto", hidden=(config, data, workspace / "not-yet")))
    said = await shell(
        f"cat {config}/* {data}/*; echo allow > {config}/rules.toml; echo x > not-yet/rules.toml"
    )
    assert "key" not in said.content
    for attack in (f"umount {config}", f"mount --bind {config} /mnt", f"umount -l {config}"):
        uncovered = await shell(f"unshare -Urm sh -c '{attack}; cat {config}/rules.toml /mnt/rules.toml'")
        assert "key" not in uncovered.content, attack
    assert (config / "rules.toml").read_text() == "key = 1"
    assert list((workspace / "not-yet").iterdir()) == []
    await shell.close()


async def test_a_workspace_inside_a_hidden_folder_is_seen_and_the_rest_is_not(elsewhere: Path) -> None:
    workspace = elsewhere / "data" / "demo"
    workspace.mkdir(parents=True)
    (elsewhere / "data" / "history.db").write_text("secret")
    shell = Shell(workspace, rules=SandboxRules("auto", hidden=(elsewhere / "data",)))
    assert await shell.output("echo x > made; ls ..") == "demo"
    await shell.close()


async def test_sockets_of_the_persons_programs_are_out_of_reach(
    workspace: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_tmp = Path(tempfile.gettempdir()) / f"agent-tui-test-{os.getpid()}"
    paths = [elsewhere / "run" / "bus", elsewhere / "agent.sock", in_tmp, elsewhere / "seen"]
    paths[0].parent.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(paths[0].parent))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(paths[1]))
    (workspace / "connect.py").write_text(
        "import socket, sys\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        socket.socket(socket.AF_UNIX).connect(path)\n"
        "        print('IN', path)\n"
        "    except OSError as error:\n"
        "        print(error)\n"
    )
    servers = [socket.socket(socket.AF_UNIX) for _ in paths]
    try:
        for server, path in zip(servers, paths, strict=True):
            server.bind(str(path))
            server.listen()
        shell = Shell(workspace)
        said = await shell.output(f"python3 connect.py {' '.join(map(str, paths))}")
        # The last one is no program's that we know of: a socket that can be seen can be used.
        assert [line for line in said.splitlines() if "IN" in line] == [f"IN {paths[3]}"]
        assert len(said.splitlines()) == 4
        await shell.close()
    finally:
        for server in servers:
            server.close()
        in_tmp.unlink(missing_ok=True)


async def test_keys_in_the_home_folder_are_hidden_from_an_agent_that_acts_unasked(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("secret")
    (home / ".netrc").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    for confined, network, seen in ((True, True, 0), (True, None, 0), (False, False, 0), (False, None, 2)):
        rules = SandboxRules("auto", writable=(home,))
        shell = Shell(workspace, confined=confined, network=network, rules=rules)
        said = await shell("cat ~/.ssh/id ~/.netrc")
        assert said.content.count("secret") == seen, (confined, network)
        await shell.close()


async def test_no_descriptor_of_ours_is_open_inside(bash: Shell) -> None:
    git(bash.workspace, "init", "-q")
    (bash.workspace / ".env").write_text("A=1")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        seen = await bash.output("for fd in /proc/self/fd/* /proc/2/fd/* /proc/1/fd/*; do readlink $fd; done")
        opened = {re.sub(r":?\[.*", "", line) for line in seen.splitlines()}
        assert opened == {"/dev/null", "pipe", "anon_inode"}, seen
    assert len(os.listdir("/proc/self/fd")) == before


async def test_folders_that_the_settings_name_are_writable(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    rules = SandboxRules("auto", writable=(cache, tmp_path / "is-not-there"))
    shell = Shell(workspace, rules=rules)
    assert await shell.output(f"echo x > {cache}/made; echo $XDG_CACHE_HOME") == "/tmp/.cache"
    assert (cache / "made").exists()
    monkeypatch.setenv("HOME", str(tmp_path))
    own = Shell(workspace, rules=SandboxRules("auto", writable=(tmp_path / ".cache",)))
    assert await own.output("echo $XDG_CACHE_HOME$npm_config_cache") == "(no output)"
    await own.close()
    await shell.close()


async def test_the_folder_that_a_command_goes_to_does_not_become_writable(bash: Shell) -> None:
    said = await bash(f"cd {Path.home()} && touch agent-tui-test; cd /usr && touch agent-tui-test")
    assert said.content.count("Read-only file system") == 2


async def test_there_is_no_terminal_and_no_key_of_a_provider(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    shell = Shell(workspace)
    said = await shell.output("env; ls /dev/pts; (: </dev/tty) 2>/dev/null || echo no terminal")
    assert "secret" not in said
    assert said.endswith("no terminal")
    assert "AGENT_TUI_SANDBOX=1" in said
    await shell.close()


async def test_an_exit_code_and_a_signal_are_told(bash: Shell) -> None:
    assert (await bash("exit 7")).content == "exit code 7\n(no output)"
    assert (await bash("kill -SEGV $$")).content.startswith("exit code 139 (SIGSEGV)")
    assert await bash.output("echo out; echo err >&2; pwd") == f"out\nerr\n{bash.workspace}"


def test_what_does_not_work_is_found_out_and_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr("agent_tui_core.processes.sandbox._PROGRAMS", (str(broken),))
    sandbox = Sandbox(SandboxRules())
    assert (sandbox.known, sandbox.words) == (None, "sandbox not tried yet")
    assert not sandbox.works()
    assert sandbox.words == "sandbox off: bwrap does not work here: No permissions to create new namespace"


async def test_an_old_bubblewrap_holds_commands_but_is_not_relied_on(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bwrap"
    old.write_text('#!/bin/sh\n[ "$1" = --help ] || exec bwrap "$@"\n')
    old.chmod(0o700)
    monkeypatch.setattr("agent_tui_core.processes.sandbox._PROGRAMS", (str(old),))
    shell = Shell(workspace)
    (workspace / ".env").write_text("A=1")
    assert (await shell("echo x > .env")).is_error
    assert shell.sandbox.words == "sandbox on"
    assert "older than 0.8" in shell.sandbox.trouble()
    await shell.close()


async def test_where_a_sandbox_is_needed_and_missing_nothing_runs(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tui_core.processes.sandbox._PROGRAMS", ())
    monkeypatch.setenv("PATH", "/nowhere")
    required = Shell(workspace, rules=SandboxRules("required"))
    with pytest.raises(ToolError, match=r'mode = "required".*bwrap is not installed.*install bubblewrap'):
        await required("touch made")
    lonely = Shell(workspace, network=False)
    with pytest.raises(ToolError, match="network = false"):
        await lonely("touch made")
    assert not (workspace / "made").exists()
    monkeypatch.undo()
    plain = Shell(workspace, boxed=False)
    await plain.output("touch made")
    assert plain.sandbox.words == "sandbox off: by your settings"
