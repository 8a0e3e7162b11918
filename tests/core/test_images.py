"""What a picture may be: an address in the web, or its own bytes."""

from typing import Any

import pytest

from agent_tui_core.blocks import Image


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.png",
        "HTTP://h/a?b=c",
        "data:image/png;base64,AAAA",
        "data:image/svg+xml;base64,AA==",
    ],
)
def test_an_address_in_the_web_and_bytes_of_its_own_are_taken(url: str) -> None:
    assert Image(url).url == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "not 'file'"),
        ("/etc/passwd", "http://"),
        ("", "http://"),
        ("ftp://h/a.png", "not 'ftp'"),
        ("https://", "http://"),
        ("https://h/a b", "http://"),
        ("https://h/a\nb", "http://"),
        ("data:text/html;base64,AAAA", "not 'data'"),
        ("data:image/png,abc", "not 'data'"),
        ("data:image/png;base64,", "nothing"),
        ("data:image/png;base64,AAA", "no base64"),
        ("data:image/png;base64,A$AA", "no base64"),
        ("data:image/png;base64,AAAA\n", "no base64"),
        ("data:image/png;base64,żółw", "no base64"),
        (b"https://h/a.png", "not a text"),
        (None, "not a text"),
    ],
)
def test_what_is_no_picture_is_refused_in_words(url: Any, why: str) -> None:
    with pytest.raises(ValueError, match="not a picture") as caught:
        Image(url)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 200


def test_broken_base64_and_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="base64"):
        Image.from_base64("not base64!", "image/png")
    with pytest.raises(ValueError, match="image type"):
        Image.from_base64("AAAA", "text/html")
    with pytest.raises(ValueError, match="detail"):
        Image("https://h/a.png", "huge")  # type: ignore[arg-type]
