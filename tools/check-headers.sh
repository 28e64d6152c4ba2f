#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when a public header is not C99 and C++11, or a header of src/ does not compile alone.
set -eu
cd "${1:-.}"
bad=0
# A folder is included by its own name, whichever group it is in.
groups=$(for d in src/*/; do echo "-I${d%/}"; done)
try() {
	what=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	if ! echo "#include \"$header\"" | "$@" -fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc $groups -; then
		echo "$header: not $what"
		bad=1
	fi
}
for f in include/aon/*.h; do
	header=${f#include/}
	try C99 "${CC:-gcc}" -x c -std=c99 -pedantic-errors
	try C11 "${CC:-gcc}" -x c -std=gnu11
	try C++11 "${CXX:-g++}" -x c++ -std=c++11 -pedantic-errors -Wold-style-cast -Wno-error=old-style-cast
	try C++20 "${CXX:-g++}" -x c++ -std=c++20 -pedantic-errors
done
# shellcheck disable=SC2044 # no name in the tree has a space
for header in $(cd src && find . -name '*.h' ! -name '*.tbl.h' -printf '%P\n'); do
	try "complete in itself" "${CC:-gcc}" -x c -std=gnu11 -D_GNU_SOURCE
done
exit $bad
