/* SPDX-License-Identifier: Apache-2.0 */
/* The store gives back what it was given, to whoever may read, and leaves foreign files alone. */
#include "storekit.h"

#include <pthread.h>
#include <sys/wait.h>

#define S 1000000000ull

/* --- what was put in comes out --- */

struct seen {
	struct process process[8];
	int processes, tracks, windows, journal;
	uint64_t events;
	char text[64];
};

static int see_process(void *arg, const struct process *p)
{
	struct seen *s = arg;

	s->process[s->processes++ % 8] = *p;
	return 0;
}

static int see_track(void *arg, const struct track *l)
{
	struct seen *s = arg;

	s->tracks += l->device == 3 && l->stream == 77 && l->context == 1;
	return 0;
}

static int see_window(void *arg, const struct window *w)
{
	struct seen *s = arg;

	s->windows += w->rows == 2 && w->row[1].count == 5 && w->row[1].sketch.count == 5;
	return 0;
}

static int see_entry(void *arg, const struct journal_entry *e)
{
	struct seen *s = arg;

	s->journal += e->wall_ns == 42 && e->kind == ENTRY_START &&
		      strcmp(entry_word(e, FIELD_VERSION), "1") == 0;
	return 0;
}

static void put_all(struct store *st)
{
	uint32_t cell[2] = { 2, 3 }, id, same;
	struct rollup rows[2] = { { .track = 1, .name = 2, .kind = EVENT_KERNEL, .count = 1 },
				  { .track = 1,
				    .name = 3,
				    .kind = EVENT_KERNEL,
				    .count = 5,
				    .sketch = { cell, 100, 2, 5 } } };
	struct window w = { .process = 1, .rows = 2, .start_ns = 5 * S, .row = rows };
	struct geo g = { .grid = { 1, 2, 3 }, .block = { 4, 5, 6 }, .regs = 7 };
	struct process p = kit_process(st, 100);
	struct journal_entry start = { .wall_ns = 42, .kind = ENTRY_START };
	struct track l = { .process = p.id, .device = 3, .context = 1, .stream = 77 };

	T_OK(store_name(st, "gemm", 4, &id) == 0 && id == 2 &&
		     store_name(st, "gemm", 4, &same) == 0 && same == id,
	     "a name gets one id");
	T_OK(strcmp(store_name_text(st, id), "gemm") == 0, "and has its text before the commit");
	T_OK(store_geo(st, &g, &id) == 0 && store_geo(st, &g, &same) == 0 && id == same,
	     "a geometry gets one id");
	T_OK(store_track(st, &l, &id) == 0 && store_track(st, &l, &same) == 0 && id == same,
	     "a lane gets one id");
	store_window(st, &w);
	entry_s(&start, FIELD_VERSION, "1");
	store_entry(st, &start);
	T_OK(kit_commit(st, &p, 0, 5000, S) == 0, "a commit is taken");
}

static void see_all(const char *path, const char *when)
{
	struct store_filter all = { 0 }, some = { .kinds = 1u << EVENT_RANGE,
						  .from_ns = 4000000,
						  .to_ns = 7000000 };
	struct seen s = { 0 };
	struct store_stat stat;
	struct store *st;
	uint64_t few = 0;
	struct geo g;

	T_OK(store_open_ro(&st, path, NULL) == 0, "%s: a reader opens it", when);
	T_OK(store_each_process(st, see_process, &s) == 0 && s.processes == 1 &&
		     strcmp(s.process[0].comm, "train") == 0 && s.process[0].pool_id[0] == 100 &&
		     s.process[0].account.stored == 5500,
	     "%s: its process and account", when);
	T_OK(store_each_track(st, 1, see_track, &s) == 0 && s.tracks == 1, "%s: its lane", when);
	T_OK(store_each_window(st, &all, see_window, &s) == 0 && s.windows == 1, "%s: its window",
	     when);
	T_OK(store_each_entry(st, see_entry, &s) == 0 && s.journal == 1, "%s: its journal", when);
	T_OK(store_each_events(st, &all, 0, kit_count_events, &s.events) == 0 && s.events == 5000,
	     "%s: its events", when);
	T_OK(store_each_events(st, &some, 0, kit_count_events, &few) == 0 && few > 90 && few < 110,
	     "%s: those of one kind in some time (%llu)", when, (unsigned long long)few);
	T_OK(strcmp(store_name_text(st, STORE_NAME_OTHER), "(other)") == 0 &&
		     strcmp(store_name_text(st, 2), "gemm") == 0 &&
		     strcmp(store_name_text(st, 3000), "?") == 0,
	     "%s: its names", when);
	T_OK(store_geo_get(st, 1, &g) == 0 && g.block[2] == 6 &&
		     store_geo_get(st, 9, &g) == -ENOENT,
	     "%s: its geometry", when);
	T_OK(store_stat(st, &stat) == 0 && stat.events == 5000 && stat.rollups == 2 &&
		     stat.names == 2 && stat.event_blobs == 1 && stat.tracks == 1,
	     "%s: its sums", when);
	store_close(st);
	T_OK(store_check(path, NULL, NULL, &stat) == 0, "%s: and no fault in it", when);
}

struct sums {
	uint64_t events, kernels, kernel_ns, names;
};

static int sum_columns(void *arg, uint32_t process, const struct event_columns *c)
{
	struct sums *s = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		s->events++;
		s->kernels += c->kind[i] == EVENT_KERNEL;
		s->kernel_ns += c->kind[i] == EVENT_KERNEL ? c->dur_ns[i] : 0;
		s->names += c->name[i];
	}
	return 0;
}

static void test_columns(void)
{
	struct store_filter all = { 0 }, later = { .from_ns = 13000000 },
			    none = { .kinds = 1u << EVENT_COUNTER };
	struct sums whole = { 0 }, by_column = { 0 }, late = { 0 }, no = { 0 };
	struct store *st = kit_open(kit_path("c"), 0, 0);
	uint32_t cols = EVENT_COL_NAME | EVENT_COL_DUR, process;
	struct process p = kit_process(st, 1);
	struct event_columns c;
	struct store_scan *scan;

	for (int i = 0; i < 3; i++)
		kit_commit(st, &p, (uint64_t)i * 3000, 3000, 1);
	T_OK(store_each_events(st, &all, EVENT_COLS_ALL, sum_columns, &whole) == 0 &&
		     store_each_events(st, &all, cols, sum_columns, &by_column) == 0 &&
		     whole.events == 9000 && memcmp(&whole, &by_column, sizeof(whole)) == 0,
	     "some columns say what all say");
	T_OK(store_scan_open(&scan, st, &later, cols) == 0, "a scan opens");
	while (store_scan_next(scan, &process, &c) > 0)
		sum_columns(&late, process, &c);
	store_scan_close(scan);
	T_OK(late.events == 6000, "a scan gives whole blobs, and none of another time");
	T_OK(store_each_events(st, &none, cols, sum_columns, &no) == 0 && no.events == 0,
	     "blobs without the kind are stepped over");
	store_close(st);
}

static void test_round_trip(void)
{
	const char *path = kit_path("a");
	struct store *st = kit_open(path, 0, 0), *other;
	struct store_opts o = { .create = true };
	struct process p;
	uint32_t id;

	put_all(st);
	see_all(path, "beside the writer");
	T_OK(store_open_rw(&other, path, &o, NULL) == -EBUSY, "a second writer is refused");
	store_close(st);
	T_OK(access(kit_path("a-wal"), F_OK) < 0, "a closed store is one file");
	see_all(path, "after it");
	T_OK(access(kit_path("a-wal"), F_OK) < 0 && access(kit_path("a-shm"), F_OK) < 0,
	     "a reader leaves no file behind");
	st = kit_open(path, 0, 0);
	p = kit_process(st, 100);
	T_OK(p.id == 1, "a process that comes back keeps its id");
	T_OK(store_name(st, "gemm", 4, &id) == 0 && id == 2, "and so does a name");
	store_close(st);
	kit_clean();
}

/* --- names --- */

static void test_names(void)
{
	struct store_opts o = { .create = true, .names_max = 50 };
	char *long_name = malloc(5000), text[16];
	struct store *st;
	uint32_t id = 0, other = 0;

	memset(long_name, 'k', 5000);
	if (store_open_rw(&st, kit_path("n"), &o, NULL) < 0)
		abort();
	store_name(st, long_name, 5000, &id);
	long_name[4999] = 'x';
	store_name(st, long_name, 5000, &other);
	T_OK(id != other && strlen(store_name_text(st, id)) == 2047 &&
		     strcmp(store_name_text(st, id), store_name_text(st, other)) != 0,
	     "long names are cut but stay apart");
	store_name(st, "a\0b", 3, &id);
	T_OK(strcmp(store_name_text(st, id), "a b") == 0, "a NUL does not hide the rest of a name");
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(text, sizeof(text), "name %d", i);

		if (store_name(st, text, (size_t)n, &id) < 0)
			abort();
	}
	T_OK(id == STORE_NAME_OTHER, "names over the cap become (other)");
	T_OK(store_name(st, "name 3", 6, &id) == 0 && id != STORE_NAME_OTHER,
	     "names that were in time keep their ids");
	store_name(st, long_name, 5000, &other);
	store_commit(st, S);
	store_close(st);
	st = kit_open(kit_path("n"), 0, 0);
	T_OK(store_name(st, long_name, 5000, &id) == 0 && id == other,
	     "a name that was cut is known again in a store that is opened again");
	store_close(st);
	free(long_name);
	kit_clean();
}

/* --- a rollback --- */

static void test_rollback(void)
{
	struct store *st = kit_open(kit_path("r"), 0, 0);
	struct process p = kit_process(st, 1);
	struct blob b = kit_blob(0, 100);
	struct store_filter all = { 0 };
	uint64_t n = 0;
	uint32_t id;

	store_name(st, "kept", 4, &id);
	store_blob(st, p.id, &b);
	store_rollback(st);
	T_OK(store_commit(st, S) == 0, "a commit after a rollback");
	store_each_events(st, &all, 0, kit_count_events, &n);
	T_OK(n == 0, "what was rolled back is not there");
	store_close(st);
	T_OK(store_open_ro(&st, kit_path("r"), NULL) == 0 &&
		     strcmp(store_name_text(st, id), "kept") == 0,
	     "but the names that were handed out are");
	store_close(st);
	blob_fini(&b);
	kit_clean();
}

/* --- files that are not a store, or not a whole one --- */

static uint64_t sum_dir(void)
{
	uint64_t sum = 0;
	struct dirent *d;
	struct stat sb;
	DIR *dir = opendir(kit_dir);

	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && stat(kit_path(d->d_name), &sb) == 0)
			sum += sb.st_ino * 3 + (uint64_t)sb.st_size * 7 +
			       (uint64_t)sb.st_mtim.tv_nsec + (uint64_t)sb.st_mtim.tv_sec * 11;
	closedir(dir);
	return sum;
}

static void test_bad_file(const char *name, const char *path, int want)
{
	struct store_opts o = { .create = false };
	struct store_why why = { "" };
	struct store *st;
	uint64_t before = sum_dir();
	int ro, rw;

	ro = store_open_ro(&st, path, &why);
	T_OK(ro == want && why.text[0] && !strchr(why.text, '\n'), "%s: a reader says %d \"%s\"",
	     name, ro, why.text);
	rw = store_open_rw(&st, path, &o, &why);
	T_OK(rw == want, "%s: and so does a writer (%d)", name, rw);
	T_OK(store_check(path, NULL, NULL, NULL) == want, "%s: and a check", name);
	T_OK(sum_dir() == before, "%s: nothing on disk has changed", name);
}

static void test_bad_files(void)
{
	const char *path = kit_path("good"), *bad = kit_path("bad");
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 1);
	struct store_opts o = { .create = true };
	char aside[PATH_MAX];
	uint8_t *data;
	size_t len;

	kit_commit(st, &p, 0, 5000, S);
	store_close(st);
	data = kit_read(path, &len);
	test_bad_file("missing", kit_path("none"), -ENOENT);
	test_bad_file("a folder", kit_dir, -EMEDIUMTYPE);
	kit_write(bad, "", 0);
	test_bad_file("empty", bad, -EMEDIUMTYPE);
	kit_write(bad, "hello, world\n", 13);
	test_bad_file("foreign", bad, -EMEDIUMTYPE);
	kit_write(bad, data, 50);
	test_bad_file("cut in its head", bad, -EBADMSG);
	kit_write(bad, data, len / 2);
	test_bad_file("cut in half", bad, -EBADMSG);
	data[63] = 5;
	kit_write(bad, data, len);
	test_bad_file("newer", bad, -EPROTO);
	data[63] = 2;
	data[68] ^= 1;
	kit_write(bad, data, len);
	test_bad_file("another program's", bad, -EMEDIUMTYPE);
	T_OK(symlink(path, kit_path("link")) == 0 &&
		     store_open_rw(&st, kit_path("link"), &o, NULL) == -ELOOP,
	     "a writer does not follow a link");
	T_OK(store_set_aside(bad, aside, sizeof(aside)) == 0 && access(bad, F_OK) < 0 &&
		     strcmp(aside, kit_path("bad.bad-1")) == 0,
	     "it can be set aside");
	st = kit_open(bad, 0, 0);
	T_OK(st != NULL, "and a new one made in its place");
	store_close(st);
	free(data);
	kit_clean();
}

/* --- who may read --- */

static int read_as_nobody(const char *path)
{
	struct store_filter all = { 0 };
	struct store *st;
	uint64_t n = 0;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	if (store_open_ro(&st, path, NULL) < 0)
		return 1;
	if (store_each_events(st, &all, 0, kit_count_events, &n) != 0)
		return 2;
	store_close(st);
	return n == 5000 ? 0 : 3;
}

static void test_nobody(const char *path, const char *when)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(read_as_nobody(path));
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 77)
		printf("ok %d - %s # SKIP not root\n", ++t_count, when);
	else
		T_OK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		     "a user who may only read: %s (step %d)", when, WEXITSTATUS(status));
}

static void test_readers(void)
{
	const char *path = kit_path("p");
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 1);
	uint64_t before;

	chmod(kit_dir, 0755);
	chmod(path, 0644);
	kit_commit(st, &p, 0, 5000, S);
	chmod(kit_path("p-wal"), 0644);
	chmod(kit_path("p-shm"), 0644);
	test_nobody(path, "beside the writer");
	fflush(stdout);
	if (fork() == 0)
		_exit(0); /* as a writer that died: the log stays */
	wait(NULL);
	{
		size_t len, wal_len, shm_len;
		uint8_t *a = kit_read(path, &len), *b = kit_read(kit_path("p-wal"), &wal_len),
			*c = kit_read(kit_path("p-shm"), &shm_len);

		kit_write(kit_path("q"), a, len);
		kit_write(kit_path("q-wal"), b, wal_len);
		kit_write(kit_path("q-shm"), c, shm_len);
		free(a), free(b), free(c);
	}
	store_close(st);
	before = sum_dir();
	test_nobody(kit_path("q"), "after a writer that died");
	T_OK(store_check(kit_path("q"), NULL, NULL, NULL) == 0, "and it is sound");
	test_nobody(path, "after a writer that closed");
	T_OK(sum_dir() == before, "and nothing on disk has changed");
	unlink(kit_path("q-shm"));
	T_OK(store_open_ro(&st, kit_path("q"), NULL) == -EBADMSG,
	     "a log without its index is for recovery");
	kit_clean();
}

/* --- at the same time --- */

static int at_once_stop;

static void *read_always(void *path)
{
	struct store_filter all = { 0 };
	uint64_t reads = 0, n, last = 0;
	struct store *st;

	while (!__atomic_load_n(&at_once_stop, __ATOMIC_ACQUIRE)) {
		n = 0;
		if (store_open_ro(&st, path, NULL) < 0)
			return (void *)-1l;
		if (store_each_events(st, &all, 0, kit_count_events, &n) != 0 || n < last)
			return (void *)-2l;
		last = n;
		reads++;
		store_close(st);
	}
	return (void *)reads;
}

static void *intern_always(void *arg)
{
	uint32_t id, n = 0;
	char text[32];

	while (!__atomic_load_n(&at_once_stop, __ATOMIC_ACQUIRE) && n < 30000)
		if (store_name(arg, text, (size_t)snprintf(text, sizeof(text), "k%u", n++), &id) <
		    0)
			return (void *)-1l;
	return NULL;
}

static void test_at_once(void)
{
	const char *path = kit_path("t");
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 1);
	pthread_t reader, intern;
	void *reads, *names;
	int err = kit_commit(st, &p, 0, 100, S);

	pthread_create(&reader, NULL, read_always, (void *)path);
	pthread_create(&intern, NULL, intern_always, st);
	for (uint64_t i = 0; i < 300 && err == 0; i++)
		err = kit_commit(st, &p, i * 5000, 2000, i * S);
	__atomic_store_n(&at_once_stop, 1, __ATOMIC_RELEASE);
	pthread_join(reader, &reads);
	pthread_join(intern, &names);
	T_OK(err == 0, "a writer is not held up by a reader (%d)", err);
	T_OK((long)reads > 0, "and a reader sees only whole commits (%ld reads)", (long)reads);
	T_OK(names == NULL, "while another thread interns names");
	store_close(st);
	T_OK(store_check(path, NULL, NULL, NULL) == 0, "and the file is sound");
	kit_clean();
}

int main(void)
{
	kit_begin();
	test_round_trip();
	test_columns();
	test_names();
	test_rollback();
	test_bad_files();
	test_readers();
	test_at_once();
	return kit_end();
}
