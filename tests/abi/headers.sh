#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The headers of DAT 1.2 and of 2.0 as a stranger's compiler sees them: each alone, in each language,
# without a warning; and those of 1.2 with no name in them that the standard does not have.
: "${top_srcdir:=.}" "${CC:=cc}" "${CXX:=c++}" "${AWK:=awk}"
headers="dat.h dat_error.h dat_platform_specific.h dat_redirection.h dat_registry.h
	dat_vendor_specific.h udat.h udat_config.h udat_redirection.h udat_vendor_specific.h"
# what they include for DAT 2.0 as well: no program includes these
shared="dat_calls.h dat_common.h dat_plugin.h dat_slots.h"
also20=dat_ib_extensions.h
table=$top_srcdir/tests/abi/abi12.tsv
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tests=0

report()	# status name
{
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

# The declaration keeps the translation unit from being empty where a header has only macros.
alone()		# language standard compiler folder header...
{
	local standard=$2 folder=$4 header bad=0 ext=c
	[ "$1" = c++ ] && ext=cc
	set -- "$3" "${@:5}"
	for header in "${@:2}"; do
		printf '#include <%s/%s>\n#include <%s/%s>\nextern int alone;\n' \
			"$folder" "$header" "$folder" "$header" >"$work/alone.$ext"
		# shellcheck disable=SC2086 # a compiler may come with options
		if ! $1 -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$top_srcdir/include" \
			-fsyntax-only "$work/alone.$ext" >"$work/out" 2>&1; then
			sed "s/^/# $header: /" "$work/out"
			bad=1
		fi
	done
	report $bad "each header of $folder/ compiles alone and twice as $standard with ${1%% *}"
}

each_compiler()	# language standard compilers...
{
	local language=$1 standard=$2 compiler seen=
	shift 2
	for compiler; do
		case " $seen " in *" ${compiler%% *} "*) continue ;; esac
		seen="$seen ${compiler%% *}"
		if command -v "${compiler%% *}" >/dev/null; then
			# shellcheck disable=SC2086 # lists of names
			alone "$language" "$standard" "$compiler" dat $headers
			# shellcheck disable=SC2086
			alone "$language" "$standard" "$compiler" dat2 $headers $also20
		else
			tests=$((tests + 1))
			echo "ok $tests - $standard with $compiler # SKIP $compiler is not installed"
		fi
	done
}

# A C++ program uses what C++ is particular about: the by-value agent, and a struct that has a
# const member in C.
cxx_use()
{
	cat >"$work/use.cc" <<-'END'
	#include <dat/udat.h>
	DAT_RETURN use(DAT_IA_HANDLE ia, DAT_CNO_HANDLE *cno)
	{
		DAT_PROVIDER_ATTR attr;
		DAT_RETURN status = dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, cno);

		if (status == DAT_SUCCESS)
			status = dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
		return DAT_GET_TYPE(status) == DAT_NOT_IMPLEMENTED ? DAT_RETURN(DAT_SUCCESS) : status;
	}
	END
	# shellcheck disable=SC2086
	$1 -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$top_srcdir/include" -fsyntax-only \
		"$work/use.cc" >"$work/out" 2>&1
	local bad=$?
	sed 's/^/# /' "$work/out"
	report $bad "a C++ program can use the headers with ${1%% *}"
}

# Every DAT_ or dat_ word of the headers, comments apart, is in the table. The guards begin with
# OPENDAT_, dat/ is the folder.
no_strange_names()
{
	$AWK -F'\t' 'NR > 1 { for (i = 2; i <= 5; i++) print $i }' "$table" |
		grep -oE '\b(DATS?|dats?)_[A-Za-z0-9_]+' | sort -u >"$work/known"
	for header in $headers $shared; do
		$AWK '{ text = text " " $0 } END {
			while ((from = index(text, "/*")) > 0) {
				printf "%s ", substr(text, 1, from - 1)
				text = substr(text, from)
				text = substr(text, index(text, "*/") + 2)
			}
			print text
		}' RS='\n' "$top_srcdir/include/dat/$header"
	done | sed 's/#include [<"][a-z_./]*[>"]//g' |
		grep -oE '\b(DATP?|datp?)_[A-Za-z0-9_]+' | sort -u >"$work/used"
	local strange
	strange=$(comm -13 "$work/known" "$work/used")
	# shellcheck disable=SC2086 # one name a word
	[ -n "$strange" ] && printf '# not in the table: %s\n' $strange
	[ -s "$work/used" ] && [ -z "$strange" ]
	report $? "the headers hold no name of ours"
}

for standard in c99 c11; do
	each_compiler c $standard "$CC" gcc clang
done
each_compiler c++ c++17 "$CXX" g++ clang++
for compiler in g++ clang++; do
	if command -v $compiler >/dev/null; then cxx_use $compiler; fi
done
no_strange_names
printf '#include <dat/udat.h>\n#include <dat2/udat.h>\n' >"$work/both.c"
$CC -I"$top_srcdir/include" -fsyntax-only "$work/both.c" 2>&1 | grep -q 'a file is for DAT 1.2 or for DAT 2.0'
report $? "a file that includes both is told so"
echo "1..$tests"
