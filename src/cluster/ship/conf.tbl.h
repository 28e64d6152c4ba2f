/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf.tbl.h - every setting of aon ship, once. Parser, --help, man page and tests come from it.
 *
 *	PARAM(key, type, default, min, max, unit, live, "what it does")     as src/node/daemon/core/param.tbl.h; TEXT: any
 */
/* clang-format off */
PARAM(url,           TEXT, "",                        0,  250, "an address", START, "where to: clickhouse://HOST:PORT/DATABASE, or https://HOST:PORT of a relay")
PARAM(credentials,   PATH, "",                        0,  240, "",      START, "lines user = NAME, password = SECRET; mode 0600")
PARAM(ca,            PATH, "",                        0,  240, "",      START, "who may have signed the server's certificate; empty: the system's CAs")
PARAM(cert,          PATH, "",                        0,  240, "",      START, "our certificate, with key")
PARAM(key,           PATH, "",                        0,  240, "",      START, "its key; mode 0600")
PARAM(pin,           TEXT, "",                        0,  120, "sha256//KEY", START, "the server's public key must be this one")
PARAM(store,         PATH, "/var/lib/aon/store.db",   1,  240, "",      START, "the store that is followed")
PARAM(spool,         PATH, "/var/lib/aon-ship/spool", 1,  240, "",      START, "folder of what waits to be sent")
PARAM(cluster,       TEXT, "",                        0,   63, "a name", START, "name of the cluster; empty: as the store says, else default")
PARAM(host,          TEXT, "",                        0,   63, "a name", START, "name of the node; empty: as the store says, else the machine's")
PARAM(rack,          TEXT, "",                        0,   63, "a name", START, "where it stands; empty: as the store says")
PARAM(user,          TEXT, "",                        0,   31, "a user", START, "become this user after the start, if root; empty: stay")
PARAM(run_dir,       PATH, "/run/aon",                0,   80, "",      START, "where aond is asked what it uses; empty: it is not")
PARAM(spool_mib,     NUM,  "256",                     1, 1 << 20, "MiB", START, "what may wait; over it raw events are given up first, then the oldest, and that is told")
PARAM(spool_age_h,   NUM,  "168",                     0, 87600, "h",    START, "how long it may wait; 0: for ever")
PARAM(net_kib_s,     NUM,  "256",                     0, 1 << 20, "KiB/s", START, "what may be sent in a second; 0: no limit")
PARAM(net_mib_day,   NUM,  "0",                       0, 1 << 20, "MiB", START, "what may be sent in a day of the machine's uptime; then it waits in the spool; 0: no limit")
PARAM(timeout_s,     NUM,  "30",                      1,   600, "s",     START, "for an answer")
PARAM(backfill_h,    NUM,  "24",                      0, 87600, "h",     START, "how far back it begins with a store that it does not know; 0: all of it")
PARAM(events,        WORD, "off",                     0,     0, "off|raised", START, "raw events: of captures that alarms raise, 500,000 of each at most; off: none")
PARAM(otlp,          TEXT, "",                        0,   250, "an address", START, "also send metrics to OTLP over HTTP: http(s)://HOST:PORT/v1/metrics; empty: no")
PARAM(remote_write,  TEXT, "",                        0,   250, "an address", START, "also send metrics to Prometheus remote write: http(s)://HOST:PORT/api/v1/write; empty: no")
PARAM(metrics_s,     NUM,  "60",                     10,  3600, "s",     START, "time between two of these")
PARAM(log_level,     WORD, "info",                    0,     0, "err|warn|info|debug", START, "lines less urgent than this are not logged")
/* clang-format on */
#undef PARAM
