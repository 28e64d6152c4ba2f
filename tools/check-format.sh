#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when a C file of the repository is not as .clang-format has it.
set -eu
cd "${1:-.}"
tool=$(command -v clang-format-14 || command -v clang-format) || {
	echo "SKIP: no clang-format"
	exit 77
}
"$tool" --version | grep -q 'version 14' || {
	echo "SKIP: .clang-format is written for version 14, not $("$tool" --version)"
	exit 77
}
files=$(git ls-files '*.c' '*.h' 2>/dev/null) || files=$(find src include tests bench examples man -name '*.[ch]')
for f in $files; do
	[ ! -e "$f" ] || echo "$f"
done | xargs "$tool" --dry-run --Werror
