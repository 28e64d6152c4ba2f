/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_state.c - decides when the state of a device, a node or a job is abnormal.
 *
 * The reference is the state at its best under load, or that of the peers at the same time,
 * whichever is higher: clocks below their maximum are normal, clocks below their own best and below
 * those of the peers are not. A GPU without work is never abnormal: it lowers its clocks and its
 * PCIe link by itself.
 */
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "insight/find/join.h"

#define BUSY      0.2  /* of a bin; less is idle */
#define LOW_CLOCK 0.96 /* of what it should be: GPUs of a kind differ by 1 to 2 % */
#define LOW_CPU   0.93
#define LOW_FAN   0.75
#define HOT_INLET 8    /* degrees above what it was */
#define ERRORS_S  12   /* an error tells of so many seconds behind it, */
#define FEW       0.25 /* a second: single errors slow nothing that can be measured */
#define BEFORE_S  8    /* and before: errors are read every 15 s */

/* The state of a GPU counts while it works, that of a host while its GPU does anything. */
static bool is_busy(const struct join *j, uint32_t d, enum join_signal s, uint32_t b)
{
	double least = signal_table[s].scope == JOIN_GPU ? BUSY : 0;

	return j->device[d].busy[b] > least * (double)j->width_ns;
}

static bool is_other(const struct join *j, uint32_t d, uint32_t p, enum join_signal s)
{
	enum join_scope scope = signal_table[s].scope;

	return j->device[p].owner[scope] && j->device[p].owner[scope] != j->device[d].owner[scope];
}

/* What others have in that bin: of at least two; NAN: there are fewer. */
static double others(const struct join *j, uint32_t d, enum join_signal s, uint32_t b)
{
	double v[64];
	size_t n = 0;

	for (uint32_t p = 0; p < j->devices && n < 64; p++) {
		double x =
			is_other(j, d, p, s) && is_busy(j, p, s, b) ? join_signal(j, p, s, b) : NAN;

		if (!isnan(x))
			v[n++] = x;
	}
	return n >= 2 ? median_of(v, n) : NAN;
}

/* The q-th part of the values that it had while it worked. */
static double own(const struct join *j, uint32_t d, enum join_signal s, double q)
{
	double v[JOIN_BINS_MAX];
	size_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++) {
		double x = is_busy(j, d, s, b) ? join_signal(j, d, s, b) : NAN;

		if (!isnan(x))
			v[n++] = x;
	}
	median_of(v, n);
	return n ? v[(size_t)(q * (double)(n - 1))] : NAN;
}

/* Bins in which a value is below `part` of what it should be; by how much, ln. */
static double low(const struct join *j, uint32_t d, enum join_signal s, double part, bool *bad)
{
	double best = own(j, d, s, 0.9), ln[JOIN_BINS_MAX];
	size_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++) {
		double v = join_signal(j, d, s, b), ref = others(j, d, s, b);

		ref = isnan(ref) || ref < best ? best : ref;
		if (!is_busy(j, d, s, b) || !(v > 0) || !(v < part * ref))
			continue;
		bad[b] = true;
		ln[n++] = log(ref / v);
	}
	return n ? median_of(ln, n) : 0;
}

/* Bins around those in which an error was counted: more of them than there always are. */
static void errors(const struct join *j, uint32_t d, enum join_signal s, double least, bool *bad)
{
	double width = (double)j->width_ns / 1e9, usual = own(j, d, s, 0.25);
	uint32_t behind = (uint32_t)ceil(ERRORS_S / width),
		 before = (uint32_t)ceil(BEFORE_S / width);

	for (uint32_t b = 0; b < j->bins; b++) {
		double v = join_signal(j, d, s, b);

		if (!(v > least) || v < 5 * usual)
			continue;
		for (uint32_t i = b > before ? b - before : 0; i < j->bins && i <= b + behind; i++)
			bad[i] = true;
	}
}

/* Bins in which a share of `all` is above `least`, and three times what it usually is. */
static void share(const struct join *j, uint32_t d, const enum join_signal *part, size_t parts,
		  const enum join_signal *all, size_t alls, double least, bool *bad)
{
	double v[JOIN_BINS_MAX], sorted[JOIN_BINS_MAX], usual;
	size_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++) {
		double x = 0, of = 0, y;

		for (size_t i = 0; i < parts; i++)
			x += isnan(y = join_signal(j, d, part[i], b)) ? 0 : y;
		for (size_t i = 0; i < alls; i++)
			of += isnan(y = join_signal(j, d, all[i], b)) ? 0 : y;
		v[b] = of > 0 ? x / of : NAN;
		if (!isnan(v[b]))
			sorted[n++] = v[b];
	}
	median_of(sorted, n);
	usual = n ? sorted[n / 10] : 0;
	/* From the begin on: nothing is usual then but what it should be. */
	usual = usual > least ? 0 : usual;
	for (uint32_t b = 0; b < j->bins; b++)
		bad[b] = v[b] > least && v[b] > 3 * usual;
}

static uint32_t count(const struct join *j, const bool *bad)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++)
		n += bad[b];
	return n;
}

static double mean_in(const struct join *j, uint32_t d, enum join_signal s, const bool *bad)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++) {
		double v = bad[b] ? join_signal(j, d, s, b) : NAN;

		if (!isnan(v)) {
			sum += v;
			n++;
		}
	}
	return n ? sum / n : 0;
}

/* Whether, where it is bad, a fan was slow or the air hot; which of them. */
static bool cooling(const struct join *j, uint32_t d, const bool *bad, enum join_signal *tells)
{
	static const enum join_signal fan[] = { SIGNAL_FAN_HWMON, SIGNAL_FAN_BMC };
	double cool = own(j, d, SIGNAL_INLET, 0.1);
	uint32_t need = count(j, bad) / 2, hot = 0;

	for (size_t i = 0; i < 2; i++) {
		bool slow[JOIN_BINS_MAX] = { false };
		uint32_t both = 0;

		low(j, d, fan[i], LOW_FAN, slow);
		for (uint32_t b = 0; b < j->bins; b++)
			both += slow[b] && bad[b];
		*tells = fan[i];
		if (both > need)
			return true;
	}
	*tells = SIGNAL_INLET;
	for (uint32_t b = 0; b < j->bins; b++)
		hot += bad[b] && join_signal(j, d, SIGNAL_INLET, b) > cool + HOT_INLET;
	return hot > need;
}

/* Why the SM clock is low, where it is. */
static enum cause clock_cause(const struct join *j, uint32_t d, struct join_state *out)
{
	double hot, power;

	for (uint32_t b = 0; b < j->bins; b++)
		if (join_signal(j, d, SIGNAL_IDLE_BITS, b) > 0.5)
			out->bad[b] = false;
	if (!count(j, out->bad))
		return CAUSES;
	hot = mean_in(j, d, SIGNAL_THERMAL_BITS, out->bad);
	power = mean_in(j, d, SIGNAL_POWER_BITS, out->bad);
	if (hot < 0.3 && power < 0.3)
		return CAUSE_CLOCK;
	if (power > hot)
		return CAUSE_POWER;
	return cooling(j, d, out->bad, &out->tells) ? CAUSE_COOLING : CAUSE_THERMAL;
}

static bool clock_state(const struct join *j, uint32_t d, enum cause c, struct join_state *out)
{
	out->explains = low(j, d, SIGNAL_SM_CLOCK, LOW_CLOCK, out->bad);
	if (clock_cause(j, d, out) != c)
		memset(out->bad, 0, sizeof(out->bad));
	if (c != CAUSE_COOLING)
		out->tells = SIGNAL_SM_CLOCK;
	return join_said(j, d, SIGNAL_SM_CLOCK);
}

struct error_row {
	enum join_signal s;
	double least;
};

/* Whether any of these was measured; the one with most errors tells. */
static bool error_state(const struct join *j, uint32_t d, const struct error_row *row, size_t rows,
			struct join_state *out)
{
	bool there = false;
	double most = 0;

	for (size_t i = 0; i < rows; i++) {
		bool bad[JOIN_BINS_MAX] = { false };
		double v;

		if (!join_said(j, d, row[i].s))
			continue;
		there = true;
		errors(j, d, row[i].s, row[i].least, bad);
		v = mean_in(j, d, row[i].s, bad);
		for (uint32_t b = 0; b < j->bins; b++)
			out->bad[b] |= bad[b];
		if (v > most) {
			most = v;
			out->tells = row[i].s;
		}
	}
	return there;
}

#define ROWS(a) a, sizeof(a) / sizeof(*(a))

static bool ecc_state(const struct join *j, uint32_t d, struct join_state *out)
{
	static const struct error_row row[] = { { SIGNAL_ECC_SBE, 0 },
						{ SIGNAL_ECC_DBE, 0 },
						{ SIGNAL_REMAPPED, 0 },
						{ SIGNAL_REMAPPED_UE, 0 } };
	bool there = error_state(j, d, ROWS(row), out);

	for (uint32_t b = 0; b < j->bins; b++)
		if (join_signal(j, d, SIGNAL_REMAP_DUE, b) > 0) {
			out->tells = count(j, out->bad) ? out->tells : SIGNAL_REMAP_DUE;
			out->bad[b] = true;
		}
	return there || join_said(j, d, SIGNAL_REMAP_DUE);
}

static bool pcie_state(const struct join *j, uint32_t d, struct join_state *out)
{
	static const struct error_row row[] = { { SIGNAL_PCIE_REPLAY, FEW } };
	bool narrow[JOIN_BINS_MAX] = { false };
	double width = low(j, d, SIGNAL_PCIE_WIDTH, 0.99, narrow),
	       gen = own(j, d, SIGNAL_PCIE_GEN, 0.9), old = 0;

	for (uint32_t b = 0; b < j->bins; b++) {
		double g = join_signal(j, d, SIGNAL_PCIE_GEN, b),
		       ref = others(j, d, SIGNAL_PCIE_GEN, b);

		ref = isnan(ref) || ref < gen ? gen : ref;
		if (is_busy(j, d, SIGNAL_PCIE_GEN, b) && g > 0 && g < ref) {
			narrow[b] = true;
			old = old > (ref - g) * log(2) ? old : (ref - g) * log(2);
		}
	}
	if (count(j, narrow)) { /* a link that was trained anew counts errors as well */
		memcpy(out->bad, narrow, sizeof(narrow));
		out->explains = width + old;
		out->tells = old > width ? SIGNAL_PCIE_GEN : SIGNAL_PCIE_WIDTH;
		return true;
	}
	return error_state(j, d, ROWS(row), out) || join_said(j, d, SIGNAL_PCIE_WIDTH);
}

static bool nvlink_state(const struct join *j, uint32_t d, struct join_state *out)
{
	static const struct error_row row[] = { { SIGNAL_NVLINK_FLIT, FEW },
						{ SIGNAL_NVLINK_DATA, FEW },
						{ SIGNAL_NVLINK_AGAIN, FEW },
						{ SIGNAL_NVLINK_BACK, 0 } };
	bool down[JOIN_BINS_MAX] = { false }, there = error_state(j, d, ROWS(row), out),
	     was_up = own(j, d, SIGNAL_NVLINK_UP, 0.9) > 0;

	for (uint32_t b = 0; b < j->bins; b++)
		down[b] = was_up && join_signal(j, d, SIGNAL_NVLINK_UP, b) == 0;
	if (count(j, down)) {
		memcpy(out->bad, down, sizeof(down));
		out->tells = SIGNAL_NVLINK_UP;
	}
	return there || join_said(j, d, SIGNAL_NVLINK_UP);
}

static bool nic_state(const struct join *j, uint32_t d, struct join_state *out)
{
	static const struct error_row row[] = {
		{ SIGNAL_TCP_AGAIN, 5 },     { SIGNAL_NET_RX_ERRS, FEW },
		{ SIGNAL_NET_TX_ERRS, FEW }, { SIGNAL_NET_CARRIER, 0 },
		{ SIGNAL_IB_ERRORS, FEW },   { SIGNAL_IB_SYMBOLS, FEW },
		{ SIGNAL_IB_RECOVERY, 0 },   { SIGNAL_IB_DOWNED, 0 },
		{ SIGNAL_RDMA_AGAIN, FEW },  { SIGNAL_RDMA_TIMEOUT, FEW },
	};
	bool slow[JOIN_BINS_MAX] = { false }, there = error_state(j, d, ROWS(row), out);
	double rate = low(j, d, SIGNAL_IB_RATE, 0.95, slow);

	if (count(j, slow)) {
		memcpy(out->bad, slow, sizeof(slow));
		out->explains = rate;
		out->tells = SIGNAL_IB_RATE;
	}
	return there || join_said(j, d, SIGNAL_IB_RATE);
}

static bool share_state(const struct join *j, uint32_t d, enum cause c, struct join_state *out)
{
	static const enum join_signal all[] = { SIGNAL_CPU_ALL }, steal[] = { SIGNAL_CPU_STEAL },
				      irq[] = { SIGNAL_CPU_SOFTIRQ, SIGNAL_CPU_IRQ },
				      there[] = { SIGNAL_NUMA_THERE },
				      pages[] = { SIGNAL_NUMA_HERE, SIGNAL_NUMA_THERE };

	switch (c) {
	case CAUSE_STEAL:
		out->tells = SIGNAL_CPU_STEAL;
		share(j, d, ROWS(steal), ROWS(all), 0.03, out->bad);
		break;
	case CAUSE_IRQ:
		out->tells = SIGNAL_CPU_SOFTIRQ;
		share(j, d, ROWS(irq), ROWS(all), 0.06, out->bad);
		break;
	default:
		out->tells = SIGNAL_NUMA_THERE;
		share(j, d, ROWS(there), ROWS(pages), 0.15, out->bad);
	}
	return join_said(j, d, out->tells);
}

/* Bins in which a rate is above what it usually is by `least`, and by a third of what it ever is: when a constant
 * counter began to rise is not known to the second. */
static bool above(const struct join *j, uint32_t d, enum join_signal s, double least,
		  struct join_state *out)
{
	double usual = own(j, d, s, 0.1), most = own(j, d, s, 0.9);

	usual = usual < least ? usual : 0;
	least = most - usual > 3 * least ? (most - usual) / 3 : least;
	out->tells = s;
	for (uint32_t b = 0; b < j->bins; b++)
		out->bad[b] = join_signal(j, d, s, b) > usual + least;
	return join_said(j, d, s);
}

static bool shared_state(const struct join *j, uint32_t d, struct join_state *out)
{
	double usual = own(j, d, SIGNAL_PROCESSES, 0.1);

	out->tells = SIGNAL_PROCESSES;
	for (uint32_t b = 0; b < j->bins; b++) {
		double them = others(j, d, SIGNAL_PROCESSES, b);

		them = them < usual ? them : usual;
		out->bad[b] = join_signal(j, d, SIGNAL_PROCESSES, b) > them;
	}
	return join_said(j, d, SIGNAL_PROCESSES);
}

bool join_state(const struct join *j, uint32_t d, enum cause c, struct join_state *out)
{
	memset(out, 0, sizeof(*out));
	switch (c) {
	case CAUSE_COOLING:
	case CAUSE_THERMAL:
	case CAUSE_POWER:
	case CAUSE_CLOCK:
		return clock_state(j, d, c, out);
	case CAUSE_MEMCLK:
		out->tells = SIGNAL_MEM_CLOCK;
		out->explains = low(j, d, SIGNAL_MEM_CLOCK, LOW_CLOCK, out->bad);
		return join_said(j, d, SIGNAL_MEM_CLOCK);
	case CAUSE_ECC:
		return ecc_state(j, d, out);
	case CAUSE_PCIE:
		return pcie_state(j, d, out);
	case CAUSE_NVLINK:
		return nvlink_state(j, d, out);
	case CAUSE_NIC:
		return nic_state(j, d, out);
	case CAUSE_QUOTA:
		return above(j, d, SIGNAL_QUOTA_STOPS, 0.05, out);
	case CAUSE_CPUCLK:
		out->tells = SIGNAL_CPU_CLOCK;
		out->explains = low(j, d, SIGNAL_CPU_CLOCK, LOW_CPU, out->bad);
		return join_said(j, d, SIGNAL_CPU_CLOCK);
	case CAUSE_CPU:
		return above(j, d, SIGNAL_CPU_WAITING, 0.2, out);
	case CAUSE_SHARED:
		return shared_state(j, d, out);
	case CAUSE_SLOWER: /* only the kernels show it */
		out->tells = SIGNAL_SM_CLOCK;
		return join_said(j, d, SIGNAL_SM_CLOCK);
	default:
		return share_state(j, d, c, out);
	}
}
