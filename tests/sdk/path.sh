#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The way of a newcomer: an installed tree, the template copied from it, made, named in a dat.conf, dumped, opened, tested.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
. "$top_srcdir/tests/install/movable.sh"
unset DAT_OVERRIDE LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL MFLAGS

prefix=$(sed -n 's/^prefix = //p' Makefile)
moved=$tap_dir/moved
mine=$tap_dir/mine
export PKG_CONFIG_PATH=$moved/lib/pkgconfig

installs() { make -s install DESTDIR="$tap_dir/dest" && mv "$tap_dir/dest$prefix" "$moved"; }
copies() { cp -r "$(pkg-config --define-prefix --variable=templatedir datp)" "$mine" && ls "$mine/template.c"; }
builds() { make -C "$mine" CC="$CC" CFLAGS="$CFLAGS -Wall -Wextra -Werror" PKG_CONFIG='pkg-config --define-prefix'; }
conforms()
{
	"$moved/bin/datconform" --ia template0 --jobs 2 --patience 20 --timeout 90 >"$tap_dir/report" 2>&1
	grep -A3 '^FAILED' "$tap_dir/report"
	tail -n 1 "$tap_dir/report" | grep -E '^[0-9]{3,} passed, 0 failed,'
}

tap 'sdk: the tree installs' installs || tap_end
tap 'sdk: the template is where pkg-config says' copies || tap_end
tap 'sdk: it builds with the flags of datp.pc alone' builds || tap_end
export DAT_OVERRIDE=$mine/dat.conf
cat >"$DAT_OVERRIDE" <<END
# my first adapter
template0 u1.2 nonthreadsafe default $mine/libdattemplate.so template.1.0 "" ""
END
tap 'sdk: it can be dumped' tap_holds '^loads=yes$' "$moved/bin/datctl" dump "$mine/libdattemplate.so"
tap 'sdk: datctl check is content with it' "$moved/bin/datctl" check "$DAT_OVERRIDE"
tap 'sdk: it opens' tap_holds template0 "$moved/bin/datctl" show template0
tap 'sdk: it conforms to what it declares' conforms
tap_end
