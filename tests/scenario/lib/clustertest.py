# SPDX-License-Identifier: Apache-2.0
"""A cluster on this machine alone: Debian's ZooKeeper and ClickHouse twice, on the loopback device, each in a folder
and on ports of its own. Nothing is left when it ends.

    with Cluster(folder, "replicas") as c:    # or "shards", "alone"; c.why is None, or why it did not start
        c.server[0].ask("SELECT 1")
"""
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from slurmtest import free_ports

USER, PASSWORD = "aon", "not-a-secret"
PROFILES = {  # name of each server: shard, replica
    "alone": (("01", "r1"),),
    "replicas": (("01", "r1"), ("01", "r2")),
    "shards": (("01", "r1"), ("02", "r1")),
}
JARS = "zookeeper.jar", "slf4j-simple.jar"
CONFIG = """<yandex>
<logger><level>{level}</level><log>{dir}/server.log</log><errorlog>{dir}/error.log</errorlog><size>20M</size><count>1</count></logger>
<http_port>{http}</http_port>{https}
<tcp_port>{tcp}</tcp_port>
<interserver_http_port>{inter}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
<listen_host>127.0.0.1</listen_host>
<path>{dir}/data/</path><tmp_path>{dir}/tmp/</tmp_path><format_schema_path>{dir}/format/</format_schema_path>
<users_config>{dir}/users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>67108864</uncompressed_cache_size>
<max_connections>256</max_connections><keep_alive_timeout>3</keep_alive_timeout><timezone>UTC</timezone>
<remote_servers><aon>{remote}</aon></remote_servers>
<zookeeper><node><host>127.0.0.1</host><port>{zk}</port></node><session_timeout_ms>10000</session_timeout_ms></zookeeper>
<macros><shard>{shard}</shard><replica>{replica}</replica></macros>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
</yandex>
"""
TLS = """
<https_port>{port}</https_port><openSSL><server><certificateFile>{certs}/server.crt</certificateFile>
<privateKeyFile>{certs}/server.key</privateKeyFile><caConfig>{certs}/ca.crt</caConfig><verificationMode>relaxed</verificationMode>
<disableProtocols>sslv2,sslv3</disableProtocols></server></openSSL>"""
USERS = """<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<quotas><default><interval><duration>3600</duration></interval></default></quotas>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<{user}><password>{password}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></{user}>
</users></yandex>
"""


def missing():
    """Why it cannot be: None if it can."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    lacks = [p for p in ("clickhouse-server", "java", "openssl") if not shutil.which(p)]
    lacks += [j for j in JARS if not pathlib.Path("/usr/share/java", j).exists()]
    return f"no {', '.join(lacks)}: tools/setup check installs clickhouse-server, zookeeper and a JRE" if lacks else None


class Child:
    """A program in a folder of its own; its words are in DIR/out.log."""

    def __init__(self, folder, argv, env=None, wrap=()):
        self.dir = pathlib.Path(folder)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.argv, self.env, self.wrap, self.proc = [str(a) for a in argv], env, list(wrap), None

    def start(self):
        with open(self.dir / "out.log", "ab") as log:
            self.proc = subprocess.Popen(self.wrap + self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         cwd=self.dir, env=self.env)
        return self

    def alive(self):
        return self.proc is not None and self.proc.poll() is None

    def end(self, sig=signal.SIGKILL, wait=60):
        if self.alive():
            self.proc.send_signal(sig)
        return self.proc.wait(wait) if self.proc else None

    def pause(self):
        self.proc.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.proc.send_signal(signal.SIGCONT)

    def said(self):
        return (self.dir / "out.log").read_text(errors="replace") if (self.dir / "out.log").exists() else ""


class ZooKeeper(Child):
    def __init__(self, folder, port):
        self.port = port
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True)
        (folder / "zoo.cfg").write_text(
            f"tickTime=1000\ndataDir={folder}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
            "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=ruok\nforceSync=yes\n")
        path = ":".join([str(folder), *(f"/usr/share/java/{j}" for j in JARS)])
        super().__init__(folder, ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                  "-Dzookeeper.jmx.log4j.disable=true", "-cp", path,
                                  "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder / "zoo.cfg"])


class ClickHouse(Child):
    """One server. ask() and insert() are what any client could do."""

    def __init__(self, folder, number, ports, cluster, certs=None):
        folder = pathlib.Path(folder)
        for d in ("data", "tmp", "format"):
            (folder / d).mkdir(parents=True)
        self.port, self.tcp, inter, https = ports[number]
        self.https = https if certs else None
        shard, replica = PROFILES[cluster.profile][number]
        (folder / "config.xml").write_text(CONFIG.format(
            dir=folder, level="warning", http=self.port, tcp=self.tcp, inter=inter, zk=cluster.zk_port, shard=shard,
            replica=replica, remote=cluster.remote(ports), https=TLS.format(port=https, certs=certs.dir) if certs else ""))
        (folder / "users.xml").write_text(USERS.format(user=USER, password=PASSWORD))
        super().__init__(folder, ["clickhouse-server", f"--config-file={folder}/config.xml"])

    def url(self, user=True):
        return f"http://{USER + ':' + PASSWORD + '@' if user else ''}127.0.0.1:{self.port}"

    def post(self, query, body=b"", timeout=60, **settings):
        settings = {"user": USER, "password": PASSWORD, **settings, "query": query}
        r = urllib.request.Request(f"http://127.0.0.1:{self.port}/?{urllib.parse.urlencode(settings)}", data=body)
        try:
            with urllib.request.urlopen(r, timeout=timeout) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{e.code}: {e.read().decode(errors='replace')[:400]}") from None

    def ask(self, query, **kw):
        """Rows as lists of text."""
        return [line.split("\t") for line in self.post(query, **kw).splitlines()]

    def one(self, query, **kw):
        rows = self.ask(query, **kw)
        return rows[0][0] if rows else None

    def ready(self):
        try:
            return self.one("SELECT 1", timeout=2) == "1"
        except (OSError, RuntimeError):
            return False


class Certs:
    """A CA and what it has signed: name.crt and name.key in one folder."""

    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.dir.mkdir(parents=True)
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                 "-subj", "/O=aon test/CN=aon test CA", "-keyout", self.key("ca"), "-out", self.crt("ca"))

    def crt(self, name):
        return self.dir / f"{name}.crt"

    def key(self, name):
        return self.dir / f"{name}.key"

    @staticmethod
    def run(*argv):
        subprocess.run(["openssl", *map(str, argv)], check=True, capture_output=True)

    def sign(self, name, common=None, server=False, days=30, san="DNS:localhost,IP:127.0.0.1"):
        """days < 0: it has expired already."""
        csr, ext = self.dir / f"{name}.csr", self.dir / f"{name}.ext"
        ext.write_text(f"basicConstraints=CA:FALSE\nextendedKeyUsage={'serverAuth' if server else 'clientAuth'}\n"
                       + (f"subjectAltName={san}\n" if server else ""))
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 f"/O=aon test/CN={common or name}", "-keyout", self.key(name), "-out", csr)
        self.key(name).chmod(0o600)
        self.run("x509", "-req", "-in", csr, "-CA", self.crt("ca"), "-CAkey", self.key("ca"), "-CAcreateserial",
                 "-days", days, "-extfile", ext, "-out", self.crt(name))
        return self


class Cluster:
    """ZooKeeper and the servers of a profile."""

    def __init__(self, folder, profile="replicas", certs=None, disk=None):
        """disk: (server, "64m"): its data lie on a disk of that size."""
        self.dir, self.profile, self.certs, self.why = pathlib.Path(folder), profile, certs, None
        self.disk, self.small = disk, None
        self.zk_port, self.server = None, []

    def remote(self, ports):
        by_shard = {}
        for (shard, _), p in zip(PROFILES[self.profile], ports):
            by_shard.setdefault(shard, []).append(p[1])
        return "".join("<shard><internal_replication>true</internal_replication>" + "".join(
            f"<replica><host>127.0.0.1</host><port>{tcp}</port><user>{USER}</user><password>{PASSWORD}</password></replica>"
            for tcp in shard) + "</shard>" for shard in by_shard.values())

    def __enter__(self):
        n = len(PROFILES[self.profile])
        flat = free_ports(1 + 4 * n)
        self.zk_port, flat = flat[0], flat[1:]
        ports = [flat[4 * i:4 * i + 4] for i in range(n)]
        self.zk = ZooKeeper(self.dir / "zk", self.zk_port)
        self.server = [ClickHouse(self.dir / f"ch{i}", i, ports, self, self.certs) for i in range(n)]
        try:
            if self.disk:
                self.small = SmallDisk(self.server[self.disk[0]].dir / "data", self.disk[1]).__enter__()
            self.zk.start()
            for s in self.server:
                s.start()
            if not self.wait(120):
                self.why = "ClickHouse did not start here: " + " ".join(
                    p.said()[-300:] for p in (self.zk, *self.server))[:900]
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self, seconds=120, ready=None):
        """Until every server answers and has its ZooKeeper."""
        end = time.monotonic() + seconds
        ready = ready or (lambda: all(s.ready() for s in self.server) and self.has_keeper())
        while not ready():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def has_keeper(self):
        try:
            return all(s.one("SELECT count() FROM system.zookeeper WHERE path = '/'", timeout=5) for s in self.server)
        except (OSError, RuntimeError):
            return False

    def settled(self, database, seconds=180):
        """Until no replica has anything left to fetch."""
        behind = ("SELECT sum(queue_size + is_readonly + is_session_expired + (log_max_index > 0 AND log_max_index >= log_pointer)) "
                  f"FROM system.replicas WHERE database = '{database}'")

        def quiet():
            try:
                return all(int(s.one(behind) or 0) == 0 for s in self.server)
            except (OSError, RuntimeError):
                return False
        return self.wait(seconds, quiet)

    def go_on(self):
        """Whatever was stopped."""
        for p in (self.zk, *self.server):
            if p.alive():
                p.go_on()

    def urls(self):
        return [s.url() for s in self.server]

    def __exit__(self, *_):
        for p in (*self.server, self.zk):
            if p.proc and p.alive():
                p.go_on()
            p.end()
        if self.small:
            self.small.__exit__()


class SmallDisk:
    """A tmpfs at that place; why is None, or why there can be none."""

    def __init__(self, path, size):
        self.path, self.size, self.why = pathlib.Path(path), size, None

    def __enter__(self):
        self.path.mkdir(parents=True, exist_ok=True)
        r = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "aon-test", self.path], capture_output=True, text=True)
        self.why = f"no small disk can be made here: {r.stderr.strip()}" if r.returncode else None
        return self

    def resize(self, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", self.path], check=True, capture_output=True)

    def fill(self):
        """What is left of it; returns the file to remove."""
        ballast = self.path / "ballast"
        with open(ballast, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(1 << 16))
            except OSError:
                pass
        return ballast

    def __exit__(self, *_):
        if not self.why:
            subprocess.run(["umount", "-l", self.path], capture_output=True)


class Net:
    """Network namespaces n0, n1... with a veth pair each to a bridge in a namespace of its own: nothing of the
    machine's own network changes. Addresses: 10.87.0.(i + 2); `hub` is 10.87.0.1. exec(i, argv) is how to run there."""

    def __init__(self, count):
        self.count, self.tag, self.why, self.made = count, f"aon{os.getpid()}", None, []

    def name(self, i):
        return f"{self.tag}-{'hub' if i is None else i}"

    @staticmethod
    def address(i):
        return "10.87.0.1" if i is None else f"10.87.0.{i + 2}"

    def exec(self, i, *argv):
        return ["ip", "netns", "exec", self.name(i), *map(str, argv)]

    def ip(self, *argv, ns=None):
        r = subprocess.run(["ip", *(["-n", ns] if ns else []), *map(str, argv)], capture_output=True, text=True)
        if r.returncode:
            raise OSError(f"ip {' '.join(map(str, argv))}: {r.stderr.strip()}")

    def __enter__(self):
        try:
            hub = self.name(None)
            for i in (None, *range(self.count)):
                self.ip("netns", "add", self.name(i))
                self.made.append(self.name(i))
                self.ip("link", "set", "lo", "up", ns=self.name(i))
            self.ip("link", "add", "br0", "type", "bridge", ns=hub)
            self.ip("addr", "add", f"{self.address(None)}/24", "dev", "br0", ns=hub)
            self.ip("link", "set", "br0", "up", ns=hub)
            for i in range(self.count):
                self.ip("link", "add", f"p{i}", "type", "veth", "peer", "name", "eth0", "netns", self.name(i), ns=hub)
                self.ip("link", "set", f"p{i}", "master", "br0", "up", ns=hub)
                self.ip("addr", "add", f"{self.address(i)}/24", "dev", "eth0", ns=self.name(i))
                self.ip("link", "set", "eth0", "up", ns=self.name(i))
        except (OSError, FileNotFoundError) as e:
            self.why = f"network namespaces cannot be made here: {e}"
            self.__exit__()
        return self

    def cut(self, i, yes=True):
        self.ip("link", "set", f"p{i}", "down" if yes else "up", ns=self.name(None))

    def sent(self, i):
        """Bytes that node i has sent."""
        return int(subprocess.check_output(self.exec(i, "cat", "/sys/class/net/eth0/statistics/tx_bytes")))

    def slow(self, i, *qdisc):
        """tbf or netem at node i, as tc says it; None: why not."""
        r = subprocess.run(["tc", "-n", self.name(i), "qdisc", "replace", "dev", "eth0", "root", *map(str, qdisc)],
                           capture_output=True, text=True)
        return r.stderr.strip() if r.returncode else None

    def __exit__(self, *_):
        for name in reversed(self.made):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.made = []


# --- a relay and its nodes ---

ACCESS = """# the nodes of this test, and who may watch
node n* cluster=c1
node other* cluster=c2
user alice jobs=alice-* steps=10 seconds=5 hour=5
user root jobs=*
watch prom
"""


class Relay(Child):
    """aon relay of our own; url() is what nodes are told."""

    def __init__(self, folder, certs, target, *more, env=None, access=ACCESS, listen="127.0.0.1", wrap=()):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.certs, self.hold, self.port = certs, folder / "hold", free_ports(1)[0]
        self.listen = listen
        (folder / "access").write_text(access)
        from aontest import find
        super().__init__(folder, [find("aon"), "relay", "--listen", f"{listen}:{self.port}", "--dir", self.hold, "--url", target,
                                  "--credentials", secret_of(folder), "--cert", certs.crt("relay"), "--key", certs.key("relay"),
                                  "--ca", certs.crt("ca"), "--access", folder / "access", *more], env, wrap)

    def start(self, wait=30):
        super().start()
        end = time.monotonic() + wait
        at = (self.dir / "out.log").stat().st_size if (self.dir / "out.log").exists() else 0
        while self.alive() and time.monotonic() < end and "listens at" not in self.said()[at:]:
            time.sleep(0.05)
        return self

    def url(self):
        return f"https://{self.listen}:{self.port}"

    def ask(self, path, name="root", method=None, body=None, timeout=60):
        """(status, text) of a request with that certificate; None: without one. 0: it was broken off."""
        ctx = ssl.create_default_context(cafile=self.certs.crt("ca"))
        if name:
            ctx.load_cert_chain(self.certs.crt(name), self.certs.key(name))
        r = urllib.request.Request(self.url() + path, data=body, method=method)
        try:
            with urllib.request.urlopen(r, timeout=timeout, context=ctx) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode(errors="replace")
        except urllib.error.URLError as e:
            return 0, str(e)

    def status(self):
        return json.loads(self.ask("/v1/status")[1])

    def held(self):
        s = self.status()
        return s["open_batches"] + s["inserts_waiting"]


def make_certs(folder, *names):
    """A CA, the relay's, a node's for each name, and alice, root and prom."""
    certs = Certs(folder).sign("relay", server=True).sign("server", server=True)
    for name in (*names, "alice", "root", "prom"):
        certs.sign(name)
    return certs


def secret_of(folder):
    """The file that a command is told user and password by."""
    path = pathlib.Path(folder) / "secret"
    path.write_text(f"user = {USER}\npassword = {PASSWORD}\n")
    path.chmod(0o600)
    return path


def make_tables(cluster, database="aon"):
    from aontest import find
    r = subprocess.run([find("aon"), "cluster", "init", "--url", target_of(cluster, database), "--credentials",
                        secret_of(cluster.dir)], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr)


def target_of(cluster, database="aon"):
    between = ";" if cluster.profile == "shards" else ","
    return (f"clickhouse://{USER}@" + between.join(f"127.0.0.1:{s.port}" for s in cluster.server) + f"/{database}?replicated=yes"
            + ("&cluster=aon" if cluster.profile == "shards" else ""))


def node(folder, certs, name, url, batches, rows, *words, cluster="c1", cert=None, env=None, wrap=()):
    """ship_node, as a Child: one that makes up its rows."""
    from aontest import find
    c = cert or name
    return Child(folder, [find("ship_node"), pathlib.Path(folder) / "spool", cluster, name, url, certs.crt("ca"), certs.crt(c),
                          certs.key(c), batches, rows, *words], env, wrap)
