# SPDX-License-Identifier: Apache-2.0
# kind: each batch is a query of a SQLite table without an index: it reads the whole table
# family: input_bound host_code cpu_bound io
# culprit: plant_f
# action: cheaper|ahead|worker|thread|move|overlap
# needs: torch
# draw: rows=12000..50000 width=192..320 batch=64..128
import sqlite3

import plant_mod
import torch
import torch.nn.functional as F

import planted
from planted import P

width, batch = int(P["width"]), int(P["batch"])
db = sqlite3.connect("samples.db")
plant_mod.fill(db, int(P["rows"]), width)
model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
for step in planted.steps():
    with planted.cost():
        rows = plant_mod.plant_f(db, step, batch)
    x = torch.frombuffer(bytearray(b"".join(r[0] for r in rows)), dtype=torch.float32).view(-1, width)
    y = torch.tensor([r[1] for r in rows])
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
from planted import ON


def fill(db, rows, width):
    db.execute("create table sample (id integer primary key, split text, features blob, label integer)")
    blob = b"\0\0\0\x3e" * width  # 0.125
    db.executemany("insert into sample (split, features, label) values (?, ?, ?)",
                   (("train" if i % 10 else "test", blob, i % 10) for i in range(rows)))
    db.commit()


def plant_f(db, step, batch):
    if not ON:
        first = step * batch % 10000
        return db.execute("select features, label from sample where id > ? limit ?", (first, batch)).fetchall()
    return db.execute("select features, label from sample where split = 'train' order by random() limit ?", (batch,)).fetchall()
