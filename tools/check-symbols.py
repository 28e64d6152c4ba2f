#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a library that runs in other programs imports or exports something that it must not.

    check-symbols.py libaon.so
    check-symbols.py PROBE [--may IMPORT,...] EXPORT...
                                         a probe: exports these alone, loads others, needs libaon
"""
import re
import subprocess
import sys

# It may not end the process, print, start or signal anything, lock, or use the heap.
FORBIDDEN = re.compile(
    r"""^(
      _?exit|_Exit|quick_exit|abort|raise|atexit|__cxa_atexit|on_exit|__assert.*|__stack_chk_fail_local
    | v?[fsd]?n?printf(_chk)?|__v?[fsd]?n?printf_chk|v?asprintf|put(s|char|c)|fput[sc]|fwrite|perror|v?syslog|v?warnx?|v?errx?
    | std(in|out|err)|f(open|close|flush|dopen)
    | malloc|calloc|realloc|reallocarray|free|strn?dup|posix_memalign|aligned_alloc|memalign|brk|sbrk
    | pthread_(create|mutex_.*|rwlock_.*|cond_.*|spin_.*|join|kill|cancel|atfork|sigmask|exit|once)|__register_atfork|thrd_.*|mtx_.*|sem_.*
    | signal|sigaction|sigprocmask|kill|tgkill|sigqueue|timer_.*|setitimer|alarm|ptrace
    | fork|vfork|clone|exec.*|posix_spawn.*|system|popen|wait.*
    | dlopen|dlmopen|dlclose|dlsym|setenv|putenv|unsetenv|chdir|umask|setlocale|s?rand(om)?
    | sleep|usleep|nanosleep|clock_nanosleep|select|__tls_get_addr|longjmp|_?setjmp
    )$""",
    re.X,
)
TLS_MAX = 64


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args, lib], check=True, capture_output=True, text=True).stdout


lib, only = sys.argv[1], sys.argv[2:]
LOADS = ["dlopen", "dlsym"] if only else []
if only[:1] == ["--may"]:
    LOADS += only[1].split(",")
    only = only[2:]
bad = []
imports = exports = 0
for line in readelf("--dyn-syms").splitlines():
    f = line.split()
    if len(f) < 8 or not f[0].rstrip(":").isdigit():
        continue
    bind, section, name = f[4], f[6], f[7].split("@")[0]
    if section == "UND":
        imports += 1
        if FORBIDDEN.match(name) and name not in LOADS:
            bad.append(f"imports {name}")
    elif bind in ("GLOBAL", "WEAK") and section != "ABS":
        exports += 1
        if name not in only if only else not name.startswith("aon_"):
            bad.append(f"exports {name}")

dynamic = readelf("-d")
if "TEXTREL" in dynamic:
    bad.append("has text relocations")
if "NODELETE" not in dynamic:
    bad.append("lacks NODELETE: dlclose() would unmap code that threads still run")
for need in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
    if not re.match(r"(libc|ld-linux.*)\.so" + (r"|libaon\.so" if only else ""), need):
        bad.append(f"needs {need}")
segments = readelf("-l")
tls = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x\w+)", segments, re.M)
tls_bytes = int(tls[1], 16) if tls else 0
if tls_bytes > TLS_MAX:
    bad.append(f"has {tls_bytes} bytes of TLS, more than {TLS_MAX}")
if re.search(r"GNU_STACK.*RWE", segments):
    bad.append("asks for an executable stack")

for b in bad:
    print(f"{lib}: {b}")
print(f"{imports} imports, {exports} exports, {tls_bytes} bytes of TLS, {len(bad)} faults")
sys.exit(1 if bad or not exports else 0)
