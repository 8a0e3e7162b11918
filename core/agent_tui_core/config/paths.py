"""Owns where agent-tui keeps its files on this system; refuses to create them or to look inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

APP_NAME = "agent-tui"


def config_dir(environ: Mapping[str, str]) -> Path:
    """The folder of the settings file: AGENT_TUI_CONFIG_DIR, or the platform's place."""
    if named := environ.get("AGENT_TUI_CONFIG_DIR"):
        return absolute(named)
    from platformdirs import user_config_path

    return user_config_path(APP_NAME, appauthor=False)


def data_dir(environ: Mapping[str, str]) -> Path:
    """The folder of the history and the log: AGENT_TUI_DATA_DIR, or the platform's place."""
    if named := environ.get("AGENT_TUI_DATA_DIR"):
        return absolute(named)
    from platformdirs import user_data_path

    return user_data_path(APP_NAME, appauthor=False)


def settings_file(environ: Mapping[str, str]) -> Path:
    """The settings file that is read when no other is named; it need not exist."""
    return config_dir(environ) / "config.toml"


def themes_dir(environ: Mapping[str, str]) -> Path:
    """The folder of a person's own colour themes; it need not exist."""
    return config_dir(environ) / "themes"


def absolute(path: str | Path) -> Path:
    """`path` with ~ expanded, counted from the current folder, links left as they are."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:  # ~someone who does not exist
        return Path(path).absolute()
