# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of the page: a browser, and a walk through the served pages."""
import json
import os
import pathlib
import shutil
import subprocess

from aontest import ROOT, SANITIZED, data, skip_all

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"


def can_run(*packages):
    """Skips where the page, the browser, its driver or recorded traces are missing."""
    if SANITIZED:
        skip_all("the page is the same; serve_* try the server under sanitizers")
    for tool in ("node", "chromium"):
        if not shutil.which(tool):
            skip_all(f"{tool} is not installed")
    for name in ("playwright-core", *packages):
        if not (CACHE / "web/node_modules" / name).is_dir():
            skip_all(f"{name} is not there (tools/setup check)")
    if not (ROOT / "web/dist/index.html").exists():
        skip_all("the page was not built (make web)")
    if not data():
        skip_all("there are no recorded traces")


def resnet(workers, number):
    return next((data() / f"kineto/kineto_tb/resnet50_num_workers_{workers}").glob(f"worker0.{number}*"))


def walk(script, server, **more):
    """Runs a walk of web/test; its exit status."""
    page = {"address": server.said["address"], "base": server.said["base"], **more}
    return subprocess.run(["node", ROOT / "web/test" / script], env={**os.environ, "AON_PAGE": json.dumps(page)},
                          stdin=subprocess.DEVNULL).returncode
