/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "lab/contender.h"
#include "lab/folder.h"
#include "lab/text.h"
#include "t.h"

#define S 1000000000ll

/* 32 ranks of four hosts, two leaves; a rank is slow in steps 50 to 79. Steps of a second. */
static struct corpus_truth truth(void)
{
	struct corpus_truth t = { .name = "0001-x",
				  .world = 32,
				  .ranks_per_host = 8,
				  .hosts_per_leaf = 2,
				  .stage_ranks = 16,
				  .steps = 100,
				  .events = 1 };
	struct corpus_event *e = &t.event[0];

	t.end_ns = calloc(101, sizeof(*t.end_ns));
	for (int i = 0; i < 101; i++)
		t.end_ns[i] = (i + 1) * S;
	*e = (struct corpus_event){ .kind = FAULT_THERMAL,
				    .part = { DIAG_RANK, 3 },
				    .from = 50,
				    .end = 80,
				    .from_ns = 50 * S,
				    .end_ns = 80 * S,
				    .gain = 0.2,
				    .first = 3,
				    .last = 3 };
	e->alike = calloc(40, sizeof(*e->alike));
	e->alike[e->alikes++] = 3;
	return t;
}

static struct diag_finding said(uint32_t step, struct diag_part a, uint8_t kind)
{
	return (struct diag_finding){ .part = { a },
				      .parts = 1,
				      .kind = kind,
				      .act = true,
				      .gain = 0.15f,
				      .step = step,
				      .t_ns = (step + 1) * S };
}

static struct score score_of(const struct corpus_truth *t, const struct diag_finding *f, uint32_t n)
{
	struct score_said is = { 0 };
	struct score s = { .name = "x" };

	for (uint32_t i = 0; i < n; i++)
		score_said_add(&is, &f[i]);
	T_OK(score_case(&s, t, &is) == 0, "a case is scored");
	score_said_fini(&is);
	return s;
}

#define RANK(i)     ((struct diag_part){ DIAG_RANK, i })
#define PLACE(l, i) ((struct diag_part){ l, i })

static void acts(void)
{
	struct corpus_truth t = truth();
	struct diag_finding f[4];
	struct score s;

	f[0] = said(59, RANK(3), 1);
	f[1] = said(60, RANK(3), 1);
	s = score_of(&t, f, 2);
	T_OK(s.events == 1 && s.detected == 1 && s.top1 == 1 && s.acts == 1 && s.right == 1,
	     "the culprit that is named, twice, is found once");
	T_OK(s.kind == 1 && s.class == 1 && fabs(score_middle(&s.delay_s, 0.5) - 10) < 1e-9 &&
		     fabs(score_middle(&s.delay_steps, 0.5) - 10) < 1e-9 &&
		     fabs(score_middle(&s.gain_error, 0.5) - 0.05) < 1e-6,
	     "its kind, how late it was, and how far off its gain");
	score_fini(&s);
	f[0] = said(59, RANK(4), 4);
	s = score_of(&t, f, 1);
	T_OK(!s.detected && s.noticed == 1 && !s.top1 && s.victims == 1 && !s.wrong,
	     "who names another rank meanwhile names a victim");
	score_fini(&s);
	f[0] = said(20, RANK(3), 4);
	s = score_of(&t, f, 1);
	T_OK(!s.detected && !s.noticed && s.wrong == 1, "before it began it was false");
	score_fini(&s);
	f[0] = said(99, RANK(3), 4);
	s = score_of(&t, f, 1);
	T_OK(s.detected == 1, "a few steps behind its end it may still be told");
	score_fini(&s);
	f[0] = said(60, PLACE(DIAG_HOST, 0), 0);
	f[1] = said(61, PLACE(DIAG_JOB, 0), 0);
	s = score_of(&t, f, 2);
	T_OK(!s.detected && s.noticed == 1 && s.vague == 2 && score_precision(&s) == 1 &&
		     score_culprit(&s) == 0,
	     "its host and its job are true, and too much");
	score_fini(&s);
	f[0] = said(60, RANK(4), 4);
	f[0].part[1] = RANK(3);
	f[0].parts = 2;
	s = score_of(&t, f, 1);
	T_OK(s.detected == 1 && !s.top1 && s.top3 == 1 && s.blast == 2,
	     "the second of two names is a name, not the first");
	score_fini(&s);
	f[0].act = false;
	s = score_of(&t, f, 1);
	T_OK(!s.detected && !s.acts && s.notes == 1, "a note is no act");
	score_fini(&s);
	s = score_of(&t, f, 0);
	T_OK(score_recall(&s) == 0 && isnan(score_precision(&s)) && !s.clean,
	     "who says nothing finds nothing, and is not wrong");
	score_fini(&s);
	corpus_truth_fini(&t);
}

static void small_and_none(void)
{
	struct corpus_truth t = truth();
	struct diag_finding f[2] = { said(60, RANK(3), 1), said(61, RANK(9), 15) };
	struct score s;

	t.event[0].gain = 0.005;
	t.packed = true;
	s = score_of(&t, f, 2);
	T_OK(!s.events && !s.acts && s.clean == 1,
	     "a fault of half a percent is neither missed nor found; a job that packs is uneven");
	score_fini(&s);
	t.packed = false;
	s = score_of(&t, f, 2);
	T_OK(s.acts == 1 && s.wrong == 1 && s.false_acts == 1 &&
		     fabs(s.clean_days - 100 / 86400.) < 1e-9,
	     "false acts are counted by the day");
	T_OK(fabs(score_false_day_most(&s) * s.clean_days - 4.744) < 0.03,
	     "one seen may be 4.7, at most");
	s.false_acts = 0;
	T_OK(fabs(score_false_day_most(&s) * s.clean_days - 2.996) < 0.03,
	     "none seen may be three");
	T_OK(s.sure[0][0] == 1 && !s.sure[0][1], "and acts by how sure they were");
	score_fini(&s);
	corpus_truth_fini(&t);
}

/* Some GPU is slower than its like for good: to say so is neither right nor wrong. */
static void known(void)
{
	struct corpus_truth t = truth();
	struct diag_finding f[3] = { said(20, RANK(9), 4), said(55, RANK(9), 4),
				     said(60, RANK(3), 1) };
	struct score s;

	t.slow = calloc(1, sizeof(*t.slow));
	t.slow[t.slows++] = 9;
	s = score_of(&t, f, 3);
	T_OK(s.acts == 1 && s.right == 1 && s.top1 == 1,
	     "a rank that is slow by itself may be named, and that says nothing of a fault");
	score_fini(&s);
	f[0] = said(60, RANK(3), 1);
	f[1] = said(62, RANK(3), 13);
	s = score_of(&t, f, 2);
	T_OK(s.acts == 2, "a slow GPU and late batches of one rank are two acts");
	score_fini(&s);
	corpus_truth_fini(&t);
}

static void alike(void)
{
	struct corpus_truth t = truth();
	struct diag_finding f[1] = { said(60, RANK(9), 19) };
	struct score s;

	t.event[0].kind = FAULT_NIC;
	t.event[0].alike[t.event[0].alikes++] = 9;
	s = score_of(&t, f, 1);
	T_OK(s.detected == 1 && s.top1 == 1, "one that cannot be told from it will do");
	score_fini(&s);
	f[0] = said(60, PLACE(DIAG_JOB, 0), 19);
	s = score_of(&t, f, 1);
	T_OK(!s.detected && s.vague == 1, "the job will not, as long as some can");
	score_fini(&s);
	t.event[0].alikes = 0;
	for (uint32_t i = 0; i < 32; i++)
		t.event[0].alike[t.event[0].alikes++] = i;
	s = score_of(&t, f, 1);
	T_OK(s.detected == 1 && s.top1 == 1, "it will where none can");
	score_fini(&s);
	corpus_truth_fini(&t);
}

/* --- files --- */

static void truth_files(void)
{
	struct corpus_opts o;
	struct corpus_case c;
	struct corpus_truth t, back = { 0 };
	struct folder_why why;
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	struct json j;
	uint32_t read = 0, same = 0, cut = 0;

	corpus_opts_init(&o);
	o.gpu = gpu_find("H100_SXM");
	o.steps = 40;
	o.max_ranks = 32;
	for (uint32_t i = 0; i < 6; i++) {
		if (corpus_case(&c, &o, i) < 0 || corpus_play(&c, NULL, NULL, &t) < 0)
			continue;
		f = open_memstream(&text, &len);
		json_init(&j, f);
		json_open(&j, NULL, '{');
		corpus_truth_json(&j, &c, &t);
		json_end(&j);
		fclose(f);
		read += folder_truth(&back, text, len, &why) == 0;
		same += back.world == t.world && back.steps == t.steps && back.events == t.events &&
			!strcmp(back.name, t.name) &&
			!memcmp(back.end_ns, t.end_ns, t.steps * sizeof(*t.end_ns));
		for (uint32_t e = 0; e < t.events; e++)
			same -= back.event[e].gain != t.event[e].gain ||
				back.event[e].alikes != t.event[e].alikes ||
				!diag_part_same(back.event[e].part, t.event[e].part);
		corpus_truth_fini(&back);
		cut += folder_truth(&back, text, len / 2, &why) == -EINVAL && why.line;
		corpus_truth_fini(&t);
		free(text);
	}
	T_OK(read == 6 && same == 6, "a truth is read as it was written");
	T_OK(cut == 6, "half of one is refused, with a reason");
}

static void finding_files(void)
{
	static const char *const good =
		"{\"case\":\"0001-x\",\"step\":5,\"component\":[\"rank:3\",\"host:0\"],\"kind\":"
		"\"F19\","
		"\"gain\":0.25,\"confidence\":0.9,\"act\":true}\n"
		"{\"case\":\"0002-y\",\"step\":7,\"component\":[\"job\"],\"kind\":null}\n";
	static const char *const bad[] = {
		"[]",
		"{",
		"{\"case\":\"x\"}",
		"{\"case\":\"x\",\"step\":1,\"component\":[\"gpu:1\"]}",
		"{\"case\":\"x\",\"step\":1,\"component\":\"rank:1\"}",
		"{\"case\":\"x\",\"step\":-1,\"component\":[\"rank:1\"]}",
		"{\"case\":\"x\",\"step\":1,\"component\":[\"rank:1\"],\"kind\":\"F31\"}",
		"{\"case\":\"x\",\"step\":1,\"component\":[\"rank:1\"],\"gain\":2}",
	};
	struct folder_lines l;
	struct folder_why why;
	int refused = 0;

	T_OK(folder_lines(&l, good, strlen(good), &why) == 0 && l.n == 2, "findings are read");
	T_OK(!strcmp(l.line[0].name, "0001-x") && l.line[0].f.kind == 19 && l.line[0].f.act &&
		     l.line[0].f.parts == 2 && l.line[0].f.part[1].level == DIAG_HOST &&
		     !l.line[1].f.act && l.line[1].f.kind == 0,
	     "as they were written");
	folder_lines_fini(&l);
	for (size_t i = 0; i < T_LEN(bad); i++)
		refused +=
			folder_lines(&l, bad[i], strlen(bad[i]), &why) == -EINVAL && why.line == 1;
	T_OK(refused == (int)T_LEN(bad), "what is none is refused, with its line");
}

/* --- contenders --- */

static struct diag_finding last;
static uint32_t heard;

static void hear(void *arg, const struct diag_finding *f)
{
	(void)arg;
	last = *f;
	heard++;
}

/* Eight ranks in step; from step 100 on rank 5 computes longer, and the others wait for it. */
static void step_of(struct step_rec r[8], uint32_t step, double slow)
{
	for (uint32_t i = 0; i < 8; i++) {
		double noise = 1 + 0.002 * ((step * 7 + i * 3) % 5), own = 80e6 * noise;
		struct step_slot *s;

		step_rec_init(&r[i]);
		r[i].rank = i;
		r[i].world = 8;
		r[i].step = step;
		r[i].host = i / 2;
		own *= i == 5 ? slow : 1;
		r[i].t.compute = (float)own;
		r[i].t.step = (float)(80e6 * slow + 10e6);
		r[i].t.exposed = r[i].t.step - r[i].t.compute;
		r[i].class[STEP_CLASS_GEMM] = (struct step_kernels){ 100, r[i].t.compute };
		s = step_rec_slot(&r[i], 77, STEP_OP_ALL_REDUCE);
		s->members = 8;
		step_slot_add(s, step + 1, 1 << 20, own, r[i].t.exposed);
	}
}

static void contenders(void)
{
	for (uint32_t i = 0; i < CONTENDERS; i++) {
		const struct diagnoser *d = contender[i];
		struct step_rec r[8];
		uint32_t before;
		void *state;
		int err = d->open(&state, 8);

		heard = 0;
		for (uint32_t step = 0; step < 100 && !err; step++) {
			step_of(r, step, 1);
			err = d->step(state, r, 8, hear, NULL);
		}
		before = heard;
		for (uint32_t step = 100; step < 160 && !err; step++) {
			step_of(r, step, 1.5);
			err = d->step(state, r, 8, hear, NULL);
		}
		T_OK(!err && !before, "%s: silent as long as all is well (%u)", d->name, before);
		if (!strcmp(d->name, "B0"))
			T_OK(heard && last.part[0].level == DIAG_JOB,
			     "then it says that the job is slow");
		else if (strcmp(d->name, "B9") != 0 && strcmp(d->name, "B7") != 0 &&
			 strcmp(d->name, "B2") != 0 && strcmp(d->name, "B2-10/12") != 0)
			T_OK(heard && last.part[0].level == DIAG_RANK && last.part[0].index == 5,
			     "then it names the rank");
		d->close(state);
	}
}

static void stands_still(void)
{
	struct step_rec r[8];
	void *state = NULL;
	const struct diagnoser *d = contender[CONTENDERS - 1];

	step_of(r, 9, 1);
	for (uint32_t i = 0; i < 8; i++) {
		r[i].flags |= STEP_F_PARTIAL;
		r[i].slot[0].issued += i != 2;
	}
	heard = 0;
	T_OK(d->open(&state, 8) == 0 && d->step(state, r, 8, hear, NULL) == 0 && heard == 1 &&
		     last.parts == 1 && last.part[0].index == 2,
	     "of a group that hangs, who is behind is named");
	d->close(state);
}

static void places(void)
{
	static const char *const good[] = { "rank:0", "host:4294967295", "leaf:7", "stage:12",
					    "job" };
	static const char *const bad[] = {
		"",     "rank",  "rank:",           "rank:x",  "rank:1 ",         "job:1",
		"jobs", "gpu:1", "rank:4294967296", "rank:-1", "rank:00000000001"
	};
	char text[DIAG_PART_LEN];
	struct diag_part p;
	bool same = true, none = true;

	for (size_t i = 0; i < T_LEN(good); i++)
		same &= text_place(&p, good[i], strlen(good[i])) &&
			!strcmp(diag_part_text(text, p), good[i]);
	for (size_t i = 0; i < T_LEN(bad); i++)
		none &= !text_place(&p, bad[i], strlen(bad[i]));
	T_OK(same && none, "places are read as they are written, and nothing else is one");
}

int main(void)
{
	places();
	stands_still();
	acts();
	small_and_none();
	known();
	alike();
	truth_files();
	finding_files();
	contenders();
	return t_done();
}
