# SPDX-License-Identifier: Apache-2.0
"""Runs aon-collect on BMCs of a test, and parses its output."""
import json
import os
import subprocess
import threading
import time

from aontest import find

PASSWORD = "correct horse"


class Collect:
    """aon-collect on some BMCs: what it printed, as it comes."""

    def __init__(self, folder, sections, collector="redfish", login=f"root:{PASSWORD}", others=(), **all_of):
        """others: further collectors; one alone is not watched over by aon-collect."""
        self.folder, self.collector, self.others = folder, collector, others
        self.login = os.path.join(folder, "login")
        with open(self.login, "w") as f:
            f.write(login + "\n")
        os.chmod(self.login, 0o600)
        head = {"interval": 1, "rate": 100, "timeout": 2, "login": self.login, **all_of}
        text = "".join(f"{k} = {v}\n" for k, v in head.items())
        for name, keys in sections.items():
            text += f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())
        self.conf = os.path.join(folder, "bmc.conf")
        with open(self.conf, "w") as f:
            f.write(text)
        self.now, self.events, self.seen, self.text = {}, [], {}, []

    def __enter__(self):
        self.proc = subprocess.Popen([find("aon-collect"), "--print", "--interval", "500", f"{self.collector}={self.conf},{self.folder}", *self.others],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.err = []
        threading.Thread(target=lambda: self.err.extend(self.proc.stderr), daemon=True).start()
        return self

    def read(self):
        for line in self.proc.stdout:
            self.text.append(line)
            if line.startswith("event "):
                self.events.append(line.strip())
                continue
            series, _, value = line.rstrip().rpartition(" ")
            self.now[series] = float(value)
            self.seen.setdefault(series, []).append(time.monotonic())

    def __exit__(self, *why):
        self.proc.terminate()
        self.proc.wait(60)
        self.reader.join(10)

    def get(self, metric, sensor=None, bmc=None, **labels):
        for series, value in self.now.items():
            if series.startswith(metric + "{") and (sensor is None or f'sensor="{sensor}"' in series) and \
                    (bmc is None or f'bmc="{bmc}"' in series) and all(f'{k}="{v}"' in series for k, v in labels.items()):
                return value if value == value else None
        return None

    def up(self, bmc):
        return self.get("bmc_up", bmc=bmc) == 1

    def state(self, bmc):
        with open(os.path.join(self.folder, bmc + ".json")) as f:
            return json.load(f)

    def why(self, bmc):
        try:
            return self.state(bmc)["why"]
        except (OSError, ValueError):
            return ""
