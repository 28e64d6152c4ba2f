#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files as a C source: src/ui/serve/http/blob.h. embed.py OUT API PAGE-FOLDER (which may not be there).
API is the short form that openapi.py understands."""
import gzip
import json
import mimetypes
import pathlib
import sys

import openapi

out, api, page = map(pathlib.Path, sys.argv[1:])
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".json": "application/json", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".wasm": "application/wasm"}
source = ["/* Made by tools/embed.py. */", '#include "serve/http/blob.h"', ""]


def blob(name, path, text=None):
    # gzip without a time: the same files make the same program.
    data = gzip.compress(path.read_bytes() if text is None else text.encode(), 9, mtime=0)
    rows = (", ".join(map(str, data[i:i + 32])) for i in range(0, len(data), 32))
    source.append(f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "\n};")
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f'"{kind}", {name}, sizeof({name})'


text = json.dumps(openapi.load(api), indent=1, ensure_ascii=False)
source.append(f'const struct blob_file blob_openapi = {{ "openapi.json", {blob("openapi", api, text)} }};')
files = sorted(p for p in page.rglob("*") if p.is_file() and p.suffix != ".map") if page.is_dir() else []
rows = [f'\t{{ "/{p.relative_to(page).as_posix()}", {blob(f"file{i}", p)} }},' for i, p in enumerate(files)]
source += ["const struct blob_file blob_page[] = {", *rows, "\t{ 0 },", "};", ""]
text = "\n".join(source)
if not out.exists() or out.read_text() != text:
    out.write_text(text)
