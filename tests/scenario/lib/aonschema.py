# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas of docs/json.md, and a check against them: of JSON Schema only what they use
(type, required, properties, items, enum, const, minimum, maximum), so nothing must be installed."""
import json
import re

from aontest import ROOT

DOC = ROOT / "docs" / "json.md"
TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int,
         "boolean": bool, "null": type(None)}


def schemas():
    """By the name in their `schema` member."""
    found = {}
    for text in re.findall(r"```json\n(.*?)```", DOC.read_text(encoding="utf8"), re.S):
        s = json.loads(text)
        if "$schema" in s:
            found[s["properties"]["schema"]["const"]] = s
    return found


def is_a(value, name):
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def problems(value, s, where):
    kinds = s.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, k) for k in kinds):
        return [f"{where}: {value!r:.40} is no {kinds}"]
    out = []
    if "const" in s and value != s["const"] or "enum" in s and value not in s["enum"]:
        out.append(f"{where}: {value!r:.40} is not allowed")
    if is_a(value, "number") and not s.get("minimum", value) <= value <= s.get("maximum", value):
        out.append(f"{where}: {value} is out of bounds")
    if isinstance(value, dict):
        out += [f"{where}: no {k}" for k in s.get("required", []) if k not in value]
        for k, v in value.items():
            out += problems(v, s.get("properties", {}).get(k, {}), f"{where}.{k}")
    if isinstance(value, list):
        for i, v in enumerate(value):
            out += problems(v, s.get("items", {}), f"{where}[{i}]")
    return out


def check(value):
    """What is wrong with a document; an empty list if nothing is."""
    s = schemas().get(value.get("schema"))
    return problems(value, s, value["schema"]) if s else [f"no schema for {value.get('schema')}"]
