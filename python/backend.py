# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of package aon: `pip install ./python`. Needs no package and no network.

The native parts are those of the Meson build: $AON_BUILD, else ../build, which is made if it is
not there. A wheel is a zip file of the files below and three that describe them (PEP 427)."""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TAG = f"cp310-abi3-linux_{os.uname().machine}"
LIBS = ("libaon.so.0", "libaon-torch.so", "libaon-jax.so")
MODULE = "aon/_aon.abi3.so"
# At every start of Python, so as little as can be: see aon_hook.py. The part in quotes is compiled when a framework is looked for.
PTH = ('import os, sys; os.environ.get("AON_OFF") or sys.meta_path.insert(0, type("AonWait", (), {"find_spec": '
       'lambda name, path=None, target=None: exec("try:\\n import aon_hook\\nexcept Exception:\\n pass") '
       'if name in ("torch", "jax") else None}))\n')


def version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def metadata():
    return (f"Metadata-Version: 2.1\nName: aon\nVersion: {version()}\n"
            "Summary: Annotate Python programs for the always-on profiler\n"
            "License: Apache-2.0\nRequires-Python: >=3.10\n")


def native(place):
    """The libraries as they are installed: they find each other beside themselves."""
    build = pathlib.Path(os.environ.get("AON_BUILD") or ROOT / "build")
    if not (build / "build.ninja").exists():
        subprocess.run(["make", "-C", ROOT, "all", f"BUILD={build}"], check=True)
    subprocess.run(["meson", "install", "-C", build, "--quiet"], check=True,
                   env={**os.environ, "DESTDIR": str(place)}, stdout=subprocess.DEVNULL)
    found = {p.name: p for p in pathlib.Path(place).rglob("*.so*")}
    names = {f"aon/lib/{name}": name for name in LIBS} | {MODULE: "_aon.abi3.so"}
    missing = [n for n in names.values() if n not in found]
    if missing:
        raise SystemExit(f"aon: {build} has no {', '.join(missing)}: Python's headers were not there "
                         "when it was set up (python3-dev)")
    return {path: found[name].read_bytes() for path, name in names.items()}


def files(place):
    yield from native(place).items()
    for name in ("aon/__init__.py", "aon_hook.py", "aon_hook_torch.py", "aon_hook_memory.py",
                 "aon_hook_jax.py", "aon_hook_compile.py", "aon_hook_data.py"):
        yield name, (HERE / name).read_bytes()
    yield "aon.pth", PTH.encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"aon-{version()}.dist-info"
    name = f"aon-{version()}-{TAG}.whl"
    record = []
    with tempfile.TemporaryDirectory() as place, \
            zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as z:
        def put(path, data):
            entry = zipfile.ZipInfo(path)  # of 1980: the same files give the same wheel
            entry.external_attr = (0o755 if ".so" in path else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")

        for path, data in files(place):
            put(path, data)
        put(f"{info}/METADATA", metadata().encode())
        put(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: aon\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
        z.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("aon: the wheel is built from the whole source tree: pip install ./python")
