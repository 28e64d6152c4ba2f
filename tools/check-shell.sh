#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when shellcheck finds fault with a script of the repository.
set -eu
cd "${1:-.}"
command -v shellcheck >/dev/null || {
	echo "SKIP: no shellcheck"
	exit 77
}
files=$(git ls-files 2>/dev/null) || files=$(find . -path ./.git -prune -o -type f -print)
for f in $files; do
	if [ -f "$f" ] && head -c 64 "$f" | head -n 1 | grep -aqE '^#!.*\b(ba|da)?sh\b'; then
		echo "$f"
	fi
done | xargs shellcheck --severity=style
