# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon serve against schemathesis: it reads openapi.json, asks what is allowed and what is not, and
holds every answer against the file."""
import os
import pathlib
import subprocess

from aontest import SANITIZED, Place, done, ok, skip_all
from clitest import fixture
from servetest import Server

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
TOOL = CACHE / "aon/schemathesis-venv/bin/schemathesis"

if SANITIZED:
    skip_all("the plain build is asked; serve_attack asks this one")
if not (TOOL.parents[1] / "done").exists():
    skip_all("schemathesis is not there (tools/setup check)")
with Place() as place, Server(place, fixture(place.path / "store.db")) as s:
    # Not asked: what never ends, and what needs an aond. That t0 is before t1 a schema cannot say, so
    # what it allows may be refused.
    r = subprocess.run([TOOL, "run", s.said["base"] + "api/v1/openapi.json", "-H", f"Authorization: Bearer {s.token}",
                        "--exclude-path-regex", "^/health$|^/metrics$|/live$|/stream$", "--exclude-checks",
                        "positive_data_acceptance", "--max-examples", "3", "--phases", "coverage,fuzzing",
                        "--generation-deterministic", "--suppress-health-check", "all", "--request-timeout", "120",
                        "--warnings", "off", "--no-color"],
                       cwd=place.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    ok(r.returncode == 0, "schemathesis finds nothing that is not as openapi.json says", r.stdout[-6000:] + r.stderr)
    ok("passed" in r.stdout and s.proc.poll() is None, "and has asked", r.stdout[-500:])
    ok(s.stop() == 0, "after which it ends cleanly", s.log.read_text())
done()
