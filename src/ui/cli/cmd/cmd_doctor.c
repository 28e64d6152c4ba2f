/* SPDX-License-Identifier: Apache-2.0 */
/* aon doctor - what works on this machine, and what to do about the rest. */
#include "base/file.h"
#include "cli/node/doctor.h"
#include "cli/node/gpu_doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *const word[HEALTH_COUNT] = { "ok", "warn", "off", "FAIL" };

bool doctor_read(const char *path, char *buf, size_t cap)
{
	if (file_text(AT_FDCWD, path, buf, cap) <= 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

static void doctor_section(struct doctor *d, const char *name)
{
	d->section = name;
	if (!d->json)
		out_line(&d->out, OUT_BOLD, "  %s", name);
}

void doctor_wrapped(const struct out *out, const char *first, size_t indent, const char *text)
{
	size_t width = out->width == SIZE_MAX ? SIZE_MAX / 2 : out->width, at = indent;
	char word_text[OUT_TEXT], cut[OUT_TEXT];

	fprintf(out->f, "%s", first);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + 1 + len > width) {
			fprintf(out->f, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out->f);
			at++;
		}
		if (len > width - indent) { /* a long path alone on its line */
			snprintf(word_text, sizeof(word_text), "%.*s", (int)len, text);
			fmt_ellipsis(cut, sizeof(cut), word_text, width - indent, out->ascii);
			fputs(cut, out->f);
		} else {
			fprintf(out->f, "%.*s", (int)len, text);
		}
		at += len;
		text += len + (text[len] == ' ');
	}
	fputc('\n', out->f);
}

static void put_text(struct doctor *d, enum health h, const char *so, const char *fix,
		     const char *text)
{
	static const enum out_style style[HEALTH_COUNT] = { OUT_PLAIN, OUT_WARN, OUT_PLAIN,
							    OUT_FAIL };
	bool styled = style[h] != OUT_PLAIN;
	char first[64];

	snprintf(first, sizeof(first), "    %s%-4s%s  ", styled ? out_style(&d->out, style[h]) : "",
		 word[h], styled ? out_style(&d->out, OUT_PLAIN) : "");
	doctor_wrapped(&d->out, first, 10, text);
	if (so)
		doctor_wrapped(&d->out, "          -> ", 13, so);
	if (fix)
		doctor_wrapped(&d->out, "          -> ", 13, fix);
}

/* A bug report is for others to read: the home directory names its owner. */
static void without_home(char *text, size_t cap)
{
	const char *home = getenv("HOME");
	char *at, rest[1024];

	if (!home || strlen(home) < 2 || !(at = strstr(text, home)))
		return;
	snprintf(rest, sizeof(rest), "%s", at + strlen(home));
	snprintf(at, cap - (size_t)(at - text), "~%s", rest);
}

void doctor_put(struct doctor *d, const char *id, enum health h, const char *so, const char *fix,
		const char *fmt, ...)
{
	char text[1024], clean[OUT_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->count[h]++;
	if (!d->json) {
		put_text(d, h, so, fix, fmt_clean(clean, sizeof(clean), text, d->out.ascii));
		return;
	}
	if (!d->full)
		without_home(text, sizeof(text));
	json_open(&d->j, NULL, '{');
	json_members(&d->j, J_STR("section", d->section), J_STR("id", id), J_STR("status", word[h]),
		     J_STR("text", text));
	if (so)
		json_str(&d->j, "consequence", so);
	if (fix)
		json_str(&d->j, "remedy", fix);
	json_close(&d->j);
}

static void begin(struct doctor *d, const struct opts *o)
{
	char host[65] = "?", driver[128] = "";
	struct utsname un;

	uname(&un);
	gethostname(host, sizeof(host) - 1);
	doctor_read("/sys/module/nvidia/version", driver, sizeof(driver));
	if (!d->json) {
		out_line(&d->out, OUT_BOLD, "aon %s   %s   Linux %s%s%s\n", AON_VERSION, host,
			 un.release, *driver ? "   driver " : "", driver);
		return;
	}
	json_begin(&d->j, stdout, "aon.doctor/1");
	json_members(&d->j, J_STR("version", AON_VERSION), J_STR("kernel", un.release),
		     J_STR("machine", un.machine), J_STR("nvidia_driver", *driver ? driver : NULL));
	if (o->val[OPT_FULL]) {
		json_members(&d->j, J_STR("host", host), J_U64("uid", getuid()));
	}
	json_open(&d->j, "checks", '[');
}

static void end_text(const struct doctor *d)
{
	char left[128];

	snprintf(left, sizeof(left), "%u failed, %u warning%s, %u off. %s", d->count[HEALTH_FAIL],
		 d->count[HEALTH_WARN], d->count[HEALTH_WARN] == 1 ? "" : "s", d->count[HEALTH_OFF],
		 d->cannot_record ? "Recording cannot work." : "The rest of aon works.");
	fputc('\n', d->out.f);
	out_ends(&d->out, OUT_BOLD, left, "for a bug report: aon doctor --json");
}

int cmd_doctor(const struct opts *o)
{
	struct doctor d = { .json = o->val[OPT_JSON], .full = o->val[OPT_FULL] };
	char you[32];

	if (o->argc && !o->val[OPT_GPU])
		return cli_misuse("takes no operand, not '%s'", o->argv[0]);
	if (!o->val[OPT_GPU] && (o->val[OPT_LONGER] || o->val[OPT_WRITECONF]))
		return cli_misuse("--long and --write need --gpu");
	if (o->val[OPT_GPU])
		return gpu_doctor_run(o);
	out_init(&d.out, stdout, o);
	begin(&d, o);
	doctor_section(&d, "machine");
	doctor_machine(&d);
	snprintf(you, sizeof(you), "you (uid %u)", getuid());
	doctor_section(&d, d.json ? "you" : you);
	doctor_you(&d);
	doctor_users(&d, o->val[OPT_ROOT] ? o->val[OPT_ROOT] : "");
	doctor_section(&d, "sources");
	doctor_sources(&d);
	if (!d.json) {
		end_text(&d);
		return d.cannot_record ? CLI_FAIL : CLI_OK;
	}
	json_close(&d.j);
	for (int i = 0; i < HEALTH_COUNT; i++)
		json_u64(&d.j, word[i], d.count[i]);
	json_bool(&d.j, "can_record", !d.cannot_record);
	json_end(&d.j);
	return d.cannot_record ? CLI_FAIL : CLI_OK;
}
