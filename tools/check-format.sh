#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if a C file of the repository is not formatted as .clang-format says.
#   tools/check-format.sh [ROOT] [KNOWN]
# KNOWN keeps the hashes of files that passed, so that only changed files are checked again.
set -eu
known=${2:-/dev/null}
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
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for f in $files; do
	[ ! -e "$f" ] || echo "$f"
done >"$tmp/files"
style=$(git hash-object .clang-format)
git hash-object --stdin-paths <"$tmp/files" >"$tmp/hashes"
paste -d' ' "$tmp/hashes" "$tmp/files" | sed "s/^/$style /" | sort >"$tmp/now"
[ -e "$known" ] || : >"$known"
comm -23 "$tmp/now" "$known" | cut -d' ' -f3 | xargs -r -n 16 -P "$(nproc)" "$tool" --dry-run --Werror
[ "$known" = /dev/null ] || mv "$tmp/now" "$known"
