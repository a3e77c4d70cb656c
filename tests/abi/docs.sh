#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The doc comments of the headers against what they describe.
: "${top_srcdir:=.}" "${AWK:=awk}"
exec $AWK -f "$top_srcdir/tests/abi/docs.awk" "$top_srcdir/tests/abi/abi12.tsv" \
	"$top_srcdir"/include/dat/*.h
