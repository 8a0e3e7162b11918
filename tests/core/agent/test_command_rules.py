"""Owns what is promised of command lines: parts, redirections, folders, modes, what "always" saves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import tree_sitter

from agent_tui_core.agent.permissions import (
    PROTECTED,
    REMOVES_TOO_MUCH,
    PermissionRules,
    Permissions,
)
from agent_tui_core.agent.readonly import reading
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_words import Unreadable
from agent_tui_core.agent.suggestions import suggest_rule
from agent_tui_core.config.modes import MODES, Mode
from steps import calls_of


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "src" / "a.py").write_text("x")
    (folder / "secret.key").write_text("x")
    return folder


def behavior(permissions: Permissions | PermissionRules, command: str, cwd: Path) -> str:
    return permissions.judge("Bash", {"command": command}, cwd=cwd).behavior


def allowing(*rules: str, mode: Mode = "ask") -> Permissions:
    return Permissions(PermissionRules(allow=rules), mode=mode)


def test_every_part_has_to_be_allowed_and_the_part_that_is_not_is_named(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(npm run *)", "Bash(make *)"])
    judged = rules.judge("Bash", {"command": "npm run a && make b; pip install c | make d"}, cwd=workspace)
    assert (judged.behavior, judged.part) == ("ask", "pip install c")
    judged = rules.judge("Bash", {"command": "npm run a && make b & make"}, cwd=workspace)
    assert (judged.behavior, judged.rule) == ("allow", "Bash(npm run *), Bash(make *)")


def test_a_denied_part_denies_the_line_and_is_named(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(ls *)"], deny=["Bash(rm *)"])
    judged = rules.judge("Bash", {"command": "ls && FOO=1 timeout 5 /bin/rm x"}, cwd=workspace)
    assert (judged.behavior, judged.rule, judged.part) == ("deny", "Bash(rm *)", "rm x")


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 nice -n 3 rm x",
        "nice -n 3 sh -c 'rm x'",
        'bash -lc "rm x"',
        "find . -exec rm {} +",
        "{rm,-rf,x}",
        "$'\\x72m' x",
        "$'\\162\\u6d' x",
        "ls $'\\ ' && rm x",
        "r\\m x",
        "if rm x; then ls; fi",
        "2>/dev/null rm x",
        "ls | xargs -n 1 rm",
        "ssh host rm x",
        "rm\\\n x",
        "rm$IFS-rf${IFS}x",
        "cat <<EOF | sh\nrm x\nEOF",
        "eval 'rm x'",
    ],
)
def test_a_deny_rule_looks_past_wrappers_quotes_and_shells(command: str, workspace: Path) -> None:
    assert behavior(PermissionRules(allow=["Bash"], deny=["Bash(rm *)"]), command, workspace) == "deny"


@pytest.mark.parametrize("command", ["git rm x", "echo rm", "npm run rm", "ls rm", "find . -name rm"])
def test_a_deny_rule_does_not_meet_its_word_as_an_argument_but_asks(command: str, workspace: Path) -> None:
    assert behavior(PermissionRules(allow=["Bash"], deny=["Bash(rm *)"]), command, workspace) == "ask"


FORBIDDING = PermissionRules(
    allow=["Bash(kubectl *)", "Bash(npm *)", "Bash(pip3 *)", "Bash(python3 *)", "Bash(cp *)", "Bash(git *)"],
    deny=["Bash(kubectl delete *)", "Bash(npm publish *)", "Bash(pip *)", "Bash(rm *)", "Bash(curl*)"],
    ask=["Bash(git push *)"],
)
EVADING = [
    "kubectl -n prod delete pod x",
    "kubectl --context=prod delete x",
    "kubectl -nprod delete x",
    "npm pub",
    "npm publ --tag x",
    "npm --silent publish",
    "npm -d pub",
    "/usr/bin/npm pub",
    "npm.cmd publish",
    "pip3 install x",
    "pip3.11 install x",
    "python3 -m pip install x",
    "/opt/venv/bin/pip install x",
    "cp /bin/rm x",
    "cp /bin/r? x",
    "cp /bin/r[m] x",
    "cp /bin/* .",
    "cp '/bin/rm' x",
    'cp /bin/"r"m x',
    "cp /usr/bin/curl-7.88 x",
    "cp $(which rm) x",
    "git -C . push origin",
    "git --no-pager push",
    "npm exec rm x",
    "setarch x86_64 rm x",
    "hyperfine 'rm x'",
    "perf stat rm x",
    "cmake -E env rm x",
    "tmux new rm",
    "ld.so /bin/rm x",
    "docker exec c rm x",
    "valgrind rm x",
    "sqlite3 x '.shell rm x'",
    "run-parts --arg=rm x",
    "capsh -- -c 'rm x'",
    "vimdiff -c '!rm x' a b",
    "npx npm@latest publish",
    "corepack npm publish",
    "node x/npm-cli.js publish",
]


@pytest.mark.parametrize("command", EVADING)
@pytest.mark.parametrize("given", ["star", "auto", "bare"])
def test_while_a_rule_forbids_a_program_its_name_in_any_form_is_a_question(
    command: str, given: str, workspace: Path
) -> None:
    deny, ask = ([rule for each, rule in FORBIDDING if each == kind] for kind in ("deny", "ask"))
    permissions = Permissions(FORBIDDING)
    if given == "bare":
        permissions = Permissions(PermissionRules(allow=["Bash"], deny=deny, ask=ask))
    if given == "auto":
        permissions = Permissions(PermissionRules(deny=deny, ask=ask), mode="auto")
        permissions.unboxed = lambda: ""
    assert behavior(permissions, command, workspace) in {"ask", "deny"}


@pytest.mark.parametrize(
    "command",
    ["kubectl get pods", "npm test", "npm run build", "git log --oneline", "git commit -m x", "ls *.py"],
)
def test_a_rule_on_a_subcommand_leaves_the_others_alone(command: str, workspace: Path) -> None:
    assert behavior(Permissions(FORBIDDING), command, workspace) == "allow"
    boxed = Permissions(PermissionRules(deny=["Bash(npm publish *)", "Bash(kubectl delete *)"]), mode="auto")
    boxed.unboxed = lambda: ""
    assert behavior(boxed, command, workspace) == "allow"


def test_a_deny_rule_for_git_meets_it_behind_its_own_options(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash"], deny=["Bash(git push *)"])
    assert behavior(rules, "git -C . --no-pager push origin", workspace) == "deny"


@pytest.mark.parametrize("command", ["x=rm; $x y", "echo b | base64 -d | sh", "python3 -c 'x'", "sed 1e f"])
def test_what_may_hide_a_denied_command_is_asked_about(command: str, workspace: Path) -> None:
    assert behavior(PermissionRules(allow=["Bash"], deny=["Bash(rm *)"]), command, workspace) == "ask"
    denying = Permissions(PermissionRules(deny=["Bash(rm *)"]), mode="auto")
    denying.unboxed = lambda: ""
    assert behavior(denying, command, workspace) == "ask"
    assert behavior(PermissionRules(allow=["Bash"]), command, workspace) == "allow"


def test_words_are_matched_as_words(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(npm run *)", "Bash(git commit -m 'a b' *)"])
    assert behavior(rules, "npm  run   x", workspace) == "allow"
    assert behavior(rules, "'npm run' x", workspace) == "ask"
    assert behavior(rules, "npm 'run x'", workspace) == "ask"
    assert behavior(rules, 'git commit -m "a b" f', workspace) == "allow"
    assert behavior(rules, "git commit -m a b f", workspace) == "ask"
    assert behavior(rules, "./npm run x", workspace) == "ask"


def test_a_redirection_is_a_write_to_that_path(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(make *)", "Edit(/build/**)"], deny=["Edit(/build/keep)"])
    assert behavior(rules, "make > build/log 2>&1", workspace) == "allow"
    assert behavior(rules, "make > log", workspace) == "ask"
    assert behavior(rules, "make > build/../log", workspace) == "ask"
    assert behavior(rules, "make >> build/keep", workspace) == "deny"
    assert behavior(rules, "make &> /dev/null", workspace) == "allow"
    every = PermissionRules(allow=["Bash(make *)", "Edit", "Read"])
    assert behavior(every, "make > /dev/tcp/127.0.0.1/80", workspace) == "ask"
    assert behavior(allowing("Bash(make *)", mode="accept-edits"), "make > log", workspace) == "allow"
    assert behavior(allowing("Bash(make *)", mode="accept-edits"), "make > ../log", workspace) == "ask"
    assert behavior(allowing("Bash(make *)", "Edit"), "make > .git/hooks/x", workspace) == "ask"


def test_what_is_read_has_to_lie_in_the_workspace(workspace: Path) -> None:
    (workspace / "link").symlink_to("/etc/hostname")
    (workspace / "src" / "out").symlink_to("/etc/hostname")
    nothing = Permissions()
    for command in (
        *("cat /etc/shadow", "cat ../x", "ls ~", "cat link", "cat src/*", "cat < /etc/shadow", "cd .. && ls"),
        *("head -n1 -- /etc/shadow", "git diff /etc/shadow a", "cat a ../b", "ls /", "find / -name x"),
        *("cat ~/.ssh/id_rsa", "cat .env", "ls .git", "git show HEAD:.env", "cat .e*", "grep x .en?"),
        *("cat ~/*", "cat ~/x '~/x'", "cat '~/x' ~/x", "cat src/* 'src/*'", "git show HEAD:src/../.env"),
        *("cd /etc && cat hosts", "cd src && cat ../../x", "sed -n 1p /etc/shadow", "cat src/../../x"),
    ):
        assert behavior(nothing, command, workspace) == "ask", command
    assert behavior(nothing, "cat src/*.py", workspace) == "allow"
    assert behavior(nothing, "cd src && cat a.py && cd .. && ls", workspace) == "ask"


def test_a_rule_on_reading_holds_for_commands_too(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(cat *)", "Bash(cp *)"], deny=["Read(*.key)"])
    for command in ("cat secret.key", "cat ./src/../secret.key", "cp 'secret.key' x", "cat <secret.key"):
        assert behavior(Permissions(rules), command, workspace) == "deny", command
    assert behavior(Permissions(rules), "cat src/a.py", workspace) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git log --output=x",
        "git log --outp=x",
        "git diff --ext-diff",
        "git diff --no-index a b",
        "git -c core.pager=x log",
        "git -C src log",
        "git branch new",
        "git branch -D old",
        "git tag v1",
        "git remote show origin",
        "git stash",
        "git stash drop",
        "git log --show-signature",
        "git log --format=%G?",
        "git grep -Ovi x",
        "git cat-file --textconv HEAD:a",
        "git unknown",
        "git worktree add x",
        "git reflog expire --all",
        "rg --pre cat x",
        "rg -z x",
        "rg -L x",
        "sort -o x y",
        "sort --compress-program=x y",
        "find . -delete",
        "find . -fprintf x y",
        "find -L .",
        "tail -f x",
        "tail -F x",
        "tail --follow x",
        "sed -i s/a/b/ x",
        "sed 's/a/b/w x' y",
        "sed -f x y",
        "uniq a b",
        "date -s now",
        "date 010100002020",
        "file -C -m x",
        "tee x",
        "env",
        "ls --unknown",
        "./ls",
        "/bin/ls",
        "printf -v x y",
        "printf %ln PATH",
        "printf '%1$n' PATH",
        "command ls -la; eval x",
    ],
)
def test_what_writes_connects_or_runs_a_program_is_not_taken_for_reading(
    command: str, workspace: Path
) -> None:
    assert behavior(Permissions(), command, workspace) == "ask"


def test_git_is_read_only_just_where_the_folder_has_its_own_git(workspace: Path) -> None:
    assert behavior(Permissions(), "git status", workspace) == "allow"
    assert behavior(Permissions(), "cd src && git status", workspace) == "allow"
    assert behavior(Permissions(), "git status", workspace / "src") == "ask"
    (workspace / "src" / "sub" / ".git").mkdir(parents=True)
    assert behavior(Permissions(), "cd src/sub && git status", workspace) == "ask"
    assert behavior(allowing("Bash(git *)"), "cd src && git status", workspace) == "allow"
    for name in ("objects", "refs"):
        (workspace / "src" / name).mkdir()
    (workspace / "src" / "HEAD").write_text("ref: refs/heads/main\n")
    assert behavior(allowing("Bash(git *)"), "cd src && git status", workspace) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -fr ~",
        "rm -r -f $HOME",
        'rm -rf "$HOME"/',
        "rm -rf .",
        "rm -rf ./*",
        "rm -rf *",
        "rm -rf ..",
        "rm -rf ../w",
        "sudo rm -rf /*",
        "bash -c 'rm -rf /'",
        "cd / && rm -rf *",
        "cd .. && rm -rf w",
        "rm --recursive --force /usr/..",
        "rm -rf /h*me",
        "rm -rf $UNSET/",
        "/bin/rm -rf ~/",
        "find / -delete",
        "find . -type f -delete",
    ],
)
@pytest.mark.parametrize("mode", ["ask", "accept-edits", "auto"])
def test_removing_a_root_home_or_workspace_always_asks(command: str, mode: Mode, workspace: Path) -> None:
    permissions = Permissions(PermissionRules(allow=["Bash", f"Bash({command})"]), mode=mode)
    judged = permissions.judge("Bash", {"command": command}, cwd=workspace)
    assert (judged.behavior, judged.rule) == ("ask", REMOVES_TOO_MUCH)


@pytest.mark.parametrize(
    "command", ["rm -rf build", "rm -rf src/*.pyc", "rm x", "rm -f *.tmp", "rm -r /tmp/xyz/q"]
)
def test_removing_less_goes_by_the_rules(command: str, workspace: Path) -> None:
    assert behavior(allowing("Bash(rm *)"), command, workspace) in {"allow", "ask"}
    judged = allowing("Bash").judge("Bash", {"command": command}, cwd=workspace)
    assert (judged.behavior, judged.rule) == ("allow", "Bash")


@pytest.mark.parametrize(
    "command",
    [
        "cp evil .git/hooks/pre-commit",
        "echo x > .env.local",
        "cat .ENV",
        "ln -s x ~/.bashrc",
        "tee .vscode/settings.json",
        "sed -i s/a/b/ ~/.zshrc",
        "python3 x.py --config=.mcp.json",
        "x=$(cat .env); echo $x",
        "cat .e''nv",
        "cat '.git'/config",
        "cp a ~/.config/agent-tui/config.toml",
    ],
)
@pytest.mark.parametrize("mode", ["ask", "accept-edits", "auto"])
def test_protected_names_are_asked_about_in_commands_in_every_mode(
    command: str, mode: Mode, workspace: Path
) -> None:
    judged = allowing("Bash", mode=mode).judge("Bash", {"command": command}, cwd=workspace)
    assert (judged.behavior, judged.rule) == ("ask", PROTECTED)


@pytest.mark.parametrize(
    "command", ["find . -not -path './.git/*'", "grep --exclude-dir=.git x", "git add .gitignore"]
)
def test_leaving_a_protected_name_out_is_no_reason_to_ask(command: str, workspace: Path) -> None:
    assert behavior(allowing("Bash"), command, workspace) == "allow"


def test_the_modes_stand_between_ask_rules_and_allow_rules(workspace: Path) -> None:
    rules = PermissionRules(allow=["Write"], ask=["Bash(make *)"], deny=["Bash(rm *)", "Edit(/src/*)"])

    def said(tool: str, what: str) -> list[str]:
        key = "command" if tool == "Bash" else "file_path"
        layered = Permissions(rules)
        layered.unboxed = lambda: ""  # commands run in a sandbox
        return [layered.in_mode(mode).judge(tool, {key: what}, cwd=workspace).behavior for mode in MODES]

    assert MODES == ("ask", "accept-edits", "plan", "auto")
    assert said("Bash", "rm x") == ["deny"] * 4
    assert said("Bash", "make x") == ["ask"] * 4
    assert said("Bash", "npm i") == ["ask", "ask", "deny", "allow"]
    assert said("Bash", "git status | head -3") == ["allow"] * 4
    assert said("Write", "a") == ["allow", "allow", "deny", "allow"]
    assert said("Write", "src/a.py") == ["deny"] * 4
    assert said("Write", ".env") == ["ask", "ask", "deny", "ask"]
    assert said("Edit", "a") == ["ask", "allow", "deny", "allow"]
    assert said("Edit", "../a") == ["ask", "ask", "deny", "ask"]
    assert said("Bash", "git show HEAD:.env") == ["ask", "ask", "deny", "ask"]  # as cat .env
    assert said("Read", "src/a.py") == ["allow"] * 4
    assert said("Read", "../a") == ["ask"] * 4
    assert said("mcp__x__y", "z") == ["ask", "ask", "deny", "ask"]


def test_without_a_sandbox_the_mode_auto_asks_and_says_why(workspace: Path) -> None:
    permissions = Permissions(PermissionRules(allow=["Bash(make *)"], deny=["Bash(rm *)"]), mode="auto")
    permissions.unboxed = lambda: "bwrap is not installed"
    judged = permissions.judge("Bash", {"command": "npm i"}, cwd=workspace)
    assert judged.behavior == "ask"
    assert judged.reason.endswith("the mode auto allows only in a sandbox: bwrap is not installed")
    assert behavior(permissions, "make x", workspace) == "allow"
    assert behavior(permissions, "git status", workspace) == "allow"
    assert behavior(permissions, "rm x", workspace) == "deny"
    assert permissions.judge("Write", {"file_path": "a"}, cwd=workspace).behavior == "ask"
    permissions.unboxed = lambda: ""
    assert behavior(permissions, "npm i", workspace) == "allow"
    assert permissions.judge("Write", {"file_path": "a"}, cwd=workspace).behavior == "allow"


def test_a_mode_shares_what_a_person_remembers(workspace: Path) -> None:
    permissions = Permissions()
    planning = permissions.in_mode("auto").in_mode("ask")
    permissions.session.add_allow("Bash(make *)")
    assert behavior(planning, "make x", workspace) == "allow"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("make test", "Bash(make test)"),
        ("git status && make test | tail -5", "Bash(make test)"),
        ("timeout 5 make test", "Bash(make test)"),
        ("make test; make test", "Bash(make test)"),
        ("make test\nls", "Bash(make test)"),
        ("make test && npm test", None),
        ("make test > log.txt", None),
        ("ls > log.txt", "Edit(/log.txt)"),
        ("ls | sh", None),
        ("echo / | xargs rm", None),
        ("echo $(date)", "Bash(echo $(date))"),
        ("cat .env", None),
        ("rm -rf .", None),
        ("ls 'a*b' && make 'a*b'", "Bash(make 'a\\*b')"),
        ("python3 -c 'print(1)'", "Bash(python3 -c 'print(1)')"),
        ("cd src && ./run", None),
        ("ls\rmake", None),
    ],
)
def test_always_saves_the_one_part_that_needed_it(command: str, rule: str | None, workspace: Path) -> None:
    permissions = Permissions()
    assert suggest_rule("Bash", {"command": command}, cwd=workspace, permissions=permissions) == rule
    if rule is not None:
        assert behavior(permissions, command, workspace) == "ask"
        permissions.session.add_allow(rule)
        assert behavior(permissions, command, workspace) == "allow"
        assert behavior(permissions, f"{command} && npm test", workspace) == "ask"


def test_what_was_allowed_by_a_rule_is_not_in_what_always_saves(workspace: Path) -> None:
    permissions = allowing("Bash(npm *)")
    input_ = {"command": "npm test && make test"}
    assert suggest_rule("Bash", input_, cwd=workspace, permissions=permissions) == "Bash(make test)"


def test_an_exact_rule_for_a_dangerous_part_does_not_take_its_input_from_other_parts(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(sh)", "Bash(xargs rm)", "Bash(echo *)"])
    assert behavior(rules, "sh", workspace) == "allow"
    assert behavior(rules, "echo 'x' | sh", workspace) == "ask"
    assert behavior(rules, "echo / | xargs rm", workspace) == "ask"


def test_a_rule_that_spells_a_runner_and_its_program_covers_it(workspace: Path) -> None:
    rules = PermissionRules(
        allow=["Bash(bash scripts/test.sh *)", "Bash(xargs grep *)", "Bash(python -m pytest *)"]
    )
    assert behavior(rules, "bash scripts/test.sh -c 'x'", workspace) == "allow"
    assert behavior(rules, "bash -c scripts/test.sh", workspace) == "ask"
    assert behavior(rules, "xargs grep -l x", workspace) == "allow"
    runners = PermissionRules(allow=["Bash(xargs find *)", "Bash(sudo git *)"])
    assert behavior(runners, "xargs find . -name x", workspace) == "allow"
    assert behavior(runners, "xargs find . -exec rm {} +", workspace) == "ask"
    assert behavior(runners, "sudo git -c a=b log", workspace) == "ask"
    assert behavior(rules, "python -m pytest -x", workspace) == "allow"
    assert behavior(rules, "python -m pip install x", workspace) == "ask"


def test_a_command_line_is_judged_quickly_whatever_it_holds(workspace: Path) -> None:
    rules = Permissions(PermissionRules(allow=["Bash(a*b*c*d*e)"], deny=["Bash(x*y*z*w*v)"]))
    slow = ("timeout -a " * 900, "a=b " * 2_400, "2>x " * 2_400, "cd a;" * 1_500 + "rm -r " + "b " * 900)
    for line in (
        *slow,
        "cat " + " ".join(f"f{n}" for n in range(1_500)),
        "nice -n " * 1_200,
        "((" * 4_000,
        "x" * 9_999,
        "a" * 200_000,
        "x y z w " * 1_000,
        "'" * 9_001,
        "{a," * 3_000,
    ):
        started = time.perf_counter()
        assert behavior(rules, line, workspace) == "ask"
        assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    "piece",
    [
        *("a;", "a|", "a||", "a&&", "a\n", "a ", "* ", "$(", "{a,b} ", ">b ", "<b ", "nice ", "timeout 1 "),
        *(
            "A=1 ",
            '"a" ',
            "\\a",
            "cd a; ",
            "rm -r a; ",
            "find . -exec rm {} \\; ",
            "git -C a ",
            "ls ../../x ",
        ),
        *(
            "e{n} a; ",
            "rm -r a{n}; ",
            "rm -r a{n}/b ",
            "cd a{n}; rm -r b{n}; ",
            "/x{n}/*y ",
            "git -c a.b={n} p\n",
        ),
        *(
            "sudo xargs e{n}|",
            "sudo -u a{n} nice -n 3 timeout {n} env A=1 b\n",
            "$HOME{n} ",
            "it's line {n}\n",
        ),
    ],
)
@pytest.mark.parametrize(("size", "steps"), [(9_900, 70), (99_900, 20)])
def test_a_long_line_costs_few_steps_for_each_of_its_characters(
    piece: str, size: int, steps: int, workspace: Path
) -> None:
    rules = Permissions(PermissionRules(allow=["Bash(a*b)"], deny=[f"Bash(tool{n} *)" for n in range(20)]))
    line = "a " + "".join(piece.replace("{n}", str(n)) for n in range(size // len(piece)))[:size]
    judged: list[str] = []
    assert calls_of(lambda: judged.append(behavior(rules, line, workspace))) < steps * size
    assert judged == ["ask"]


def test_a_line_of_thousands_of_words_does_not_reach_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes half a second for thousands of redirections."""
    assert not isinstance(parse("a " + ">b " * 490), Unreadable)
    monkeypatch.delattr(tree_sitter, "Parser")
    read = parse("a " + ">b " * 3_000)
    assert isinstance(read, Unreadable)
    assert read.reason == "it has more than 1,000 words and operators"


def test_the_read_only_list_names_programs_without_a_folder() -> None:
    for line in ("./cat x", "/bin/cat x", "../cat x"):
        read = parse(line)
        assert not isinstance(read, Unreadable)
        assert reading(read[0]) is None
