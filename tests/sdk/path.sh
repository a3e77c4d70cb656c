#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The way of a newcomer: an installed tree, the templates copied from it, made, judged and installed by the commands of its CI
# workflow, opened by its bare name. No variable says where OpenDAT's libraries are.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
. "$top_srcdir/tests/install/movable.sh"
unset DAT_OVERRIDE LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL MFLAGS

mine=$tap_dir/mine
export PKG_CONFIG_PATH=$moved/lib/pkgconfig

copies() { cp -r "$(pkg-config --define-prefix --variable=templatedir datp)" "$mine" && ls "$mine/template.c"; }

# in_mine COMMAND...: runs the command as the author of the plugin would. The tree was moved, so pkg-config has to be told; it may be built for a
# sanitizer, so there are flags; and this machine may be busy.
in_mine()
{
	(cd "$mine" && PATH=$moved/bin:$PATH CFLAGS="$CFLAGS -Wall -Wextra -Werror" PKG_CONFIG='pkg-config --define-prefix' \
		DATCONFORM_FLAGS='--jobs 2 --patience 20 --timeout 90' "$@")
}

# The commands of a step of the workflow, whose output $tap_dir/said keeps.
step()
{
	awk -v want="- name: $1" '{ line = $0; sub(/^ +/, "", line) }
		line ~ /^- / { inside = line == want; next } inside && line == "run: |" { text = 1; next }
		inside && text { print line }' "$mine/ci.yml"
}

step_passes()
{
	local commands status
	commands=$(step "$1")
	[ -n "$commands" ] || { echo "the workflow has no step $1"; return 1; }
	[ "${SANITIZE:-no}" = no ] || commands=$(sed "s/-g -O2/$CFLAGS/" <<<"$commands")
	in_mine bash -euxo pipefail -c "$commands" >"$tap_dir/said" 2>&1
	status=$?
	cat "$tap_dir/said"
	return $status
}

verdicts_are_kept() { grep -E '<testsuites? [^>]*tests="[0-9]{3,}" failures="0"' "$mine/datconform.xml"; }

# line NAME LIBRARY PARAMS: a line of dat.conf
line() { echo "$1 u1.2 nonthreadsafe default $2 template.1.0 \"$3\" \"\""; }

# two_over ADAPTER: runs the program with two processes over one of these adapters
two_over()
{
	{ line soft0 libdatsoft.so ''
		line lossy libdat-fault.so 'soft0 recv:status=LENGTH:nth=3'; line far libdat-fault.so 'soft0 ep_connect:event=UNREACHABLE'
	} >"$tap_dir/two.conf"
	DAT_OVERRIDE=$tap_dir/two.conf in_mine ./two "$1"
}

by_its_name()
{
	in_mine make install && line mine0 libdattemplate.so '' >"$tap_dir/bare.conf" &&
		DAT_OVERRIDE=$tap_dir/bare.conf in_mine datctl show mine0
}

# The other template, for a transport that pushes.
pushed_conforms()
{
	in_mine make check NAME=pushed >"$tap_dir/said" 2>&1 && verdicts_are_kept || { cat "$tap_dir/said"; return 1; }
}

# threads_talked ADAPTER: succeeds if, in the latest check, several threads used the adapter
threads_talked() { grep "^two threads talked over $1, and every byte was right$" "$tap_dir/said"; }

pushed_is_small() { [ "$(wc -l <"$mine/pushed.c")" -lt 300 ]; }

goes_again()
{
	in_mine make uninstall clean && in_mine make clean NAME=pushed &&
		! ls "$moved/lib/opendat/libdattemplate.so" "$mine"/*.so "$mine/dat.conf" "$mine/two" 2>/dev/null
}

readme_lists_the_files()
{
	diff <(ls "$(pkg-config --define-prefix --variable=templatedir datp)" | grep -v README) \
		<(sed -n 's/^| `\([a-z.]*\|Makefile\)` |.*/\1/p' "$mine/README.md" | sort)
}

tap 'sdk: the tree installs' install_and_move || tap_end
tap 'sdk: the template is where pkg-config says' copies || tap_end
tap 'sdk: the workflow builds it' step_passes Build
tap 'sdk: it can be dumped' tap_holds '^loads=yes$' in_mine datctl dump ./libdattemplate.so
tap 'sdk: the workflow judges it' step_passes Judge
tap 'sdk: the verdicts are there for the workflow to keep' verdicts_are_kept
tap 'sdk: two threads talk over it' threads_talked template0
tap 'sdk: two processes talk over soft0' tap_holds '^two processes talked over soft0, and every byte was right$' two_over soft0
tap 'sdk: a transfer that fails is found out' tap_status 1 two_over lossy
tap 'sdk: so is a connection that does not come about' tap_status 1 two_over far
tap 'sdk: the workflow installs it' tap_holds '^stage/.*/libdattemplate[.]so$' step_passes Install
tap 'sdk: installed, it opens by its bare name' tap_holds template by_its_name
tap 'sdk: the template for transports that push conforms as well' pushed_conforms
tap 'sdk: two threads talk over that, too' threads_talked pushed0
tap 'sdk: it is small' pushed_is_small
tap 'sdk: uninstalled and cleaned up, nothing is left' goes_again
tap 'sdk: its README lists its files' readme_lists_the_files
tap_end
