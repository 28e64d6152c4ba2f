# SPDX-License-Identifier: Apache-2.0
"""A cluster on this machine alone: Debian's ZooKeeper and ClickHouse twice, on the loopback device, each in a folder
and on ports of its own. Nothing of it is left when it ends.

    with Cluster(folder, "replicas") as c:    # or "shards", "alone"; c.why is None, or why it did not start
        c.server[0].ask("SELECT 1")
"""
import os
import pathlib
import shutil
import signal
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

    def __init__(self, folder, profile="replicas", certs=None):
        self.dir, self.profile, self.certs, self.why = pathlib.Path(folder), profile, certs, None
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
        def quiet():
            try:
                return all(int(s.one(f"SELECT sum(queue_size + is_readonly) FROM system.replicas WHERE database = '{database}'") or 0) == 0
                           for s in self.server)
            except (OSError, RuntimeError):
                return False
        return self.wait(seconds, quiet)

    def urls(self):
        return [s.url() for s in self.server]

    def __exit__(self, *_):
        for p in (*self.server, self.zk):
            if p.proc and p.alive():
                p.go_on()
            p.end()


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

    def slow(self, i, *qdisc):
        """tbf or netem at node i, as tc says it; None: why not."""
        r = subprocess.run(["tc", "-n", self.name(i), "qdisc", "replace", "dev", "eth0", "root", *map(str, qdisc)],
                           capture_output=True, text=True)
        return r.stderr.strip() if r.returncode else None

    def __exit__(self, *_):
        for name in reversed(self.made):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.made = []
