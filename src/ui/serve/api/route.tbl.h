/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.tbl.h - every address that is answered, once. api.json describes them; a test compares.
 *
 *	ROUTE("path below /", handler, flags, "parameters that it takes")
 *	JSON(the same): it writes members of an object that is open and has v, asof, lost and partial
 *
 * {id} stands for a run that the asker may see: it is in ask.run then. {x} stands for one segment,
 * in ask.tail. A handler is a function of api.h. Flags: ROUTE_HEAVY: it needs a run's events;
 * ROUTE_OPEN: needs no token; ROUTE_PARTIAL: it says itself whether it is partial; ROUTE_POST: takes
 * POST as well, with parameters and no body; ROUTE_WAITS: it waits until the run was read, unless
 * soon=1; ROUTE_FLEET: a cluster must be served.
 */
/* clang-format off */
ROUTE("/metrics",                        metrics,    ROUTE_OPEN, "")
ROUTE("/health",                         node,       ROUTE_OPEN, "fresh")
ROUTE("/api/v1/openapi.json",            openapi,    0, "")
ROUTE("/api/v1/runs",                    runs,       0, "")
JSON("/api/v1/run/{id}/processes",       processes,  0, "")
JSON("/api/v1/run/{id}/accounting",      accounting, 0, "")
JSON("/api/v1/run/{id}/health",          health,     0, "")
JSON("/api/v1/run/{id}/captures",        captures,   0, "")
JSON("/api/v1/run/{id}/capture",         capture,    ROUTE_POST, "steps ms before ranks trigger cancel")
ROUTE("/api/v1/run/{id}/captured/{x}",   captured,   0, "")
JSON("/api/v1/run/{id}/devices",         devices,    ROUTE_HEAVY, "t0 t1 ranks")
JSON("/api/v1/run/{id}/tracks",          tracks,     ROUTE_PARTIAL | ROUTE_WAITS, "soon")
JSON("/api/v1/run/{id}/names",           names,      ROUTE_PARTIAL | ROUTE_WAITS, "from soon")
ROUTE("/api/v1/run/{id}/tiles",          tiles,      ROUTE_WAITS, "L i tracks from soon")
JSON("/api/v1/run/{id}/event/{x}",       event,      ROUTE_WAITS, "")
JSON("/api/v1/run/{id}/flows",           flows,      ROUTE_WAITS, "event")
JSON("/api/v1/run/{id}/search",          search,     ROUTE_WAITS, "q limit t0 least below")
JSON("/api/v1/run/{id}/select",          select,     ROUTE_PARTIAL | ROUTE_WAITS, "t0 t1 tracks")
JSON("/api/v1/run/{id}/overview",        overview,   ROUTE_HEAVY, "t0 t1")
JSON("/api/v1/run/{id}/steps",           steps,      ROUTE_HEAVY, "t0 t1 ranks limit cursor")
JSON("/api/v1/run/{id}/heat",            heat,       ROUTE_HEAVY, "t0 t1 ranks measure w h")
JSON("/api/v1/run/{id}/kernels",         kernels,    ROUTE_HEAVY, "t0 t1 ranks sort group limit cursor")
JSON("/api/v1/run/{id}/ops",             ops,        ROUTE_HEAVY, "t0 t1 ranks sort group limit cursor")
JSON("/api/v1/run/{id}/findings",        findings,   ROUTE_HEAVY, "t0 t1")
JSON("/api/v1/run/{id}/states",          states,     ROUTE_POST, "key state note")
JSON("/api/v1/run/{id}/flame",           flame,      ROUTE_HEAVY, "t0 t1 ranks weight min")
JSON("/api/v1/run/{id}/stacks",          stacks,     ROUTE_HEAVY, "t0 t1 ranks weight min gap part")
JSON("/api/v1/run/{id}/roofline",        roofline,   ROUTE_HEAVY, "t0 t1")
JSON("/api/v1/run/{id}/diff",            diff,       ROUTE_HEAVY, "vs")
JSON("/api/v1/run/{id}/whatif",          whatif,     ROUTE_HEAVY, "t0 t1 scale scale_host no_sync overlap_comm free_host free_launch")
JSON("/api/v1/run/{id}/memory",          memory,     ROUTE_HEAVY, "t0 t1")
JSON("/api/v1/run/{id}/windows",         windows,    0, "t0 t1 n")
JSON("/api/v1/run/{id}/series",          series,     0, "")
JSON("/api/v1/run/{id}/telemetry",       telemetry,  0, "t0 t1 n series")
ROUTE("/api/v1/run/{id}/download",       download,   ROUTE_HEAVY, "t0 t1 ranks format")
JSON("/api/v1/fleet",                    fleet,      ROUTE_HEAVY | ROUTE_FLEET, "since until")
JSON("/api/v1/fleet/job",                fleet_job,  ROUTE_HEAVY | ROUTE_FLEET, "job since until")
JSON("/api/v1/fleet/heat",               fleet_heat, ROUTE_HEAVY | ROUTE_FLEET, "job measure w h s0 s1 order newest")
JSON("/api/v1/fleet/rank",               fleet_rank, ROUTE_HEAVY | ROUTE_FLEET, "job rank last limit")
JSON("/api/v1/fleet/diff",               fleet_diff, ROUTE_HEAVY | ROUTE_FLEET, "job vs at since until")
JSON("/api/v1/fleet/versions",           fleet_versions, ROUTE_HEAVY | ROUTE_FLEET, "since until")
ROUTE("/api/v1/live",                    live,       ROUTE_LIVE, "")
ROUTE("/api/v1/run/{id}/live",           live,       ROUTE_LIVE, "")
ROUTE("/api/v1/stream",                  stream,     ROUTE_LIVE, "kind pid rate window priority")
/* clang-format on */
#undef ROUTE
#undef JSON
