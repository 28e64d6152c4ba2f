/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_conf.c - gpu.conf: what is accepted, and for which versions it holds. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/gpu_conf.h"
#include "t.h"

static struct gpu_conf g;

static unsigned parse(const char *text)
{
	return gpu_conf_parse(&g, text, strlen(text));
}

static void accepts(void)
{
	char text[GPU_CONF_BYTES];
	struct gpu_conf b;

	T_OK(!parse("# a comment\n\ngraphs = template\nlate_ms = 250\nwhy = count\nfidelity = "
		    "heartbeat\n") &&
		     g.graphs == GPU_GRAPHS_TEMPLATE && g.late_ms == 250 &&
		     !strcmp(g.why, "count") && g.fidelity == GPU_FIDELITY_HEARTBEAT,
	     "words, numbers and texts");
	T_OK(g.buffer_kib == 16 && g.callbacks == 1 && !g.launch_ns && !strcmp(g.driver, "-"),
	     "what a file does not say is as without a file");
	gpu_conf_write(&g, text, sizeof(text));
	T_OK(!gpu_conf_parse(&b, text, strlen(text)) && !memcmp(&b, &g, sizeof(g)),
	     "what is written is read alike");
	T_OK(!parse("graphs = graph") && g.graphs == GPU_GRAPHS_WHOLE,
	     "a last line without an end");
}

static void refuses(void)
{
	static const char *const bad[] = {
		"graphs = nodes\n",
		"graphs=node\n",
		"late_ms = 0\n",
		"late_ms = 1001\n",
		"late_ms = 1e2\n",
		"late_ms = -1\n",
		"late_ms = \n",
		"no such key = 1\n",
		"why = \n",
		"why = two words\n",
		"callbacks = 2\n",
		"cuda = 99999999999999999999\n",
		"driver = 0123456789012345678901234567890123456789\n",
	};

	for (size_t i = 0; i < T_LEN(bad); i++)
		T_OK(parse(bad[i]) == 1 && g.graphs == GPU_GRAPHS_NODE && g.late_ms == 100,
		     "not %.*s", (int)strcspn(bad[i], "\n"), bad[i]);
	T_OK(parse("graphs = template\nlate_ms = x\n") == 2 && g.graphs == GPU_GRAPHS_NODE,
	     "one wrong line, and nothing of the file holds");
}

static void versions(void)
{
	parse("driver = 580.65.06\ncuda = 13000\ncupti = 130000\n");
	T_OK(!gpu_conf_differs(&g, "580.65.06", 13000, 130000), "the same driver and CUPTI");
	T_OK(strstr(gpu_conf_differs(&g, "580.65.07", 13000, 130000), "another driver"),
	     "another build of the driver");
	T_OK(strstr(gpu_conf_differs(&g, "580.65.06", 13010, 130000), "another driver"),
	     "a driver of another CUDA");
	T_OK(strstr(gpu_conf_differs(&g, "580.65.06", 13000, 130001), "another CUPTI"),
	     "another CUPTI");
}

static void files(void)
{
	char path[] = "/tmp/aon-gpu-conf-XXXXXX", text[GPU_CONF_BYTES];
	FILE *f;

	close(mkstemp(path));
	f = fopen(path, "w");
	fputs("graphs = graph\n", f);
	fclose(f);
	T_OK(!gpu_conf_read(&g, path) && g.graphs == GPU_GRAPHS_WHOLE, "a file");
	memset(text, '#', sizeof(text));
	f = fopen(path, "w");
	fwrite(text, 1, sizeof(text), f);
	fclose(f);
	T_OK(gpu_conf_read(&g, path) == -EINVAL, "a file that is too long");
	unlink(path);
	T_OK(gpu_conf_read(&g, path) == -ENOENT, "no file");
	T_OK(gpu_conf_read(&g, "/dev/zero") == -EINVAL && gpu_conf_read(&g, "/tmp") == -EINVAL,
	     "what is no regular file is not read");
}

int main(void)
{
	accepts();
	refuses();
	versions();
	files();
	return t_done();
}
