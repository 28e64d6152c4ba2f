# SPDX-License-Identifier: Apache-2.0
"""A cgroup with a quota of CPU, for programs that are to be throttled."""
import os
import pathlib

from aontest import wait_for


class Group:
    """A cgroup with a quota of CPU: a share of one core. Version 1 or 2, as this machine has it."""

    def __init__(self, name, share):
        root = pathlib.Path("/sys/fs/cgroup")
        v2 = (root / "cgroup.controllers").exists()
        self.path = (root if v2 else root / "cpu") / name
        self.path.mkdir()
        try:
            if v2:
                (self.path / "cpu.max").write_text(f"{int(share * 50000)} 50000")
                (self.path / "cpu.weight").write_text("10000")  # its quota stops it, not the machine's other load
            else:
                (self.path / "cpu.cfs_period_us").write_text("50000")
                (self.path / "cpu.cfs_quota_us").write_text(str(int(share * 50000)))
                (self.path / "cpu.shares").write_text("262144")
        except OSError:
            self.path.rmdir()
            raise

    def wrap(self):
        """What starts a program in it."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs")]

    def end(self):
        wait_for(self._gone, 5)

    def _gone(self):
        try:
            self.path.rmdir()
            return True
        except OSError:
            return False


def no_quota():
    """Why no such cgroup can be made here; "": it can."""
    try:
        Group(f"aon-try-{os.getpid()}", 0.5).end()
    except OSError as e:
        return f"no cgroup with a quota can be made: {e.strerror}"
    return ""
