#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What zsh offers on the command lines of datctl, datperf and datconform: the same as bash, whose offers completions.sh compares
# with the tools. zsh runs on a pseudo-terminal and is asked by pressing the Tab key; each of its offers is written down.
# shellcheck source-path=SCRIPTDIR
command -v zsh >/dev/null || { echo '1..0 # SKIP no zsh here: apt-get install zsh'; exit 0; }
. "${top_srcdir:-.}/tests/tools/tap.sh"
here=$PWD
zsh -f -c 'zmodload zsh/zpty && zpty x true' 2>/dev/null || { echo '1..0 # SKIP zsh gets no pseudo-terminal here'; exit 0; }
for tool in datctl datperf datconform; do
	# shellcheck source=/dev/null
	. "$top_srcdir/tools/completions/$tool"
done
PATH=$here:$PATH
functions=$(cd "$top_srcdir/tools/completions/zsh" && pwd -P)

# What the zsh on the terminal reads first: Tab completes, and writes what is offered to the file "offers" instead of the screen.
cat >"$dir/begin.zsh" <<-END
	bindkey -e
	fpath=("$functions" \$fpath)
	autoload -Uz compinit
	compinit -u -D
	compadd()
	{
		local -a offered
		if [[ "\${@[1,(i)(-|--)]}" != *-[OAD]\ * ]]; then
			builtin compadd -O offered "\$@"
			((\$#offered == 0)) || print -rl -- \$offered >>"$dir/offers"
		fi
		builtin compadd "\$@"
	}
	write_down()
	{
		: >"$dir/offers"
		_main_complete
		compstate[insert]=
		compstate[list]=
		mv "$dir/offers" "$dir/complete"
	}
	zle -C write-down .complete-word write_down
	bindkey '^I' write-down
	zle-line-init() { : >"$dir/ready" }
	zle -N zle-line-init
END

# ask.zsh LINE...: presses Tab at the end of each line; what is offered for the Nth is in the file zsh.N then
cat >"$dir/ask.zsh" <<-END
	zmodload zsh/zpty
	typeset -i n
	wait_for()
	{
		local screen
		while [[ ! -e \$1 ]]; do
			zpty -rt asked screen || sleep 0.02
		done
	}
	zpty asked zsh -f -i
	zpty -w asked ". $dir/begin.zsh"
	wait_for "$dir/ready"
	for line; do
		zpty -nw asked "\$line"\$'\t'
		wait_for "$dir/complete"
		mv "$dir/complete" "$dir/zsh.\$((++n))"
		zpty -nw asked \$'\025'
	done
END

# offers_as_bash LINE...: for the end of each line zsh offers what bash does, and something
offers_as_bash()
{
	local n=0 line
	rm -f "$dir/ready" "$dir"/zsh.*
	run env TERM=dumb zsh -f "$dir/ask.zsh" "$@"
	exits_with 0
	for line; do
		n=$((n + 1))
		[ -s "$dir/zsh.$n" ] || { fails "nothing is offered for '$line': $(head -c 400 "$err")"; continue; }
		read -ra COMP_WORDS <<<"$line"
		[[ $line != *' ' ]] || COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		COMPREPLY=()
		"_${COMP_WORDS[0]}"
		diff <(printf '%s\n' "${COMPREPLY[@]}" | sort -u) <(sort -u "$dir/zsh.$n") >"$dir/diff" ||
			fails "for '$line' bash (<) and zsh (>) differ: $(tr '\n' ' ' <"$dir/diff")"
	done
}

commands_are_offered()
{
	offers_as_bash 'datctl pi' 'datctl e' 'datctl d'
}

options_are_offered()
{
	offers_as_bash 'datctl show --' 'datctl check --' 'datctl --v' 'datperf --' 'datconform --' 'datconform --j'
}

adapters_are_offered()
{
	offers_as_bash 'datctl show soft-b' 'datctl check --ia soft' 'datperf --ia ' 'datconform --ia soft-h'
}

words_and_clauses_are_offered()
{
	offers_as_bash 'datperf --test ' 'datperf --memory ' 'datperf --api ' 'datctl show --api ' 'datconform --ia soft0 --only CNO_WAIT-' \
		'datconform --api ' 'datconform --api 2.0 --only CONSUMER-6'
}

# zsh offers a file by its name within the folder.
files_are_offered_where_files_are_named()
{
	local line n=0
	: >"$dir/results.json"
	local lines=("datperf --plot $dir/res" "datconform --junit $dir/res" "datctl dump $dir/res" "datctl discover --update $dir/res")
	rm -f "$dir/ready" "$dir"/zsh.*
	run env TERM=dumb zsh -f "$dir/ask.zsh" "${lines[@]}"
	exits_with 0
	for line in "${lines[@]}"; do
		n=$((n + 1))
		[ "$(sort -u "$dir/zsh.$n")" = results.json ] || fails "for '$line': $(cat "$dir/zsh.$n")"
	done
}

# The only thing that is offered for a number is a word that says what it is, and that is nothing to insert.
numbers_are_left_to_the_person()
{
	rm -f "$dir/ready" "$dir"/zsh.*
	run env TERM=dumb zsh -f "$dir/ask.zsh" 'datperf --size ' 'datconform --jobs ' 'datctl ping --qual ' 'datctl certify --patience '
	exits_with 0
	[ -e "$dir/zsh.4" ] && [ -z "$(cat "$dir"/zsh.*)" ] || fails "offered: $(cat "$dir"/zsh.*)"
}

tests commands_are_offered options_are_offered adapters_are_offered words_and_clauses_are_offered \
	files_are_offered_where_files_are_named numbers_are_left_to_the_person
