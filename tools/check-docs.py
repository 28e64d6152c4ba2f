#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a document names a file, a heading, a make target or a figure that is not there."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
TOP = "src|include|tests|tools|bench|docs|examples|man|deploy"
targets = set(re.search(r"\.PHONY: (.*)", (root / "Makefile").read_text())[1].split())
sources = {p.name for d in ("src", "include", "tests", "bench", "examples", "python") for p in (root / d).rglob("*.[ch]")}
figures = re.findall(r"'([a-z0-9_]+)'", (root / "bench/meson.build").read_text())


def anchors(page):
    """What #links to a page may name: its headings, as GitHub spells them."""
    heads = re.findall(r"^#+ (.*)", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}


bad = 0
pages = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
for page in pages:
    for n, line in enumerate(page.read_text().splitlines(), 1):
        faults = []
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", line):
            if "://" not in link and not (page.parent / link).exists():
                faults.append(f"link to {link}")
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", line):
            target = page.parent / link if link else page
            if target.suffix == ".md" and target.exists() and anchor not in anchors(target):
                faults.append(f"heading {anchor} in {target.name}")
        for path in re.findall(rf"`((?:{TOP})/[^`\s]*)`", line):
            if not any(root.glob(path.rstrip("/"))):
                faults.append(f"file {path}")
        for name in re.findall(r"`(?:[\w.-]+/)*([\w.-]+\.[ch])`", line):
            if name not in sources:
                faults.append(f"file {name}")
        for target, only in re.findall(r"(?:`|^)make ([a-z-]+)(?: ONLY=([a-z0-9_]+))?", line):
            if target not in targets:
                faults.append(f"target {target}")
            if only and not any(re.search(only, f) for f in figures):
                faults.append(f"figure {only}")
        for f in faults:
            print(f"{page}:{n}: there is no {f}")
        bad += len(faults)
print(f"{len(pages)} pages, {bad} faults")
sys.exit(1 if bad or not pages else 0)
