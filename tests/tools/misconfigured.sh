#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Misconfigurations that need no RDMA, each told with cause and remedy by `datctl check` and to the user of a plain program;
# and from each of them to a working adapter with nothing but what was printed. Those that need RDMA: tests/fabric/datctl_test.sh.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"
unset DAT_LOG DAT_DBG_TYPE DAT_DBG_DEST

library=$PWD/.libs/libdatsoft.so
good="soft0 u1.2 nonthreadsafe default $library opendat.1.0 \"\" \"\""
conf=$dir/dat.conf

# With these lines: both_say CAUSE REMEDY CAUSE_TO_THE_USER REMEDY_TO_THE_USER
both_say()
{
	DAT_OVERRIDE=$conf run ./datctl check --timeout 60
	exits_with 1
	prints "^FAIL .*$1"
	prints "^      to do: $2"
	remedy=$(sed -n 's/^      to do: //p' "$out" | head -n 1)
	DAT_OVERRIDE=$conf run ./examples/exchange soft0
	exits_with 1
	prints_nothing
	says "^libdatp?: .*$3.*$4"
}

# Checks the adapter again, after the remedy has been carried out
it_works()
{
	DAT_OVERRIDE=$conf run ./datctl check --timeout 60
	exits_with 0
	DAT_OVERRIDE=$conf run ./examples/exchange soft0
	exits_with 0
	says_only_what_was_refused
}

a_missing_file()
{
	rm -f "$conf"
	both_say "$conf: cannot be read: No such file or directory" "datctl discover >'$conf'" \
		"$conf: cannot be read: No such file or directory" "; 'datctl check' says what to do"
	PATH=$PWD:$PATH bash -c "$remedy"
	# the line names an installed library; this one is not
	sed -i "s| libdatsoft.so | $library |" "$conf"
	it_works
}

a_bad_field()
{
	echo "${good/u1.2/u1}" >"$conf"
	both_say 'api_version: "u1" has no minor version' 'write it as in u1.2' \
		"$conf:1:7: api_version: \"u1\" has no minor version" 'write it as in u1.2'
	sed -i '1s/u1 /u1.2 /' "$conf"
	it_works
}

a_wrong_version()
{
	echo "${good/u1.2/u3.0}" >"$conf"
	both_say 'field 2 says uDAPL 3.0' "write u1.2 in field 2 of $conf:1" \
		"$conf:1: soft0: offers u3.0 nonthreadsafe, the program asks for u1.2" '; .*add a line for this one that says u1.2, if its library is for that'
	sed -i '1s/u3.0/u1.2/' "$conf"
	it_works
}

a_missing_library()
{
	printf '%s\n' "${good/$library/\/nowhere\/libdatsoft.so}" >"$conf"
	both_say '/nowhere/libdatsoft.so: cannot open shared object file' "install OpenDAT's providers .*, or" \
		"$conf:1: soft0: library /nowhere/libdatsoft.so: .*cannot open shared object file" "; install OpenDAT's providers "
	sed -i "1s|/nowhere/libdatsoft.so|$library|" "$conf"
	it_works
}

a_library_without_the_init_symbol()
{
	printf '%s\n' "${good/$library/libm.so.6}" >"$conf"
	both_say 'has no symbol dat_provider_init' "name a provider's library in field 5 of $conf:1" \
		"$conf:1: soft0: library libm.so.6: .*has no symbol dat_provider_init" '; correct the library'
	sed -i "1s|libm.so.6|$library|" "$conf"
	it_works
}

a_parameter_that_the_provider_does_not_know()
{
	printf '%s\n' "${good/\"\"/\"eager=1\"}" >"$conf"
	both_say '"eager=1" in dat.conf is not known' "correct field 7 of $conf:1" '"eager=1" in dat.conf is not known' '; known are '
	printf '%s\n' "$good" >"$conf"
	it_works
}

tests a_missing_file a_bad_field a_wrong_version a_missing_library a_library_without_the_init_symbol \
	a_parameter_that_the_provider_does_not_know
