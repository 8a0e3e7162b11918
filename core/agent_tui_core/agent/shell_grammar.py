"""The structure of a command line: lists, pipelines, groups, conditions and loops, down to simple commands.

A loop over words that are known becomes its commands, once for each word. Everything that a shell could make
differently at run time raises `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agent_tui_core.agent.shell_lexer import excerpt
from agent_tui_core.agent.shell_parts import Part, bind
from agent_tui_core.agent.shell_words import HereDocument, Operator, Token, Unreadable, Word

SEPARATORS: Final = frozenset({"&&", "||", ";", "&", "\n"})
PIPES: Final = frozenset({"|", "|&"})
REDIRECTIONS: Final = frozenset({"<", ">", ">>", ">|", "&>", "&>>", ">&", "<<"})
_STARTS: Final = frozenset({"if", "for", "while", "until", "{"})
_REFUSED: Final = frozenset({"case", "esac", "select", "function", "coproc", "[[", "]]", "in"})
_ENDS: Final = frozenset({"then", "else", "elif", "fi", "do", "done", "}"})
_KEYWORDS: Final = _STARTS | _ENDS | _REFUSED | {"!"}
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_LOOP_VARIABLE: Final = re.compile(r"(?!.*proxy)[a-z][a-z0-9_]{0,30}\Z")
_LONGEST_DESCRIPTOR: Final = 3
_HARMLESS_SINKS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_MOST_PARTS: Final = 300
_DEEPEST: Final = 8
_TELLS: Final = frozenset({"echo", "printf"})
"""Programs to which it makes no difference what the shell puts into a word."""
_TOLD: Final = frozenset(
    {"PWD", "OLDPWD", "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TERM", "TMPDIR", "TZ", "HOSTNAME"}
    | {"RANDOM", "SECONDS", "VIRTUAL_ENV", "LC_ALL", "?"}
)
"""Variables that hold no secret."""
_WRAPPER_OPTIONS: Final = {
    "timeout": re.compile(
        r"(?:(?:--preserve-status|--foreground|-v|--verbose|(?:-s|-k)\x1f?[A-Za-z0-9.]+"
        r"|--(?:signal|kill-after)[=\x1f][A-Za-z0-9.]+)\x1f)*[0-9.]+[smhd]?\x1f"
    ),
    "time": re.compile(r"(?:-p\x1f)?"),
    "nice": re.compile(r"(?:-n\x1f?-?[0-9]+\x1f|-[0-9]+\x1f|--adjustment=-?[0-9]+\x1f)?"),
    "nohup": re.compile(""),
    "stdbuf": re.compile(r"(?:-[ioe]\x1f?[0-9L]+[KMG]?\x1f|--(?:input|output|error)=[0-9L]+[KMG]?\x1f)+"),
    "command": re.compile(r"(?:-p\x1f)?"),
    "builtin": re.compile(""),
}


class Grammar:
    """Reads the tokens of one line, or of one command inside a word."""

    def __init__(
        self, line: str, tokens: Sequence[Token], depth: int = 0, looped: tuple[str, ...] = ()
    ) -> None:
        self._line = line
        self._tokens = [token for token in tokens if not isinstance(token, HereDocument)]
        self._at = 0
        self._depth = depth
        self._looped = looped
        """The variables of the loops around."""
        self.keywords: list[Word] = []
        """The words that are no words but signs of the grammar; those inside commands inside words, too."""

    def parts(self, *, bound: bool = True) -> tuple[Part, ...]:
        """All simple commands, in order; raises `Unreadable`, `bound` also for variables that nobody set."""
        parts = self._list(())
        if self._at < len(self._tokens):
            raise self._unexpected()
        if not parts:
            raise Unreadable("it holds no command")
        if bound:
            for part in parts:
                _check_fills(part)
        return tuple(parts)

    # --- lists and pipelines

    def _list(self, ends: tuple[str, ...]) -> list[Part]:
        """Commands up to one of these words or `)`, which stays."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        found: list[Part] = []
        separated = True
        while (token := self._peek()) is not None:
            if isinstance(token, Operator) and token.text in SEPARATORS:
                if separated and token.text != "\n":
                    raise Unreadable(f"there is nothing before {token.text}")
                separated = True
                self._at += 1
                continue
            if self._is_end(token, ends):
                break
            if not separated:
                raise self._unexpected()
            found.extend(self._pipeline())
            separated = False
            if len(found) > _MOST_PARTS:
                raise Unreadable(f"its loops make more than {_MOST_PARTS} commands")
        self._depth -= 1
        return found

    def _is_end(self, token: Token, ends: tuple[str, ...]) -> bool:
        if isinstance(token, Operator):
            return token.text == ")" and ")" in ends
        return isinstance(token, Word) and token.plain and token.text in ends

    def _pipeline(self) -> list[Part]:
        if self._sign("!"):
            self._keyword("!")
        found: list[Part] = []
        source: Part | None = None
        while True:
            parts, simple = self._command()
            if source is not None and simple:
                parts[0] = replace(parts[0], source=source)
            found.extend(parts)
            source = parts[0] if simple else None
            token = self._peek()
            if not isinstance(token, Operator) or token.text not in PIPES:
                return found
            self._at += 1
            while self._is_operator("\n"):
                self._at += 1

    def _command(self) -> tuple[list[Part], bool]:
        """The parts of one command, and whether it is a simple one."""
        if self._is_operator("("):
            self._at += 1
            return self._redirected(self._body((")",), ")")), False
        token = self._peek()
        sign = token.text if isinstance(token, Word) and token.plain else ""
        match sign:
            case "{":
                self._keyword("{")
                parts = self._body(("}",), "}")
            case "if":
                parts = self._if()
            case "while" | "until":
                self._keyword(sign)
                parts = [*self._body(("do",), "do"), *self._body(("done",), "done")]
                self._stays(parts)
            case "for":
                parts = self._for()
            case _:
                return self._simple(), True
        return self._redirected(parts), False

    def _body(self, ends: tuple[str, ...], last: str) -> list[Part]:
        """Commands, at least one, and the word or `)` that ends them."""
        parts = self._list(ends)
        if not parts:
            raise self._unexpected()
        if last == ")" and self._is_operator(")"):
            self._at += 1
        else:
            self._keyword(last)
        return parts

    def _if(self) -> list[Part]:
        self._keyword("if")
        parts = self._body(("then",), "then")
        while True:
            parts += self._list(("elif", "else", "fi"))
            if self._sign("elif"):
                self._keyword("elif")
                parts += self._body(("then",), "then")
            elif self._sign("else"):
                self._keyword("else")
                return parts + self._body(("fi",), "fi")
            else:
                self._keyword("fi")
                return parts

    def _for(self) -> list[Part]:
        began = self._at
        self._keyword("for")
        name = self._peek()
        if not isinstance(name, Word) or not name.plain or not _LOOP_VARIABLE.match(name.text):
            raise Unreadable("it has a loop over a variable with an unusual name", self._excerpt())
        if name.text in self._looped:
            raise Unreadable("it has a loop that changes the variable of another", self._excerpt())
        self._at += 1
        self._keyword("in")
        values: list[Word] = []
        while isinstance(token := self._peek(), Word):
            if token.fills:
                raise Unreadable("it has a loop over words that only the shell knows", self._excerpt())
            values.append(token)
            self._at += 1
        if not (self._is_operator(";") or self._is_operator("\n")):
            raise self._unexpected()
        while self._is_operator(";") or self._is_operator("\n"):
            self._at += 1
        self._keyword("do")
        self._looped = (*self._looped, name.text)
        body = self._body(("done",), "done")
        self._looped = self._looped[:-1]
        if len(values) * len(body) > _MOST_PARTS or not values:
            raise Unreadable("it has a loop that runs never, or too often", self._excerpt(began))
        if any(value.stars for value in values):
            self._stays(body)
        return [bind(part, name.text, value) for value in values for part in body]

    def _stays(self, parts: Sequence[Part]) -> None:
        """A loop that leads somewhere else each time reads other files each time."""
        if any(part.argv[0] in {"cd", "pushd", "popd"} for part in parts):
            raise Unreadable("it has a cd in a loop of unknown length", self._excerpt())

    # --- simple commands

    def _simple(self) -> list[Part]:
        """One command, and behind it the commands inside its words."""
        tokens: list[Token] = []
        while (token := self._peek()) is not None:
            if isinstance(token, Operator) and token.text not in REDIRECTIONS:
                break
            tokens.append(token)
            self._at += 1
        if not tokens:
            raise self._unexpected()
        part = _part(self._line, tokens)
        found = [part]
        for word in (*part.words, *part.writes, *part.reads):
            for fill in word.fills:
                if fill.kind == "command":
                    inner = Grammar(self._line, fill.tokens, self._depth, self._looped)
                    found.extend(inner.parts(bound=False))
                    self.keywords.extend(inner.keywords)
        return found

    def _redirected(self, parts: list[Part]) -> list[Part]:
        """The parts of a group, and what all of it reads and writes."""
        tokens: list[Token] = []
        while isinstance(token := self._peek(), Operator) and token.text in REDIRECTIONS:
            tokens.extend(self._tokens[self._at : self._at + 2])
            self._at += 2
        if isinstance(token := self._peek(), Word) and token.raw.isdecimal():
            while (token := self._peek()) is not None:
                if isinstance(token, Operator) and token.text not in REDIRECTIONS:
                    break
                tokens.append(token)
                self._at += 1
        if not tokens:
            return parts
        redirections = _Redirections(self._line, tokens)
        if redirections.words:
            raise self._unexpected()
        writes = (*parts[0].writes, *redirections.writes)
        reads = (*parts[0].reads, *redirections.reads)
        parts[0] = replace(parts[0], writes=writes, reads=reads)
        return [replace(part, document=part.document or redirections.document) for part in parts]

    # --- tokens

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_operator(self, text: str) -> bool:
        token = self._peek()
        return isinstance(token, Operator) and token.text == text

    def _sign(self, text: str) -> bool:
        token = self._peek()
        return isinstance(token, Word) and token.plain and token.text == text

    def _keyword(self, text: str) -> None:
        token = self._peek()
        if not isinstance(token, Word) or not self._sign(text):
            raise self._unexpected()
        self.keywords.append(token)
        self._at += 1

    def _unexpected(self) -> Unreadable:
        token = self._peek()
        shown = "the end" if token is None or isinstance(token, HereDocument) else repr(token.text)
        return Unreadable(f"it cannot be parsed at {shown}", self._excerpt())

    def _excerpt(self, at: int | None = None) -> str:
        index = min(self._at if at is None else at, len(self._tokens) - 1)
        return excerpt(self._line, self._tokens[index].start) if self._tokens else self._line[:200]


def _check_fills(part: Part) -> None:
    """Raise `Unreadable` where it matters what the shell puts in."""
    if any(word.fills or word.stars for word in part.writes) or any(word.fills for word in part.reads):
        raise Unreadable("a redirection leads to a place that only the shell knows", part.text)
    for index, word in enumerate(part.words):
        for fill in word.fills:
            if fill.kind == "variable" and fill.name not in _TOLD:
                raise Unreadable(f"the shell would expand ${fill.name}", part.text)
            told = part.wrapped == 0 and part.words[0].text in _TELLS
            if not told or index < (2 if part.words[0].text == "printf" else 1):
                raise Unreadable("the shell would expand a $", part.text)
            if fill.kind == "command" and not fill.quoted:
                raise Unreadable("it has a command inside a word without quotes", part.text)


class _Redirections:
    """Takes the redirections out of the tokens of one command."""

    def __init__(self, line: str, tokens: Sequence[Token]) -> None:
        self.text = line[tokens[0].start : tokens[-1].end]
        self.words: list[Word] = []
        self.writes: list[Word] = []
        self.reads: list[Word] = []
        self.document = False
        rest = iter(tokens)
        for token in rest:
            if isinstance(token, Word):
                self.words.append(token)
                continue
            target = next(rest, None)
            if not isinstance(token, Operator) or not isinstance(target, Word):
                raise Unreadable("a redirection leads nowhere", self.text)
            self._take(token, target)

    def _take(self, operator: Operator, target: Word) -> None:
        if self._is_descriptor(operator) and len(self.words.pop().raw) > _LONGEST_DESCRIPTOR:
            raise Unreadable("it redirects a descriptor that no shell has", self.text)
        if target.stars or target.braced or not (target.text or target.fills):
            raise Unreadable("a redirection leads to a place that only the shell knows", self.text)
        if operator.text == "<<":
            self.document = True
        elif operator.text == "<":
            self.reads.append(target)
        elif operator.text == ">&":
            if not (target.raw.isdecimal() or target.raw == "-"):
                raise Unreadable("a descriptor is copied from a name", self.text)
        elif target.fills or target.text not in _HARMLESS_SINKS:
            self.writes.append(target)

    def _is_descriptor(self, operator: Operator) -> bool:
        """A number that touches the operator behind it."""
        return bool(self.words) and self.words[-1].end == operator.start and self.words[-1].raw.isdecimal()


def _part(line: str, tokens: list[Token]) -> Part:
    found = _Redirections(line, tokens)
    if not found.words:
        raise Unreadable("it redirects without a command", found.text)
    first = found.words[0]
    if first.plain and first.text in _KEYWORDS:
        raise Unreadable(f"it cannot be parsed at {first.text!r}", found.text)
    wrapped = _wrapped(found.words, found.text)
    return Part(
        found.text, tuple(found.words), wrapped, tuple(found.writes), tuple(found.reads), found.document
    )


def _wrapped(words: list[Word], text: str) -> int:
    """How many words in front are wrappers, with the plain options that they may have."""
    count = 0
    while True:
        first = words[count]
        if _ASSIGNMENT.match(first.text):
            raise Unreadable("it sets a variable in front of a command", text)
        if first.text in _KEYWORDS or first.tilde or first.stars or first.fills or first.braced:
            raise Unreadable(f"{first.raw} is not the plain name of a program", text)
        options = _WRAPPER_OPTIONS.get(first.text)
        if options is None or count + 1 == len(words):
            return count
        behind = "\x1f".join(word.text for word in words[count + 1 :])
        found = options.match(behind)
        if found is None or behind[found.end() :].startswith("-") or found.end() == len(behind):
            return count
        taken = words[count : count + 1 + found[0].count("\x1f")]
        if any(word.stars or word.tilde or word.fills or word.braced for word in taken):
            return count
        count += 1 + found[0].count("\x1f")
