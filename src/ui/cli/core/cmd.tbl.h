/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd.tbl.h - every command, once. Dispatch, help, man page and completions come from here.
 *
 *	CMD(ID, name, GROUP, PARENT, "synopsis after the options", "what it does, one line", "more, for --help")
 *
 * GROUP is a heading of aon --help, in the order of group.tbl.h. With a PARENT the command is the
 * parent's second word, "aon node rack"; its name alone, "aon rack", stays an alias. NONE: it has none.
 */
/* clang-format off */
CMD(RUN, run, RECORD, NONE, "[--] CMD [ARG...]", "run a program and report where its time went",
    "Uses the node's aond when you may read its store, else one for this run only.\n"
    "Input, output, signals and exit status are the program's. The report goes to\n"
    "stderr.")
CMD(ATTACH, attach, RECORD, NONE, "PID", "where a running process spends its time, sampled from outside",
    "Needs nothing in the process and does not stop it: reads its stacks 49 times a second.\n"
    "On a terminal a live list until q or Ctrl-C, then a report; else a report after 10 s. The\n"
    "first sentence names the function of your code that takes most, with its standard error\n"
    "and the thread's state. Your own processes, or all with CAP_SYS_PTRACE; without aond. Says\n"
    "also whether the process is recorded, and which command records it. Exits 1 if nothing\n"
    "can be seen (docs/sampling.md).")
CMD(CAPTURE, capture, RECORD, NONE, "[--kineto|--jax|--flight-recorder]", "a detailed trace of running processes, now",
    "aond captures what it records, unless you name a profiler: with --before what it has\n"
    "recorded already, then N steps or a time in full detail; the ranks of a job at the same\n"
    "steps. The result is a trace as aon export writes it.\n"
    "A profiler writes the trace of each process, and aon a store of all. It begins within 5 s;\n"
    "of JAX with the next jitted call. Only your own processes, unless you are root. Exits 1 if\n"
    "a process did not deliver all.")
CMD(IMPORT, import, RECORD, NONE, "TRACE...", "traces of other tools into a store",
    "Takes Kineto and Chrome JSON (plain or gzip), sqlite exports of Nsight Systems and\n"
    "XPlane files, known by content; a folder; - for standard input. Several files are\n"
    "the ranks of one job. Of a damaged file the intact part is kept; then it exits 1.\n"
    "Commands that read a store also read traces: import what you ask often.")
CMD(REPORT, report, LOOK, NONE, "[STORE|TRACE...]", "where the time went, in a store or in traces",
    "Without operands: the node's store if readable, else the newest ./aon-*.db. Several\n"
    "traces, or a folder of them, are the ranks of one job. --by name, track and process\n"
    "are for stores, the others for GPU work.")
CMD(WHY, why, LOOK, NONE, "[STORE|TRACE...]", "ranks what costs time and suggests fixes",
    "Reads what report reads. The costliest finding comes first, with its evidence, what to\n"
    "do and what to expect; --all shows all of them and everything that was checked. Files of\n"
    "step records (.steps) are diagnosed: see aon why diagnose. Exits 3 if there is no GPU\n"
    "work to judge.")
CMD(DIAGNOSE, diagnose, LOOK, WHY, "FILE|FOLDER... | --cluster URL --job J | --cluster URL --follow", "which rank, host, link or stage slows or stops a job",
    "Reads step records (aon export -f steps), a folder of them, or a timeline of pipeline\n"
    "stages (Chrome JSON, plain or gzip). It tells late ranks from waiting ones without\n"
    "clocks; imbalance and a long stage are findings like bad machines. The costliest comes\n"
    "first; advisory findings are unsure or not worth it (docs/diagnosis.md). With --cluster\n"
    "it reads the newest records of a job from there; with --follow, as a service, those of\n"
    "all running jobs as they come: its findings are in aon cluster fleet and aon why.")
CMD(DIFF, diff, LOOK, NONE, "A B | RUN", "what got slower or faster between two runs",
    "A and B are stores or traces; with one RUN, --ranks or --steps choose two parts of\n"
    "it. Exits 3 when they cannot be compared.")
CMD(CHECK, check, LOOK, NONE, "RUN", "compare a run with limits and an earlier run, for CI",
    "FILE has a limit a line: name, <= or >=, value; --write proposes one. Exits 1 when\n"
    "a limit is broken, 3 when it could not decide.")
CMD(SQL, sql, LOOK, NONE, "QUERY [STORE]", "ask a store in SQL",
    "Tables: kernel copy step range api process window summary and more (--tables);\n"
    "QUERY - reads it from stdin. Read-only. Without STORE: as report.\n"
    "For sqlite3 and Python: the extension aon_sqlite (docs/sql.md).")
CMD(SERVE, serve, LOOK, NONE, "[STORE|TRACE...]", "the web page and its API, until it is stopped",
    "Prints an address with a token: whoever has it sees what you may see. Read-only;\n"
    "each operand is a store, a trace or a folder of the ranks of one job. Without operands:\n"
    "as report. With --allow-capture the page orders captures of live runs, too.\n"
    "GET /api/v1/openapi.json describes the API.")
CMD(OPEN, open, LOOK, SERVE, "[STORE|TRACE...]", "serve, and open the page in the browser",
    "As aon serve --open. Without a browser the address is printed alone.")
CMD(EXPORT, export, LOOK, NONE, "[FILE...]", "write stores or traces for other tools",
    "Takes what aon report takes; several files are the ranks of one job. The format\n"
    "is --format, or follows from the ending of -o: .pftrace .json .pb .collapsed\n"
    "or .csv, with .gz behind any of them. -o DIR/ writes a file for each rank.\n"
    "steps, or .steps: the step records of the newest job in stores, for diagnosis.")
CMD(STORE, store, LOOK, NONE, "check|stat|journal STORE", "check a store, or list what it holds",
    "check reads everything and tests every checksum; stat counts; journal lists starts,\n"
    "stops and repairs.")
CMD(RECOVER, recover, LOOK, STORE, "FILE...", "save what is intact in damaged stores and left pools",
    "Takes a damaged store, or the *.pool files of a node that died. They are only\n"
    "read. It reports in numbers what was saved and what is lost.")
CMD(PS, ps, LIVE, NONE, "", "recorded processes: detail, events a second, losses",
    "Reads the store only. Rates are of the last seconds.")
CMD(TOP, top, LIVE, NONE, "", "live view: processes, and what they spend time in",
    "Read-only. Keys: q quit, ? help, s sort, / filter, p pause, arrows scroll.")
CMD(ALARMS, alarms, LIVE, NONE, "[STORE]", "what got worse: slower steps, hangs, late ranks",
    "The alarms of aond's detectors, the oldest first; see docs/alarms.md.")
CMD(STACKS, stacks, LIVE, NONE, "PID...|--job J", "stacks of processes now, equal ones together",
    "Native and Python frames, the innermost first. Each thread is stopped for about a\n"
    "millisecond; nothing runs in the process. Your own processes, or all with\n"
    "CAP_SYS_PTRACE. Exits 1 if no stack could be read, and says why.")
CMD(SUBSCRIBE, subscribe, LIVE, NONE, "", "events of running programs, as they come",
    "Runs until it is stopped. A line for each event, or with --window for each name in each\n"
    "second; with --json an object a line. Your own processes, or all if you may talk to\n"
    "aond's admin socket. aond's cost does not grow with consumers, and the programs pay\n"
    "only for --detail. Slow consumers lose events; the count is reported. Exits 1 when aond\n"
    "ends. For programs: aon/consumer.h (docs/subscribe.md).")
CMD(BUDGET, budget, LIVE, NONE, "[KEY=VALUE...]", "what aon may cost and does cost; change it",
    "Of the node: for aond's owner, its group and root, until aond reads its settings again;\n"
    "aond.conf(5) lists them all. With --pid or --job: max_slowdown, max_probe_cost,\n"
    "disk_mib_day and fidelity of a process, or of all of a job. The admin may set anything,\n"
    "others may lower their own. KEY=- removes it.")
CMD(OVERHEAD, overhead, LIVE, BUDGET, "[STORE]", "what recording costs each program, as measured",
    "Compares recorded steps with steps skipped at random; the confidence interval holds\n"
    "whenever you look. accounted is the cost of the records themselves. Exits 3 if nothing\n"
    "with steps was seen.")
CMD(LEASE, lease, LIVE, NONE, "[list | take|release cupti PID | pm | dcgm]", "give GPU profiling hardware to another tool",
    "One tool at a time can have a process's CUPTI, the counters of GPUs (pm), DCGM's lock\n"
    "for profiling. take makes aon's own probes leave it within a second; they come back\n"
    "after release, after --for seconds (default 60), or when --holder has ended. For your\n"
    "own process; pm and dcgm are for root, aond's user and its group (docs/lease.md).")
CMD(YIELD, yield, LIVE, LEASE, "PID [SECONDS]", "let another profiler have a process for a while",
    "The CUDA probe of PID leaves CUPTI within a second and takes it again after SECONDS\n"
    "(default 60), once no other tool has it. GPU work meanwhile is not recorded; the\n"
    "interval is in the store, as \"externally profiled\".")
CMD(DOCTOR, doctor, NODE, NONE, "", "what works on this machine, and how to fix the rest",
    "Exits 1 only if recording itself cannot work. Changes nothing.")
CMD(NODE, node, NODE, NONE, "validate|telemetry|rack|audit ...", "commands about this node", "")
CMD(VALIDATE, validate, NODE, NODE, "[REPORT...]", "is this node as it should be: settings, speed",
    "Checks kernel, cores, memory, PCIe, networks and GPUs, and says what to change and why.\n"
    "--learn FILE saves a good node's profile, --against FILE compares others with it.\n"
    "Reports of three nodes or more (--json, or --rack) are compared: outliers are named.\n"
    "--log reads what benchmarks printed, and compares it with models. --health is one\n"
    "line within 5 s, for Slurm and Kubernetes. Exits 1 when something fails\n"
    "(docs/validate.md).")
CMD(TELEMETRY, telemetry, NODE, NODE, "[STORE]", "what the node and its devices measured",
    "GPUs, cores, links, sensors: the last value of each series, and min, mean and max over\n"
    "--since. aon-collect(8) measures; docs/telemetry.md lists what. Exits 3 if nothing was\n"
    "measured.")
CMD(RACK, rack, NODE, NODE, "[FOLDER]", "the BMCs of racks at a glance, and what is wrong",
    "What aon-collect last saw of each BMC of /etc/aon/bmc.conf, by rack and position\n"
    "(docs/bmc.md). FOLDER is where aon-collect writes to.")
CMD(AUDIT, audit, NODE, NODE, "[STORE]", "captures, subscriptions, leases, changed settings: by whom",
    "The oldest first, with refusals; of the node's aond, or of the one that wrote\n"
    "STORE. For root, aond's user and its group (docs/security.md).")
CMD(CLUSTER, cluster, CLUSTER, NONE, "init|status|tidy|repair --url URL", "the tables of a cluster in ClickHouse",
    "init creates missing tables and adds the columns that an older version did not have; you\n"
    "can run it again at any time. status checks every server; exits 1 if one is not as it\n"
    "should be. tidy drops rows older than their retention where ClickHouse does not do so\n"
    "itself (before 19.6), then does what repair does: hourly sums that differ from their\n"
    "rows, as after the crash of a server, are corrected, by default over the last three days\n"
    "(--since, --until). URL is clickhouse://HOST:PORT[,REPLICA...][;SHARD...]/DATABASE; with\n"
    "?tls=yes over HTTPS, with ?cluster=NAME over shards (docs/cluster.md).")
CMD(FLEET, fleet, CLUSTER, CLUSTER, "[URL]", "where a cluster's GPU hours go: jobs, nodes, versions",
    "Of the ClickHouse that aon cluster ship or a relay writes to, at --cluster or\n"
    "$AON_CLUSTER: clickhouse://[USER@]HOST:PORT/DATABASE[?tls=yes&fleet=NAME]. What jobs\n"
    "hold and do not use, which ranks others wait for, which nodes fell silent. --versions:\n"
    "kernels that got slower with a driver or a framework. Of one job: aon report --cluster\n"
    "URL --job J.")
CMD(SHIP, ship, CLUSTER, CLUSTER, "[status]", "send what this node's aond stores to a cluster",
    "Runs until it is stopped, as a process of its own: it reads the store, packs what is new\n"
    "into batches in its spool, and sends them to ClickHouse or to a relay until they have\n"
    "arrived, each once. Settings are in /etc/aon/ship.conf (ship.conf(5)); options go before\n"
    "them. status lists what waits, what arrived, what was given up or set aside, and what is\n"
    "wrong.")
CMD(RELAY, relay, CLUSTER, CLUSTER, "[status]", "take batches from nodes and bring them to ClickHouse",
    "One for 50 to 200 nodes. Answers a node when its batch is on this disk; sends large\n"
    "inserts, each once, through any crash. HTTPS with certificates on both sides; the\n"
    "access list says which names are nodes, and who may order captures. status says what\n"
    "the relay of --dir holds and has counted (docs/relay.md).")
CMD(ROOFLINE, roofline, MODELS, NONE, "devices | show DEVICE | measure | STORE|TRACE...", "what devices can do, and how close a run's kernels come",
    "Of a run: what limits each kernel, its share of the roofline bound, and how its work is\n"
    "known; copies and collectives against their links, without the time spent waiting for\n"
    "late ranks. DEVICE is a key of the list in any case, or a driver's name for it. measure\n"
    "runs kernels through CUDA or OpenCL and saves what the device reached as 'measured'.\n"
    "Devices of your own: $AON_DEVICES, or ~/.config/aon/devices.json (docs/devices.md).")
CMD(MODEL, model, MODELS, NONE, "gemm|collective|attention|conv|elementwise|norm|step", "what work should take on a device, and what limits it",
    "gemm: C[m,n] = A[m,k] B[k,n], alone on an idle device, and in a stream among other\n"
    "kernels. collective: between ranks. step: a transformer's step, its time by part, MFU,\n"
    "and memory of a GPU. DEVICE is a key of aon roofline devices, or a driver's name for it.\n"
    "Options are of the models that they name. How accurate the models are: docs/models.md.")
CMD(WHATIF, whatif, MODELS, NONE, "[STORE|TRACE...]", "what a step would take if something were faster or gone",
    "Replays the recording as a graph of what waited for what: calls, streams, ranks. A NAME\n"
    "is part of a name in any case, a pattern of the shell, or a class of kernels.")
CMD(SIM, sim, MODELS, NONE, "-o STORE", "simulate a job, with faults, into a store",
    "Models give the times of kernels and collectives, a graph of dependencies their order.\n"
    "The store is read like any other. STORE.truth.json lists the faults, whom they hit, since\n"
    "when, and what they cost compared with the same job without them. Runs are reproducible\n"
    "for a given --seed. FAULT is KIND:rank=R,by=X,from=STEP,for=STEPS, as far as its kind\n"
    "needs them; join several with +.")
CMD(HELP, help, HELP, NONE, "[CMD]", "how to use aon, or one of its commands", "")
CMD(VERSION, version, HELP, NONE, "", "the version of this command", "")
/* clang-format on */
#undef CMD
