#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120 sanitize=no
"""A stand-in for kubelet answers List of its pod-resources service by gRPC: aon-collect notes which GPU is whose pod's, and aond
says it of a process whose cgroup is a pod's, though the process names none. One that hangs or talks nonsense changes nothing."""
import concurrent.futures
import os
import pathlib
import socket
import subprocess
import sys
import threading

from aontest import Daemon, Place, app_env, done, find, ok, report, skip, skip_all

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "aon" / "grpc"
UID = "7b1e6c1e-5d4f-4a3b-9c2d-0123456789ab"
GROUP = pathlib.Path("/sys/fs/cgroup/pids/kubepods") / f"pod{UID}" / ("c0ffee" * 10 + "beef")


def field(number, data):
    """A field of bytes, as protobuf has it."""
    data = data if isinstance(data, bytes) else data.encode()
    n, size = len(data), b""
    while n > 127:
        size += bytes([n & 127 | 128])
        n >>= 7
    return bytes([number << 3 | 2]) + size + bytes([n]) + data


def pod(name, namespace, *devices):
    """devices: (resource, ids...); the container's cpu_ids are packed numbers, which nobody asked for."""
    parts = b"".join(field(2, field(1, resource) + b"".join(field(2, i) for i in ids)) for resource, *ids in devices)
    return field(1, field(1, name) + field(2, namespace) + field(3, field(1, "main") + parts + field(3, b"\x01\x02")))


ANSWER = (pod("train-0", "research", ("nvidia.com/gpu", "GPU-aaaa", "GPU-bbbb"), ("rdma/hca", "mlx5_0"))
          + pod("serve-1", "prod", ("nvidia.com/mig-1g.5gb", "MIG-cccc"), ("nvidia.com/gpu", "bad\nGPU-x"))
          + b"".join(pod(f"other-{i}", "bulk", ("nvidia.com/gpu", f"GPU-{i:04}")) for i in range(3000)))  # more than a window of HTTP/2


def kubelet(path, answer):
    import grpc
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", {
        "List": grpc.unary_unary_rpc_method_handler(lambda request, context: answer)}),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


def collect(path, out):
    return subprocess.run([find("aon-collect"), "--print", "--interval", "100", "--polls", "1", f"pods={path},{out}"], capture_output=True, text=True, timeout=60)


def asked(place, out):
    server = kubelet(place.path / "kubelet.sock", ANSWER)
    r = collect(place.path / "kubelet.sock", out)
    lines = out.read_text().splitlines() if out.exists() else []
    ok(lines[:3] == ["research train-0 GPU-aaaa", "research train-0 GPU-bbbb", "prod serve-1 MIG-cccc"] and len(lines) == 3003,
       "kubelet says which GPU is whose pod's, 3,000 of them", (r, lines[:5], len(lines)))
    server.stop(None).wait()


def nonsense(place, out):
    """Whoever is there instead: nobody, one that says nothing, one that is no HTTP/2, a service that has no such method."""
    before = out.read_text()
    r = collect(place.path / "nobody.sock", out)
    ok(out.read_text() == before, "no kubelet, no change", r)
    import grpc
    empty = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    empty.add_insecure_port(f"unix:{place.path}/empty.sock")
    empty.start()
    r = collect(place.path / "empty.sock", out)
    ok(out.read_text() == before and "no answer" in r.stderr, "a service without List is told", r)
    empty.stop(None).wait()
    for name, says, word in (("mute", b"", "timed out"), ("liar", b"\xff" * 64, "no answer"), ("http1", b"HTTP/1.1 400 No\r\n\r\n", "no answer")):
        s = socket.socket(socket.AF_UNIX)
        s.bind(str(place.path / f"{name}.sock"))
        s.listen()
        held = []
        threading.Thread(target=lambda s=s, says=says, held=held: (held.append(s.accept()[0]), held[0].sendall(says)), daemon=True).start()
        r = collect(place.path / f"{name}.sock", out)
        ok(out.read_text() == before and word in r.stderr, f"{name}: it is told, and nothing changes", r)
        s.close()


def known(place, out):
    try:
        GROUP.mkdir(parents=True)
    except OSError as e:
        return skip("a process of a pod", f"no cgroup can be made here: {e}")
    try:
        with Daemon(place, sets={"pods": out, "kubelet": ""}) as d:
            def enter():
                (GROUP / "cgroup.procs").write_text(str(os.getpid()))
            for gpus, pod_name in (("MIG-cccc", None), (None, "train-0")):
                env = app_env(place, AON_JOIN_MS=2000, **({"NVIDIA_VISIBLE_DEVICES": gpus} if gpus else {"POD_NAME": pod_name, "POD_NAMESPACE": "research"}))
                subprocess.run([find("emitter"), "10"], env=env, stdout=subprocess.DEVNULL, preexec_fn=enter, timeout=60)
            d.flush()
            ids = sorted((q["identity"] for q in report(place.store, "--all")["processes"]), key=lambda i: i.get("pod", ""))
            d.stop()
        ok(len(ids) == 2 and {k: ids[0].get(k) for k in ("pod", "namespace", "mig", "pod_uid")} ==
           {"pod": "serve-1", "namespace": "prod", "mig": "MIG-cccc", "pod_uid": UID}, "one that names no pod is known by its GPU", ids)
        ok(len(ids) == 2 and ids[1].get("gpu_uuid") == "GPU-aaaa,GPU-bbbb", "one that names its pod has the GPUs that kubelet gave it", ids)
    finally:
        for g in (GROUP, GROUP.parent, GROUP.parent.parent):
            try:
                g.rmdir()
            except OSError:
                pass


if not (CACHE / "grpc").is_dir():
    skip_all("no grpcio: tools/setup check installs it")
sys.path.insert(0, str(CACHE))
with Place() as p:
    notes = p.path / "pods"
    asked(p, notes)
    nonsense(p, notes)
    known(p, notes)
done()
