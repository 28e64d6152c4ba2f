# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 needs=openssl long=yes
"""BMCs by Redfish: values of a recorded GB300 node one by one, a BMC of no vendor, and every way to go
wrong beside one that is well: it is never delayed, and no password is to be seen anywhere."""
import copy
import itertools
import os
import re
import subprocess
import tempfile
import time

from aontest import *
import bmctest
from redfish_kit import PASSWORD, Collect

SLOW = 4 if SANITIZED else 1


def folder():
    return tempfile.mkdtemp(prefix="aon-bmc-")


def clean(c, bmcs, what):
    """The password, in whatever form, is in nothing that was written, and in no argument."""
    with open(f"/proc/{c.proc.pid}/cmdline", "rb") as f:
        args = f.read()
    places = {"output": "".join(c.text), "log": "".join(c.err), "arguments": args.decode()}
    for name in os.listdir(c.folder):
        if name.endswith(".json"):
            with open(os.path.join(c.folder, name)) as f:
                places[name] = f.read()
    words = [PASSWORD, "verysecret", *(token for b in bmcs for token in b.sessions)]
    found = [(w, k) for k, text in places.items() for w in words if w in text]
    ok(not found, f"{what}: no password and no token is written anywhere", found)


def no_vendor():
    where = folder()
    with bmctest.Bmc(bmctest.made_up(), where) as bmc:
        with Collect(where, {"t1": {"url": bmc.url, "ca": bmc.cert, "rack": "R7", "position": 12}}) as c:
            ok(wait_for(lambda: c.up("t1") and c.get("bmc_link_up", "1/GPU_0/NVLink_0") == 1, 30), "a BMC of no vendor is understood by schema", c.text[-5:])
            want = {("bmc_temperature_celsius", "Tray/Temp_0"): 30.5, ("bmc_temperature_celsius", "Tray/Inlet"): 24, ("bmc_fan_rpm", "Tray/Fan 1"): 9800,
                    ("bmc_power_watts", "Tray/System"): 1234.5, ("bmc_voltage_volts", "Tray/P12V"): 12.1, ("bmc_clock_mhz", "1/GPU_0"): 1980,
                    ("bmc_link_gbps", "1/GPU_0/NVLink_0"): 400, ("bmc_throttle_seconds_total", "1/GPU_0"): 63}
            got = {k: c.get(*k) for k in want}
            ok(got == want, "values have their names, units and places", got)
            ok(c.get("bmc_temperature_celsius", rack="R7", position="12") is not None, "and the rack and position that the file says")
            ok(c.get("bmc_temperature_celsius", "Tray/Unplugged") is None, "a sensor that is absent has no value, though it says 0")
            ok(c.get("bmc_bit_error_ratio") is None and c.get("bmc_errors_total", what="TXWait") is None, "1.5e-254 and 4294967295 are no values")
            ok(c.get("bmc_errors_total", what="CorrectableErrorCount") == 7 and c.get("bmc_errors_total", what="FatalErrorCount") is None,
               "an error counter is a series once it counted")
            facts = c.state("t1")["facts"]
            ok(facts.get("firmware/BMC") == "1.2.3" and facts.get("bios/IOMMU") == "Disabled" and facts.get("Systems/1/GPU_0/Model") == "G-1",
               "firmware, BIOS attributes and parts are known", facts)
            ok(not any("assword" in k for k in facts), "but no attribute that is a password")
            # what changes
            hot = bmctest.sensor("Tray", "Temp_0", 95.25)
            bmc.change(hot["@odata.id"], hot)
            ok(wait_for(lambda: c.get("bmc_temperature_celsius", "Tray/Temp_0") == 95.3, 20), "a value that changed is measured", c.get("bmc_temperature_celsius", "Tray/Temp_0"))
            ok(c.state("t1")["requests"] and wait_for(lambda: bmc.listeners, 20), "its stream of events is listened to")
            bmc.emit(b"data: not json\n\n")
            bmc.emit({"Events": [{"Severity": "Critical", "Message": "Coolant leak", "OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/Tray"}}]})
            ok(wait_for(lambda: any("Critical Coolant leak" in e for e in c.events), 20), "an event is told as it happens", c.events)
            entries = copy.deepcopy(bmc.tree["/redfish/v1/Systems/1/LogServices/SEL/Entries"])
            entries["Members"].append({"@odata.id": "/redfish/v1/x/2", "Id": "2", "Created": "2026-06-29T09:00:00Z", "Severity": "Warning", "Message": "Fan slow"})
            bmc.change(entries["@odata.id"], entries)
            ok(wait_for(lambda: any("log: t1: Warning Fan slow" in e for e in c.events), 40), "a new entry of its log is told, old ones are not",
               c.events)
            ok(not any("PSU 2" in e for e in c.events), "what was in the log before is history")
            bmc.tree.pop("/redfish/v1/Chassis/Tray/Sensors/Temp_3")
            bmc.cache.clear()
            ok(any(a[0] == "POST" for a in bmc.asked) and bmc.sessions, "it has a session")
            clean(c, [bmc], "a BMC of no vendor")
        ok(wait_for(lambda: not bmc.sessions, 10) or any(a[0] == "DELETE" for a in bmc.asked), "the session is ended with the collector", bmc.sessions)


def by_hand(tree):
    """What the recorded reports and sensors say, by what this test understands of them: {sensor: value}."""
    want, stale = {}, set()
    for path, r in tree.items():
        if "/MetricReports/" not in path:
            continue
        for m in r["MetricValues"]:
            p = m["MetricProperty"]
            if re.search(r"/Sensors/[^/#]+$", p):
                said_stale = m.get("Oem", {}).get("Nvidia", {}).get("MetricValueStale")
                (stale.add(p) if said_stale or m["MetricValue"] == "nan" else want.__setitem__(p, float(m["MetricValue"])))
    return want, stale


def validated(c, facts):
    """aon validate with what the BMC told: of the node itself, and of a rack where one node has another firmware."""
    def aon(*args):
        r = subprocess.run([find("aon"), "validate", "--json", *args], capture_output=True, text=True)
        return json.loads(r.stdout) if r.stdout else {"checks": [], "facts": {}, "err": r.stderr}

    empty = os.path.join(c.folder, "empty")  # a node without files: all facts are the BMC's
    os.makedirs(empty, exist_ok=True)
    said = aon("--root", empty, "--bmc", os.path.join(c.folder, "gb300.json"))
    ok(all(said["facts"].get("bmc/" + k) == v for k, v in facts.items() if k.startswith("firmware/")) and any(k.startswith("bmc/") and "bios" in k.lower() for k in said["facts"]),
       "aon validate has firmware and BIOS of the node's BMC", [k for k in said["facts"] if "firmware" in k][:3])
    key = [k for k in facts if k.startswith("firmware/")][0]
    with tempfile.TemporaryDirectory() as rack:
        for i in range(4):
            with open(f"{rack}/n{i}.json", "w") as f:
                json.dump({"facts": {**facts, key: "0.0.1"} if i == 2 else facts}, f)
        said = aon("--rack", rack)
    ok([x["id"] for x in said["checks"]] == ["n2: " + key], "and of a rack names the node that has another firmware", said["checks"][:5])


def recorded():
    tree = bmctest.recorded()
    if tree is None:
        return skip("the recorded GB300 node", "../shared/data is not there")
    where = folder()
    with bmctest.Bmc(tree, where, live=1, move=False) as bmc:
        with Collect(where, {"gb300": {"url": bmc.url, "ca": bmc.cert}}, rate=100) as c:
            ok(wait_for(lambda: c.up("gb300") and c.state("gb300")["complete"], 120 * SLOW), "the recorded GB300 node's resources are found", c.err[-3:])
            time.sleep(3)
            want, stale = by_hand(tree)
            factor = {"bmc_clock_mhz": 1e-6}
            digits = {"bmc_temperature_celsius": 1, "bmc_power_watts": 1, "bmc_energy_joules_total": -3, "bmc_voltage_volts": 2, "bmc_current_amperes": 1,
                      "bmc_fan_rpm": -2, "bmc_percent": 0, "bmc_clock_mhz": -1}
            kinds = {"Cel": "bmc_temperature_celsius", "W": "bmc_power_watts", "J": "bmc_energy_joules_total", "V": "bmc_voltage_volts", "A": "bmc_current_amperes",
                     "RPM": "bmc_fan_rpm", "%": "bmc_percent", "Hz": "bmc_clock_mhz"}
            right, wrong, ghosts = 0, [], []
            for path, r in tree.items():
                if r.get("@odata.type", "").startswith("#Sensor.") and r.get("ReadingUnits") in kinds:
                    metric = kinds[r["ReadingUnits"]]
                    device = "/".join(path.split("/")[4::2])
                    got = c.get(metric, device)
                    value = want.get(path, r.get("Reading"))
                    if path in stale or r["Status"]["State"] == "Absent":
                        ghosts += [path] if got is not None else []
                    elif value is not None and not (value == 0 and metric in ("bmc_temperature_celsius", "bmc_voltage_volts", "bmc_clock_mhz", "bmc_energy_joules_total")):
                        shown = value * factor.get(metric, 1)
                        if got is not None and abs(got - shown) <= 0.51 * 10 ** -digits[metric]:
                            right += 1
                        else:
                            wrong.append((path, shown, got))
            ok(right > 150 and not wrong, f"each sensor has the value that was recorded ({right})", wrong[:10])
            ok(not ghosts, f"stale, absent and NaN ones have none ({len(stale)})", ghosts)
            state = c.state("gb300")
            ok(len(state["gpus"]) == 4 and state["links_up"] == 72 and abs(state["watts"] - 1361.5) < 1 and state["leak"] == "OK", "its GPUs, links, power and leaks in a few numbers",
               {k: v for k, v in state.items() if k != "facts"})
            ok(len([k for k in state["facts"] if k.startswith("firmware/")]) == sum("/FirmwareInventory/" in p for p in tree) > 20 and state["facts"]["Systems/HGX_Baseboard_0/GPU_0/Model"] == "NVIDIA GB300", "every firmware version is known")
            ok(c.get("bmc_errors_total", "HGX_Baseboard_0/GPU_0/NVLink_0", what="LinkDownedCount") == 12, "errors of a link are those of the report")
            validated(c, state["facts"])
            bmc.live = 0 # its reports stand still: nothing renews them
            ok(wait_for(lambda: c.get("bmc_fan_rpm", "Chassis_0/Chassis_0_FAN_1_FRONT") is None, 40), "readings of reports that stand still are given up")
            ok(wait_for(lambda: c.get("bmc_stale", bmc="gb300") > 50, 20) and c.up("gb300"), "and counted as stale", c.get("bmc_stale", bmc="gb300"))
            clean(c, [bmc], "the recorded node")


def few_requests():
    """Reports come in one answer, if the BMC can; what stands still is asked more rarely, until something happens."""
    where, v1 = folder(), "/redfish/v1"
    tree = bmctest.made_up()
    names = ["A", "B", "C"]
    tree[v1]["TelemetryService"] = {"@odata.id": v1 + "/TelemetryService"}
    tree[v1]["ProtocolFeaturesSupported"] = {"ExpandQuery": {"Levels": True}}
    tree[v1 + "/TelemetryService"] = {"@odata.id": v1 + "/TelemetryService", "@odata.type": "#TelemetryService.v1_3_0.TelemetryService",
                                      "MetricReports": {"@odata.id": v1 + "/TelemetryService/MetricReports"}}
    tree[v1 + "/TelemetryService/MetricReports"] = bmctest.collection(v1 + "/TelemetryService/MetricReports", "MetricReport", [bmctest.REPORTS + n for n in names])
    for i, n in enumerate(names): # the sensors' own pages say something else: reports come first
        tree[bmctest.REPORTS + n] = bmctest.report(n, [(f"{v1}/Chassis/Tray/Sensors/Temp_{i}", 50 + i)], t=1782720000) # of that day: made anew each second
    whole, parts = bmctest.Bmc(copy.deepcopy(tree), where, live=1), bmctest.Bmc(copy.deepcopy(tree), where, live=1, expand=501, etags=False)
    for b in (whole, parts):
        b.__enter__()
    with Collect(where, {n: {"url": b.url, "ca": b.cert} for n, b in (("whole", whole), ("parts", parts))}) as c:
        for name, b in (("whole", whole), ("parts", parts)):
            ok(wait_for(lambda n=name: [c.get("bmc_temperature_celsius", f"Tray/Temp_{i}", bmc=n) for i in range(4)] == [50, 51, 52, 33.5], 30 * SLOW),
               f"{name}: values of reports, and of what no report has", [c.get("bmc_temperature_celsius", f"Tray/Temp_{i}", bmc=name) for i in range(4)])
        n = len(whole.asked), len(parts.asked)
        time.sleep(12)
        asked = [[p for _, p, _ in b.asked[k:]] for b, k in ((whole, n[0]), (parts, n[1]))]
        reports = [[p for p in a if "MetricReports" in p] for a in asked]
        ok(len(reports[0]) >= 5 and all("$expand" in p for p in reports[0]), "reports come as one answer", reports[0])
        ok(len(reports[1]) >= 15 and not any("$expand" in p for p in reports[1]), "one by one where that fails", reports[1][:9])
        still = [sum("Thermal" in p for p in a) for a in asked]
        ok(all(1 <= k <= 6 for k in still) and wait_for(lambda: c.get("bmc_temperature_celsius", "Tray/Inlet", bmc="parts") == 24, 1),
           "what stands still is asked ever more rarely, with tags or without, and holds", still)
        ok(wait_for(lambda: whole.listeners, 20), "one that tells of events")
        time.sleep(6) # by then it is asked every 16 s
        k = len(whole.asked)
        thermal = copy.deepcopy(whole.tree[v1 + "/Chassis/Tray/Thermal"])
        thermal["Temperatures"][0]["ReadingCelsius"] = 41
        whole.change(v1 + "/Chassis/Tray/Thermal", thermal)
        whole.emit({"Events": [{"Severity": "Warning", "Message": "Inlet is hot"}]})
        began = time.monotonic()
        ok(wait_for(lambda: c.get("bmc_temperature_celsius", "Tray/Inlet", bmc="whole") == 41, 20) and time.monotonic() - began < 5 * SLOW,
           "is asked for everything at once when it told one", f"{time.monotonic() - began:.1f} s {[p for _, p, _ in whole.asked[k:]]}")
    for b in (whole, parts):
        b.__exit__()


def faults():
    where, tree = folder(), bmctest.made_up()
    bad = {name: bmctest.Bmc(copy.deepcopy(tree), where) for name in
           ("slow", "drip", "cut", "huge", "long", "short", "html", "errors", "loop", "many", "expire", "denied", "garbage")}
    other = bmctest.make_cert(where, "other")
    bad["cert"] = bmctest.Bmc(copy.deepcopy(tree), where, cert=other)
    bad["pinned"] = bmctest.Bmc(copy.deepcopy(tree), where)
    bad["basic"] = bmctest.Bmc(copy.deepcopy(tree), where, with_sessions=False)
    bad["slow"].fault("", "slow", 60)
    bad["drip"].fault("/Chassis/Tray$", "drip", 0.5)
    for name, kind, arg in (("cut", "truncate", None), ("huge", "huge", 40), ("long", "lie_long", None), ("short", "lie_short", None),
                            ("html", "wrong", None), ("errors", "status", 500), ("garbage", "json", b'{"Reading":' + b'[' * 5000)):
        bad[name].fault("/Sensors/Temp_1$|/Thermal$", kind, arg)
    v1 = "/redfish/v1"
    bad["loop"].tree[v1 + "/Chassis"]["Members"] += [{"@odata.id": v1 + "/Chassis"}, {"@odata.id": v1}, {"@odata.id": v1 + "/Chassis/Tray/"}]
    bad["loop"].tree[v1 + "/Chassis/Tray"]["Sensors"] = {"@odata.id": v1 + "/Chassis"}
    bad["many"].tree[v1 + "/Chassis/Tray/Sensors"] = bmctest.collection(v1 + "/Chassis/Tray/Sensors", "Sensor", [f"{v1}/Chassis/Tray/Sensors/M{i}" for i in range(10000)])
    bad["expire"].expire_after = 12
    bad["denied"].password = "another"
    good = bmctest.Bmc(tree, where)
    moves = itertools.cycle((30.5, 31.5))
    good.tree[v1 + "/Chassis/Tray/Sensors/Temp_2"] = lambda: bmctest.sensor("Tray", "Temp_2", next(moves))
    sections = {name: {"url": b.url, "ca": b.cert} for name, b in bad.items()}
    sections["cert"]["ca"] = good.cert
    pin = subprocess.run(f"openssl x509 -in {good.cert} -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
                         shell=True, capture_output=True, text=True).stdout.strip()
    sections["pinned"] = {"url": bad["pinned"].url, "pin": "sha256//" + pin}
    sections["nopin"] = {"url": bad["cert"].url, "pin": "sha256//" + pin}
    sections["dead"] = {"url": "https://127.0.0.1:9", "ca": good.cert}
    sections["many"].update(resources=64, timeout=30)
    sections = {"good": {"url": good.url, "ca": good.cert}, **sections}
    everyone = [good, *bad.values()]
    for b in everyone:
        b.__enter__()
    with Collect(where, sections) as c:
        began = time.monotonic()
        ok(wait_for(lambda: c.up("good") and c.get("bmc_temperature_celsius", "Tray/Temp_0", bmc="good"), 30 * SLOW), "one that is well is measured while eighteen are not")
        ok(wait_for(lambda: all(c.up(n) for n in ("loop", "expire", "pinned", "basic", "html", "errors", "cut", "garbage")), 60 * SLOW),
           "what goes wrong with one resource costs that resource", [(n, c.why(n)) for n in sections if not c.up(n)])
        for n in ("html", "errors", "cut", "garbage"):
            ok(wait_for(lambda n=n: c.get("bmc_temperature_celsius", "Tray/Temp_0", bmc=n) == 30.5, 20) and c.get("bmc_temperature_celsius", "Tray/Temp_1", bmc=n) is None,
               f"{n}: other sensors are measured, and the bad one is not")
        for n, what in (("long", "more"), ("short", "less")):
            ok(wait_for(lambda n=n: c.get("bmc_temperature_celsius", "Tray/Temp_0", bmc=n) == 30.5, 60 * SLOW) and c.get("bmc_temperature_celsius", "Tray/Temp_1", bmc=n) is None,
               f"{n}: of an answer that is {what} than its Content-Length nothing is taken, of others all", (c.why(n), c.up(n)))
        ok(wait_for(lambda: c.get("bmc_failed_total", bmc="errors"), 10), "and the failures are counted")
        ok(wait_for(lambda: "certificate" in c.why("cert").lower() or "ssl" in c.why("cert").lower(), 20), "a wrong certificate is refused, and said", c.why("cert"))
        ok(not c.up("nopin") and wait_for(lambda: "pin" in c.why("nopin").lower() or "key" in c.why("nopin").lower(), 20), "so is a key that is not the pinned one", c.why("nopin"))
        ok(not any(a[1] != "/redfish/v1" for a in bad["cert"].asked), "and nothing was said to who has it")
        ok(wait_for(lambda: "login" in c.why("denied"), 20), "a password that is not taken is said", c.why("denied"))
        ok(wait_for(lambda: c.why("dead"), 20) and not c.up("dead"), "a BMC that is not there is down", c.why("dead"))
        ok(wait_for(lambda: "imed out" in c.why("slow"), 20 * SLOW), "one that answers in 60 s is down, too", c.why("slow"))
        ok(wait_for(lambda: c.get("bmc_left_out_total", bmc="many"), 60 * SLOW) and c.state("many")["resources"] <= 64, "10,000 members are bounded, and what was left out is counted")
        time.sleep(4)
        ok(not any(c.up(n) for n in ("dead", "slow", "cert", "nopin", "denied")), "who is down stays down", [n for n in sections if c.up(n)])
        bad["slow"].faults.clear()
        ok(wait_for(lambda: c.up("slow") and c.get("bmc_temperature_celsius", "Tray/Temp_0", bmc="slow") == 30.5, 90 * SLOW), "and is measured when it is back", c.why("slow"))
        ok(sum(a[0] == "POST" for a in bad["denied"].asked) == 1, "a password that is not taken is not tried again and again", bad["denied"].asked[-3:])
        ok(sum(a[0] == "POST" for a in bad["expire"].asked) >= 2 and c.get("bmc_temperature_celsius", "Tray/Temp_0", bmc="expire") == 30.5, "a session that ends is begun anew")
        ok(bad["basic"].asked and c.get("bmc_temperature_celsius", "Tray/Temp_0", bmc="basic") == 30.5, "a BMC without sessions is asked with the password each time")
        asks = [t for m, p, t in good.asked if p.endswith("Temp_2")]
        gaps = [b - a for a, b in zip(asks, asks[1:])]
        ok(len(asks) > 3 and max(gaps) < 4 * SLOW, "the one that is well was asked every interval all the while", f"{len(asks)} {max(gaps, default=0):.1f} s of {time.monotonic() - began:.0f} s")
        rss = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/status") as f:
                    status = f.read()
            except OSError:
                continue
            if f"PPid:\t{c.proc.pid}\n" in status or pid == str(c.proc.pid):
                rss += int(re.search(r"VmHWM:\s+(\d+)", status)[1])
        ok(0 < rss < 200 << 10 or SANITIZED, f"its memory is bounded ({rss >> 10} MiB with answers of 40 MiB)")
        r = subprocess.run([find("aon"), "rack", where], capture_output=True, text=True)
        rows = {line.split()[1]: line for line in r.stdout.splitlines() if line.startswith("  ") and len(line.split()) > 2}
        ok(r.returncode == 0 and "No rack" in r.stdout and "1234" in rows["good"] and rows["good"].rstrip().endswith("ok") and "down:" in rows["dead"],
           "aon rack shows them, those that are down with why", r.stdout)
        said = json.loads(subprocess.run([find("aon"), "rack", where, "--json"], capture_output=True, text=True).stdout)
        ok({b["bmc"]: b["up"] for b in said["bmcs"]}.keys() == sections.keys() and said["schema"] == "aon.rack/1", "aon rack --json has all of them")
        clean(c, everyone, "nineteen BMCs")
    for b in everyone:
        b.__exit__()


def slow_disk():
    """A folder for aon rack that keeps whoever writes to it waiting: a pipe that nobody reads stands for the disk."""
    where = folder()
    with bmctest.Bmc(bmctest.made_up(), where) as bmc:
        os.mkfifo(os.path.join(where, ".t1.new"))
        c = Collect(where, {"t1": {"url": bmc.url, "ca": bmc.cert}}, others=["fake"])
        with c:
            ok(wait_for(lambda: c.get("bmc_temperature_celsius", "Tray/Temp_0") == 30.5, 30 * SLOW), "with a disk that keeps its files waiting it measures all the same")
            time.sleep(8)
            bmc.change("/redfish/v1/Chassis/Tray/Sensors/Temp_0", bmctest.sensor("Tray", "Temp_0", 40.5))
            ok(wait_for(lambda: c.get("bmc_temperature_celsius", "Tray/Temp_0") == 40.5, 20), "and goes on to", c.get("bmc_temperature_celsius", "Tray/Temp_0"))
            ok(not any("killed" in e for e in c.err) and sum(a[0] == "POST" for a in bmc.asked) <= 2, "and is not killed for hanging, to find everything anew", c.err)
            began = time.monotonic()
        ok(time.monotonic() - began < 10, "and ends when it is told to")


def no_secret_in_the_store():
    """With an aond: what it keeps of a BMC has neither the password nor a token, in whatever form."""
    with Place() as place, Daemon(place):
        with bmctest.Bmc(bmctest.made_up(), str(place.path)) as bmc:
            c = Collect(str(place.path), {"t1": {"url": bmc.url, "ca": bmc.cert}})
            p = subprocess.Popen([find("aon-collect"), "--run-dir", place.run, "--interval", "500", f"redfish={c.conf},{place.path}"], stderr=subprocess.PIPE, text=True)
            read = lambda: aon("telemetry", str(place.store), "--metric", "bmc_", "--json").stdout
            try:
                ok(wait_for(lambda: "Tray/Temp_0" in read(), 60 * SLOW) and bmc.sessions, "what a BMC measures is in the store")
                words = [PASSWORD, "verysecret", *bmc.sessions]
            finally:
                p.terminate()
                err = p.communicate(timeout=30)[1]
            texts = {"telemetry": read(), "journal": aon("store", "journal", str(place.store)).stdout, "log": err,
                     "store": "".join(f.read_bytes().decode("latin1") for f in place.path.glob("store*"))}
            ok(texts["store"] and not [(w, k) for w in words for k, t in texts.items() if w in t], "no password, no token and no secret attribute is there or in the log")


def refusals():
    where = folder()
    with Collect(where, {"x": {"url": "http://127.0.0.1:1"}}) as c:
        ok(wait_for(lambda: any("insecure" in e for e in c.err), 20), "a file that is wrong is said with what to do", c.err)
    os.chmod(c.login, 0o644)
    with bmctest.Bmc(bmctest.made_up(), where) as bmc:
        c = Collect(where, {"x": {"url": bmc.url, "ca": bmc.cert}})
        os.chmod(c.login, 0o644)
        with c:
            ok(wait_for(lambda: "chmod 600" in c.why("x"), 20), "a login that others may read is not used", c.why("x"))
            ok(not any(a[0] == "POST" for a in bmc.asked), "and not sent")


no_vendor()
recorded()
few_requests()
faults()
slow_disk()
no_secret_in_the_store()
refusals()
done()
