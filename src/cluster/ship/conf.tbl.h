/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf.tbl.h - every setting of aon ship, once. Parser, --help, man page and tests come from it.
 *
 *	PARAM(key, type, default, min, max, unit, live, "what it does")     as src/node/daemon/core/param.tbl.h; TEXT: any
 */
/* clang-format off */
PARAM(url,           TEXT, "",                        0,  250, "an address", START, "destination: clickhouse://HOST:PORT/DATABASE, or https://HOST:PORT of a relay")
PARAM(credentials,   PATH, "",                        0,  240, "",      START, "file with the lines user = NAME, password = SECRET; mode 0600")
PARAM(ca,            PATH, "",                        0,  240, "",      START, "authorities that may sign the server's certificate; empty: the system's CAs")
PARAM(cert,          PATH, "",                        0,  240, "",      START, "this node's certificate, with key")
PARAM(key,           PATH, "",                        0,  240, "",      START, "key of the certificate; mode 0600")
PARAM(pin,           TEXT, "",                        0,  120, "sha256//KEY", START, "the public key that the server must have")
PARAM(store,         PATH, "/var/lib/aon/store.db",   1,  240, "",      START, "the store to follow")
PARAM(spool,         PATH, "/var/lib/aon-ship/spool", 1,  240, "",      START, "folder for data that waits to be sent")
PARAM(cluster,       TEXT, "",                        0,   63, "a name", START, "name of the cluster; empty: from the store, else default")
PARAM(host,          TEXT, "",                        0,   63, "a name", START, "name of the node; empty: from the store, else the machine's")
PARAM(rack,          TEXT, "",                        0,   63, "a name", START, "rack of the node; empty: from the store")
PARAM(user,          TEXT, "",                        0,   31, "a user", START, "become this user after the start, if root; empty: stay root")
PARAM(run_dir,       PATH, "/run/aon",                0,   80, "",      START, "aond's run directory, to ask for its resource usage; empty: do not ask")
PARAM(spool_mib,     NUM,  "256",                     1, 1 << 20, "MiB", START, "size of the spool; above it raw events are dropped first, then the oldest data, and the loss is reported")
PARAM(spool_age_h,   NUM,  "168",                     0, 87600, "h",    START, "how long data may wait in the spool; 0: for ever")
PARAM(net_kib_s,     NUM,  "256",                     0, 1 << 20, "KiB/s", START, "data sent per second; 0: no limit")
PARAM(net_mib_day,   NUM,  "0",                       0, 1 << 20, "MiB", START, "data sent per day of the machine's uptime; the rest waits in the spool; 0: no limit")
PARAM(timeout_s,     NUM,  "30",                      1,   600, "s",     START, "time limit for an answer")
PARAM(backfill_h,    NUM,  "24",                      0, 87600, "h",     START, "how far back to start with a new store; 0: from its beginning")
PARAM(events,        WORD, "off",                     0,     0, "off|raised", START, "raw events of captures that alarms raise, at most 500,000 of each; off: none")
PARAM(otlp,          TEXT, "",                        0,   250, "an address", START, "also send metrics to OTLP over HTTP: http(s)://HOST:PORT/v1/metrics; empty: no")
PARAM(remote_write,  TEXT, "",                        0,   250, "an address", START, "also send metrics to Prometheus remote write: http(s)://HOST:PORT/api/v1/write; empty: no")
PARAM(metrics_s,     NUM,  "60",                     10,  3600, "s",     START, "time between two transfers of metrics")
PARAM(log_level,     WORD, "info",                    0,     0, "err|warn|info|debug", START, "log lines less urgent than this are dropped")
/* clang-format on */
#undef PARAM
