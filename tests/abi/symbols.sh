#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What binaries find: the symbols of libdat.so.1 and libdat2.so.2, each at its version, and nothing else; and that the
# foreign pair is as foreign as it says.
: "${top_srcdir:=.}" "${AWK:=awk}" "${NM:=nm}"
table=$top_srcdir/tests/abi/abi12.tsv
libdat=.libs/libdat.so.1
libdat2=.libs/libdat2.so.2
foreign=tests/abi/.libs
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tests=0

report()	# status name
{
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

# Defined symbols that are no version nodes, which nm prints as absolute ones.
exported()	# library
{
	$NM -D --defined-only "$1" | $AWK '$2 != "A" { print $3 }' | LC_ALL=C sort
}

# The symbols of library $1 at version $2 are those of the table in $3, $4 of them. "library" says how the table has it.
as_table()	# file version table number name
{
	exported "$1" | grep -v '@OPENDAT_REGISTRY_\|@@OPENDAT_2[.]0' >"$work/found"
	$AWK -F'\t' -v lib="$5" -v node="$2" '$1 == "symbol" && (($2 == lib && $5 == node) || $7 == lib) {
		print $3 ($3 ~ /@/ ? "" : "@@" $5) }' "$3" | LC_ALL=C sort >"$work/wanted"
	LC_ALL=C comm -3 "$work/wanted" "$work/found" | sed 's/^\t/# too many: /; s/^[^#]/# missing: &/'
	[ "$(wc -l <"$work/wanted")" -eq "$4" ] && cmp -s "$work/wanted" "$work/found"
}

as_table $libdat DAT_1.2 "$table" 73 libdat.so.1
report $? "libdat exports the 73 symbols of the table at DAT_1.2 and no other for programs"
as_table $libdat2 DAT_2.0 "${table%abi12.tsv}abi20.tsv" 74 libdat2.so.2
report $? "libdat2 exports the 74 symbols of its table at DAT_2.0 and no other"
[ "$(exported $libdat2 | grep '@@OPENDAT_2[.]0' | tr '\n' ' ')" = 'dat_cno_fd_create@@OPENDAT_2.0 dat_cno_trigger@@OPENDAT_2.0 dat_ep_post_rdma_read_to_rmr@@OPENDAT_2.0 dat_ep_post_send_with_invalidate@@OPENDAT_2.0 ' ]
report $? "what libdat2 exports beyond that has a version of its own"
! exported $libdat | grep '@OPENDAT_REGISTRY_' | grep -v '^datreg_'
report $? "what libdat exports for libdat2 alone has names of its own"

readelf -d $libdat | grep -q 'SONAME.*\[libdat\.so\.1\]'
report $? "libdat calls itself libdat.so.1"
readelf -d $libdat2 | grep -q 'SONAME.*\[libdat2\.so\.2\]'
report $? "libdat2 calls itself libdat2.so.2"

readelf -d $foreign/foreign_plugin.so | grep 'NEEDED' >"$work/needed"
! grep -E 'libdat|libdatp' "$work/needed"
report $? "the foreign plugin does not need libdat"

program=tests/abi/foreign_consumer
[ -e $foreign/foreign_consumer ] && program=$foreign/foreign_consumer
readelf -V $program | grep -q 'Name: DAT_1\.2' && readelf -d $program | grep -q '\[libdat\.so\.1\]'
report $? "the foreign program needs libdat.so.1 at DAT_1.2"
echo "1..$tests"
