# SPDX-License-Identifier: Apache-2.0
"""Inference that knows nothing of aon: as torch_loops.py, but a step is the outermost call of a module
with gradients off."""
import copy
import io
import threading

import torch
from torch import nn
from torch_loops import STEPS, batches, loss_of, main, net


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Model(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Block() for _ in range(depth))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    @torch.no_grad()
    def generate(self, x, tokens):
        for _ in range(tokens):
            x = x + self(x).mean()
        return x


class Functional(nn.Module):
    """Calls no other module."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(16, 4))

    def forward(self, x):
        return x @ self.w


def batch_loop():
    m, total = net().eval(), 0.0
    with torch.no_grad():
        for x, _ in batches():
            total += m(x).sum().item()
    return STEPS, total


def inference_mode():
    m, total = Model().eval(), 0.0
    for x, _ in batches():
        with torch.inference_mode():
            total += m(x).sum().item()
    return STEPS, total


def for_good():
    torch.set_grad_enabled(False)
    m, total = Model(), 0.0
    for i in range(STEPS):
        total += m(torch.full((2, 16), float(i))).sum().item()
    return STEPS, total


def generate():
    """Requests of several tokens: each token is a step."""
    m, total = Model(), 0.0
    for request in range(6):
        total += m.generate(torch.full((1, 16), float(request)), 5).sum().item()
    return 30, total


def functional():
    m, total = Functional(), 0.0
    with torch.no_grad():
        for i in range(STEPS):
            total += m(torch.full((2, 16), float(i))).sum().item()
    return STEPS, total


def two_models():
    """One after the other: two steps a batch."""
    a, b, total = Model(), net(), 0.0
    with torch.no_grad():
        for x, _ in batches(15):
            total += a(x).sum().item() + b(x).sum().item()
    return 30, total


def made_late():
    """A class that was made by no statement, an object of it that was copied and pickled."""
    made = type("Made", (Model,), {})
    m = copy.deepcopy(made())
    file = io.BytesIO()
    globals()["Made"] = made
    torch.save(m, file)
    m = torch.load(io.BytesIO(file.getvalue()), **({"weights_only": False} if hasattr(torch, "compile") else {}))
    total = 0.0
    with torch.no_grad():
        for i in range(STEPS):
            total += m(torch.full((2, 16), float(i))).sum().item()
    return STEPS, total


def keyword():
    """A class whose bases take arguments of the class statement."""
    class Named:
        def __init_subclass__(cls, key=None, **kw):
            super().__init_subclass__(**kw)
            cls.key = key

    class Mine(Model, Named, key="mine"):
        pass

    try:
        class Bad(Model, what=1):
            pass
    except TypeError as e:
        assert "keyword" in str(e), e
    else:
        raise AssertionError("no error")
    m, total = Mine(), float(len(Mine.key))
    with torch.no_grad():
        for i in range(STEPS):
            total += m(torch.full((2, 16), float(i))).sum().item()
    return STEPS, total


def failing():
    """Every third call raises: it was a step, too."""
    class Fails(Model):
        def forward(self, x):
            if int(x[0, 0]) % 3 == 2:
                raise RuntimeError("no")
            return super().forward(x)

    m, total = Fails(), 0.0
    with torch.no_grad():
        for i in range(STEPS):
            try:
                total += m(torch.full((2, 16), float(i))).sum().item()
            except RuntimeError:
                total += 1
    return STEPS, total


def threads():
    m, sums = Model(), [0.0, 0.0, 0.0]

    def work(n):
        with torch.no_grad():
            for i in range(10):
                sums[n] += m(torch.full((2, 16), float(i))).sum().item()

    all_ = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for t in all_:
        t.start()
    for t in all_:
        t.join()
    return 30, sum(sums)


def traced():
    """torch.fx sets nn.Module.__call__ for a while; the traced model is another class."""
    import torch.fx

    class Traced(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 4)

        def forward(self, x):
            return self.b(self.a(x))

    torch.manual_seed(0)
    plain = Traced()
    torch.fx.symbolic_trace(plain)

    class Later(nn.Module):
        pass

    total = 0.0
    with torch.no_grad():
        for i in range(STEPS):
            total += plain(torch.full((2, 16), float(i))).sum().item()
    return STEPS, total


def scripted():
    m, total = torch.jit.script(net()), 0.0
    with torch.no_grad():
        for x, _ in batches():
            total += m(x).sum().item()
    return STEPS, total


def compiled():
    """The whole model is one graph, as without us."""
    m, total = Model(), 0.0
    if hasattr(torch, "compile"):
        m = torch.compile(m, backend="eager", fullgraph=True)
    with torch.no_grad():
        for x, _ in batches():
            total += m(x).sum().item()
    return STEPS, total


def with_gradients():
    """Nobody said that it is an inference."""
    m, total = Model(), 0.0
    for i in range(STEPS):
        total += m(torch.full((2, 16), float(i))).sum().item()
    return 0, total


def before_training():
    """A look at the model before its first step is no step."""
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    with torch.no_grad():
        for x, y in batches(3):
            loss_of(m, x, y)
    for x, y in batches():
        opt.zero_grad()
        loss_of(m, x, y).backward()
        opt.step()
        with torch.no_grad():
            m(x)
    return STEPS, m


LOOPS = [batch_loop, inference_mode, for_good, generate, functional, two_models, made_late, keyword, failing,
         threads, traced, scripted, compiled, with_gradients, before_training]

if __name__ == "__main__":
    main(LOOPS)
