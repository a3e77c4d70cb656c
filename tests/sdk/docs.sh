#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datp(7) and the code say the same: every op has a section, every duty that a message quotes is there, and every SDK minor.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
page=$top_srcdir/man/datp.7
header=$top_srcdir/include/datp/provider.h

ops() { grep -oE 'X\([a-z_]+' "$top_srcdir/providers/common/core/ops_list.h" | cut -c3- | grep '_' | sort -u; }

each_op_has_a_section()
{
	local op bad=0
	[ "$(ops | wc -l)" -ge 40 ] || { echo 'the list of ops is short'; return 1; }
	for op in $(ops); do
		grep -qx "[.]Ss $op" "$page" || { echo "$op has no section"; bad=1; }
	done
	for op in $(sed -n 's/^[.]Ss \([a-z_]*_[a-z_]*\)$/\1/p' "$page" | grep -v '^datp_'); do
		ops | grep -qx "$op" || { echo "$op is no op"; bad=1; }
	done
	return $bad
}

# A header without its comments and its layout.
bare() { sed -z 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' "$1" | tr -d ' \t\n\\'; }

# Name and declaration of each op and upcall, as the page has them, without blanks.
declared() { awk '/^[.]Ss [a-z_]+$/ { name = $2; getline; if ($0 == ".Bd -literal -compact") in_it = 1; next }
	/^[.]Ed$/ { if (in_it) print name, text; in_it = 0; text = "" } in_it { gsub(/[ \t]/, ""); text = text $0 }' "$page"; }

each_declaration_is_that_of_the_header()
{
	local headers name text n=0
	headers=$(bare "$header"; bare "${header%.h}_post.h"; bare "${header%/*}/bias.h"; bare "${header%/*}/options.h"; bare "${header%/*}/fork.h"
		bare "${header%/*}/lmr_table.h"; bare "${header%/*}/timer.h")
	while read -r name text; do
		n=$((n + 1))
		case $name in
		datp_*) ;;
		*) text=${text/$name(/(*$name)(} ;;
		esac
		[[ $headers == *"${text%;}"* ]] || { echo "$name is declared otherwise: $text"; return 1; }
	done < <(declared)
	[ "$n" -ge 60 ] || { echo "$n declarations are too few"; return 1; }
}

each_upcall_has_a_section()
{
	local name bad=0
	for name in $(cat "$header" "${header%/*}"/{fork,lmr_table,options,timer}.h | tr '\n' ' ' | grep -oE 'DATP_API [a-z_ ]+[ *]datp_[a-z_]+\(' | grep -oE 'datp_[a-z_]+\($' | tr -d '('); do
		case $name in
		*_slow | datp_plugin_*) continue ;;
		esac
		grep -qx "[.]Ss $name" "$page" || { echo "$name has no section"; bad=1; }
	done
	return $bad
}

each_duty_is_there()
{
	local duty bad=0
	for duty in $(grep -rhoE 'DUTY-[0-9]+' "$top_srcdir"/{registry,providers,sdk,include,tests/sdk} "$page" | sort -u); do
		grep -qx "[.]It $duty" "$page" || { echo "$duty is quoted and not listed"; bad=1; }
	done
	return $bad
}

# MAJOR or MINOR, and a header: that part of its version
number() { sed -n "s/^#define DATP_SDK_$1 //p" "$2"; }

# All versions of the SDK. SDK 0 ended with 0.9.
versions()
{
	local major minor
	major=$(number MAJOR "$header") minor=$(number MINOR "$header")
	if [ "$major" -eq 0 ]; then
		seq -f 0.%g 1 "$minor"
	else
		seq -f 0.%g 1 9
		seq -f 1.%g 0 "$minor"
	fi
}

each_minor_has_a_section()
{
	local version
	for version in $(versions); do
		grep -qx "[.]Ss SDK ${version/./[.]}" "$page" || { echo "SDK $version has no section"; return 1; }
	done
}

# Every SDK is kept, and an odd plugin is built from each.
each_minor_is_frozen()
{
	local version
	for version in $(versions); do
		[ "$(number MAJOR "$top_srcdir/tests/abi/sdk-$version/datp/provider.h").$(number MINOR \
			"$top_srcdir/tests/abi/sdk-$version/datp/provider.h")" = "$version" ] || return 1
		ls ".libs/odd_sdk${version/./}.so" || return 1
	done
}

# A change of the headers needs a new minor version, unless it only changes comments.
this_minor_is_as_it_was_frozen()
{
	local version name
	version=$(versions | tail -n 1)
	for name in "$top_srcdir"/include/datp/*.h; do
		name=${name##*/}
		[ "$(bare "$top_srcdir/include/datp/$name" | wc -c)" -gt 300 ] || return 1
		cmp <(bare "$top_srcdir/include/datp/$name") <(bare "$top_srcdir/tests/abi/sdk-$version/datp/$name") || return 1
	done
}

# The errors of a header, in order. Two kinds have had other names.
errors() { grep -oE 'X\([A-Z_0-9]+, [A-Z_]+, [A-Z_0-9]+\)' "$1" | sed 's/^X(OLD_ARG/X(ARG/; s/^X(RES_SRQ/X(SRQ/'; }

# What a plugin returns is a number: a new error goes to the end of the list, whatever it is called.
errors_keep_their_numbers()
{
	local old
	for old in "$top_srcdir"/tests/abi/sdk-0.[1-6]/datp/provider.h "$top_srcdir"/tests/abi/sdk-*/datp/errors.h; do
		[ "$(errors "$old" | wc -l)" -gt 60 ] || return 1
		cmp <(errors "$old") <(errors "${header%/*}/errors.h" | head -n "$(errors "$old" | wc -l)") || return 1
	done
}

tap 'sdk: datp(7) has a section for every op, and for nothing else' each_op_has_a_section
tap 'sdk: datp(7) declares ops and upcalls as the header does' each_declaration_is_that_of_the_header
tap 'sdk: datp(7) has a section for every upcall' each_upcall_has_a_section
tap 'sdk: datp(7) lists every duty that is quoted' each_duty_is_there
tap 'sdk: datp(7) has a section for every minor' each_minor_has_a_section
tap 'sdk: the headers of every minor are kept' each_minor_is_frozen
tap 'sdk: those of this minor declare what they did' this_minor_is_as_it_was_frozen
tap 'sdk: errors keep the numbers that older plugins return' errors_keep_their_numbers

# The plugin in the section on C++ lacks the required ops, which no compiler sees.
the_example_in_cxx_compiles()
{
	awk '/^[.]Sh/ { here = /IN C\+\+/ } /^[.]Ed/ { code = 0 } here && code; /^[.]Bd -literal/ { code = 1 }' "$page" \
		>"$tap_dir/example.cc"
	[ "$(wc -l <"$tap_dir/example.cc")" -gt 20 ] || return 1
	${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$top_srcdir/include" -fsyntax-only "$tap_dir/example.cc"
}
tap 'sdk: the example in C++ compiles' the_example_in_cxx_compiles
tap_end
