"""Owns the names in a project that run, or steer who runs, without anybody starting them.

They may be read unasked; who writes them is asked about, and the sandbox shows them read-only. A `*` stands
for any part of one name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_FORGES: Final = """
.github/workflows .github/actions .gitea/workflows .forgejo/workflows .gitlab-ci.yml .gitlab-ci.yaml
.gitlab/ci .circleci .travis.yml .drone.yml .woodpecker.yml .woodpecker .buildkite azure-pipelines.yml
bitbucket-pipelines.yml Jenkinsfile
"""
_VERSIONS: Final = """
.hg .hgrc .jj .svn .gitattributes .githooks .git-hooks .overcommit.yml
lefthook.yml lefthook.yaml lefthook-local.yml .lefthook.yml .lefthook.yaml
"""
_STARTS: Final = """
.cargo/config.toml .cargo/config .mise.toml mise.toml .mise.local.toml mise.local.toml .mise .config/mise
.config/mise.toml .tool-versions .yarnrc.yml .yarnrc .yarn/releases .yarn/plugins .pnpmfile.cjs .pnpmfile.mjs
.bundle/config .mvn .bazelrc .Rprofile .Renviron .irbrc .pryrc .ghci .ocamlinit .octaverc .autoenv
.curlrc .wgetrc sitecustomize.py usercustomize.py *.pth
"""
"""What programs read where they start."""
_EDITORS: Final = """
*.code-workspace .dir-locals.el .dir-locals-2.el .projectile .nvim.lua .lvimrc .local.vimrc *.sublime-project
.helix .project.vim
"""
_AGENTS: Final = """
AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md .cursorrules .windsurfrules
.clinerules .roorules .goosehints .junie .rules .opencode .amp .factory
.github/copilot-instructions.md .github/instructions .github/prompts
"""
RUN_BY_THEMSELVES: Final = tuple(f"{_FORGES}{_VERSIONS}{_STARTS}{_EDITORS}{_AGENTS}".split())
PROGRAMS_OF_THE_FOLDER: Final = (
    *(".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts"),
    "node_modules/.bin",
)
"""The same, but for installers, which write there in the sandbox, too."""


def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    each = "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in names)
    return re.compile(rf"(?:.*/)?(?:{each})(?:/.*)?\Z", re.IGNORECASE | re.DOTALL)


_WRITTEN: Final = _pattern((*RUN_BY_THEMSELVES, *PROGRAMS_OF_THE_FOLDER))


def runs_by_itself(path: str) -> bool:
    """Say whether a name on a path is such a one; `/` between names."""
    return _WRITTEN.match(path) is not None
