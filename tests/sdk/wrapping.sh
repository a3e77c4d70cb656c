# shellcheck shell=bash disable=SC2034	# whoever sources this reads the variables
# SPDX-License-Identifier: BSD-2-Clause
# What the tests of the wrappers have in common: a dat.conf of their own, TAP, and the story that a program tells of an adapter.
# `story` is the program, tests/sdk/story or that for DAT 2.0, and `mode` its second argument, if it is set.
: "${top_srcdir:=.}"
[ -n "${tap_dir-}" ] || . "$top_srcdir/tests/harness/tap.sh"
unset DAT_DBG_TYPE DAT_DBG_DEST DAT_LOG
libs=$PWD/.libs
conf=$tap_dir/dat.conf
text=$tap_dir/trace.txt
story=tests/sdk/story
mode=
export DAT_OVERRIDE=$conf

# line NAME LIBRARY PARAMS: a line for 1.2, which programs of 2.0 see as well if the adapter beneath serves them
line() { printf '%s u1.2 nonthreadsafe default %s opendat.1.0 "%s" ""\n' "$1" "$libs/$2" "$3" >>"$conf"; }

# adapter BENEATH RULES: the lines that were there at the first call, and one named broken, which makes BENEATH fail by these rules
adapter()
{
	[ -e "$tap_dir/whole" ] || cp "$conf" "$tap_dir/whole"
	cp "$tap_dir/whole" "$conf"
	line broken libdat-fault.so "$1 $2"
}

whole=('a ESTABLISHED' 'b ESTABLISHED' 'sent status 0' 'sent status 0' 'sent status 0'
	'received status 0' 'received status 0' 'received status 0' 'a DISCONNECTED' 'b DISCONNECTED')

# has_lines NAME LINE...: the story of this adapter has these lines, in this order and next to each other
has_lines()
{
	local told wanted
	told=$(timeout 100 "$story" "$1" ${mode:+"$mode"} 2>&1)
	shift
	wanted=$(printf '%s\n' "$@")
	echo "$told"
	[[ $'\n'$told$'\n' == *$'\n'$wanted$'\n'* ]]
}

# is_whole NAME: the story of this adapter is that of one at which nothing fails
is_whole()
{
	local told
	told=$(timeout 100 "$story" "$1" ${mode:+"$mode"} 2>&1)
	echo "$told"
	[ "$told" = "$(printf '%s\n' "${whole[@]}")" ]
}

# same_values BENEATH: the whole values of an empty queue and of waits that time out are the same, whether they are real or injected
same_values()
{
	adapter "$1" 'evd_wait:return=TIMEOUT_EXPIRED evd_dequeue:return=QUEUE_EMPTY cno_wait:return=QUEUE_EMPTY'
	timeout 100 "$story" "$1" empty >"$tap_dir/real" && timeout 100 "$story" broken empty >"$tap_dir/injected" || return 1
	grep -c '^dat_evd_wait .* 0x' "$tap_dir/real" && diff "$tap_dir/real" "$tap_dir/injected"
}

# shared COMMAND...: in the story, each endpoint has one EVD for receives and requests
shared() { mode=shared "$@"; }
