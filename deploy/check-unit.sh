#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if systemd rates the exposure of the unit above 1.5 of 10.
set -eu
command -v systemd-analyze >/dev/null || {
	echo "SKIP: no systemd-analyze"
	exit 77
}
systemd-analyze security --help | grep -q -- --offline || {
	echo "SKIP: systemd-analyze is too old"
	exit 77
}
systemd-analyze security --no-pager --offline=true --threshold=15 "$1"
