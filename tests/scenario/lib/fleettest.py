# SPDX-License-Identifier: Apache-2.0
"""A made-up fleet (bench/fleet_gen.c) in a ClickHouse of clustertest."""
import os
import pathlib
import subprocess

from clitest import aon
from clustertest import PASSWORD, USER

GEN = pathlib.Path(os.environ["AON_BUILD"]) / "tests/scenario/fleet_gen"


class Fleet:
    """url and env are what commands need to ask it; settings are those of fleet_gen."""

    def __init__(self, place, server, now, **settings):
        self.place, self.server, self.now, self.settings = place, server, now, settings
        self.url = f"clickhouse://127.0.0.1:{server.port}/aon"
        self.cred = place.path / "cred"
        self.cred.write_text(f"user = {USER}\npassword = {PASSWORD}\n")
        self.cred.chmod(0o600)
        self.env = {"AON_CREDENTIALS": str(self.cred)}

    def init(self):
        r = aon(self.place, "cluster", "init", "--url", self.url, "--credentials", self.cred)
        if r.returncode:
            raise RuntimeError(r.stderr)

    def rows(self, table, into=None, kind="RowBinary", given=None, **settings):
        """Puts what fleet_gen makes of a table there."""
        made = subprocess.run([GEN, table, f"to={self.now}", *(f"{k}={v}" for k, v in {**self.settings, **settings}.items())],
                              stdin=given, stdout=subprocess.PIPE, check=True).stdout
        self.server.post(f"INSERT INTO aon.`{into or table}` FORMAT {kind}", made)
