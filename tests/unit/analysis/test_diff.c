/* SPDX-License-Identifier: Apache-2.0 */
/* Two small traces side by side: what differs, how sure that is, and what cannot be compared. */
#include <math.h>
#include <string.h>

#include "insight/diff.h"
#include "t.h"
#include "tracekit.h"

struct side {
	struct trace *t;
	struct insight *in;
	struct findings *fs;
	struct profile p;
};

static void open_side(struct side *s, const char *text, struct profile_of of)
{
	s->t = kit_trace(text);
	if (insight_new(&s->in, s->t) < 0 || findings_new(&s->fs, s->in) < 0 ||
	    profile_init(&s->p, s->in, s->fs, of) < 0)
		abort();
}

static void close_side(struct side *s)
{
	profile_fini(&s->p);
	findings_free(s->fs);
	insight_free(s->in);
	trace_free(s->t);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(1, fmax(fabs(a), fabs(b)));
}

/* clang-format off */
static const char steps_3[] = /* 90, 100, 110: mean 100, sd 10 */
	"step 1 0 90 1;step 1 100 100 2;step 1 200 110 3;"
	"kernel 0 7 0 50 1 gemm_a;kernel 0 7 110 50 2 gemm_a;kernel 0 7 210 50 3 gemm_a";
static const char steps_4[] = /* 120, 130, 130, 140: mean 130, variance 200 / 3 */
	"step 1 0 120 1;step 1 200 130 2;step 1 400 130 3;step 1 600 140 4;"
	"kernel 0 7 0 80 1 gemm_a;kernel 0 7 210 80 2 gemm_a;kernel 0 7 410 80 3 gemm_a;kernel 0 7 610 80 4 gemm_a";

static const char *const texts[] = {
	steps_3, steps_4,
	"kernel 0 7 0 50 1 gemm;kernel 0 8 20 100 2 ncclDevKernel_AllReduce",
	"step 1 0 100 1;copy 0 7 10 30 1 100 1;kernel 0 8 20 40 2 softmax;kernel 1 7 0 10 3 gemm",
	"step 1 0 100 1",
	"",
};

static const struct {
	const char *a, *b, *why_not; /* NULL: they compare */
} pairs[] = {
	{ steps_3, steps_4, NULL },
	{ "", "", "both did nothing" },
	{ "", steps_3, "the first did nothing" },
	{ steps_3, "step 1 0 100 1", "the second did nothing" },
	{ steps_3, "kernel 0 7 0 50 1 gemm_a", "only the first has steps" },
	{ "file 0;kernel 0 7 0 50 1 gemm_a", "file 0;kernel 0 7 0 50 1 gemm_a;file 1;kernel 0 7 0 50 1 gemm_a", "1 ranks against 2" },
	{ "kernel 0 7 0 50 1 gemm_a", "kernel 0 7 0 50 1 softmax", "only 0 %" },
};
/* clang-format on */

static void test_sums(void)
{
	int bad = 0;

	for (size_t i = 0; i < T_LEN(texts); i++) {
		struct side s;
		double sum = 0;

		open_side(&s, texts[i], PROFILE_ALL);
		for (size_t k = 0; k < PROFILE_PARTS; k++)
			sum += s.p.part_ns[k];
		/* Without a GPU there is nothing to take apart. */
		if (!isfinite(sum) || (s.p.devices && !near(sum, s.p.step_ns))) {
			printf("# %s: %g of %g\n", texts[i], sum, s.p.step_ns);
			bad++;
		}
		close_side(&s);
	}
	T_OK(bad == 0, "the parts of a profile sum to its step");
}

static void test_pairs(void)
{
	int bad = 0;

	for (size_t i = 0; i < T_LEN(pairs); i++) {
		const char *want = pairs[i].why_not;
		struct side a, b;
		struct diff d;

		open_side(&a, pairs[i].a, PROFILE_ALL);
		open_side(&b, pairs[i].b, PROFILE_ALL);
		if (diff_init(&d, &a.p, &b.p) < 0)
			abort();
		if (want ? !strstr(d.why_not, want) : *d.why_not) {
			printf("# %zu: '%s', not '%s'\n", i, d.why_not, want ? want : "");
			bad++;
		}
		bad += !(d.explained >= 0 && d.explained <= 1) || !isfinite(d.delta_ns);
		diff_fini(&d);
		close_side(&a);
		close_side(&b);
	}
	T_OK(bad == 0, "what cannot be compared is said, and why");
}

/* Welch: variances 100 / 3 and 200 / 3 / 4, together 50; 3.857 degrees of freedom. */
static void test_interval(void)
{
	struct side a, b, one;
	struct diff d;
	double half;

	open_side(&a, steps_3, PROFILE_ALL);
	open_side(&b, steps_4, PROFILE_ALL);
	open_side(&one, steps_4, (struct profile_of){ TRACE_NO_RANK, 2, 2 });
	if (diff_init(&d, &a.p, &b.p) < 0)
		abort();
	half = (d.hi_ns - d.lo_ns) / 2;
	T_OK(near(d.delta_ns, 30) && near((d.hi_ns + d.lo_ns) / 2, 30), "the mean step's change");
	T_OK(d.sure && fabs(half / sqrt(50) / 2.8175 - 1) < 0.01,
	     "lies with 95 %% where Student's t says, within 1 %%");
	diff_fini(&d);
	if (diff_init(&d, &a.p, &one.p) < 0)
		abort();
	T_OK(one.p.steps == 1 && !d.sure && near(d.delta_ns, 30), "one step alone is not sure");
	diff_fini(&d);
	close_side(&a);
	close_side(&b);
	close_side(&one);
}

/* Two windows without steps: of the same length, of the same work, with other kernels. */
static void test_work(void)
{
	static const char four[] = "kernel 0 7 0 20 1 gemm_a;kernel 0 7 25 20 2 gemm_a;"
				   "kernel 0 7 50 20 3 gemm_a;kernel 0 7 75 20 4 gemm_a";
	static const char three[] = "kernel 0 7 0 1 9 gemm_once;kernel 0 7 2 28 1 gemm_a;"
				    "kernel 0 7 34 28 2 gemm_a;kernel 0 7 67 28 3 gemm_a";
	static const char wider[] = "kernel 0 7 0 20 1 gemm_a;kernel 0 7 50 20 2 gemm_a;"
				    "kernel 0 7 100 20 3 gemm_a;kernel 0 7 150 20 4 gemm_a";
	static const char mm[] =
		"op 1 0 9 0 mm;api 1 5 4 1 0 cudaLaunchKernel;kernel 0 7 20 50 1 gemm_a;"
		"op 1 70 9 0 mm;api 1 75 4 2 0 cudaLaunchKernel;kernel 0 7 80 20 2 gemm_a";
	static const char mm_once[] =
		"op 1 0 9 0 mm;api 1 5 4 1 0 cudaLaunchKernel;kernel 0 7 20 80 1 gemm_b";
	static const struct {
		const char *a, *b, *text;
		double work, delta;
		enum insight_by by;
	} want[] = {
		{ four, three, "fewer calls in the same time are slower", 0.75, 95 / 0.75 - 95,
		  ROLL_KERNEL },
		{ four, wider, "as many calls in more time are slower", 1, 75, ROLL_KERNEL },
		{ four, four, "the same is the same", 1, 0, ROLL_KERNEL },
		{ mm, mm_once, "other kernels of the same operators count", 0.5, 100, ROLL_OP },
	};

	for (size_t i = 0; i < T_LEN(want); i++) {
		struct side a, b;
		struct diff d;

		open_side(&a, want[i].a, PROFILE_ALL);
		open_side(&b, want[i].b, PROFILE_ALL);
		if (diff_init(&d, &a.p, &b.p) < 0)
			abort();
		T_OK(near(d.work, want[i].work) && near(d.delta_ns, want[i].delta) &&
			     d.work_by == want[i].by,
		     "%s: %g of the work, %g", want[i].text, d.work, d.delta_ns);
		diff_fini(&d);
		close_side(&a);
		close_side(&b);
	}
}

/* What aon why says of a step is what a profile has. */
static void test_account(void)
{
	static const char text[] = "step 1 0 100 1;step 1 100 100 2;op 1 0 90 0 slow.py(3): f;api "
				   "1 92 2 1 0 cudaLaunchKernel;"
				   "kernel 0 7 95 40 1 gemm_a;api 1 150 2 2 0 "
				   "cudaLaunchKernel;kernel 0 7 160 60 2 gemm_a";
	struct side s;

	open_side(&s, text, PROFILE_ALL);
	T_OK(near(s.p.step_ns, (double)s.in->device[0].account.base_ns / 2) &&
		     near(s.p.part_ns[CLASS_GEMM],
			  (double)s.in->device[0].account.ns[ACCOUNT_COMPUTE] / 2),
	     "a profile's step and parts are the account's");
	close_side(&s);
}

static void test_rows(void)
{
	static const char before[] =
		"op 1 0 20 0 mm;api 1 5 5 1 0 cudaLaunchKernel;kernel 0 7 20 50 1 gemm_a;"
		"op 1 30 20 0 add;api 1 35 5 2 0 cudaLaunchKernel;kernel 0 7 70 9 2 add_k";
	static const char after[] =
		"op 1 0 20 0 mm;api 1 5 5 1 0 cudaLaunchKernel;kernel 0 7 20 70 1 gemm_b;"
		"op 1 30 20 0 add;api 1 35 5 2 0 cudaLaunchKernel;kernel 0 7 90 8 2 add_k";
	const struct diff_row *r;
	struct side a, b;
	struct diff d;

	open_side(&a, before, PROFILE_ALL);
	open_side(&b, after, PROFILE_ALL);
	if (diff_init(&d, &a.p, &b.p) < 0)
		abort();
	r = d.roll[ROLL_KERNEL].row;
	T_OK(d.roll[ROLL_KERNEL].rows == 3 && !strcmp(r[0].name, "gemm_b") && r[0].a_count <= 0 &&
		     near(r[0].b_ns, 70) && !strcmp(r[1].name, "gemm_a") && r[1].b_count <= 0 &&
		     !strcmp(r[2].name, "add_k"),
	     "kernels by name, the greatest change first");
	r = d.roll[ROLL_OP].row;
	T_OK(d.roll[ROLL_OP].rows == 2 && !strcmp(r[0].name, "mm") && near(r[0].a_ns, 50) &&
		     near(r[0].b_ns, 70) && near(r[1].b_ns - r[1].a_ns, -1),
	     "an op is the same, whatever it launched");
	T_OK(d.roll[ROLL_MODULE].rows == 0, "no module, no row");
	diff_fini(&d);
	close_side(&a);
	close_side(&b);
}

int main(void)
{
	test_sums();
	test_pairs();
	test_interval();
	test_rows();
	test_work();
	test_account();
	return t_done();
}
