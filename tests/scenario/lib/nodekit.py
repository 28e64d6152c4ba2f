# SPDX-License-Identifier: Apache-2.0
"""A node for scenarios of its telemetry: eight GPUs of the stand-ins, two of them used, collectors, faults."""
import contextlib

from aontest import Daemon, aon, wait_for
from cudatest import start
from nvmlkit import NVML, Collect, write_state

GPUS = (["- gpus 8", "* name NVIDIA H100", "* power 301230", "* util 97", "* clock.1 1980", "* temp.0 61", "* memutil 40", "* reasons 0",
         "* mem.total 85899345920", "* mem.used 42949672960", "* mem.free 42949672960", "* mem.reserved 0"]
        + [f"{i} uuid GPU-{i}" for i in range(8)])
SLOW = ["0 power 180000", "0 clock.1 1200", "0 temp.0 84", "0 reasons 36"]  # capped, and too hot


@contextlib.contextmanager
def node(place):
    """A program on two GPUs; GPU 0 gets hot and has an XID, GPU 1 falls off the bus. Gives the daemon."""
    state = place.path / "state"
    write_state(state, GPUS)
    with Daemon(place) as d:
        c = Collect(place, "--interval", "200", "host", f"nvml={NVML}", env={"AON_NVML_STATE": str(state)})
        p = start(place, "devices=2", "threads=2", "rate=300", "launches=1000000", "storm", SIM_DEVICES=2)

        def measured(value):
            return value in aon("telemetry", str(place.store), "--metric", "POWER_USAGE", "--device", "nvidia0", "--changes").stdout

        def journal(text):
            return text in aon("store", "journal", str(place.store)).stdout

        try:
            wait_for(lambda: measured("301.23"), 60)
            write_state(state, SLOW + GPUS + ["0 xid 79"])
            wait_for(lambda: measured(" 180") and journal("Xid 79"), 60)
            write_state(state, SLOW + GPUS + ["1 lost 1"])
            wait_for(lambda: journal("nvidia1 is lost"), 60)
            yield d
        finally:
            p.kill()
            p.wait()
            c.end()
