"""Show a model a picture: `python examples/vision.py picture.png`; without one, a red dot."""

import asyncio
import struct
import sys
import zlib
from base64 import b64encode

from agent_tui_core import AgentOptions, Client, Image, Text


def red_dot(size: int = 32) -> Image:
    """A PNG of one colour, made by hand."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * size) * size
    head = part(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
    return Image.from_base64(b64encode(png).decode(), "image/png")


async def main() -> None:
    picture = Image.from_file(sys.argv[1]) if len(sys.argv) > 1 else red_dot()
    async with Client(AgentOptions.from_environment()) as client:
        await client.send([Text("Which colour has this picture?"), picture])
        while (block := await client.receive()) is not None:
            if isinstance(block, Text):
                print(block.text, end="", flush=True)
        print()


asyncio.run(main())
