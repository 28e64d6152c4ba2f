#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of aon serve, from its short form (src/ui/serve/api/api.json).

    openapi.py FILE        print the document

The short form leaves out what follows from the rest:

- A schema may be a word: a type of JSON Schema, `count` (an integer, not negative), `1..9` (an integer of
  that range), several types with a bar between them, or the name of another schema (with a capital). Behind
  a word and a colon stands its description. `[x]` is an array of x.
- What has `properties` is an object. A property whose name ends with `?` may be missing. `reply` are the
  properties of an answer: v, asof, lost and partial are there as well, unless they are given.
- A path stands behind its method. The last word of the path is the operation's id, unless it has one.
- A parameter is {"name", "description"} and its schema, or words that name shared ones. It is of the query
  and need not be given, unless it says so. `id` is added where the path has it.
- `200` is the schema of the answer in JSON, or an object of media types and schemas. Answers have an ETag.
  An operation may answer with all of the shared errors, unless it lists its own; POST is never a 304.
"""
import json
import sys

REPLY = {"v": {"const": 1}, "asof": "count: How new it is: ns since run.t0", "lost": "count: Records that were lost",
         "partial": "boolean"}
RANGE = "boolean: Not all that was asked for could be looked at; `range` says what was"


def word(w):
    w, _, description = w.partition(": ")
    if description:
        return {**word(w), "description": description}
    if w[0].isupper():
        return {"$ref": f"#/components/schemas/{w}"}
    if w == "count":
        return {"type": "integer", "minimum": 0}
    if ".." in w:
        least, most = w.split("..")
        return {"type": "integer", "minimum": int(least), "maximum": int(most)}
    return {"type": w.split("|") if "|" in w else w}


def schema(s):
    if isinstance(s, str):
        return word(s)
    if isinstance(s, list):
        return {"type": "array", "items": schema(s[0])}
    out = {}
    for key, value in s.items():
        if key in ("properties", "reply"):
            if key == "reply":
                value = {**REPLY, **({"partial": RANGE} if "range" in value or "range?" in value else {}), **value}
            needed = [k for k in value if not k.endswith("?")]
            out.setdefault("type", "object")
            out.update({"required": needed} if needed else {})
            out["properties"] = {k.rstrip("?"): schema(v) for k, v in value.items()}
        elif key == "type":
            out.update(word(value))
        else:
            out[key] = schema(value) if key == "items" else value
    return out


def parameter(p):
    own = {k: p[k] for k in ("name", "in", "required", "description") if k in p}
    return {"in": "query", "required": False, **own, "schema": schema({k: v for k, v in p.items() if k not in own})}


def parameters(path, listed):
    for p in (["id"] if "{id}" in path else []) + listed:
        if isinstance(p, str):
            yield from ({"$ref": f"#/components/parameters/{name}"} for name in p.split())
        else:
            yield parameter(p)


def responses(op, method, errors):
    good = op["200"]
    content = good if isinstance(good, dict) and "properties" not in good else {"application/json": good}
    yield "200", {"description": op.get("description", "OK"),
                  "headers": {"ETag": {"schema": {"type": "string"}}, **op.get("headers", {})},
                  "content": {kind: {"schema": schema(s)} for kind, s in content.items()}}
    for e in op.get("errors", errors):
        if method == "GET" or e != "304":
            yield e, {"$ref": f"#/components/responses/E{e}"}
    yield from op.get("responses", {}).items()


def operation(path, method, op, errors):
    last = [part for part in path.split("/") if not part.startswith("{")][-1]
    out = {"operationId": op.get("operationId", last), "summary": op["summary"]}
    if "security" in op:
        out["security"] = op["security"]
    out["parameters"] = list(parameters(path, op.get("parameters", [])))
    out["responses"] = dict(sorted(responses(op, method, errors)))
    return out


def document(short):
    """The document as an object."""
    parts = dict(short["components"])
    errors = sorted(parts.pop("errors").items())
    content = {"application/json": {"schema": word("Error")}}
    parts["responses"] = {f"E{e}": {"description": text, **({"content": content} if e >= "400" else {})}
                          for e, text in errors}
    parts["parameters"] = {k: parameter({"name": k, **p}) for k, p in parts["parameters"].items()}
    parts["schemas"] = {k: schema(s) for k, s in parts["schemas"].items()}
    paths = {}
    for where, op in short["paths"].items():
        method, path = where.split()
        paths.setdefault(path, {})[method.lower()] = operation(path, method, op, [e for e, _ in errors])
    return {**short, "paths": paths, "components": parts}


def load(path):
    with open(path, encoding="utf-8") as f:
        return document(json.load(f))


if __name__ == "__main__":
    print(json.dumps(load(sys.argv[1]), indent=1, ensure_ascii=False))
