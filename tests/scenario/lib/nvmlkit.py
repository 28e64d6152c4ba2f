# SPDX-License-Identifier: Apache-2.0
"""A state for the stand-in of NVML (tests/sim/nvml.c), made from the output of nvidia-smi on real GPUs."""
import csv
import os
import pathlib
import re
import subprocess

from aontest import ROOT, BUILD

COLLECT = BUILD / "src/node/collect/aon-collect"
NVML = BUILD / "tests/sim/libsim-nvml.so"
DATA = ROOT.parent / "shared/data/telemetry/nvidia_gpu_exporter/captures"
MIB = 1 << 20

# Column of `nvidia-smi --query-gpu`: key of the stand-in, what NVML counts in for one of nvidia-smi's units.
COLUMNS = {
    "clocks.current.sm [MHz]": ("clock.1", 1), "clocks.current.memory [MHz]": ("clock.2", 1),
    "clocks.current.video [MHz]": ("clock.3", 1), "clocks.max.sm [MHz]": ("maxclock.1", 1),
    "clocks.max.memory [MHz]": ("maxclock.2", 1), "temperature.gpu": ("temp.0", 1),
    "temperature.memory": ("field.82", 1), "power.draw [W]": ("power", 1000),
    "power.draw.instant [W]": ("field.186", 1000), "power.limit [W]": ("limit", 1000),
    "power.default_limit [W]": ("limit_def", 1000), "enforced.power.limit [W]": ("limit_enf", 1000),
    "clocks_event_reasons.active": ("reasons", 1), "pstate": ("pstate", 1), "fan.speed [%]": ("fan", 1),
    "pcie.link.gen.current": ("gen", 1), "pcie.link.width.current": ("width", 1),
    "pcie.link.gen.max": ("maxgen", 1), "pcie.link.width.max": ("maxwidth", 1),
    "utilization.gpu [%]": ("util", 1), "utilization.memory [%]": ("memutil", 1),
    "utilization.encoder [%]": ("enc", 1), "utilization.decoder [%]": ("dec", 1),
    "memory.total [MiB]": ("mem.total", MIB), "memory.reserved [MiB]": ("mem.reserved", MIB),
    "memory.used [MiB]": ("mem.used", MIB), "memory.free [MiB]": ("mem.free", MIB),
    "ecc.errors.corrected.volatile.total": ("ecc.0.0", 1), "ecc.errors.corrected.aggregate.total": ("ecc.0.1", 1),
    "ecc.errors.uncorrected.volatile.total": ("ecc.1.0", 1),
    "ecc.errors.uncorrected.aggregate.total": ("ecc.1.1", 1),
    "remapped_rows.correctable": ("field.142", 1), "remapped_rows.uncorrectable": ("field.143", 1),
    "retired_pages.single_bit_ecc.count": ("field.29", 1), "retired_pages.double_bit.count": ("field.30", 1),
}


def captures():
    return sorted(DATA.glob("*.txt")) if DATA.exists() else []


def query(path, section):
    """The rows of the query-gpu CSV of a section (idle, load) of a capture."""
    text = path.read_text(errors="replace")
    at = re.search(rf"^# {section} :: query-gpu .*\n(?:#.*\n)*", text, re.M)
    if not at:
        return []
    body = text[at.end():].split("\n####", 1)[0].strip("\n").splitlines()
    return list(csv.DictReader(body, skipinitialspace=True))


def number(text):
    """None: nvidia-smi had no number."""
    m = re.match(r"(?:P)?(-?[0-9.]+)", text or "")
    if (text or "").startswith("0x"):
        return int(text, 16)
    return float(m[1]) if m else None


def state_of(rows, index=None):
    out = [f"- gpus {len(rows)}"]
    for i, row in enumerate(rows):
        out += [f"- version {row['driver_version']}", f"{i} name {row['name']}", f"{i} uuid {row['uuid']}",
                f"{i} bus {row['pci.bus_id']}"]
        for column, (key, scale) in COLUMNS.items():
            v = number(row.get(column))
            if v is not None:
                out.append(f"{i} {key} {round(v * scale)}")
    return out


def write_state(path, lines):
    """In one step: the stand-in never reads half of it."""
    new = pathlib.Path(str(path) + ".new")
    new.write_text("\n".join(lines) + "\n")
    os.replace(new, path)


class Collect:
    """aon-collect of a Place, until end()."""

    def __init__(self, place, *args, env=None):
        self.log = place.path / "collect.log"
        self.p = subprocess.Popen([COLLECT, "--run-dir", place.run, *args], stderr=open(self.log, "a"),
                                  env=dict(os.environ, **(env or {})))

    def said(self, text, n=1):
        return self.log.read_text().count(text) >= n

    def end(self):
        self.p.terminate()
        self.p.wait(20)
