// SPDX-License-Identifier: Apache-2.0
// kind: plain C, without libaon: numbers are read by sscanf() from a long line, which is measured anew for each of them
// family: host_code cpu_bound
// culprit: plant_f
// action: plant_f|cheaper
// needs: cc
// draw: kb=48..128 other=4..10
// healthy: yes
#include "planted.h"

#define NUMBERS 65536
static double row[NUMBERS], field[256][256];

long plant_f(const char *line, int quick)
{
	long n = 0;
	int used;

	while (n < NUMBERS) {
		if (quick) {
			char *end;

			row[n] = strtod(line, &end);
			used = end == line ? 0 : (int)(end - line) + 1;
		} else if (sscanf(line, "%lf,%n", &row[n], &used) != 1) {
			used = 0;
		}
		if (!used)
			break;
		line += used;
		n++;
	}
	return n;
}

void plant_g(double by)
{
	for (int k = 1; k < 255; k++)
		for (int i = 1; i < 255; i++)
			field[k][i] = by * (field[k - 1][i] + field[k + 1][i] + field[k][i - 1] +
					    field[k][i + 1] + row[i]);
}

int main(void)
{
	int on = (int)param("on", 1);
	size_t size = (size_t)param("kb", 32) << 10;
	char *line = malloc(size + 16);
	double t;

	for (size_t at = 0; at < size;)
		at += (size_t)sprintf(line + at, "%zu.25,", at % 1000);
	while (more()) {
		double end;

		t = now_ms();
		plant_f(line, !on);
		if (on)
			cost(now_ms() - t);
		end = now_ms() + param("other", 4);
		while (now_ms() < end)
			plant_g(0.2);
	}
	return said();
}
