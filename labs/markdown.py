"""Markdown of labs and documentation -> HTML that is safe to put into a page."""

import nh3
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin

ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "code": {"class"},  # language-python
    **{f"h{level}": {"id"} for level in range(1, 7)},
    "td": {"style"},
    "th": {"style"},
}


def render(text: str) -> str:
    """CommonMark with tables; headings get ids ("## Key group" is #key-group)."""
    parser = MarkdownIt("commonmark", {"html": False, "typographer": True})
    parser.enable(["table", "strikethrough"]).use(anchors_plugin, max_level=3)
    return nh3.clean(
        parser.render(text),
        attributes=ATTRIBUTES,
        filter_style_properties={"text-align"},
        link_rel=None,
    )
