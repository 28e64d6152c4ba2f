# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""100,000 short threads, 10,000 live ones: exact counts in bounded memory."""
from aontest import LONG, SANITIZED, done, ok, skip
from apptest import case

N = 1000000 if LONG else 20000 if SANITIZED not in ("", "none") else 100000
e, accts = case("app_threads", "short", N, text=f"{N} short threads", timeout=600)
if SANITIZED in ("", "none"):
    ok(e.get("grew_kib", 1 << 30) < 4096, f"memory is flat: {e.get('grew_kib')} KiB", e)
else:
    skip("memory is flat", "a sanitizer keeps what threads leave")
# A pool fills up while aond waits for a CPU on a busy machine: that is counted, and rare.
late = sum(a["lost_by"]["pool_full"] for a in accts)
ok(sum(a["stored"] for a in accts) == 3 * N - late and late < 3 * N / 100, "nothing else of them is lost", accts)

e, accts = case("app_threads", "join", text="64 threads that join at once")
ok(e.get("refused") == 0 and sum(a["stored"] for a in accts) == 640, "all of them are joined", e)

LIVE = 2000 if SANITIZED not in ("", "none") else 10000
e, accts = case("app_threads", "live", LIVE, text=f"{LIVE} live threads", timeout=600)
ok(e.get("made") == LIVE, f"{e.get('made')} threads lived at once", e)
if SANITIZED in ("", "none"):
    # Stack and descriptor of each thread are the program's: about 12 KiB. An end is 64 bytes.
    ok(e.get("rss_kib", 1 << 30) < 16 * LIVE + 8192, f"resident: {e.get('rss_kib')} KiB", e)
done()
