#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The headers of the SDK as a stranger's compiler sees them: in each language without a warning, and with the same layout.
. "${top_srcdir:=.}/tests/harness/tap.sh"
flags="-Wall -Wextra -Wpedantic -Werror -I$top_srcdir/include"
headers='bias fork lmr_table options provider timer wrap'
structs='datp_obj datp_ia datp_lmr datp_rmr datp_sge datp_node datp_wqe datp_wq datp_evd datp_srq datp_ep datp_sp datp_cr datp_ia_attr datp_ops
	datp_plugin datp_bias datp_fork_fd datp_fork_own datp_known_lmr datp_lmr_table datp_option datp_options datp_timer datp_wrap datp_wrapper'

# alone LANGUAGE STANDARD COMPILER: checks that each header compiles by itself, and twice
alone()
{
	local header ext=c bad=0
	[ "$1" = c++ ] && ext=cc
	for header in $headers; do
		printf '#include <datp/%s.h>\n#include <datp/%s.h>\nextern int alone;\n' "$header" "$header" >"$tap_dir/alone.$ext"
		# shellcheck disable=SC2086 # a compiler may come with options
		$3 -std="$2" $flags -fsyntax-only "$tap_dir/alone.$ext" || bad=1
	done
	return $bad
}

# template COMPILER: checks that the sources which an author begins from compile
template()
{
	local source bad=0
	for source in template.c pushed.c two.c; do
		# shellcheck disable=SC2086 # a compiler may come with options
		(cd "$top_srcdir/sdk/template" && $1 -std=c11 -Wshadow ${flags//$top_srcdir/../..} -fsyntax-only $source) || bad=1
	done
	return $bad
}

# layout LANGUAGE STANDARD COMPILER: prints the sizes, and where the fields are that libdatp reads inline
layout()
{
	local ext=c name
	[ "$1" = c++ ] && ext=cc
	{
		echo '#include <datp/bias.h>'
		echo '#include <datp/fork.h>'
		echo '#include <datp/lmr_table.h>'
		echo '#include <datp/options.h>'
		echo '#include <datp/timer.h>'
		echo '#include <datp/wrap.h>'
		echo '#include <stdio.h>'
		echo 'int main(void) {'
		for name in $structs; do echo "printf(\"$name %zu\\n\", sizeof(struct $name));"; done
		for name in 'datp_ep, lock' 'datp_ep, state' 'datp_evd, poll_lock' 'datp_evd, waiter' 'datp_wqe, done' 'datp_wq, reaped'; do
			echo "printf(\"$name %zu\\n\", offsetof(struct $name));"
		done
		echo 'return 0; }'
	} >"$tap_dir/layout.$ext"
	# shellcheck disable=SC2086
	$3 -std="$2" -Wno-invalid-offsetof -I"$top_srcdir/include" -o "$tap_dir/layout" "$tap_dir/layout.$ext" -x none $(libs) && "$tap_dir/layout"
}

# No function of libdatp is called, but inlined functions refer to some.
libs() { echo "-Wl,--unresolved-symbols=ignore-all"; }

# head_first LANGUAGE STANDARD COMPILER: checks that a head that comes first compiles, and one that does not is refused by DUTY-06
head_first()
{
	local ext=c members
	[ "$1" = c++ ] && ext=cc
	for members in 'struct datp_ep base; int mine;' 'int mine; struct datp_ep base;' 'struct datp_evd base;'; do
		printf '#include <datp/provider.h>\nstruct my_ep { %s };\nextern const uint32_t size;\nconst uint32_t size = %s;\n' \
			"$members" 'DATP_SIZE(struct my_ep, base, struct datp_ep)' >"$tap_dir/head.$ext"
		# shellcheck disable=SC2086
		if $3 -std="$2" $flags -fsyntax-only "$tap_dir/head.$ext" 2>"$tap_dir/said"; then
			[ "$members" = 'struct datp_ep base; int mine;' ] || { echo "taken: $members"; return 1; }
		else
			grep -q 'DUTY-06: ' "$tap_dir/said" || { cat "$tap_dir/said"; return 1; }
			[ "$members" != 'struct datp_ep base; int mine;' ] || { cat "$tap_dir/said"; return 1; }
		fi
	done
}

# option_fields LANGUAGE STANDARD COMPILER: checks that an option whose field has the right type compiles, and others are refused
option_fields()
{
	local ext=c option good='DATP_OPTION_COUNT("a", struct my, count, 1, 0, 5, "how many")'
	[ "$1" = c++ ] && ext=cc
	for option in "$good" 'DATP_OPTION_BOOL("a", struct my, sure, true, "whether")' \
		'DATP_OPTION_ENUM("a", struct my, count, 1, words, "which")' 'DATP_OPTION_TIME("a", struct my, count, 1, 0, 5000, "how long")' \
		'DATP_OPTION_BYTES("a", struct my, length, 1, 0, UINT64_MAX, "how much")' 'DATP_OPTION_OTHER("a", "NAME", take, "what")'; do
		option_compiles "$@" || { cat "$tap_dir/said"; return 1; }
	done
	for option in "${good/count/sure}" "${good/count/off}" "${good/count/half}" "${good/0, 5/0, UINT64_MAX}" \
		'DATP_OPTION_BOOL("a", struct my, count, true, "whether")'; do
		! option_compiles "$@" || { echo "taken: $option"; return 1; }
		grep -q 'the field ' "$tap_dir/said" || { cat "$tap_dir/said"; return 1; }
	done
}

option_compiles()
{
	printf '%s\n' '#include <datp/options.h>' 'struct my { bool sure; uint32_t count; uint64_t length; int off; uint16_t half; };' \
		'extern const char *const words[]; extern enum datp_err take(void *, const char *, char *, size_t);' \
		'extern const struct datp_option option;' "const struct datp_option option = $option;" >"$tap_dir/option.$ext"
	# shellcheck disable=SC2086
	$3 -std="$2" $flags -fsyntax-only "$tap_dir/option.$ext" 2>"$tap_dir/said"
}

same_layout()
{
	layout c c11 "$1" >"$tap_dir/c" && [ "$(wc -l <"$tap_dir/c")" -gt 20 ] && layout c++ c++17 "$2" >"$tap_dir/c++" && diff "$tap_dir/c" "$tap_dir/c++"
}

for pair in "${CC:-cc} ${CXX:-c++}" 'clang clang++'; do
	cc=${pair% *} cxx=${pair##* }
	if [ "$cc" = clang ] && ! { command -v clang && command -v clang++; } >/dev/null; then
		tap_skip 'sdk: the headers compile with clang' 'there is no clang here'
		continue
	fi
	[ "$cc" = clang ] || { cc=${CC:-cc} cxx=${CXX:-c++}; }
	tap "sdk: the headers compile as strict C11 with ${cc##* }" alone c c11 "$cc"
	tap "sdk: the templates compile as strict C11 with ${cc##* }" template "$cc"
	tap "sdk: the headers compile as C++17 with ${cxx##* }" alone c++ c++17 "$cxx"
	tap "sdk: the headers compile as C++20 with ${cxx##* }" alone c++ c++20 "$cxx"
	tap "sdk: in C a head that is not first does not compile with ${cc##* }" head_first c c11 "$cc"
	tap "sdk: in C++ a head that is not first does not compile with ${cxx##* }" head_first c++ c++17 "$cxx"
	tap "sdk: in C an option fits its field with ${cc##* }" option_fields c c11 "$cc"
	tap "sdk: in C++ an option fits its field with ${cxx##* }" option_fields c++ c++17 "$cxx"
	tap "sdk: C++ has the layout of C with ${cxx##* }" same_layout "$cc" "$cxx"
done
tap_end
