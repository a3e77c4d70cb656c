#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The examples in the pages of functions compile, as they are printed.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

# The declarations that an example may rely on.
prelude()
{
	cat <<-'END'
	#include <netdb.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <dat/udat.h>

	void f(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd, DAT_EVD_HANDLE cr_evd, DAT_EVD_HANDLE conn_evd,
	       DAT_EP_HANDLE ep, DAT_CR_HANDLE cr, DAT_RMR_HANDLE rmr, DAT_LMR_CONTEXT local, DAT_RMR_CONTEXT peer_key,
	       DAT_VADDR peer_address, char *name, char *buffer, size_t size, DAT_RETURN ret);
	END
}

# Prints each example as a block, after a #line directive with its file and line.
blocks()
{
	awk '
		/^[.]Bd -literal/ { print "{"; inside = 1; printf "#line %d \"%s\"\n", FNR + 1, FILENAME; next }
		/^[.]Ed/ { print "}"; inside = 0; next }
		inside { sub(/^\\&/, ""); gsub(/\\e/, "\\"); print }' "$@"
}

they_compile()
{
	{
		prelude
		prelude | sed -n '/^void f/,$p' | sed 's/;$//'
		echo '{'
		blocks "$top_srcdir"/man/more/*.mdoc
		echo '	(void)ia; (void)pz; (void)evd; (void)cr_evd; (void)ret;'
		echo '}'
	} >"$tap_dir/examples.c"
	${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -Wno-unused-but-set-variable -I"$top_srcdir/include" -fsyntax-only \
		"$tap_dir/examples.c"
}

tap 'manual: there are examples' test "$(blocks "$top_srcdir"/man/more/*.mdoc | grep -c '^{')" -ge 10
tap 'manual: the examples compile' they_compile
tap_end
