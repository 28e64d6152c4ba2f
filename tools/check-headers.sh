#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when a public header is not C99 and C++11, or a header of src/ does not compile alone.
set -eu
cd "${1:-.}"
bad=0
try() {
	what=$1
	shift
	if ! echo "#include \"$header\"" | "$@" -fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc -; then
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
for f in src/*/*.h; do
	case $f in *.tbl.h) continue ;; esac
	header=${f#src/}
	try "complete in itself" "${CC:-gcc}" -x c -std=gnu11 -D_GNU_SOURCE
done
exit $bad
