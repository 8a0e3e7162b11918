"""What a command in the mode auto cannot read: keys by what they are, wherever programs keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.processes.credentials import credential_places, credentials_named, credentials_there
from boxes import Shell, folder_at_home, needs_sandbox

EXAMPLES = (
    *(".codex/auth.json", ".claude/.credentials.json", ".pgpass", ".config/sops/age/keys.txt"),
    *(".mozilla/firefox/a.default/logins.json", ".config/chromium/Default/Cookies", ".aws/credentials"),
    *(".config/gh/hosts.yml", ".local/share/fish/fish_history", ".cargo/credentials.toml", ".bash_history"),
    *(".config/google-chrome-beta/Default/Cookies", ".gemini/oauth_creds.json", ".vault-token"),
    *(".ssh/id_rsa", ".m2/settings.xml"),
)
HERE = ("work/.env", "work/.env.local", "work/.env.example")


@needs_sandbox
async def test_the_mode_auto_reads_no_credentials_and_other_modes_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with folder_at_home() as home:
        workspace = home / "work"
        workspace.mkdir()
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("KUBECONFIG", str(home / "clusters/mine"))
        for name in (
            *EXAMPLES,
            "clusters/mine",
            "work/.env",
            "work/.env.local",
            "work/.env.example",
            "plain",
        ):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(f"secret of {name}\n")
        bash = Shell(workspace, confined=True)
        seen = await bash(f"cd {home}; cat {' '.join(EXAMPLES)} clusters/mine work/.env work/.env.local")
        assert "secret of" not in seen.content
        assert "secret of" not in (await bash("x=.e; cat ${x}nv; cp ${x}nv copy; cat copy")).content
        assert (
            await bash.output(f"cat {home}/plain .env.example")
            == "secret of plain\nsecret of work/.env.example"
        )
        await bash.close()
        free = Shell(workspace)
        assert "secret of .pgpass" in await free.output(f"cat {home}/.pgpass")
        await free.close()


def test_each_place_has_its_source_and_stands_once() -> None:
    places = [path for kind in credential_places() for path in kind.paths]
    assert len(places) > 150
    assert len(set(places)) == len(places)
    assert all(kind.source.startswith("https://") and kind.what for kind in credential_places())
    assert not [path for path in places if path.startswith(("/", "~")) or ".." in path]


def test_places_are_found_with_stars_and_by_variables(tmp_path: Path) -> None:
    (tmp_path / ".config/google-chrome-beta").mkdir(parents=True)
    (tmp_path / "tokens").touch()
    assert [place.name for _, place in credentials_there(tmp_path)] == ["google-chrome-beta"]
    named = credentials_named({"KUBECONFIG": f"{tmp_path}/none:{tmp_path}/tokens", "NETRC": "tokens"})
    assert list(named) == [tmp_path / "tokens"]
