#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The manual names all that there is: each command and option of the tools, each variable that is read, each word of
# dat.conf, each op of the SDK; and refers to no page that does not exist. The code is asked, not a list.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
man=$top_srcdir/man

# A page as plain words: without the marks of mdoc(7) and man(7) that may stand within a name.
words()
{
	sed -e 's/\\[-]/-/g' -e 's/\\f[BIRP]//g' -e 's/\bFl -/--/g' -e 's/ Ns / /g' "$@"
}

# each_is_in TEXT WHAT WORD...: fails, and names those that the text lacks, or if there are none to look for
each_is_in()
{
	local text=$1 what=$2 word missing=0
	shift 2
	[ $# -gt 0 ] || { echo "no $what was found to look for"; return 1; }
	for word; do
		grep -qE -e "(^|[^A-Za-z0-9_-])$word($|[^A-Za-z0-9_-])" <<<"$text" && continue
		echo "$what $word is not there"
		missing=1
	done
	return $missing
}

# The long options in what a tool says of itself.
options()
{
	"$@" 2>&1 | grep -oE -e '--[a-z][a-z-]*' | sort -u
}

options_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(words "$man/$1.1")" option $(options "./$1" --help)
}

datctl_commands()
{
	./datctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{2,\}\).*/\1/p'
}

# What datctl(1) says of one command.
datctl_section()
{
	words "$man/datctl.1" | awk -v want="$1" '/^[.]S[sh] / { inside = $2 == want } inside'
}

datctl_is_in_page()
{
	local command options section bad=0
	[ "$(datctl_commands | wc -l)" -ge 2 ] || { echo 'datctl --help names no commands'; return 1; }
	for command in $(datctl_commands); do
		section=$(datctl_section "$command")
		[ -n "$section" ] || { echo "datctl(1) has no section $command"; bad=1; continue; }
		options=$(options ./datctl "$command" --help)
		# shellcheck disable=SC2086 # a list of words
		[ -z "$options" ] || each_is_in "$section" "datctl $command:" $options || bad=1
	done
	return $bad
}

datctl_page_invents_nothing()
{
	local command bad=0
	for command in $(sed -n '/^[.]Sh COMMANDS/,/^[.]Sh OPTIONS/s/^[.]Ss //p' "$man/datctl.1"); do
		datctl_commands | grep -qx "$command" || { echo "datctl has no command $command"; bad=1; }
	done
	return $bad
}

# Variables: strings in capitals of the libraries that are neither the standard's names nor an option of the compiler.
variables()
{
	find "$top_srcdir"/registry "$top_srcdir"/providers "$top_srcdir"/log -name '*.c' 2>/dev/null |
		xargs grep -hoE '[a-z_]+\("(DAT|DATP|DAPL|OPENDAT)_[A-Z_0-9]+"' | grep -oE '[A-Z_0-9]{4,}' | sort -u
}

variables_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(cat "$man/opendat.7")" variable $(variables)
}

# Those that decide about the registry: two more pages have them.
registry_variables_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(cat "$man/$1")" variable \
		$(grep -hoE 'secure_getenv\("[A-Z_]+"' "$top_srcdir"/registry/conf*.c | grep -oE '[A-Z_]{4,}' | sort -u)
}

page_invents_no_variable()
{
	local name bad=0
	for name in $(sed -n 's/^[.]It Ev //p' "$man/opendat.7"); do
		grep -rqF "\"$name\"" --include='*.c' "$top_srcdir"/registry "$top_srcdir"/providers "$top_srcdir"/log \
			2>/dev/null || { echo "nothing reads $name"; bad=1; }
	done
	return $bad
}

vipl_variables()
{
	grep -hoE '[a-z_]+\("VIPL_[A-Z_]+"' "$top_srcdir"/vipl/*.c | grep -oE 'VIPL_[A-Z_]+' | sort -u
}

vipl_variables_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(cat "$man/vipl.7")" variable $(vipl_variables)
}

vipl_page_invents_no_variable()
{
	local name bad=0
	for name in $(sed -n 's/^[.]It Ev //p' "$man/vipl.7"); do
		vipl_variables | grep -qx "$name" || { echo "libvipl does not read $name"; bad=1; }
	done
	return $bad
}

vipl_functions_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(words "$man/vipl.7")" function \
		$(grep -oE '\bVip[A-Za-z]+\(' "$top_srcdir/include/vipl.h" | tr -d '(' | sort -u)
}

# Each rule of rules.h, by the name that its comment begins with.
vipl_rules_are_in_page()
{
	local rule bad=0
	while read -r rule; do
		grep -qx "[.]It $rule" "$man/vipl.7" || { echo "vipl(7) has no rule $rule"; bad=1; }
	done < <(sed -nE 's|^/\* ([A-Z ]+): .*|\1|p' "$top_srcdir/vipl/rules.h")
	return $bad
}

# The names of fields, and the words that a field may hold.
conf_words()
{
	sed -n 's/^\t\[CONF_[A-Z_]*\] = "\(.*\)",/\1/p' "$top_srcdir/registry/conf.c"
	grep -oE 'strcmp\(t->text, "[a-z]+"' "$top_srcdir/registry/conf.c" | grep -oE '"[a-z]+"' | tr -d '"' | sort -u
}

conf_words_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(cat "$man/dat.conf.5")" word $(conf_words)
}

# parameters FILE...: the options in a provider's table, or the keys that it compares the words of its parameters with
parameters()
{
	grep -hoE 'str(n?cmp|chr)\([a-z]+, "[a-z_]+=|DATP_OPTION_[A-Z]+\("[a-z_]+"' "$@" | sed 's/[="]*$//; s/.*"//' | sort -u
}

parameters_are_in_page()
{
	local page=$1
	shift
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(words "$man/$page")" parameter $(parameters "$@")
}

ops()
{
	sed -n '/^struct datp_ops {/,/^};/p' "$top_srcdir/include/datp/provider.h" |
		grep -oE '\(\*[a-z_0-9]+\)' | tr -d '(*)' | sort -u
}

ops_are_in_page()
{
	# shellcheck disable=SC2046 # a list of words
	each_is_in "$(words "$man/datp.7")" op $(ops)
}

# Pages of other packages that are referred to.
others=' gnuplot(1) fork(2) memfd_create(2) membarrier(2) pthread_atfork(3) epoll(7) process_vm_readv(2) process_vm_writev(2) pam_limits(8) ptrace(2) rdma(8) ulimit(1) exec(3) fallocate(2) ibv_fork_init(3) io_uring(7) madvise(2) mlock(2) mprotect(2) pid_namespaces(7) userfaultfd(2) write(2) '

references()
{
	sed -nE 's/^[.].*\bXr ([^ ]+) ([0-9]).*/\1(\2)/p; s/^[.]BR ([^ ]+) \(([0-9])\).*/\1(\2)/p' "$@" | tr -d '\\' | sort -u
}

each_reference_leads_somewhere()
{
	local page bad=0
	for page in $(references man/*.3 "$man"/*.[1-8]); do
		case $others in *" $page "*) continue ;; esac
		page=${page%)}
		[ -f "man/${page/(/.}" ] || [ -f "$man/${page/(/.}" ] && continue
		echo "there is no $page)"
		bad=1
	done
	return $bad
}

tap 'manual: datctl(1) has each command, and its options' datctl_is_in_page
tap 'manual: datctl(1) has no command that datctl lacks' datctl_page_invents_nothing
tap 'manual: datperf(1) has each option' options_are_in_page datperf
tap 'manual: datconform(1) has each option' options_are_in_page datconform
tap 'manual: opendat(7) has each variable that the libraries read' variables_are_in_page
tap 'manual: opendat(7) has no variable that nothing reads' page_invents_no_variable
for page in dat.conf.5 datctl.1; do
	tap "manual: $page has each variable that decides about the registry" registry_variables_are_in_page $page
done
tap 'manual: vipl(7) has each variable that libvipl reads' vipl_variables_are_in_page
tap 'manual: vipl(7) has no variable that libvipl does not read' vipl_page_invents_no_variable
tap 'manual: vipl(7) has each function' vipl_functions_are_in_page
tap 'manual: vipl(7) has each rule that is not confirmed' vipl_rules_are_in_page
tap 'manual: dat.conf(5) has each field, and each word that a field may hold' conf_words_are_in_page
tap 'manual: opendat-soft(7) has each parameter' parameters_are_in_page opendat-soft.7 "$top_srcdir/providers/soft/param.c"
for page in opendat-ib opendat-iwarp; do
	tap "manual: $page(7) has each parameter" parameters_are_in_page $page.7 "$top_srcdir"/providers/rdma/*.c
done
tap 'manual: opendat-trace(7) has each parameter' parameters_are_in_page opendat-trace.7 "$top_srcdir/providers/trace/trace.c"
tap 'manual: opendat-fault(7) has each parameter' parameters_are_in_page opendat-fault.7 "$top_srcdir/providers/fault/rule.c"
if [ -f "$man/datp.7" ]; then
	tap 'manual: datp(7) has each op' ops_are_in_page
fi
tap 'manual: each reference leads to a page' each_reference_leads_somewhere
tap_end
