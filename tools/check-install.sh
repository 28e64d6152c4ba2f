#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when an installed aon lacks something, or a program cannot be built and run against it.
set -eu
root=$1
build=$2
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
DESTDIR=$d meson install -C "$build" --no-rebuild --quiet >/dev/null
bad=0
for f in bin/aon sbin/aond libexec/aon/aon-gpu-check libexec/aon/libaon-gpu-check.so libaon-nvtx.so libaon-nccl.so aon_sqlite.so include/aon/aon.h include/aon/provider.h include/aon/model.h libaon-model.so include/aon/consumer.h libaon-consumer.so share/man/man1/aon.1 \
	share/man/man3/libaon.3 share/man/man5/aond.conf.5 share/man/man8/aond.8 \
	lib/systemd/system/aond.service lib/systemd/system/aond.socket \
	lib/systemd/system/aond-admin.socket lib/sysusers.d/aon.conf lib/tmpfiles.d/aon.conf \
	share/bash-completion/completions/aon share/zsh/site-functions/_aon \
	share/fish/vendor_completions.d/aon.fish share/doc/aon/aond.conf; do
	[ -n "$(find "$d" -path "*/$f")" ] || {
		echo "not installed: $f"
		bad=1
	}
done
pc=$(dirname "$(find "$d" -name aon.pc)")
PKG_CONFIG_SYSROOT_DIR=$d PKG_CONFIG_LIBDIR=$pc pkg-config --cflags --libs aon >"$d/flags"
# shellcheck disable=SC2046 # words
${CC:-cc} "$root/examples/hello.c" $(cat "$d/flags") -o "$d/hello"
lib=$(dirname "$(find "$d" -name libaon.so)")
n=$(AON_RUN_DIR=$d/none LD_LIBRARY_PATH=$lib "$d/hello" | grep -c '^hello ')
[ "$n" = 100 ] || {
	echo "hello said $n lines, not 100"
	bad=1
}
# The models, against the installed header; the library exports nothing else.
PKG_CONFIG_SYSROOT_DIR=$d PKG_CONFIG_LIBDIR=$pc pkg-config --cflags --libs aon-model >"$d/flags"
# shellcheck disable=SC2046 # words
${CC:-cc} -std=c99 "$root/examples/model.c" $(cat "$d/flags") -o "$d/model"
LD_LIBRARY_PATH=$lib "$d/model" | grep -q '^H100_SXM .* limited by compute' || {
	echo "the models do not know H100"
	bad=1
}
nm -D --defined-only "$lib/libaon-model.so" | grep -v -e ' aon_model_' -e ' A AON_MODEL_0' && {
	echo "libaon-model.so exports more than aon_model_*"
	bad=1
}
# A consumer, the same way; where there is no aond it says so.
PKG_CONFIG_SYSROOT_DIR=$d PKG_CONFIG_LIBDIR=$pc pkg-config --cflags --libs aon-consumer >"$d/flags"
# shellcheck disable=SC2046 # words
${CC:-cc} -std=c99 "$root/examples/consumer.c" $(cat "$d/flags") -o "$d/consumer"
AON_RUN_DIR=$d/none LD_LIBRARY_PATH=$lib "$d/consumer" 2>&1 | grep -q '^no live events' || {
	echo "a consumer without aond does not say so"
	bad=1
}
nm -D --defined-only "$lib/libaon-consumer.so" | grep -v -e ' aon_consumer_' -e ' A AON_CONSUMER_0' && {
	echo "libaon-consumer.so exports more than aon_consumer_*"
	bad=1
}
# The installed probes find libaon beside themselves.
for probe in nvtx nccl; do
	ldd "$lib/libaon-$probe.so" | grep -q "libaon.so.0 => $lib/" || {
		echo "libaon-$probe.so does not find libaon.so.0 beside itself"
		bad=1
	}
done
# The example of the settings must be one that aond accepts.
"$(find "$d" -path '*/sbin/aond')" -n -c "$(find "$d" -path '*/doc/aon/aond.conf')" || {
	echo "aond refuses the example of its settings"
	bad=1
}
exit $bad
