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
	[ ! -f "$f" ] || echo "$f"
done | xargs awk 'FNR == 1 && /^#!.*[\/ ](ba|da)?sh( |$)/ { print FILENAME } { nextfile }' | xargs shellcheck --severity=style
