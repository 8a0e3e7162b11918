"""Strings that a model, a tool, a file or a server could send to do something to a terminal or to the app.

Refuses to be subtle: each has what it would do written beside it. None of them is to get out as it is.
"""

from __future__ import annotations

from typing import Final

ESC: Final = "\x1b"

HOSTILE: Final[tuple[str, ...]] = (
    # --- CSI: colours, cursor, screen, modes, reports ---
    f"{ESC}[5mblinks{ESC}[25m",
    f"{ESC}[8mhidden{ESC}[28m",
    f"{ESC}[31;41mred on red",
    f"{ESC}[38:5:196mcolons",
    f"{ESC}[H{ESC}[2Jcleared",
    f"{ESC}[3Jscrollback gone",
    f"{ESC}[999;999Hfar away",
    f"{ESC}[999A{ESC}[999Dup and left",
    f"{ESC}[sx{ESC}[ux",
    f"{ESC}[2K{ESC}[1Goverwritten",
    f"{ESC}[5Linserted{ESC}[5Mdeleted{ESC}[5P{ESC}[5@",
    f"{ESC}[1;1rscroll region",
    f"{ESC}[?1049lout of the alternate screen",
    f"{ESC}[?25hcursor shown",
    f"{ESC}[?1000lmouse off{ESC}[?1003l",
    f"{ESC}[?2004lpaste off",
    f"{ESC}[?9001h{ESC}[?1337h",
    f"{ESC}[6n{ESC}[c{ESC}[>c{ESC}[=creports",
    f"{ESC}[21t{ESC}[20ttitle reports",
    f"{ESC}[8;10;10tresized{ESC}[2ticonified",
    f"{ESC}[!psoft reset",
    f'{ESC}["pconformance{ESC}[62;1"p',
    f"{ESC}[4h{ESC}[20hinsert mode",
    f"{ESC}[>4;2m{ESC}[>1ukeyboards",
    f"{ESC}[ A{ESC}[2 qcursor shape",
    f"{ESC}[65;1;1;5;5$xfilled rectangle",
    f"{ESC}[",
    f"{ESC}[31",
    f"{ESC}[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20mmany parameters",
    f"{ESC}[3\x1b[5m1mnested",
    # --- OSC: titles, clipboard, links, colours, files ---
    f"{ESC}]0;owned\x07",
    f"{ESC}]2;owned{ESC}\\",
    f"{ESC}]52;c;cm0gLXJmIH4=\x07",
    f"{ESC}]52;c;?\x07",
    f"{ESC}]8;;https://evil.example/{ESC}\\a link{ESC}]8;;{ESC}\\",
    f"{ESC}]8;;file:///etc/passwd\x07a file{ESC}]8;;\x07",
    f"{ESC}]10;?\x07{ESC}]11;#ff0000\x07",
    f"{ESC}]4;1;rgb:ff/00/00{ESC}\\",
    f"{ESC}]9;notified\x07{ESC}]777;notify;a;b\x07",
    f"{ESC}]1337;File=inline=1:AAAA\x07",
    f"{ESC}]50;CursorShape=1\x07",
    f"{ESC}]133;A\x07{ESC}]7;file://evil/\x07",
    f"{ESC}]2;never ended",
    # --- other strings and short sequences ---
    f'{ESC}P$q"p{ESC}\\a device control string',
    f"{ESC}P+q544e{ESC}\\",
    f"{ESC}Pq#0;2;0;0;0~-{ESC}\\sixel",
    f"{ESC}_Gf=100,a=T;AAAA{ESC}\\kitty picture",
    f"{ESC}^private{ESC}\\{ESC}Xstart of string{ESC}\\",
    f"{ESC}cfull reset",
    f"{ESC}7{ESC}8{ESC}D{ESC}M{ESC}E{ESC}H",
    f"{ESC}(0lqqk{ESC}(B line drawing",
    f"{ESC}#8screen of E",
    f"{ESC}%@{ESC}%G charsets",
    f"{ESC}=\x1b>keypad",
    f"{ESC}",
    f"{ESC}{ESC}{ESC}[5m",
    # --- C1 as characters (in UTF-8 two bytes) ---
    "\x9b5mC1 CSI",
    "\x9d0;owned\x9cC1 OSC",
    "\x9d52;c;AAAA\x07",
    "\x90q\x9c\x98x\x9c\x9ex\x9c\x9fx\x9c",
    "\x84\x85\x88\x8d\x8e\x8f\x9a",
    # --- C0 and DEL ---
    "bell\x07bell\x07",
    "back\x08\x08\x08\x08front",
    "carriage\rreturn",
    "del\x7f\x7fete",
    "nul\x00nul",
    "shift\x0eout\x0fin",
    "form\x0cfeed\x0btab\x1a\x1c\x1d\x1e\x1f",
    "\x05enquiry\x11\x13flow\x04\x03",
    # --- what turns, hides, joins or widens ---
    "\u202etxt.exe\u202c \u2066isolated\u2069 \u061c",
    "\u200bzero\u200cwidth\u200d \ufeff \u2060 \u00ad",
    "\U000e0041\U000e0042\U000e007f tags",
    "a" + "\u0301\u0489" * 400 + " marks",
    "\u0e33\u0e33" * 40 + "\u1112\u1161\u11ab conjoining",
    "👨‍👩‍👧‍👦👩🏽‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿🇩🇪❤️" * 8,
    "漢字仮名" * 40 + "ﷺ﷽",
    "line\u2028separator\u2029paragraph\x85next",
    "lone \ud800 high \udfff low \udc9b5m",
    "private \ue000 \uf8ff \U0010ffff unassigned \u0378",
    # --- what a widget could take for its own ---
    "[/]",
    "[/bold][bold]",
    "[bold",
    "[@click=app.quit]press me[/]",
    "[@click=app.bell()]x[/][@click=screen.stop_all]y[/]",
    "[link=https://evil.example]x[/link]",
    "[red on red]invisible[/red on red] [$error]",
    "[[[[[]]]]] \\[bold] \\",
    "{0} {x!r} %s %(x)s %n ${HOME} `id`",
    "<a href='javascript:1'>x</a> ![p](http://127.0.0.1:1/x.png) [l](file:///etc/passwd)",
    "\t\t\ttabs\tand\u00a0spaces\u3000\u2000",
    "x" * 4_000,
)


def numbered(strings: tuple[str, ...] = HOSTILE) -> list[str]:
    """Each behind a mark by which a test sees that it arrived, and another one after it."""
    return [f"K{number:03}({string})" for number, string in enumerate(strings)]
