"""Owns how many cells of a terminal a character takes, for drawing and for judging what a person sees.

Refuses to guess: where terminals and libraries differ, it says so, and the character is not certain. The
widths are those of glibc, and so of tmux, xterm and most others. Certain is what glibc, tmux and the tables
of wcwidth for Unicode 12.1 to 17.0 agree on, what Unicode 14.0 assigns, and what is not blank. Whether that
is true, `tests/tui/test_cell_widths.py` asks a terminal.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from typing import Final

Ranges = tuple[tuple[int, int], ...]
_FIRST: Final = 0xA0
"""Below it, printable characters take one cell and are certain."""


def cell_width(char: str) -> int:
    """The cells that the table gives a printable character: 0, 1 or 2."""
    code = ord(char)
    if code < _FIRST:
        return 1
    return 2 if _holds(wide(), code) else 0 if _holds(empty(), code) else 1


def is_certain(char: str) -> bool:
    """Whether every terminal draws it, visibly, in `cell_width` cells: a mark, where it has its letter."""
    code = ord(char)
    return 0x20 <= code < 0x7F or _holds(certain(), code)


def _holds(ranges: Ranges, code: int) -> bool:
    at = bisect_right(ranges, (code, 0x110000)) - 1
    return at >= 0 and code <= ranges[at][1]


def _read(table: str) -> Ranges:
    pairs = (each.partition("-") for each in table.split())
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in pairs)


@functools.cache
def wide() -> Ranges:
    """First and last of each run of characters that take two cells."""
    return _read(_WIDE)


@functools.cache
def empty() -> Ranges:
    """The same for those that take none: marks, and what is not drawn."""
    return _read(_EMPTY)


@functools.cache
def certain() -> Ranges:
    """The same for those of U+00A0 and above on which all tables agree."""
    return _read(_CERTAIN)


_WIDE: Final = (
    "1100-115f 231a-231b 2329-232a 23e9-23ec 23f0 23f3 25fd-25fe 2614-2615 2648-2653 267f 2693 26a1 "
    "26aa-26ab 26bd-26be 26c4-26c5 26ce 26d4 26ea 26f2-26f3 26f5 26fa 26fd 2705 270a-270b 2728 274c 274e "
    "2753-2755 2757 2795-2797 27b0 27bf 2b1b-2b1c 2b50 2b55 2e80-2e99 2e9b-2ef3 2f00-2fd5 2ff0-3029 "
    "302e-303e 3041-3096 309b-30ff 3105-312f 3131-318e 3190-31e5 31ef-321e 3220-a48c a490-a4c6 a960-a97c "
    "ac00-d7a3 f900-faff fe10-fe19 fe30-fe52 fe54-fe66 fe68-fe6b ff01-ff60 ffe0-ffe6 16fe0-16fe3 "
    "16ff0-16ff6 17000-18cd5 18cff-18d1e 18d80-18df2 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b000-1b122 "
    "1b132 1b150-1b152 1b155 1b164-1b167 1b170-1b2fb 1f004 1f0cf 1f18e 1f191-1f19a 1f200-1f202 "
    "1f210-1f23b 1f240-1f248 1f250-1f251 1f260-1f265 1f300-1f320 1f32d-1f335 1f337-1f37c 1f37e-1f393 "
    "1f3a0-1f3ca 1f3cf-1f3d3 1f3e0-1f3f0 1f3f4 1f3f8-1f3fa 1f400-1f43e 1f440 1f442-1f4fc 1f4ff-1f53d "
    "1f54b-1f54e 1f550-1f567 1f57a 1f595-1f596 1f5a4 1f5fb-1f64f 1f680-1f6c5 1f6cc 1f6d0-1f6d2 "
    "1f6d5-1f6d8 1f6dc-1f6df 1f6eb-1f6ec 1f6f4-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 "
    "1f947-1f9ff 1fa70-1fa7c 1fa80-1fa8a 1fa8e-1fac6 1fac8 1facd-1fadc 1fadf-1faea 1faef-1faf8 "
    "20000-2fffd 30000-3fffd "
)
"""Hexadecimal code points, as in all three."""
_EMPTY: Final = (
    "300-36f 483-489 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 61c 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 "
    "6ea-6ed 711 730-74a 7a6-7b0 7eb-7f3 7fd 816-819 81b-823 825-827 829-82d 859-85b 897-89f 8ca-8e1 "
    "8e3-902 93a 93c 941-948 94d 951-957 962-963 981 9bc 9c1-9c4 9cd 9e2-9e3 9fe a01-a02 a3c a41-a42 "
    "a47-a48 a4b-a4d a51 a70-a71 a75 a81-a82 abc ac1-ac5 ac7-ac8 acd ae2-ae3 afa-aff b01 b3c b3f b41-b44 "
    "b4d b55-b56 b62-b63 b82 bc0 bcd c00 c04 c3c c3e-c40 c46-c48 c4a-c4d c55-c56 c62-c63 c81 cbc cbf cc6 "
    "ccc-ccd ce2-ce3 cf3 d00-d01 d3b-d3c d41-d44 d4d d62-d63 d81 dca dd2-dd4 dd6 e31 e34-e3a e47-e4e eb1 "
    "eb4-ebc ec8-ece f18-f19 f35 f37 f39 f71-f7e f80-f84 f86-f87 f8d-f97 f99-fbc fc6 102d-1030 1032-1037 "
    "1039-103a 103d-103e 1058-1059 105e-1060 1071-1074 1082 1085-1086 108d 109d 1160-11ff 135d-135f "
    "1712-1714 1732-1733 1752-1753 1772-1773 17b4-17b5 17b7-17bd 17c6 17c9-17d3 17dd 180b-180f 1885-1886 "
    "18a9 1920-1922 1927-1928 1932 1939-193b 1a17-1a18 1a1b 1a56 1a58-1a5e 1a60 1a62 1a65-1a6c 1a73-1a7c "
    "1a7f 1ab0-1add 1ae0-1aeb 1b00-1b03 1b34 1b36-1b3a 1b3c 1b42 1b6b-1b73 1b80-1b81 1ba2-1ba5 1ba8-1ba9 "
    "1bab-1bad 1be6 1be8-1be9 1bed 1bef-1bf1 1c2c-1c33 1c36-1c37 1cd0-1cd2 1cd4-1ce0 1ce2-1ce8 1ced 1cf4 "
    "1cf8-1cf9 1dc0-1dff 200b-200f 2028-202e 2060-206f 20d0-20f0 2cef-2cf1 2d7f 2de0-2dff 302a-302d "
    "3099-309a a66f-a672 a674-a67d a69e-a69f a6f0-a6f1 a802 a806 a80b a825-a826 a82c a8c4-a8c5 a8e0-a8f1 "
    "a8ff a926-a92d a947-a951 a980-a982 a9b3 a9b6-a9b9 a9bc-a9bd a9e5 aa29-aa2e aa31-aa32 aa35-aa36 aa43 "
    "aa4c aa7c aab0 aab2-aab4 aab7-aab8 aabe-aabf aac1 aaec-aaed aaf6 abe5 abe8 abed d7b0-d7ff fb1e "
    "fe00-fe0f fe20-fe2f feff fff0-fffb 101fd 102e0 10376-1037a 10a01-10a03 10a05-10a06 10a0c-10a0f "
    "10a38-10a3a 10a3f 10ae5-10ae6 10d24-10d27 10d69-10d6d 10eab-10eac 10efa-10eff 10f46-10f50 "
    "10f82-10f85 11001 11038-11046 11070 11073-11074 1107f-11081 110b3-110b6 110b9-110ba 110c2 "
    "11100-11102 11127-1112b 1112d-11134 11173 11180-11181 111b6-111be 111c9-111cc 111cf 1122f-11231 "
    "11234 11236-11237 1123e 11241 112df 112e3-112ea 11300-11301 1133b-1133c 11340 11366-1136c "
    "11370-11374 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2 113e1-113e2 11438-1143f "
    "11442-11444 11446 1145e 114b3-114b8 114ba 114bf-114c0 114c2-114c3 115b2-115b5 115bc-115bd "
    "115bf-115c0 115dc-115dd 11633-1163a 1163d 1163f-11640 116ab 116ad 116b0-116b5 116b7 1171d-1171f "
    "11722-11725 11727-1172b 1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db "
    "119e0 11a01-11a0a 11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a99 "
    "11b60-11b67 11c30-11c36 11c38-11c3d 11c3f 11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 "
    "11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 11d97 11ef3-11ef4 11f00-11f01 "
    "11f03 11f34-11f3a 11f3e-11f42 11f5a 13430-13440 13447-13455 1611e-1612f 16af0-16af4 16b30-16b36 "
    "16f4f 16f8f-16f92 16fe4 1bc9d-1bc9e 1bca0-1bca3 1cf00-1cf2d 1cf30-1cf46 1d167-1d169 1d173-1d182 "
    "1d185-1d18b 1d1aa-1d1ad 1d242-1d244 1da00-1da36 1da3b-1da6c 1da75 1da84 1da9b-1da9f 1daa1-1daaf "
    "1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e08f 1e130-1e136 1e2ae 1e2ec-1e2ef "
    "1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1e8d0-1e8d6 1e944-1e94a 1f3fb-1f3ff "
    "e0000-e0fff "
)
"""An emoji modifier belongs to the emoji before it."""
_CERTAIN: Final = (
    "a1-ac ae-34e 350-377 37a-37f 384-38a 38c 38e-3a1 3a3-52f 531-556 559-58a 58d-58f 591-5c7 5d0-5ea "
    "5ef-5f4 606-61b 61d-6dc 6de-70d 710-74a 74d-7b1 7c0-7fa 7fd-82d 830-83e 840-85b 85e 860-86a 870-88e "
    "8a0-8c9 8d3-8e1 8e3-902 904-93a 93c-93d 941-948 94d 950-981 985-98c 98f-990 993-9a8 9aa-9b0 9b2 "
    "9b6-9b9 9bc-9bd 9c1-9c4 9cd-9ce 9dc-9dd 9df-9e3 9e6-9fe a01-a02 a05-a0a a0f-a10 a13-a28 a2a-a30 "
    "a32-a33 a35-a36 a38-a39 a3c a41-a42 a47-a48 a4b-a4d a51 a59-a5c a5e a66-a76 a81-a82 a85-a8d a8f-a91 "
    "a93-aa8 aaa-ab0 ab2-ab3 ab5-ab9 abc-abd ac1-ac5 ac7-ac8 acd ad0 ae0-ae3 ae6-af1 af9-aff b01 b05-b0c "
    "b0f-b10 b13-b28 b2a-b30 b32-b33 b35-b39 b3c-b3d b3f b41-b44 b4d b56 b5c-b5d b5f-b63 b66-b77 b82-b83 "
    "b85-b8a b8e-b90 b92-b95 b99-b9a b9c b9e-b9f ba3-ba4 ba8-baa bae-bb9 bc0 bcd bd0 be6-bfa c00 c04-c0c "
    "c0e-c10 c12-c28 c2a-c39 c3d-c40 c46-c48 c4a-c4d c55-c56 c58-c5a c5d c60-c63 c66-c6f c77-c81 c84-c8c "
    "c8e-c90 c92-ca8 caa-cb3 cb5-cb9 cbc-cbd cbf cc6 ccc-ccd cdd-cde ce0-ce3 ce6-cef cf1-cf2 d00-d01 "
    "d04-d0c d0e-d10 d12-d3d d41-d44 d4d-d4f d54-d56 d58-d63 d66-d7f d85-d96 d9a-db1 db3-dbb dbd dc0-dc6 "
    "dca dd2-dd4 dd6 de6-def df4 e01-e3a e3f-e5b e81-e82 e84 e86-e8a e8c-ea3 ea5 ea7-ebd ec0-ec4 ec6 "
    "ec8-ecd ed0-ed9 edc-edf f00-f3d f40-f47 f49-f6c f71-f7e f80-f97 f99-fbc fbe-fcc fce-fda 1000-102a "
    "102d-1030 1032-1037 1039-103a 103d-1055 1058-1061 1065-1066 106e-1082 1085-1086 108d-108e 1090-1099 "
    "109d-10c5 10c7 10cd 10d0-115e 1200-1248 124a-124d 1250-1256 1258 125a-125d 1260-1288 128a-128d "
    "1290-12b0 12b2-12b5 12b8-12be 12c0 12c2-12c5 12c8-12d6 12d8-1310 1312-1315 1318-135a 135d-137c "
    "1380-1399 13a0-13f5 13f8-13fd 1400-167f 1681-169c 16a0-16f8 1700-1714 171f-1733 1735-1736 1740-1753 "
    "1760-176c 176e-1770 1772-1773 1780-17b3 17b7-17bd 17c6 17c9-17dd 17e0-17e9 17f0-17f9 1800-180a "
    "1810-1819 1820-1878 1880-18aa 18b0-18f5 1900-191e 1920-1922 1927-1928 1932 1939-193b 1940 1944-196d "
    "1970-1974 1980-19ab 19b0-19c9 19d0-19da 19de-1a18 1a1b 1a1e-1a54 1a56 1a58-1a5e 1a60 1a62 1a65-1a6c "
    "1a73-1a7c 1a7f-1a89 1a90-1a99 1aa0-1aad 1ab0-1abe 1b00-1b03 1b05-1b34 1b36-1b3a 1b3c 1b42 1b45-1b4c "
    "1b50-1b7e 1b80-1b81 1b83-1ba0 1ba2-1ba5 1ba8-1ba9 1bab-1be6 1be8-1be9 1bed 1bef-1bf1 1bfc-1c23 "
    "1c2c-1c33 1c36-1c37 1c3b-1c49 1c4d-1c88 1c90-1cba 1cbd-1cc7 1cd0-1ce0 1ce2-1cf6 1cf8-1cfa 1d00-1df9 "
    "1dfb-1f15 1f18-1f1d 1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fc4 "
    "1fc6-1fd3 1fd6-1fdb 1fdd-1fef 1ff2-1ff4 1ff6-1ffe 2010-2027 2030-205e 2070-2071 2074-208e 2090-209c "
    "20a0-20c0 20d0-20f0 2100-218b 2190-2426 2440-244a 2460-262f 2638-2689 2690-27ff 2801-2b73 2b76-2b95 "
    "2b97-2cf3 2cf9-2d25 2d27 2d2d 2d30-2d67 2d6f-2d70 2d7f-2d96 2da0-2da6 2da8-2dae 2db0-2db6 2db8-2dbe "
    "2dc0-2dc6 2dc8-2dce 2dd0-2dd6 2dd8-2dde 2de0-2e39 2e3c-2e5d 2e80-2e99 2e9b-2ef3 2f00-2fd5 2ff0-2ffb "
    "3001-302d 3030-303f 3041-3096 3099-30ff 3105-312f 3131-3163 3165-318e 3190-31ba 31c0-31e3 31f0-321e "
    "3220-3247 3250-4dbf 4e00-a48c a490-a4c6 a4d0-a62b a640-a6f7 a700-a7ca a7d0-a7d1 a7d3 a7d5-a7d9 "
    "a7f2-a822 a825-a826 a828-a82b a830-a839 a840-a877 a882-a8b3 a8c4-a8c5 a8ce-a8d9 a8e0-a951 a95f-a97c "
    "a980-a982 a984-a9b3 a9b6-a9b9 a9bc-a9bd a9c1-a9cd a9cf-a9d9 a9de-a9fe aa00-aa2e aa31-aa32 aa35-aa36 "
    "aa40-aa4c aa50-aa59 aa5c-aa7a aa7c aa7e-aac2 aadb-aaea aaec-aaed aaf0-aaf4 aaf6 ab01-ab06 ab09-ab0e "
    "ab11-ab16 ab20-ab26 ab28-ab2e ab30-ab6b ab70-abe2 abe5 abe8 abeb abed abf0-abf9 ac00-d7a3 f900-fa6d "
    "fa70-fad9 fb00-fb06 fb13-fb17 fb1d-fb36 fb38-fb3c fb3e fb40-fb41 fb43-fb44 fb46-fbc2 fbd3-fd8f "
    "fd92-fdc7 fdcf fdf0-fdfc fdfe-fdff fe10-fe19 fe20-fe52 fe54-fe66 fe68-fe6b fe70-fe74 fe76-fefc "
    "ff01-ff9f ffa1-ffbe ffc2-ffc7 ffca-ffcf ffd2-ffd7 ffda-ffdc ffe0-ffe6 ffe8-ffee fffc-fffd "
    "10000-1000b 1000d-10026 10028-1003a 1003c-1003d 1003f-1004d 10050-1005d 10080-100fa 10100-10102 "
    "10107-10133 10137-1018e 10190-1019c 101a0 101d0-101fd 10280-1029c 102a0-102d0 102e0-102fb "
    "10300-10323 1032d-1034a 10350-1037a 10380-1039d 1039f-103c3 103c8-103d5 10400-1049d 104a0-104a9 "
    "104b0-104d3 104d8-104fb 10500-10527 10530-10563 1056f-1057a 1057c-1058a 1058c-10592 10594-10595 "
    "10597-105a1 105a3-105b1 105b3-105b9 105bb-105bc 10600-10736 10740-10755 10760-10767 10780-10785 "
    "10787-107b0 107b2-107ba 10800-10805 10808 1080a-10835 10837-10838 1083c 1083f-10855 10857-1089e "
    "108a7-108af 108e0-108f2 108f4-108f5 108fb-1091b 1091f-10939 1093f 10980-109b7 109bc-109cf "
    "109d2-10a03 10a05-10a06 10a0c-10a13 10a15-10a17 10a19-10a35 10a38-10a3a 10a3f-10a48 10a50-10a58 "
    "10a60-10a9f 10ac0-10ae6 10aeb-10af6 10b00-10b35 10b39-10b55 10b58-10b72 10b78-10b91 10b99-10b9c "
    "10ba9-10baf 10c00-10c48 10c80-10cb2 10cc0-10cf2 10cfa-10d27 10d30-10d39 10e60-10e7e 10e80-10ea9 "
    "10ead 10eb0-10eb1 10f00-10f27 10f30-10f59 10f70-10f81 10f86-10f89 10fb0-10fcb 10fe0-10ff6 11001 "
    "11003-1104d 11052-1106f 11071-11072 11075 1107f-11081 11083-110af 110b3-110b6 110b9-110bc "
    "110be-110c1 110d0-110e8 110f0-110f9 11100-1112b 1112d-11134 11136-11144 11147 11150-11176 "
    "11180-11181 11183-111b2 111b6-111be 111c1-111cd 111d0-111df 111e1-111f4 11200-11211 11213-1122b "
    "1122f-11231 11234 11236-1123e 11280-11286 11288 1128a-1128d 1128f-1129d 1129f-112a9 112b0-112df "
    "112e3-112ea 112f0-112f9 11300-11301 11305-1130c 1130f-11310 11313-11328 1132a-11330 11332-11333 "
    "11335-11339 1133b-1133d 11340 11350 1135d-11361 11366-1136c 11370-11374 11400-11434 11438-1143f "
    "11442-11444 11446-1145b 1145d-11461 11480-114af 114b3-114b8 114ba 114bf-114c0 114c2-114c7 "
    "114d0-114d9 11580-115ae 115b2-115b5 115bc-115bd 115bf-115dd 11600-1162f 11633-1163a 1163d "
    "1163f-11644 11650-11659 11660-1166c 11680-116ab 116ad 116b0-116b5 116b7-116b9 116c0-116c9 "
    "11700-1171a 1171d-1171f 11722-11725 11727-1172b 11730-11746 11800-1182b 1182f-11837 11839-1183b "
    "118a0-118f2 118ff-11906 11909 1190c-11913 11915-11916 11918-1192f 1193f 11941 11944-11946 "
    "11950-11959 119a0-119a7 119aa-119d0 119d4-119d7 119da-119db 119e0-119e3 11a00-11a38 11a3a-11a47 "
    "11a50-11a56 11a59-11a96 11a98-11aa2 11ab0-11af8 11c00-11c08 11c0a-11c2e 11c30-11c36 11c38-11c3d "
    "11c3f-11c45 11c50-11c6c 11c70-11c8f 11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d00-11d06 "
    "11d08-11d09 11d0b-11d36 11d3a 11d3c-11d3d 11d3f-11d47 11d50-11d59 11d60-11d65 11d67-11d68 "
    "11d6a-11d89 11d90-11d91 11d95 11d97-11d98 11da0-11da9 11ee0-11ef4 11ef7-11ef8 11fb0 11fc0-11ff1 "
    "11fff-12030 12032-12399 12400-1242a 1242c-1246e 12470-12474 12480-12543 12f90-12ff2 13000-1342e "
    "14400-14646 16800-16a38 16a40-16a5e 16a60-16a69 16a6e-16abe 16ac0-16ac9 16ad0-16aed 16af0-16af5 "
    "16b00-16b45 16b50-16b59 16b5b-16b61 16b63-16b77 16b7d-16b8f 16e40-16e9a 16f00-16f4a 16f4f-16f50 "
    "16f8f-16f9f 16fe0-16fe3 17000-187f7 18800-18af2 1b000-1b11e 1b150-1b152 1b164-1b167 1b170-1b2fb "
    "1bc00-1bc6a 1bc70-1bc7c 1bc80-1bc88 1bc90-1bc99 1bc9c-1bc9f 1cf50-1cfc3 1d000-1d0f5 1d100-1d126 "
    "1d129-1d158 1d15a-1d164 1d167-1d16c 1d17b-1d1ea 1d200-1d245 1d2e0-1d2f3 1d377-1d378 1d400-1d454 "
    "1d456-1d49c 1d49e-1d49f 1d4a2 1d4a5-1d4a6 1d4a9-1d4ac 1d4ae-1d4b9 1d4bb 1d4bd-1d4c3 1d4c5-1d505 "
    "1d507-1d50a 1d50d-1d514 1d516-1d51c 1d51e-1d539 1d53b-1d53e 1d540-1d544 1d546 1d54a-1d550 "
    "1d552-1d6a5 1d6a8-1d7cb 1d7ce-1da8b 1da9b-1da9f 1daa1-1daaf 1df00-1df1e 1e000-1e006 1e008-1e018 "
    "1e01b-1e021 1e023-1e024 1e026-1e02a 1e100-1e12c 1e130-1e13d 1e140-1e149 1e14e-1e14f 1e290-1e2ad "
    "1e2c0-1e2f9 1e2ff 1e7e0-1e7e6 1e7e8-1e7eb 1e7ed-1e7ee 1e7f0-1e7fe 1e800-1e8c4 1e8c7-1e8d6 "
    "1e900-1e94b 1e950-1e959 1e95e-1e95f 1ec71-1ecb4 1ed01-1ed3d 1ee00-1ee03 1ee05-1ee1f 1ee21-1ee22 "
    "1ee24 1ee27 1ee29-1ee32 1ee34-1ee37 1ee39 1ee3b 1ee42 1ee47 1ee49 1ee4b 1ee4d-1ee4f 1ee51-1ee52 "
    "1ee54 1ee57 1ee59 1ee5b 1ee5d 1ee5f 1ee61-1ee62 1ee64 1ee67-1ee6a 1ee6c-1ee72 1ee74-1ee77 "
    "1ee79-1ee7c 1ee7e 1ee80-1ee89 1ee8b-1ee9b 1eea1-1eea3 1eea5-1eea9 1eeab-1eebb 1eef0-1eef1 "
    "1f000-1f02b 1f030-1f093 1f0a0-1f0ae 1f0b1-1f0bf 1f0c1-1f0cf 1f0d1-1f0f5 1f100-1f1ad 1f200-1f202 "
    "1f210-1f23b 1f240-1f248 1f250-1f251 1f260-1f265 1f300-1f3fa 1f400-1f6d5 1f6e0-1f6ec 1f6f0-1f6fa "
    "1f700-1f773 1f780-1f7d8 1f7e0-1f7eb 1f800-1f80b 1f810-1f847 1f850-1f859 1f860-1f887 1f890-1f8ad "
    "1f8b0-1f8b1 1f900-1f90b 1f90d-1f93a 1f93c-1f945 1f947-1f971 1f973-1f976 1f97a-1f9a2 1f9a5-1f9aa "
    "1f9ae-1f9ca 1f9cd-1fa53 1fa60-1fa6d 1fa70-1fa73 1fa78-1fa7a 1fa80-1fa82 1fa90-1fa95 1fb00-1fb92 "
    "1fb94-1fbca 1fbf0-1fbf9 20000-2a6df 2a700-2b738 2b740-2b81d 2b820-2cea1 2ceb0-2ebe0 2f800-2fa1d "
    "30000-3134a "
)
"""Letters, digits, punctuation, symbols, and marks of no width of their own."""
