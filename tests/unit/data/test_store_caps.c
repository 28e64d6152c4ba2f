/* SPDX-License-Identifier: Apache-2.0 */
/* The store stays under its caps, accounts for what it drops, and outlives a disk that fails. */
#include "storekit.h"

#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define S 1000000000ull

struct seen {
	struct process process[8];
	int processes;
};

static int see_process(void *arg, const struct process *p)
{
	struct seen *s = arg;

	s->process[s->processes++ % 8] = *p;
	return 0;
}

/* --- caps --- */

static void test_cap(void)
{
	const uint64_t cap = 2u << 20;
	const char *path = kit_path("c");
	struct store *st = kit_open(path, cap, 0);
	struct process p = kit_process(st, 1), q = kit_process(st, 2);
	struct store_filter all = { 0 };
	uint64_t most = 0, kept = 0, n;
	struct seen s = { 0 };
	bool sums = true;
	int err = 0;

	for (uint64_t i = 0; i < 300 && err == 0; i++) {
		err = kit_commit(st, i % 3 ? &p : &q, i * 5000, 5000, i * S);
		n = kit_bytes(path);
		most = n > most ? n : most;
	}
	T_OK(err == 0 && most <= cap, "the file and its log stay under the cap (%llu of %llu)",
	     (unsigned long long)most, (unsigned long long)cap);
	T_OK(most > cap / 2, "and use it");
	T_OK(store_bytes(st) == kit_bytes(path), "the store knows its size");
	/* Process rows hold what was last said; the store moves what it drops after that. */
	store_process(st, &p);
	store_process(st, &q);
	store_commit(st, 300 * S);
	store_each_process(st, see_process, &s);
	for (int i = 0; i < s.processes; i++) {
		sums &= kit_adds_up(&s.process[i].account);
		sums &= s.process[i].account.overwritten > 0;
		kept += s.process[i].account.stored;
	}
	n = 0;
	store_each_events(st, &all, 0, kit_count_events, &n);
	T_OK(sums && s.processes == 2, "what was dropped is in each account, and it adds up");
	T_OK(n > 0 && kept == n + n / 10, "what is stored is what is there (%llu)",
	     (unsigned long long)kept);
	T_OK(store_check(path, NULL, NULL, NULL) == 0, "and the file is sound");
	store_close(st);
	st = kit_open(path, 1u << 20, 0);
	T_OK(kit_bytes(path) <= 1u << 20, "a lower cap shortens the file (%llu)",
	     (unsigned long long)kit_bytes(path));
	store_close(st);
	kit_clean();
}

static void test_age(void)
{
	struct store *st = kit_open(kit_path("g"), 0, 100 * S);
	struct process p = kit_process(st, 1);
	struct store_filter all = { 0 };
	uint64_t n = 0;

	for (uint64_t i = 0; i < 10; i++)
		if (kit_commit(st, &p, i * 10000000, 1000, i * 30 * S) < 0)
			abort();
	store_each_events(st, &all, 0, kit_count_events, &n);
	T_OK(n == 4000, "events go when they are too old (%llu left)", (unsigned long long)n);
	store_commit(st, 1000 * S);
	n = 0;
	store_each_events(st, &all, 0, kit_count_events, &n);
	store_process(st, &p);
	T_OK(n == 0 && p.account.overwritten == 11000 && kit_adds_up(&p.account),
	     "all of them in the end, also without new ones");
	store_close(st);
	st = kit_open(kit_path("g"), 0, 100 * S);
	p = kit_process(st, 1);
	kit_commit(st, &p, 0, 10, 2000 * S);
	store_close(st);
	T_OK(store_open_ro(&st, kit_path("g"), NULL) == 0 &&
		     store_each_events(st, &all, 0, kit_count_events, &n) == 0 && n == 0,
	     "an event that is old already goes at once");
	store_close(st);
	kit_clean();
}

static uint64_t events_of(struct store *st, const struct process *p, uint64_t from, uint64_t to)
{
	struct store_filter f = { .process = &p->id, .processes = 1, .from_ns = from, .to_ns = to };
	uint64_t n = 0;

	store_each_events(st, &f, 0, kit_count_events, &n);
	return n;
}

static void test_kept(void)
{
	const uint64_t cap = 2u << 20;
	const char *path = kit_path("k");
	struct store *st = kit_open(path, cap, 0);
	struct process p = kit_process(st, 1), q = kit_process(st, 2);
	uint64_t from = kit_event(0).start_ns, to = kit_event(4999).start_ns, most = 0, n, held = 0;
	int err = 0;

	store_keep(st, p.id, from, to);
	for (uint64_t i = 0; i < 300 && err == 0; i++) {
		err = kit_commit(st, i % 3 ? &q : &p, i * 5000, 5000, i * S);
		n = kit_bytes(path);
		most = n > most ? n : most;
	}
	T_OK(err == 0 && most <= cap && events_of(st, &p, from, to) == 5000 &&
		     events_of(st, &q, kit_event(5000).start_ns, kit_event(9999).start_ns) == 0,
	     "what is kept outlives what came after it, under the same cap");
	T_OK(!store_held(st, p.id, &held) && held > to && held < kit_event(299 * 5000).start_ns,
	     "and is not taken for all that there was");
	store_process(st, &p);
	T_OK(kit_adds_up(&p.account) && p.account.overwritten, "the account adds up");
	for (uint64_t i = 0; i < 300; i += 3)
		store_keep(st, p.id, kit_event(i * 5000).start_ns,
			   kit_event(i * 5000 + 4999).start_ns);
	for (uint64_t i = 300; i < 900 && err == 0; i++)
		err = kit_commit(st, i % 3 ? &q : &p, i * 5000, 5000, i * S);
	n = events_of(st, &p, from, kit_event(299 * 5000).start_ns);
	T_OK(err == 0 && events_of(st, &q, kit_event(898 * 5000).start_ns, 0) > 0 &&
		     n < 300 * 5000 / 4,
	     "too much is not kept: what comes has room (%llu)", (unsigned long long)n);
	for (uint64_t i = 0; i < 1000; i++)
		store_keep(st, q.id, 0, UINT64_MAX);
	for (uint64_t i = 900; i < 1000 && err == 0; i++)
		err = kit_commit(st, &q, i * 5000, 5000, i * S);
	T_OK(err == 0 && store_check(path, NULL, NULL, NULL) == 0,
	     "where all is kept, the oldest goes as ever");
	store_close(st);
	kit_clean();
}

static void test_windows_go_last(void)
{
	struct store *st = kit_open(kit_path("w"), 1u << 20, 0);
	struct process p = kit_process(st, 1);
	static uint32_t cell[64];
	struct rollup rows[40];
	struct window w = { .process = p.id, .rows = 40, .row = rows };
	struct store_stat stat;
	int err = 0;

	for (uint64_t i = 0; i < 3000 && err == 0; i++) {
		for (uint32_t k = 0; k < 40; k++)
			rows[k] = (struct rollup){ .track = k,
						   .count = kit_random(),
						   .total_ns = kit_random(),
						   .min_ns = k + 1,
						   .bytes = kit_random(),
						   .sketch = { cell, 1, 64, 0 } };
		w.start_ns = i * S;
		err = store_window(st, &w);
		if (err == 0 && i % 10 == 0)
			err = kit_commit(st, &p, i * 333000, 100, i * S);
	}
	T_OK(err == 0 && store_commit(st, 3000 * S) == 0, "windows alone can reach the cap");
	T_OK(store_stat(st, &stat) == 0 && stat.window_blobs > 100 && stat.event_blobs > 0,
	     "then the oldest go, and events keep a place (%llu windows, %llu blobs)",
	     (unsigned long long)stat.window_blobs, (unsigned long long)stat.event_blobs);
	T_OK(kit_bytes(kit_path("w")) <= 1u << 20, "and the file stays under it");
	store_close(st);
	kit_clean();
}

static void test_forget(void)
{
	struct store *st = kit_open(kit_path("f"), 0, 0);
	struct process keep = kit_process(st, 1), p = { 0 };
	struct store_stat stat;
	struct track l = { 0 };
	uint32_t id;

	if (kit_commit(st, &keep, 0, 10, S) < 0)
		abort();
	for (uint32_t i = 2; i < 20000; i++) {
		p = kit_process(st, i);
		l = (struct track){ .process = p.id, .stream = i };
		store_track(st, &l, &id);
		p.connected = 0;
		store_process(st, &p);
		if (i % 500 == 0)
			store_commit(st, S);
	}
	store_commit(st, S);
	T_OK(store_stat(st, &stat) == 0 && stat.processes <= 16384 && stat.tracks <= 16384,
	     "processes of which nothing is left are forgotten (%llu kept)",
	     (unsigned long long)stat.processes);
	p = kit_process(st, 1);
	T_OK(p.id == keep.id, "one with events is not");
	T_OK(store_check(kit_path("f"), NULL, NULL, NULL) == 0, "and the file is sound");
	store_close(st);
	kit_clean();
}

/* --- a full disk --- */

/* In a child with a small file system of its own. Exit status: the step that failed. */
static int fill_disk(const char *dir)
{
	char store[PATH_MAX], ballast[PATH_MAX];
	struct store_filter all = { 0 };
	struct process p;
	struct store *st;
	uint64_t n = 0, good = 0;
	int err = 0, fd;

	snprintf(store, sizeof(store), "%s/s", dir);
	snprintf(ballast, sizeof(ballast), "%s/b", dir);
	fd = open(ballast, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, 4 << 20) != 0)
		return 10;
	st = kit_open(store, 0, 0);
	p = kit_process(st, 1);
	for (uint64_t i = 0; i < 1000 && err == 0; i++) {
		err = kit_commit(st, &p, i * 5000, 5000, S);
		good += err == 0 ? 5000 : 0;
	}
	if (err != -ENOSPC)
		return 1;
	if (store_each_events(st, &all, 0, kit_count_events, &n) != 0 || n != good)
		return 2;
	if (kit_commit(st, &p, 0, 5000, S) != -ENOSPC)
		return 3;
	if (ftruncate(fd, 0) < 0)
		return 10;
	if (kit_commit(st, &p, 0, 5000, S) != 0)
		return 4;
	n = 0;
	if (store_each_events(st, &all, 0, kit_count_events, &n) != 0 || n != good + 5000)
		return 5;
	store_close(st);
	return store_check(store, NULL, NULL, NULL) == 0 ? 0 : 6;
}

static void test_full_disk(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", kit_dir, "tmpfs", 0, "size=8m") < 0)
			_exit(77);
		_exit(fill_disk(kit_dir));
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		printf("ok %d - a full disk # SKIP may not mount here\n", ++t_count);
	else
		T_OK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		     "a full disk refuses a commit, keeps the rest, and goes on when there is room"
		     " (step %d)",
		     WEXITSTATUS(status));
}

/* --- a disk that fails at any of its calls --- */

/* SQLite's own file, with a count of the calls that change the disk. */
struct file {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct */
};

static struct sqlite3_vfs *real_vfs, vfs;
static sqlite3_io_methods methods;
static long calls, fail_at; /* 0: never */
static int fail_with, fail_errno;
static bool fail_once; /* else it goes on failing, as a full disk does */

static bool fails(void)
{
	calls++;
	return fail_at && (fail_once ? calls == fail_at : calls >= fail_at);
}

static int do_close(sqlite3_file *f)
{
	sqlite3_file *real = ((struct file *)f)->real;

	return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int do_write(sqlite3_file *f, const void *data, int len, sqlite3_int64 at)
{
	sqlite3_file *real = ((struct file *)f)->real;

	return fails() ? fail_with : real->pMethods->xWrite(real, data, len, at);
}

static int do_sync(sqlite3_file *f, int flags)
{
	sqlite3_file *real = ((struct file *)f)->real;

	return fails() ? SQLITE_IOERR_FSYNC : real->pMethods->xSync(real, flags);
}

/* The rest goes through. */
#define REAL(f)    (((struct file *)(f))->real)
#define PASS(call) (REAL(f)->pMethods->call)

static int do_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
	return PASS(xRead(REAL(f), to, len, at));
}

static int do_truncate(sqlite3_file *f, sqlite3_int64 len)
{
	return PASS(xTruncate(REAL(f), len));
}

static int do_size(sqlite3_file *f, sqlite3_int64 *len)
{
	return PASS(xFileSize(REAL(f), len));
}

static int do_lock(sqlite3_file *f, int level)
{
	return PASS(xLock(REAL(f), level));
}

static int do_unlock(sqlite3_file *f, int level)
{
	return PASS(xUnlock(REAL(f), level));
}

static int do_reserved(sqlite3_file *f, int *out)
{
	return PASS(xCheckReservedLock(REAL(f), out));
}

static int do_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(xFileControl(REAL(f), op, arg));
}

static int do_sector(sqlite3_file *f)
{
	return PASS(xSectorSize(REAL(f)));
}

static int do_device(sqlite3_file *f)
{
	return PASS(xDeviceCharacteristics(REAL(f)));
}

static int do_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return PASS(xShmMap(REAL(f), page, size, extend, out));
}

static int do_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return PASS(xShmLock(REAL(f), at, n, flags));
}

static void do_barrier(sqlite3_file *f)
{
	PASS(xShmBarrier(REAL(f)));
}

static int do_unmap(sqlite3_file *f, int del)
{
	return PASS(xShmUnmap(REAL(f), del));
}

static int do_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct file *file = (struct file *)f;
	int rc;

	(void)v;
	file->real = (sqlite3_file *)(file + 1);
	rc = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
	f->pMethods = file->real->pMethods ? &methods : NULL;
	return rc;
}

static int do_last_error(sqlite3_vfs *v, int n, char *text)
{
	(void)v;
	if (fail_at && calls >= fail_at)
		return fail_errno;
	return real_vfs->xGetLastError(real_vfs, n, text);
}

static void hook_vfs(void)
{
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "failing";
	vfs.szOsFile += (int)sizeof(struct file);
	vfs.xOpen = do_open;
	vfs.xGetLastError = do_last_error;
	methods = (sqlite3_io_methods){
		.iVersion = 2,
		.xClose = do_close,
		.xRead = do_read,
		.xWrite = do_write,
		.xTruncate = do_truncate,
		.xSync = do_sync,
		.xFileSize = do_size,
		.xLock = do_lock,
		.xUnlock = do_unlock,
		.xCheckReservedLock = do_reserved,
		.xFileControl = do_control,
		.xSectorSize = do_sector,
		.xDeviceCharacteristics = do_device,
		.xShmMap = do_map,
		.xShmLock = do_shm_lock,
		.xShmBarrier = do_barrier,
		.xShmUnmap = do_unmap,
	};
	sqlite3_vfs_register(&vfs, 1);
}

struct attempt {
	int commits;      /* that were taken */
	int errors_other; /* that are neither -ENOSPC nor -EIO */
	bool resumed;
	int faults;
	uint64_t events;
	bool adds_up;
};

/* Six commits into a small store, the disk failing from its n-th call on; then it is well. */
static struct attempt attempt(long n, bool again)
{
	struct store_opts o = { .create = true, .max_bytes = 1u << 20 };
	struct store_filter all = { 0 };
	const char *path = kit_path("v");
	struct attempt a = { 0 };
	struct store *st = NULL;
	struct process p = { 0 };
	struct seen s = { 0 };
	int err;

	kit_clean();
	calls = 0;
	fail_at = n;
	err = store_open_rw(&st, path, &o, NULL);
	if (err == 0)
		p = kit_process(st, 1);
	for (uint64_t i = 0; err == 0 && i < 6; i++) {
		err = kit_commit(st, &p, i * 9000, 9000, i * S);
		a.commits += err == 0;
	}
	a.errors_other = err < 0 && err != -ENOSPC && err != -EIO;
	fail_at = 0;
	if (st && again)
		a.resumed = kit_commit(st, &p, 0, 9000, 9 * S) == 0;
	store_close(st);
	o.create = !st;
	if (store_open_rw(&st, path, &o, NULL) < 0)
		return a;
	store_each_events(st, &all, 0, kit_count_events, &a.events);
	store_each_process(st, see_process, &s);
	a.adds_up = s.processes == 0 || kit_adds_up(&s.process[0].account);
	store_close(st);
	a.faults = store_check(path, NULL, NULL, NULL);
	return a;
}

static void test_failing_disk(int with, int as, const char *what)
{
	unsigned int odd = 0, lost = 0, faults = 0, wrong = 0, stuck = 0, n = 0;
	struct attempt a;

	fail_with = with;
	fail_errno = as;
	do {
		a = attempt(++n, true);
		odd += a.errors_other != 0;
		/* What was taken is there; a commit whose result is unknown may be. */
		lost += a.events < 9000ull * (unsigned int)(a.commits + a.resumed);
		faults += a.faults != 0;
		wrong += !a.adds_up;
		stuck += a.commits > 0 && !a.resumed;
	} while (a.commits < 6 && n < 3000);
	T_OK(n > 50 && n < 3000, "%s at each of %u calls", what, n);
	T_OK(odd == 0, "%s: is told apart from damage (%u)", what, odd);
	T_OK(lost == 0, "%s: what was committed is there (%u)", what, lost);
	T_OK(faults == 0 && wrong == 0, "%s: the store is sound and adds up (%u, %u)", what, faults,
	     wrong);
	T_OK(stuck == 0, "%s: and goes on when the disk is well again (%u)", what, stuck);
}

/*
 * A transaction too large for SQLite's cache, read by another between its parts; one call fails,
 * and it may be the other who is told. What then says that it committed must have.
 */
static bool large_commit(long n, bool *done)
{
	struct store_opts o = { .create = true };
	struct store_filter all = { 0 };
	struct blob b = kit_blob(0, 9000);
	struct store *st = NULL;
	struct seen s = { 0 };
	struct process p;
	uint64_t events = 0;
	int err;

	kit_clean();
	fail_at = 0;
	if (store_open_rw(&st, kit_path("l"), &o, NULL) < 0)
		return false;
	p = kit_process(st, 1);
	err = kit_commit(st, &p, 0, 100, S);
	calls = 0;
	fail_at = n;
	for (int i = 0; err == 0 && i < 20; i++) {
		err = store_blob(st, p.id, &b);
		p.account.emitted += b.records;
		p.account.stored += b.records;
		(void)store_each_process(st, see_process, &s);
		(void)store_each_events(st, &all, 0, kit_count_events, &events);
	}
	store_process(st, &p);
	if (err == 0)
		err = store_commit(st, S);
	*done = calls < n;
	fail_at = 0;
	if (err < 0)
		store_rollback(st);
	store_close(st);
	blob_fini(&b);
	if (store_open_ro(&st, kit_path("l"), NULL) < 0)
		return false;
	events = 0;
	store_each_events(st, &all, 0, kit_count_events, &events);
	store_close(st);
	return events == (err < 0 ? 100 : 180100) &&
	       (err < 0 || store_check(kit_path("l"), NULL, NULL, NULL) == 0);
}

static void test_large_commit(void)
{
	unsigned int wrong = 0;
	bool done = false;
	long n = 0;

	fail_once = true;
	fail_with = SQLITE_FULL;
	fail_errno = ENOSPC;
	while (!done && n < 1000)
		wrong += !large_commit(++n, &done);
	T_OK(n > 5 && done && wrong == 0,
	     "one of %ld calls fails in a large commit: it is there, or it failed (%u)", n, wrong);
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
	t_skip_all("one thread, and minutes of it: the plain and the ASan build do it");
#endif
	kit_begin();
	hook_vfs(); /* first: below what the store puts on it */
	test_cap();
	test_age();
	test_kept();
	test_windows_go_last();
	test_forget();
	test_full_disk();
	test_failing_disk(SQLITE_FULL, ENOSPC, "a full disk");
	test_failing_disk(SQLITE_IOERR_WRITE, EIO, "a failing disk");
	test_large_commit();
	return kit_end();
}
