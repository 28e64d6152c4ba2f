// SPDX-License-Identifier: Apache-2.0
// plain_cpp11 - the public headers in a C++11 program: the range object, and thrown exceptions.
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <aon/aon.h>
#include <aon/provider.h>

static void work(int depth)
{
	aon::range r("work");

	if (depth == 0)
		throw std::runtime_error("through four ranges");
	work(depth - 1);
}

int main()
{
	int caught = 0;

	aon_join(2000);
	std::thread([&caught] {
		try {
			work(3);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}).join();
	AON_PUSH("literal");
	AON_MARK("mark", 1, 2, 3);
	AON_COUNTER("counter", caught);
	AON_POP();
	std::printf("%d %s\n", aon_joined(), aon_version());
	return caught == 1 ? 0 : 1;
}
