/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - starts and stops a relay, and runs its checks once a second. */
#include "relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "relay/priv.h"

#define FILE_MAX  (1u << 20)
#define FORGET_NS (90ull * 86400 * SECOND) /* a source that was silent for this long is forgotten */

static int read_file(char **out, const char *path, bool secret, char why[256])
{
	FILE *f = fopen(path, "re");
	struct stat sb;
	char *text;
	size_t n;

	if (!f || fstat(fileno(f), &sb) < 0) {
		snprintf(why, 256, "%.180s: %s", path, strerror(errno));
		if (f)
			fclose(f);
		return -errno;
	}
	if (secret && sb.st_mode & 077) {
		fclose(f);
		snprintf(why, 256, "%.100s: others may read it. Do: chmod 600 %.100s", path, path);
		return -EPERM;
	}
	text = malloc(FILE_MAX);
	n = text ? fread(text, 1, FILE_MAX - 1, f) : 0;
	fclose(f);
	if (!n || n == FILE_MAX - 1) {
		free(text);
		snprintf(why, 256, "%.180s: not a PEM file", path);
		return -EINVAL;
	}
	text[n] = '\0';
	*out = text;
	return 0;
}

static int64_t file_time(const char *path)
{
	struct stat sb;

	if (stat(path, &sb) < 0)
		return -1;
	return (int64_t)sb.st_mtim.tv_sec * 1000000000 + sb.st_mtim.tv_nsec;
}

static int read_files(struct relay *r, char why[256])
{
	int err = read_file(&r->cert, r->o.cert, false, why);

	err = err ? err : read_file(&r->key, r->o.key, true, why);
	err = err ? err : read_file(&r->ca, r->o.ca, false, why);
	r->access_time = file_time(r->o.access);
	err = err ? err : access_read(&r->access, r->o.access, why);
	return err;
}

/* If the list is invalid, that is reported and the last valid one stays in use. */
static void look_at_access(struct relay *r)
{
	struct access_list fresh;
	int64_t at = file_time(r->o.access);
	char why[256];

	if (at == r->access_time)
		return;
	r->access_time = at;
	if (access_read(&fresh, r->o.access, why) < 0) {
		log_err("%s; the list before it stays", why);
		return;
	}
	pthread_mutex_lock(&r->lock);
	access_fini(&r->access);
	r->access = fresh;
	pthread_mutex_unlock(&r->lock);
	log_info("%s: %zu rules", r->o.access, fresh.n);
}

void relay_tick(struct relay *r)
{
	look_at_access(r);
	httpd_tick(r->httpd);
	pthread_mutex_lock(&r->lock);
	orders_tick(r);
	pthread_mutex_unlock(&r->lock);
	status_write(r);
}

static int make_dir(const char *dir, char why[256])
{
	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return 0;
	snprintf(why, 256, "%.180s: %s", dir, strerror(errno));
	return -errno;
}

/* A batch stays with its shard. If the shard no longer exists, its batches could never be sent. */
static int check_shards(struct relay *r, char why[256])
{
	struct batch_store_stat st = { 0 };
	int err = batch_store_stat(r->hold, &st);

	if (err || st.shards <= relay_shards(r))
		return err;
	snprintf(why, 256,
		 "%.100s holds batches of shard %u, but --url has %u shards: name them in their "
		 "order, new ones behind",
		 r->o.dir, (unsigned)st.shards, relay_shards(r));
	return -EINVAL;
}

int relay_start(struct relay **out, const struct relay_opts *o, char why[256])
{
	struct relay *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->o = *o;
	r->last = &r->first;
	r->start_ns = clock_mono_ns();
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->news, NULL);
	r->node = calloc(NODES_MAX, sizeof(*r->node));
	snprintf(why, 256, "out of memory");
	err = r->node ? orders_new(&r->orders) : -ENOMEM;
	err = err ? err : make_dir(o->dir, why);
	err = err ? err : read_files(r, why);
	err = err ? err : batch_store_open(&r->hold, o->dir, o->disk_bytes, why);
	if (!err && clock_wall_ns() > FORGET_NS)
		batch_store_forget(r->hold, clock_wall_ns() - FORGET_NS);
	err = err ? err : commit_start(r);
	err = err ? err : check_shards(r, why);
	if (!err && o->url)
		err = sender_start(&r->sender, r, why);
	err = err ? err : relay_listen(r, why);
	if (err) {
		relay_stop(r);
		return err;
	}
	status_write(r);
	*out = r;
	return 0;
}

void relay_stop(struct relay *r)
{
	if (!r)
		return;
	if (r->httpd)
		httpd_quiet(r->httpd);
	commit_stop(r); /* wakes requests that wait for the disk */
	if (r->orders) {
		pthread_mutex_lock(&r->lock);
		r->stopping = true;
		orders_tick(r); /* wakes requests that wait for orders */
		pthread_mutex_unlock(&r->lock);
	}
	sender_stop(r->sender);
	httpd_stop(r->httpd);
	batch_store_close(r->hold);
	orders_free(r->orders);
	access_fini(&r->access);
	free(r->node);
	free(r->cert);
	free(r->key);
	free(r->ca);
	pthread_cond_destroy(&r->news);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

const char *relay_address(const struct relay *r)
{
	return r->address;
}
