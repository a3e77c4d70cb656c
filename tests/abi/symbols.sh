#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What binaries find: the 73 symbols of libdat.so.1, all at version DAT_1.2, and nothing else; and
# that the foreign pair is as foreign as it says.
: "${top_srcdir:=.}" "${AWK:=awk}" "${NM:=nm}"
table=$top_srcdir/tests/abi/abi12.tsv
libdat=.libs/libdat.so.1
[ -e registry/$libdat ] && libdat=registry/$libdat
foreign=tests/abi/.libs
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tests=0

report()	# status name
{
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

# nm prints the version node itself as an absolute symbol.
$NM -D --defined-only $libdat | $AWK '$2 != "A" { print $3 }' | LC_ALL=C sort >"$work/found"
$AWK -F'\t' '$1 == "symbol" && $2 == "libdat.so.1" { print $3 "@@" $5 }' "$table" |
	LC_ALL=C sort >"$work/wanted"
LC_ALL=C comm -3 "$work/wanted" "$work/found" | sed 's/^\t/# too many: /; s/^[^#]/# missing: &/'
[ "$(wc -l <"$work/wanted")" -eq 73 ] && cmp -s "$work/wanted" "$work/found"
report $? "libdat exports the 73 symbols of the table at DAT_1.2 and no other"

readelf -d $libdat | grep -q 'SONAME.*\[libdat\.so\.1\]'
report $? "libdat calls itself libdat.so.1"

readelf -d $foreign/foreign_plugin.so | grep 'NEEDED' >"$work/needed"
! grep -E 'libdat|libdatp' "$work/needed"
report $? "the foreign plugin does not need libdat"

program=tests/abi/foreign_consumer
[ -e $foreign/foreign_consumer ] && program=$foreign/foreign_consumer
readelf -V $program | grep -q 'Name: DAT_1\.2' && readelf -d $program | grep -q '\[libdat\.so\.1\]'
report $? "the foreign program needs libdat.so.1 at DAT_1.2"
echo "1..$tests"
