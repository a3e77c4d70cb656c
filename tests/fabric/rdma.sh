# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Functions that tests in a guest share: they add lines to dat.conf, expect a failing open, and wait for a line of output.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/tools/tap.sh"

plugins=$(sed -n 's|^ib-rxe0 .* \(/[^ ]*\)/libdatib\.so .*|\1|p' "$DAT_OVERRIDE")

# adapter NAME ib|iwarp PARAMS: adds a line to a copy of the lab's dat.conf
adapter()
{
	[ -e "$dir/dat.conf" ] || cp "$DAT_OVERRIDE" "$dir/dat.conf"
	echo "$1 u1.2 nonthreadsafe default $plugins/libdat$2.so opendat.1.0 \"$3\" \"\"" >>"$dir/dat.conf"
	export DAT_OVERRIDE=$dir/dat.conf
}

# exchanges ADAPTER [COMMAND...]: two processes exchange data over the adapter, run by COMMAND if there is one
exchanges()
{
	run "${@:2}" examples/exchange "$1"
	exits_with 0
	[ "$(grep -c '^PASS  ' "$out")" -eq 7 ] || fails "${*:2} $1: $(tr '\n' ' ' <"$out")"
}

# refused_at_open NAME REMEDY: checks that dat_ia_open fails, and that stderr matches REMEDY
refused_at_open()
{
	run ./datctl show "$1"
	exits_with 1
	says "$2"
}

# printed PATTERN FILE: looks for a line that matches. It starts no program, because it is called in loops.
printed()
{
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		[[ ! $line =~ $1 ]] || return 0
	done <"$2"
	return 1
}

# until_printed PATTERN PID FILE: waits until the process has written a line that matches to the file. It fails if the process ends
# without that line, and has no time limit of its own.
until_printed()
{
	local pattern=$1 pid=$2 file=$3 ended=
	until printed "$pattern" "$file"; do
		[ -z "$ended" ] || { fails "no '$pattern' in $file: $(tail -n 3 "$file" | tr '\n' ' ')"; return 1; }
		kill -0 "$pid" 2>/dev/null || ended=1
		nap
	done
}
