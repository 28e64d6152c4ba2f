/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.tbl.h - every address that is answered, once. api.json describes them; a test compares.
 *
 *	ROUTE("path below /", handler, flags, "parameters that it takes")
 *
 * {id} stands for a run that the asker may see: it is in ask.run then. {x} stands for one segment,
 * in ask.tail. A handler is a function of api.h. Flags: ROUTE_JSON: it writes members of an object
 * that is open and has v, asof, lost and partial; ROUTE_HEAVY: it needs a run's events;
 * ROUTE_OPEN: needs no token; ROUTE_PARTIAL: it says itself whether it is partial; ROUTE_POST: takes
 * POST as well, with parameters and no body; ROUTE_WAITS: it waits until the run was read, unless
 * soon=1.
 */
/* clang-format off */
ROUTE("/metrics",                        metrics,    ROUTE_OPEN, "")
ROUTE("/health",                         node,       ROUTE_OPEN, "fresh")
ROUTE("/api/v1/openapi.json",            openapi,    0, "")
ROUTE("/api/v1/runs",                    runs,       0, "")
ROUTE("/api/v1/run/{id}/processes",      processes,  ROUTE_JSON, "")
ROUTE("/api/v1/run/{id}/accounting",     accounting, ROUTE_JSON, "")
ROUTE("/api/v1/run/{id}/health",         health,     ROUTE_JSON, "")
ROUTE("/api/v1/run/{id}/captures",       captures,   ROUTE_JSON, "")
ROUTE("/api/v1/run/{id}/capture",        capture,    ROUTE_JSON | ROUTE_POST, "steps ms before ranks trigger cancel")
ROUTE("/api/v1/run/{id}/captured/{x}",   captured,   0, "")
ROUTE("/api/v1/run/{id}/devices",        devices,    ROUTE_JSON | ROUTE_HEAVY, "t0 t1 ranks")
ROUTE("/api/v1/run/{id}/tracks",         tracks,     ROUTE_JSON | ROUTE_PARTIAL | ROUTE_WAITS, "soon")
ROUTE("/api/v1/run/{id}/names",          names,      ROUTE_JSON | ROUTE_PARTIAL | ROUTE_WAITS, "from soon")
ROUTE("/api/v1/run/{id}/tiles",          tiles,      ROUTE_WAITS, "L i tracks from soon")
ROUTE("/api/v1/run/{id}/event/{x}",      event,      ROUTE_JSON | ROUTE_WAITS, "")
ROUTE("/api/v1/run/{id}/flows",          flows,      ROUTE_JSON | ROUTE_WAITS, "event")
ROUTE("/api/v1/run/{id}/search",         search,     ROUTE_JSON | ROUTE_WAITS, "q limit t0 least below")
ROUTE("/api/v1/run/{id}/select",         select,     ROUTE_JSON | ROUTE_PARTIAL | ROUTE_WAITS, "t0 t1 tracks")
ROUTE("/api/v1/run/{id}/overview",       overview,   ROUTE_JSON | ROUTE_HEAVY, "t0 t1")
ROUTE("/api/v1/run/{id}/steps",          steps,      ROUTE_JSON | ROUTE_HEAVY, "t0 t1 ranks limit cursor")
ROUTE("/api/v1/run/{id}/heat",           heat,       ROUTE_JSON | ROUTE_HEAVY, "t0 t1 ranks measure w h")
ROUTE("/api/v1/run/{id}/kernels",        kernels,    ROUTE_JSON | ROUTE_HEAVY, "t0 t1 ranks sort group limit cursor")
ROUTE("/api/v1/run/{id}/ops",            ops,        ROUTE_JSON | ROUTE_HEAVY, "t0 t1 ranks sort group limit cursor")
ROUTE("/api/v1/run/{id}/findings",       findings,   ROUTE_JSON | ROUTE_HEAVY, "t0 t1")
ROUTE("/api/v1/run/{id}/states",         states,     ROUTE_JSON | ROUTE_POST, "key state note")
ROUTE("/api/v1/run/{id}/flame",          flame,      ROUTE_JSON | ROUTE_HEAVY, "t0 t1 ranks weight min")
ROUTE("/api/v1/run/{id}/roofline",       roofline,   ROUTE_JSON | ROUTE_HEAVY, "t0 t1")
ROUTE("/api/v1/run/{id}/diff",           diff,       ROUTE_JSON | ROUTE_HEAVY, "vs")
ROUTE("/api/v1/run/{id}/whatif",         whatif,     ROUTE_JSON | ROUTE_HEAVY, "t0 t1 scale scale_host no_sync overlap_comm free_host free_launch")
ROUTE("/api/v1/run/{id}/memory",         memory,     ROUTE_JSON | ROUTE_HEAVY, "t0 t1")
ROUTE("/api/v1/run/{id}/windows",        windows,    ROUTE_JSON, "t0 t1 n")
ROUTE("/api/v1/run/{id}/series",         series,     ROUTE_JSON, "")
ROUTE("/api/v1/run/{id}/telemetry",      telemetry,  ROUTE_JSON, "t0 t1 n series")
ROUTE("/api/v1/run/{id}/download",       download,   ROUTE_HEAVY, "t0 t1 ranks format")
ROUTE("/api/v1/fleet",                   fleet,      ROUTE_JSON | ROUTE_HEAVY, "since until")
ROUTE("/api/v1/fleet/job",               fleet_job,  ROUTE_JSON | ROUTE_HEAVY, "job since until")
ROUTE("/api/v1/fleet/heat",              fleet_heat, ROUTE_JSON | ROUTE_HEAVY, "job measure w h s0 s1 order newest")
ROUTE("/api/v1/fleet/rank",              fleet_rank, ROUTE_JSON | ROUTE_HEAVY, "job rank last limit")
ROUTE("/api/v1/fleet/diff",              fleet_diff, ROUTE_JSON | ROUTE_HEAVY, "job vs at since until")
ROUTE("/api/v1/fleet/versions",          fleet_versions, ROUTE_JSON | ROUTE_HEAVY, "since until")
ROUTE("/api/v1/live",                    live,       ROUTE_LIVE, "")
ROUTE("/api/v1/run/{id}/live",           live,       ROUTE_LIVE, "")
ROUTE("/api/v1/stream",                  stream,     ROUTE_LIVE, "kind pid rate window priority")
/* clang-format on */
#undef ROUTE
