/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - see identity.h. A process's own statements are accepted only if they are valid
 * names; what the kernel says takes precedence.
 */
#include "daemon/session/identity.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "ident/cgroup.h"
#include "ident/hpc.h"
#include "ident/kubelet.h"
#include "ident/pods.h"
#include "ident/site.h"
#include "ident/word.h"

#define TAKE(to, text, list) ident_word(to, sizeof(to), text, strnlen(text, sizeof(text)), list)

static void site(struct node_ident *n, const char *path)
{
	struct site_why why;
	int err = *path ? site_load(n, path, &why) : -ENOENT;

	if (err == -EINVAL && why.line)
		log_warn("%s:%zu: %s; not used", path, why.line, why.text);
	else if (err < 0 && err != -ENOENT)
		log_warn("%s: %s; not used", path, *why.text ? why.text : strerror(-err));
}

void identity_node(struct node_ident *n, struct gpus *g, const struct param *p,
		   const uint64_t boot_id[2])
{
	const char *name = getenv("NODE_NAME"); /* as Kubernetes tells a DaemonSet */
	char host[sizeof(n->host)] = "";

	*n = (struct node_ident){ 0 };
	if (name)
		ident_word(n->host, sizeof(n->host), name, strlen(name), false);
	if (!*n->host && !gethostname(host, sizeof(host) - 1))
		TAKE(n->host, host, false);
	snprintf(n->boot, sizeof(n->boot), "%016llx%016llx", (unsigned long long)boot_id[0],
		 (unsigned long long)boot_id[1]);
	gpus_load(g, p->gpus_dir.s);
	gpus_node(g, p->gpus_dir.s, n);
	site(n, p->site.s);
}

/* Only what is in the file: a directory service may take its time. */
static void user_name(struct process *p)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd pw, *got;
	char buf[1024];

	while (f && !fgetpwent_r(f, &pw, buf, sizeof(buf), &got))
		if (got->pw_uid == p->uid) {
			ident_word(p->ident.user, sizeof(p->ident.user), got->pw_name,
				   strlen(got->pw_name), false);
			break;
		}
	if (f)
		fclose(f);
}

void identity_words(struct process *p, const struct aon_msg_hello *m, const struct node_ident *n)
{
	TAKE(p->job, m->job, false);
	TAKE(p->node, m->node, false);
	if (!*p->node)
		snprintf(p->node, sizeof(p->node), "%.31s", n->host);
	TAKE(p->ident.pod, m->pod, false);
	TAKE(p->ident.namespace, m->namespace, false);
	TAKE(p->ident.account, m->account, false);
	/* Kept here until the driver's names are looked up. */
	TAKE(p->ident.gpu_uuid, m->gpus, true);
}

static size_t read_cgroup(uint32_t pid, char *out, size_t cap)
{
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	n = file_text(AT_FDCWD, path, out, cap);
	return n > 0 ? (size_t)n : 0;
}

/* The card that stands at the place of its GPU. */
static void nic_of(struct process *p, const struct node_ident *n)
{
	const char *at = n->nics;

	for (uint32_t i = 1; i < p->local_rank && *at; i++)
		at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
	if (p->local_rank && *at)
		ident_word(p->ident.nic, sizeof(p->ident.nic), at, strcspn(at, ","), false);
}

/* Of one that names no pod, the pod that its GPU was given to. */
static void pod_of(const char *pods, struct ident *id)
{
	const char *all = *id->mig ? id->mig : id->gpu_uuid;
	char device[96];

	snprintf(device, sizeof(device), "%.*s", (int)strcspn(all, ","), all);
	if (*device)
		pods_owner(pods, device, id->namespace, id->pod);
}

void identity_kernel(struct process *p, const struct param *param, const struct gpus *g,
		     const struct node_ident *n)
{
	char visible[sizeof(p->ident.gpu_uuid)], given[sizeof(p->ident.gpu_uuid)] = "", text[8192];
	struct cgroup_ident c;
	char *pods = NULL;

	memcpy(visible, p->ident.gpu_uuid, sizeof(visible));
	*p->ident.gpu_uuid = '\0';
	cgroup_read(&c, text, read_cgroup(p->pid, text, sizeof(text)));
	snprintf(p->ident.pod_uid, sizeof(p->ident.pod_uid), "%s", c.pod_uid);
	snprintf(p->ident.container, sizeof(p->ident.container), "%s", c.container);
	if (!*p->job && *c.job)
		snprintf(p->job, sizeof(p->job), "%s", c.job);
	gpus_visible(g, visible, &p->ident);
	if (*c.pod_uid && *param->kubelet.s)
		kubelet_load(param->kubelet.s, c.pod_uid, given, sizeof(given));
	if (*c.pod_uid && *param->pods.s && (pods = pods_load(param->pods.s)) && !*given)
		pods_devices(pods, p->ident.namespace, p->ident.pod, given, sizeof(given));
	gpus_visible(g, given, &p->ident);
	if (pods && !*p->ident.pod)
		pod_of(pods, &p->ident);
	free(pods);
	if (!*p->job && p->local_rank)
		hpc_job(param->hpc_dir.s, p->local_rank - 1, p->job, sizeof(p->job));
	user_name(p);
	nic_of(p, n);
}
