/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd.tbl.h - every command, once. Dispatch, help, man page and completions come from here.
 *
 *	CMD(ID, name, "synopsis after the options", "what it does, one line", "more, for --help")
 */
/* clang-format off */
CMD(RUN,     run,     "[--] CMD [ARG...]", "run a program and report where its time went",
    "Uses the node's aond when you may read its store, else one for this run only.\n"
    "Input, output, signals and exit status are the program's. The report goes to\n"
    "stderr.")
CMD(PS,      ps,      "",                  "who is being recorded, how fast, what was lost",
    "Reads the store only. Rates are of the last seconds.")
CMD(OVERHEAD, overhead, "[STORE]",         "what recording costs each program, measured, and what it may cost",
    "Steps that are recorded are compared with steps that are left out by chance; the\n"
    "interval holds whenever you look. accounted is what the records themselves cost.\n"
    "Exits 3 if nothing with steps was seen.")
CMD(BUDGET,  budget,  "[KEY=VALUE...]",    "what aon may cost, does cost, and gave up for it; change it",
    "Of the node: for aond's owner, its group and root, until aond reads its settings again;\n"
    "aond.conf(5) has them all. With --pid or --job slowdown_permille, probe_permille,\n"
    "disk_mib_day and rung of a process, or of all of a job: the admin says anything, others\n"
    "say less of their own. KEY=- takes it back.")
CMD(ALARMS,  alarms,  "[STORE]",           "what got worse while nobody looked: slower steps, hangs, late ranks",
    "What aond's detectors have told, the oldest first; see docs/alarms.md.")
CMD(TELEMETRY, telemetry, "[STORE]",       "what the node and its devices measured: GPUs, cores, links, sensors",
    "Of each series the last value, and least, mean and most of the time that is asked for.\n"
    "aon-collect(8) measures; docs/telemetry.md lists what. Exits 3 if nothing was measured.")
CMD(STACKS,  stacks,  "PID...|--job J",    "where processes stand now, those at the same place together",
    "Native and Python frames, the innermost first. Each thread is stopped for about a\n"
    "millisecond; nothing runs in the process. Of your processes, or with CAP_SYS_PTRACE of\n"
    "all. Exits 1 if none could be looked into; what it says tells why.")
CMD(TOP,     top,     "",                  "live view: processes, and what they spend time in",
    "Read-only. Keys: q quit, ? help, s sort, / filter, p pause, arrows scroll.")
CMD(REPORT,  report,  "[STORE|TRACE...]",  "where the time went: in a store, or in traces of other tools",
    "Without operands: the node's store if readable, else the newest ./aon-*.db. Several\n"
    "traces, or a folder of them, are the ranks of one job. --by name, lane and process\n"
    "are for stores, the others for GPU work.")
CMD(WHY,     why,     "[STORE|TRACE...]",  "what costs time, how that is known, what to do, what it brings",
    "Reads what report reads. The costliest finding comes first; --all shows all of them\n"
    "and what else was looked at. Exits 3 if there is no GPU work to judge.")
CMD(DIAGNOSE, diagnose, "FILE|FOLDER... | --cluster URL --job J | --cluster URL --follow", "which rank, host, link or stage slows a job, or stops it",
    "Reads records of steps (aon export -f steps), a folder of\n"
    "them, or a timeline of pipeline stages (Chrome JSON, plain or gzip). Late is told from\n"
    "waiting without clocks; imbalance and a long stage are findings like bad machines. The\n"
    "costliest comes first; notes are what is not sure or not worth it (docs/diagnosis.md).\n"
    "With --cluster it reads the newest records of a job from there; with --follow those of all\n"
    "jobs that run, as they come, as a service: what it finds is in aon fleet and aon why.")
CMD(IMPORT,  import,  "TRACE...",          "traces of other tools into a store",
    "Takes Kineto and Chrome JSON (plain or gzip), sqlite exports of Nsight Systems and\n"
    "XPlane files, known by content; a folder; - for standard input. Several files are\n"
    "the ranks of one job. Of a damaged file what is whole is kept; then it exits 1.\n"
    "Commands that read a store also read traces: import what you ask often.")
CMD(WHATIF,  whatif,  "[STORE|TRACE...]",  "what a step would take if something were faster or gone",
    "Replays what was recorded as what waited for what: calls, streams, ranks. A NAME\n"
    "is part of a name in any case, a pattern of the shell, or a class of kernels.")
CMD(SIM,     sim,     "-o STORE", "a job that never ran, with faults, into a store",
    "Models say what kernels and exchanges take, a net of what waits for what says when.\n"
    "The store is read as any other; STORE.truth.json says what was wrong with whom since\n"
    "when, and what it cost against the same job without it. The same --seed, the same job.\n"
    "FAULT is KIND:rank=R,by=X,from=STEP,for=STEPS with what is needed of it; several with +.")
CMD(EXPORT,  export,  "[FILE...]",         "write stores or traces as other tools read them",
    "Takes what aon report takes; several files are the ranks of one job. The format\n"
    "is --format, or what the ending of -o asks for: .pftrace .json .pb .collapsed\n"
    "or .csv, with .gz behind any of them. -o DIR/ writes a file for each rank.\n"
    "steps, or .steps: the records of steps of the newest job in stores, for diagnosis.")
CMD(CAPTURE, capture, "[--kineto|--jax|--flight-recorder]", "a detailed trace of running processes, now",
    "By aond, of what it records, unless a profiler is named: with --before what it\n"
    "has recorded already, then so many steps, or so long, in all detail; the ranks of a\n"
    "job at the same steps, at once, as a trace that aon export could write.\n"
    "By a profiler: the trace of each process, and a store of all. Begins within 5 s, of\n"
    "JAX with the next jitted call. Of your processes only, unless you are root. Exits 1 if\n"
    "one of them did not give all.")
CMD(SUBSCRIBE, subscribe, "",              "events of running programs, as they come, until it is stopped",
    "A line for each event, or with --window for each name in each second; with --json an\n"
    "object a line. Of your processes, or of all if you may talk to aond's admin socket.\n"
    "Costs aond the same for one as for a hundred, and the programs nothing but for --detail.\n"
    "Who reads too slowly loses events and is told how many. Exits 1 when aond ends. For\n"
    "programs: aon/consumer.h (docs/subscribe.md).")
CMD(YIELD,   yield,   "PID [SECONDS]",     "let another GPU profiler have a process for a while",
    "The CUDA probe of PID leaves CUPTI within a second and takes it again after SECONDS\n"
    "(60 unless told), once no other tool has it. What the GPU does meanwhile is not\n"
    "recorded; the interval is in the store, as \"externally profiled\".")
CMD(LEASE,   lease,   "[list | take|release cupti PID | pm | dcgm]", "who has GPU profiling hardware; take it for another tool",
    "One tool at a time can have a process's CUPTI, the counters of GPUs (pm), DCGM's lock\n"
    "for profiling. take makes aon's own probes leave it within a second; they come back\n"
    "after release, after --for seconds (60 unless told), or when --holder has ended. Of a\n"
    "process of yours; pm and dcgm are for root, aond's user and its group (docs/lease.md).")
CMD(AUDIT,   audit,   "[STORE]",           "who captured, subscribed, took a lease or changed a setting here",
    "The oldest first, refusals with them; of the node's aond, or of the one that wrote\n"
    "STORE. For root, aond's user and its group (docs/security.md).")
CMD(VALIDATE, validate, "[REPORT...]",    "is this node what it should be: settings, speed, other nodes",
    "Looks at kernel, cores, memory, PCIe, networks and GPUs, and says what to change and why.\n"
    "--learn FILE keeps what a good node is, --against FILE holds others against it. Reports\n"
    "of three nodes or more (--json, or --rack) are compared: who is otherwise than most is\n"
    "named. --log reads what benchmarks said, and holds it against models. --health is one\n"
    "line within 5 s, for Slurm and Kubernetes. Exits 1 when something fails\n"
    "(docs/validate.md).")
CMD(RACK,    rack,    "[FOLDER]",          "the BMCs of racks at a glance, and what is wrong",
    "What aon-collect last saw of each BMC of /etc/aon/bmc.conf, by rack and position\n"
    "(docs/bmc.md). FOLDER is the one that aon-collect writes to.")
CMD(DOCTOR,  doctor,  "",                  "what works on this machine, and what to do about the rest",
    "Exits 1 only if recording itself cannot work. Changes nothing.")
CMD(STORE,   store,   "check|stat|journal STORE", "check a store, or say what it holds",
    "check reads all of it and tests every sum; stat counts; journal tells starts,\n"
    "stops and repairs.")
CMD(DIFF,    diff,    "A B | RUN",         "what got slower or faster between two runs",
    "A and B are stores or traces; with one RUN, --ranks or --steps choose two parts of\n"
    "it. Exits 3 when they cannot be compared.")
CMD(CHECK,   check,   "RUN",               "hold a run against limits and a run before it, for CI",
    "FILE has a limit a line: name, <= or >=, value; --write proposes one. Exits 1 when\n"
    "a limit is broken, 3 when it could not decide.")
CMD(SQL,     sql,     "QUERY [STORE]",     "ask a store in SQL",
    "Tables: kernel copy step range api process window summary and more (--tables);\n"
    "QUERY - reads it from stdin. Only reads. Without STORE: as report.\n"
    "For sqlite3 and Python: the extension aon_sqlite (docs/sql.md).")
CMD(SERVE,   serve,   "[STORE|TRACE...]",  "the web page and its API, until it is stopped",
    "Prints an address with a token: who has it sees what you may see. Only reads\n"
    "stores; each operand is one, a trace or a folder of the ranks of one job. Without:\n"
    "as report. With --allow-capture the page orders captures of live runs, too.\n"
    "GET /api/v1/openapi.json describes the API.")
CMD(OPEN,    open,    "[STORE|TRACE...]",  "serve, and open the page in the browser",
    "As serve. Where there is no browser the address is printed alone.")
CMD(RELAY,   relay,   "[status]",          "take batches from nodes and bring them to ClickHouse",
    "One for 50 to 200 nodes. Answers a node when its batch is on this disk; sends large\n"
    "inserts, each once, through any crash. HTTPS with certificates on both sides; the\n"
    "access list says which names are nodes, and who may order captures. status says what\n"
    "the relay of --dir holds and has counted (docs/relay.md).")
CMD(FLEET,   fleet,   "[URL]",             "where the GPU hours of a cluster go: jobs, nodes, versions",
    "Of the ClickHouse that aon ship or a relay writes, at --cluster or $AON_CLUSTER:\n"
    "clickhouse://[USER@]HOST:PORT/DATABASE[?tls=yes&fleet=NAME]. What jobs hold and do not\n"
    "use, who is waited for, which nodes fell silent. --versions: kernels that got\n"
    "slower with a driver or a framework. Of one job: aon report --cluster URL --job J.")
CMD(RECOVER, recover, "FILE...",           "save what is whole from damaged stores and left pools",
    "Takes a damaged store, or the *.pool files of a node that died. They are only\n"
    "read. What was saved and what is lost is said in numbers.")
CMD(ROOFLINE, roofline, "devices | show DEVICE | measure | STORE|TRACE...", "what devices can do at best, and how near a run's kernels come",
    "Of a run: what limits each kernel, its share of the roof, and how its work is known;\n"
    "copies and collectives against their links, waiting for late ranks told apart.\n"
    "DEVICE is a key of the list in any case, or a name as a driver says it. measure runs\n"
    "kernels through CUDA or OpenCL and keeps what the device reached as 'measured'.\n"
    "Devices of your own: $AON_DEVICES, or ~/.config/aon/devices.json (docs/devices.md).")
CMD(MODEL,   model,   "gemm|collective|attention|conv|elementwise|norm|step", "what work should take on a device, and what limits it",
    "gemm: C[m,n] = A[m,k] B[k,n], alone on an idle device, and in a stream among other\n"
    "kernels. collective: an exchange between ranks. step: a transformer's step, its time\n"
    "by part, MFU, and memory of a GPU. DEVICE is a key of aon roofline devices, or a name\n"
    "as a driver says it. Options are of the models that they name.\n"
    "How far the models can be trusted: docs/models.md.")
CMD(SHIP,    ship,    "[status]",          "send what this node's aond stores to a cluster, until it is stopped",
    "A process of its own: it reads the store, packs what is new into batches in its spool,\n"
    "and sends them to ClickHouse or to a relay until they have arrived, each once. Settings\n"
    "are in /etc/aon/ship.conf (ship.conf(5)); options go before them. status tells what\n"
    "waits, what arrived, what was given up or set aside, and what is wrong.")
CMD(CLUSTER, cluster, "init|status|tidy|repair --url URL", "the tables that the nodes of a cluster send to, in ClickHouse",
    "init makes what is not there and adds columns that an older version did not have; it\n"
    "can be run again at any time. status looks at every server; exits 1 if one is not as it\n"
    "should be. tidy drops what is older than it is kept, where ClickHouse does not by itself\n"
    "(before 19.6), and does what repair does: sums by hours that differ from their rows, as\n"
    "after the crash of a server, are put right, of the last three days unless told by --since\n"
    "and --until. URL is clickhouse://HOST:PORT[,REPLICA...][;SHARD...]/DATABASE; with\n"
    "?tls=yes over HTTPS, with ?cluster=NAME over shards (docs/cluster.md).")
CMD(VERSION, version, "",                  "the version of this command", "")
CMD(HELP,    help,    "[CMD]",             "how to use aon, or one of its commands", "")
/* clang-format on */
#undef CMD
