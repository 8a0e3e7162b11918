"""Owns how the question of one tool call is laid out; refuses to know what it says."""

from __future__ import annotations

from typing import Final

MOST_COLUMNS: Final = 110
CSS: Final = f"""
ApprovalModal {{
    align: center middle;
    #frame {{
        width: 100%; max-width: {MOST_COLUMNS}; height: auto;
        border: round $border-blurred; background: $background; padding: 0 1;
        &.-listens {{ border: round $warning; }}
    }}
    #top {{ height: 1; }}
    .-airy #top {{ margin-bottom: 1; }}
    .-airy #place {{ margin-bottom: 1; }}
    #title {{ width: 1fr; height: 1; text-style: bold; }}
    #queue {{ width: auto; height: 1; color: $text-muted; margin-left: 1; }}
    #place {{ height: 1; color: $text-muted; }}
    #place.-more {{ color: $warning; }}
    #details {{ height: auto; margin-bottom: 1; }}
    #editor {{ border: none; padding: 0 1; background: $surface; &:focus {{ border: none; }} }}
    #keys {{ height: 2; }}
    #keys Horizontal {{ height: 1; }}
    #keys.-narrow, #keys.-narrow Horizontal {{ height: auto; layout: vertical; }}
    #keys.-unseen {{ visibility: hidden; }}
    #ask-reason, #ask-rule {{ height: 2; }}
    CleanInput {{ border: none; height: 1; padding: 0 1; background: $surface; &:focus {{ border: none; }} }}
    #state {{ height: 1; color: $text-muted; }}
    #state.-listens {{ color: $success; }}
    #state.-says {{ color: $warning; }}
    #title, #place, #state {{ text-wrap: nowrap; text-overflow: ellipsis; }}
    .-hidden {{ display: none; }}
}}
"""
