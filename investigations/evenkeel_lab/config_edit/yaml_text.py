"""A YAML text that is changed in place: only the wanted lines change, everything else stays byte for byte."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

INDENT = 2


class YamlText:
    """A YAML document. Each change is applied at once, and the text is parsed again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._parse()

    @property
    def values(self) -> Any:
        """The parsed document."""
        return yaml.safe_load(self.text)

    def has(self, *path: str | int) -> bool:
        """Return whether there is something at a path."""
        return self._node(path) is not None

    def set(self, path: tuple[str | int, ...], value: str) -> None:
        """Write `value`, a piece of YAML on one line, at a path. Missing mappings are created."""
        node = self._node(path)
        if isinstance(node, ScalarNode) and _has_text(node):
            self._replace(node.start_mark.index, node.end_mark.index, value)
            return
        *parents, key = path
        self._ensure_mapping(tuple(parents))
        if node is not None:
            self._replace(node.start_mark.index, node.start_mark.index, f" {value}")
            return
        self._add(tuple(parents), f"{key}: {value}")

    def append(self, path: tuple[str | int, ...], item: str) -> None:
        """Add an item, a piece of YAML on one line, to the list at a path. A single value becomes a list first."""
        node = self._node(path)
        if node is None or _is_empty(node):
            self.set(path, f"[{item}]")
        elif isinstance(node, SequenceNode) and not node.flow_style:
            line = " " * node.start_mark.column + f"- {item}\n"
            self._insert_line(_last_line(node, self.text) + 1, line)
        elif isinstance(node, SequenceNode):
            last = node.value[-1].end_mark.index if node.value else node.end_mark.index - 1
            self._replace(last, last, f", {item}" if node.value else item)
        else:
            single = self.text[node.start_mark.index : node.end_mark.index]
            self._replace(node.start_mark.index, node.end_mark.index, f"[{single}, {item}]")

    def replace(self, path: tuple[str | int, ...], value: str) -> None:
        """Replace the scalar at a path."""
        node = self._node(path)
        assert isinstance(node, ScalarNode)
        self._replace(node.start_mark.index, node.end_mark.index, value)

    def append_text(self, block: str) -> None:
        """Add lines at the end of the document."""
        gap = "" if self.text.endswith("\n") or not self.text else "\n"
        added = f"{gap}\n{block}" if self.text.strip() else block
        self.text += added.replace("\n", self._newline)
        self._parse()

    def _parse(self) -> None:
        self._root = yaml.compose(self.text, Loader=yaml.SafeLoader)

    def _node(self, path: tuple[str | int, ...]) -> Node | None:
        node: Node | None = self._root
        for key in path:
            node = _child(node, key)
        return node

    def _ensure_mapping(self, path: tuple[str | int, ...]) -> None:
        if not path:
            return
        node = self._node(path)
        if isinstance(node, MappingNode):
            return
        *parents, key = path
        self._ensure_mapping(tuple(parents))
        if node is None:
            self._add(tuple(parents), f"{key}: {{}}")
        else:
            self._replace(node.start_mark.index, node.end_mark.index, "{}" if _has_text(node) else " {}")

    def _add(self, path: tuple[str | int, ...], pair: str) -> None:
        """Add a pair to the mapping at a path."""
        node = self._node(path)
        if node is None:
            self.append_text(f"{pair}\n")
            return
        assert isinstance(node, MappingNode)
        if node.flow_style:
            separator = ", " if node.value else ""
            self._replace(node.end_mark.index - 1, node.end_mark.index - 1, f"{separator}{pair}")
            return
        column = node.value[0][0].start_mark.column
        self._insert_line(_last_line(node, self.text) + 1, " " * column + f"{pair}\n")

    def _insert_line(self, number: int, line: str) -> None:
        lines = self.text.splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += self._newline
        lines.insert(number, line.replace("\n", self._newline))
        self.text = "".join(lines)
        self._parse()

    def _replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]
        self._parse()


def _child(node: Node | None, key: str | int) -> Node | None:
    if isinstance(node, MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    if isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
        item: Node = node.value[key]
        return item
    return None


def _is_empty(node: Node) -> bool:
    """Return whether a node is null, in any spelling, or an empty text."""
    return isinstance(node, ScalarNode) and (not node.value or node.tag == "tag:yaml.org,2002:null")


def _has_text(node: Node) -> bool:
    return bool(node.start_mark.index < node.end_mark.index)


def _last_line(node: Any, text: str) -> int:
    """Return the number of the last line of a node. A block ends for PyYAML where the next one begins."""
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        key, value = node.value[-1]
        return max(int(key.end_mark.line), _last_line(value, text))
    if isinstance(node, SequenceNode) and not node.flow_style and node.value:
        return _last_line(node.value[-1], text)
    end = node.end_mark
    # A block scalar ends at the beginning of the line after it, and after comments that follow.
    lines = text.splitlines()
    line = end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line
    while line > node.start_mark.line and (not lines[line].strip() or _is_comment(lines[line], node)):
        line -= 1
    return int(line)


def _is_comment(line: str, node: Node) -> bool:
    # A quoted text may begin its last line with a #.
    return line.lstrip().startswith("#") and isinstance(node, ScalarNode) and node.style not in {"'", '"'}
