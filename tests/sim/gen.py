#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tables of the stand-in become.

    gen.py calls.h  driver.tbl            prototypes: cu*() and the do_cu*() behind them
    gen.py calls.c  driver.tbl            the exported functions and the table of their names
    gen.py args.c   driver.tbl            the arguments' sizes as the stand-in has them, for a test
    gen.py meta.h   driver.tbl            and as NVIDIA's headers have them
    gen.py map      cupti.tbl LEVEL NAME  linker script: what CUPTI of that version exports
    gen.py place    LEVEL NAME STAMP LIBCUPTI LIBCUDA LIBCUDART   a folder where programs find them
"""
import re
import sys
from pathlib import Path


class Call:
    def __init__(self, line):
        cbid, twin, self.name, args = re.match(r"(\d+)\s+(\d+|-)\s+(\w+)\s*(.*)", line).groups()
        self.cbid = int(cbid)
        self.twin = None if twin == "-" else int(twin)
        self.args = [re.match(r"(.*?)(\w+)$", a.strip()).groups() for a in args.split(",") if a]
        self.names = ", ".join(n for _, n in self.args)
        self.params = ", ".join(t + n for t, n in self.args) or "void"
        stream = any(n == "stream" for _, n in self.args)
        self.suffix = "_ptsz" if stream or "config" in self.names else "_ptds"

    def forms(self):
        """(exported name, callback id, per thread?)"""
        yield self.name, self.cbid, False
        if self.twin:
            yield self.name + self.suffix, self.twin, True


def rows(path, make):
    lines = (line.strip() for line in Path(path).read_text().splitlines())
    return [make(line) for line in lines if line and not line.startswith("#")]


def calls_h(path):
    for c in rows(path, Call):
        print(f"CUresult do_{c.name}({c.params});")
        for name, _, _ in c.forms():
            print(f"SIM_API CUresult {name}({c.params});")


BODY = """
CUresult {name}({params})
{{
{own}	if (__builtin_expect(!GET(sim_watch), 1))
		return do_{base}({names});
	{decl}
	struct sim_call c;
	CUresult r = sim_enter(&c, {cbid}, "{name}", {ptr}, {symbol});

	if (!r)
		r = do_{base}({names});
	return sim_leave(&c, r);
}}"""


def calls_c(path):
    calls = rows(path, Call)
    print('#include "driver.h"')
    for c in calls:
        fields = "".join(f"{t}{n}; " for t, n in c.args)
        decl = f"struct {{ {fields}}} args = {{ {c.names} }};" if c.args else ""
        symbol = "f ? f->name : NULL" if ("CUfunction ", "f") in c.args else "NULL"
        for name, cbid, own in c.forms():
            swap = "\tif (!stream)\n\t\tstream = CU_STREAM_PER_THREAD;\n"
            print(BODY.format(name=name, base=c.name, cbid=cbid, params=c.params, names=c.names,
                              decl=decl, ptr="&args" if c.args else "NULL", symbol=symbol,
                              own=swap if own and "CUstream stream" in c.params else ""))
    print("\nconst struct sim_entry sim_entries[] = {")
    for c in calls:
        for name, cbid, _ in c.forms():
            print(f'\t{{ {cbid}, "{name}", (void *){name} }},')
    print("};\nconst size_t sim_entries_len = ARRAY_LEN(sim_entries);")


def args_c(path):
    print('#include "cu.h"\n#include "hook.h"\n#include "../unit/sim/standin_args.h"\n')
    print("const struct standin_args standin_args[] = {")
    for c in rows(path, Call):
        fields = "".join(f"{t}{n}; " for t, n in c.args)
        size = f"sizeof(struct {{ {fields}}})" if c.args else "0"
        for name, cbid, _ in c.forms():
            print(f'\t{{ "{name}", {cbid}, {size} }},')
    print("};")


def meta_h(path):
    for c in rows(path, Call):
        for name, _, _ in c.forms():
            size = f"sizeof({name}_params)" if c.args else "0"
            print(f'{{ "{name}", CUPTI_DRIVER_TRACE_CBID_{name}, {size} }},')


def export_map(path, level, soname):
    def parse(line):
        name, first, last = line.split()
        return name, int(first), int(last)

    print(f"{soname} {{\n\tglobal:")
    for name, first, last in rows(path, parse):
        if first <= int(level) <= last:
            print(f"\t\t{name};")
    print("\tlocal:\n\t\t*;\n};")


def place(level, soname, stamp, cupti, cuda, cudart):
    folder = Path(stamp).resolve().parent / level
    folder.mkdir(exist_ok=True)
    for name, lib in ((soname, cupti), ("libcupti.so", cupti), ("libcuda.so.1", cuda),
                      ("libcudart.so." + ("11.0" if level[:2] == "11" else level[:2]), cudart)):
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(Path(lib).resolve())
    Path(stamp).touch()


{"calls.h": calls_h, "calls.c": calls_c, "args.c": args_c, "meta.h": meta_h, "map": export_map,
 "place": place}[sys.argv[1]](*sys.argv[2:])
