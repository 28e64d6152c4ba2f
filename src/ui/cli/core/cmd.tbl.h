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
    "Uses the node's aond if you may read its store, otherwise an aond for this run only.\n"
    "Input, output, signals and exit status are the program's. The report goes to stderr.")
CMD(ATTACH, attach, RECORD, NONE, "PID", "sample a running process and show where its time goes",
    "Needs nothing in the process and does not stop it: reads its stacks 49 times a second.\n"
    "On a terminal it shows a live list until q or Ctrl-C, then a report; otherwise a report\n"
    "after 10 s. The first sentence names the function of your code that takes most, with its\n"
    "standard error and the thread's state. Works without aond, for your own processes; for\n"
    "all with CAP_SYS_PTRACE. Also says whether the process is recorded, and which command\n"
    "records it. Exits 1 if nothing is visible (docs/sampling.md).")
CMD(CAPTURE, capture, RECORD, NONE, "[--kineto|--jax|--flight-recorder]", "write a detailed trace of running processes",
    "By default aond captures what it records: the last T (--before), then N steps or a\n"
    "duration in full detail. All ranks of a job are captured at the same steps. The result\n"
    "is a trace in a format of aon export. With --kineto or --jax, a profiler in each process\n"
    "writes the trace, and aon also imports the traces into a store; this begins within 5 s,\n"
    "for JAX with the next jitted call. You can capture your own processes; root can capture\n"
    "all. Exits 1 if the trace of a process is incomplete.")
CMD(IMPORT, import, RECORD, NONE, "TRACE...", "import traces of other tools into a store",
    "Reads Kineto and Chrome JSON (plain or gzip), sqlite and parquet exports of Nsight\n"
    "Systems, JSON and rocpd files of rocprofv3, Perfetto traces and XPlane files; the content\n"
    "decides, not the name. Also takes a folder, or - for standard input. Several files are\n"
    "the ranks of one job. If a file is damaged, its intact part is imported, and the exit status is 1.\n"
    "Commands that read a store also read traces directly: import those that you query often.")
CMD(REPORT, report, LOOK, NONE, "[STORE|TRACE...]", "show where the time went, in a store or in traces",
    "Without operands it reads the node's store if it may, otherwise the newest ./aon-*.db.\n"
    "Several traces, or a folder of them, are the ranks of one job. --by name, track and\n"
    "process are for stores, the others for GPU work. Also reads the sums of Triton's Proton\n"
    "(.hatchet), which have no times.")
CMD(WHY, why, LOOK, NONE, "[STORE|TRACE...]", "rank what costs time and suggest fixes",
    "Reads what report reads. The costliest finding comes first, with its evidence, what to\n"
    "do and what to expect; --all shows all findings and everything that was checked. Files\n"
    "of step records (.steps) are diagnosed: see aon why diagnose. Exits 3 if too little was\n"
    "recorded for an answer, or if a file has sums without times.")
CMD(DIAGNOSE, diagnose, LOOK, WHY, "FILE|FOLDER... | --cluster URL --job J | --cluster URL --follow", "find the rank, host, link or stage that slows or stops a job",
    "Reads step records (aon export -f steps), a folder of them, or a timeline of pipeline\n"
    "stages (Chrome JSON, plain or gzip). It separates late ranks from waiting ones without\n"
    "clocks. Imbalance and a long stage are findings, like bad machines. The costliest\n"
    "finding comes first; advisory findings are uncertain or too small to act on\n"
    "(docs/diagnosis.md). Of a store it says what aon why says. With --cluster it reads the\n"
    "newest records of a job from there. With --follow it runs as a service and diagnoses all\n"
    "running jobs as their records arrive; aon cluster fleet and aon why show its findings.")
CMD(DIFF, diff, LOOK, NONE, "A B | RUN", "show what got slower or faster between two runs",
    "A and B are stores or traces. With one RUN, --ranks or --steps choose two of its parts.\n"
    "Exits 3 if they cannot be compared.")
CMD(CHECK, check, LOOK, NONE, "RUN", "compare a run with limits and an earlier run, for CI",
    "FILE has one limit per line: name, <= or >=, value. --write proposes one. Exits 1 if a\n"
    "limit is exceeded, 3 if the check is undecided.")
CMD(SQL, sql, LOOK, NONE, "QUERY [STORE]", "query a store in SQL",
    "Tables: kernel copy step range api process window summary and more (--tables). QUERY -\n"
    "reads the query from stdin. Queries can only read. Without STORE: as report. For sqlite3\n"
    "and Python there is the extension aon_sqlite (docs/sql.md).")
CMD(SERVE, serve, LOOK, NONE, "[STORE|TRACE...]", "serve the web page and its API, until stopped",
    "Prints an address with a token: whoever has it sees what you may see. Each operand is a\n"
    "store, a trace, or a folder with the ranks of one job. Without operands: as report. The\n"
    "page only reads, except that with --allow-capture it can capture live runs. GET\n"
    "/api/v1/openapi.json describes the API.")
CMD(OPEN, open, LOOK, SERVE, "[STORE|TRACE...]", "serve the page and open it in the browser",
    "As aon serve --open. Without a browser it only prints the address.")
CMD(EXPORT, export, LOOK, NONE, "[FILE...]", "write stores or traces for other tools",
    "Takes what aon report takes; several files are the ranks of one job. The format is that\n"
    "of --format, or of the ending of -o: .pftrace .json .pb .collapsed or .csv, each also\n"
    "with .gz. -o DIR/ writes a file for each rank. steps, or .steps, writes the step records\n"
    "of the newest job in the stores, for aon why diagnose.")
CMD(STORE, store, LOOK, NONE, "check|stat|journal STORE", "check a store, or list what it holds",
    "check reads everything and verifies every checksum. stat shows counts and sizes. journal\n"
    "lists what aond noted: starts and stops, alarms, captures, changed settings.")
CMD(RECOVER, recover, LOOK, STORE, "FILE...", "save what is intact in damaged stores and leftover pools",
    "Takes a damaged store, or the *.pool files of a node that died, and only reads them. It\n"
    "reports how much was saved and how much is lost.")
CMD(PS, ps, LIVE, NONE, "", "list recorded processes, and those on GPUs that are not",
    "Shows detail, events per second, losses, and on a node with a GPU each process's share of\n"
    "its busiest engine and its memory, as the kernel's drivers count them. Then every other\n"
    "process that uses a GPU, or has torch, jax or tensorflow loaded in Python: why it is not\n"
    "recorded, and the command that changes that. You see your own processes, and those that\n"
    "the kernel shows to all; root sees all. With --store it reads the store only.")
CMD(TOP, top, LIVE, NONE, "", "show live what processes spend their time in",
    "Read-only. Keys: q quit, ? help, s sort, / filter, p pause, arrows scroll.")
CMD(ALARMS, alarms, LIVE, NONE, "[STORE]", "list detected problems: slower steps, hangs, late ranks",
    "Lists the alarms of aond's detectors, the oldest first (docs/alarms.md).")
CMD(STACKS, stacks, LIVE, NONE, "PID...|--job J", "show the stacks of processes, equal ones once",
    "Shows native and Python frames, the innermost first. Each thread is stopped for about a\n"
    "millisecond; nothing runs in the process. You can read your own processes, or all with\n"
    "CAP_SYS_PTRACE. Exits 1 if no stack could be read, with the reason.")
CMD(SUBSCRIBE, subscribe, LIVE, NONE, "", "stream events of running programs",
    "Runs until stopped. Prints a line for each event, or with --window for each name in each\n"
    "second; with --json each line is an object. You see your own processes, or all if you\n"
    "may use aond's admin socket. The cost of aond does not grow with the number of\n"
    "consumers, and programs pay only for --detail. Slow consumers lose events; the count is\n"
    "reported. Exits 1 when aond ends. For programs: aon/consumer.h (docs/subscribe.md).")
CMD(BUDGET, budget, LIVE, NONE, "[KEY=VALUE...]", "show or change the limits on what aon costs",
    "Without --pid or --job: limits of the node, for aond's owner, its group and root. A\n"
    "change lasts until aond reads its settings again; aond.conf(5) lists all settings. With\n"
    "--pid or --job: max_slowdown, max_probe_cost, disk_mib_day and fidelity of a process, or\n"
    "of all processes of a job. The admin may set anything; other users may only lower limits\n"
    "of their own processes. KEY=- removes a limit.")
CMD(OVERHEAD, overhead, LIVE, BUDGET, "[STORE]", "show the measured cost of recording each program",
    "Compares recorded steps with steps skipped at random. The confidence interval holds\n"
    "however often you look. ACCOUNTED is the cost of writing the records alone. Exits 3 if\n"
    "no program with steps was seen.")
CMD(LEASE, lease, LIVE, NONE, "[list | take|release cupti PID | pm | dcgm]", "give GPU profiling hardware to another tool",
    "Only one tool at a time can use a process's CUPTI, the counters of the GPUs (pm), or\n"
    "DCGM's profiling lock. take makes aon's own probes leave it within a second. They come\n"
    "back after release, after --for seconds (default 60), or when --holder has ended. You\n"
    "can lease CUPTI of your own processes; pm and dcgm are for root, aond's user and its\n"
    "group (docs/lease.md).")
CMD(YIELD, yield, LIVE, LEASE, "PID [SECONDS]", "let another profiler have a process for a while",
    "The CUDA probe of PID leaves CUPTI within a second. After SECONDS (default 60) it takes\n"
    "CUPTI again, if no other tool has it. GPU work in between is not recorded; the store has\n"
    "the interval as \"externally profiled\".")
CMD(DOCTOR, doctor, NODE, NONE, "[--gpu [CHECK...]]", "check what works on this machine, and how to fix the rest",
    "Exits 1 only if recording itself cannot work. Changes nothing. Counts the processes that\n"
    "use a GPU, or train in Python, and are not recorded. With --gpu it runs checks on the\n"
    "GPU instead, each in a process of its own, in about 15 minutes, and writes what\n"
    "they prove to gpu.conf, which the CUDA probe reads (docs/gpu-day-one.md). CHECK: only\n"
    "these, and no file without --write. Exits 1 if a check fails, 3 if there is no GPU.")
CMD(NODE, node, NODE, NONE, "validate|telemetry|rack|audit ...", "commands about this node", "")
CMD(VALIDATE, validate, NODE, NODE, "[REPORT...]", "check this node's settings and speed",
    "Checks kernel, cores, memory, PCIe, networks and GPUs, and explains what to change and\n"
    "why. --learn FILE saves the profile of a good node; --against FILE compares other nodes\n"
    "with it. Reports of three or more nodes (--json, or --rack) are compared with each\n"
    "other, and outliers are named. --log compares the output of benchmarks with models.\n"
    "--health prints one line within 5 s, for Slurm and Kubernetes. Exits 1 if a check fails\n"
    "(docs/validate.md).")
CMD(TELEMETRY, telemetry, NODE, NODE, "[STORE]", "show what the node and its devices measured",
    "Shows the last value of each series of GPUs, cores, links and sensors, and min, mean and\n"
    "max over --since. aon-collect(8) measures; docs/telemetry.md lists what. Exits 3 if\n"
    "nothing was measured.")
CMD(RACK, rack, NODE, NODE, "[FOLDER]", "show the BMCs of racks, and what is wrong with them",
    "Shows the last state of each BMC in /etc/aon/bmc.conf, by rack and position\n"
    "(docs/bmc.md). FOLDER is the folder that aon-collect writes to.")
CMD(AUDIT, audit, NODE, NODE, "[STORE]", "list who captured, subscribed, leased or changed settings",
    "Lists the oldest entry first, with refused requests; of the node's aond, or of the aond\n"
    "that wrote STORE. For root, aond's user and its group (docs/security.md).")
CMD(CLUSTER, cluster, CLUSTER, NONE, "init|status|tidy|repair --url URL", "manage the tables of a cluster in ClickHouse",
    "init creates missing tables and adds columns that an older version did not have; you can\n"
    "run it again at any time. status checks every server, and exits 1 if one has a problem.\n"
    "tidy drops rows older than their retention where ClickHouse does not do so itself\n"
    "(before 19.6), then does what repair does. repair corrects hourly sums that differ from\n"
    "their rows, as after the crash of a server; by default those of the last three days\n"
    "(--since, --until). URL is clickhouse://HOST:PORT[,REPLICA...][;SHARD...]/DATABASE;\n"
    "?tls=yes selects HTTPS, ?cluster=NAME shards (docs/cluster.md).")
CMD(FLEET, fleet, CLUSTER, CLUSTER, "[URL]", "show where a cluster's GPU hours go, and what they lose",
    "Reads the ClickHouse that aon cluster ship or a relay writes to, at --cluster or\n"
    "$AON_CLUSTER: clickhouse://[USER@]HOST:PORT/DATABASE[?tls=yes&fleet=NAME]. Shows GPU\n"
    "hours that jobs hold and do not use, ranks that others wait for, and nodes that fell\n"
    "silent. --versions shows kernels that got slower with a driver or a framework. For one\n"
    "job, use aon report --cluster URL --job J.")
CMD(SHIP, ship, CLUSTER, CLUSTER, "[status]", "send what this node's aond stores to a cluster",
    "Runs until stopped, as a separate process. It reads the store, packs new rows into\n"
    "batches in its spool, and sends each batch to ClickHouse or to a relay until it has\n"
    "arrived, exactly once. Settings are in /etc/aon/ship.conf (ship.conf(5)); options\n"
    "override them. status lists what waits, what arrived, what was dropped or set aside, and\n"
    "what is wrong.")
CMD(RELAY, relay, CLUSTER, CLUSTER, "[status]", "collect batches from nodes and send them to ClickHouse",
    "One relay serves 50 to 200 nodes. It acknowledges a batch once it is on its disk, and\n"
    "sends large inserts, each exactly once through any crash. It speaks HTTPS with\n"
    "certificates on both sides; the access list defines which names are nodes, and which\n"
    "users may order captures. status shows what the relay of --dir holds and has counted\n"
    "(docs/relay.md).")
CMD(ROOFLINE, roofline, MODELS, NONE, "devices | show DEVICE | measure | STORE|TRACE...", "show what devices can do, and how close a run comes",
    "For a run it shows what limits each kernel, its share of the roofline bound, and the\n"
    "source of that knowledge. It compares copies and collectives with their links, without\n"
    "the time spent waiting for late ranks. DEVICE is a key of the list in any case, or the\n"
    "name that a driver gives. measure runs kernels through CUDA or OpenCL and saves what the\n"
    "device reached as 'measured'. Devices of your own: $AON_DEVICES, or\n"
    "~/.config/aon/devices.json (docs/devices.md).")
CMD(MODEL, model, MODELS, NONE, "gemm|collective|attention|conv|elementwise|norm|step", "estimate how long work takes on a device, and its limit",
    "gemm: C[m,n] = A[m,k] B[k,n], alone on an idle device, and in a stream among other\n"
    "kernels. collective: communication between ranks. step: one step of a transformer: time\n"
    "by part, MFU, memory per GPU. DEVICE is a key of aon roofline devices, or the name that\n"
    "a driver gives. Each option names the models that it applies to. docs/models.md\n"
    "describes the accuracy of the models.")
CMD(WHATIF, whatif, MODELS, NONE, "[STORE|TRACE...]", "estimate a step's time if something were faster or gone",
    "Replays the recording as a dependency graph of calls, streams and ranks. A NAME is part\n"
    "of a name in any case, a shell pattern, or a class of kernels.")
CMD(SIM, sim, MODELS, NONE, "-o STORE", "simulate a job, with faults, into a store",
    "Models give the times of kernels and collectives, a dependency graph their order. The\n"
    "store is read like any other. STORE.truth.json lists the faults, the ranks that they\n"
    "affect, since when, and what they cost compared with the same job without them. Runs are\n"
    "reproducible for a given --seed. FAULT is KIND:rank=R,by=X,from=STEP,for=STEPS; only\n"
    "KIND is required. Join several with +.")
CMD(HELP, help, HELP, NONE, "[CMD]", "show how to use aon, or one of its commands", "")
CMD(VERSION, version, HELP, NONE, "", "print the version of aon", "")
/* clang-format on */
#undef CMD
