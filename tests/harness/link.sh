#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What make calls as libtool. A program of the tests is never installed, so all that libtool does for it is to find the libraries
# of this build. This script does that in one process. Libtool starts two hundred, for each of about 170 programs, and puts a
# script around each program, which costs as much again at every start. All other calls go on to libtool unchanged.
#
# usage: link.sh LIBTOOL ARGUMENT...
libtool=$1
shift

# Whether the command links a program. Sets $program, and $direct unless only libtool knows how to do some of it.
links_a_program()
{
	program=
	direct=yes
	links=
	while [ $# -gt 0 ]; do
		case $1 in
		--mode=link) links=yes ;;
		--mode=*) return 1 ;;
		-o) program=$2 ;;
		-dlopen | -dlpreopen | -rpath | -R | -static | -all-static | *.lo) direct= ;;
		esac
		shift
	done
	case $program in
	'' | *.la | *.lo | *.a) return 1 ;;
	esac
	[ -n "$links" ]
}

# Libtool's script around the program starts it at once, unless libtool reads the script, or it gets an option for itself.
quicken_script()
{
	[ -f ".libs/$program" ] && read -r first <"$program" || return 0
	case $first in
	'#!'*sh) ;;
	*) return 0 ;;
	esac
	# libtool recognises its script by the fourth line
	{
		sed 4q "$program"
		cat <<-END
		if test -z "\$libtool_install_magic\$libtool_execute_magic"; then
		  case " \$* " in
		  *' --lt-'*) ;;
		  *)
		    LD_LIBRARY_PATH=$PWD/.libs\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
		    export LD_LIBRARY_PATH
		    exec $PWD/.libs/$program "\$@"
		    ;;
		  esac
		fi
		END
		sed 1,4d "$program"
	} >"$program.quick" && cat "$program.quick" >"$program" && rm "$program.quick"
}

# Libtool is written for every shell of POSIX. The system's own is often a quicker one than configure has found.
links_a_program "$@" || exec /bin/sh "$libtool" "$@"
case $program in
tests/*) ;;
*) direct= ;;
esac
if [ -z "$direct" ]; then
	/bin/sh "$libtool" "$@" && quicken_script
	exit
fi

# field FILE NAME: sets $value to that field of an .la file
field()
{
	value=
	while IFS= read -r line; do
		case $line in
		"$2='"*)
			value=${line#*\'}
			value=${value%\'}
			return
			;;
		esac
	done <"$1"
}

# Every .la file becomes the library that it speaks of: a shared one, which the program finds again by its run path, or an archive
# and what that needs.
count=$#
while [ "$count" -gt 0 ]; do
	word=$1
	shift
	count=$((count - 1))
	case $word in
	--tag=* | --mode=link | --silent | --quiet) ;;
	-export-dynamic) set -- "$@" -Wl,--export-dynamic ;;
	*.la)
		case $word in
		/*) folder=${word%/*}/.libs ;;
		*/*) folder=$PWD/${word%/*}/.libs ;;
		*) folder=$PWD/.libs ;;
		esac
		name=${word##*/}
		field "$word" dlname
		if [ -n "$value" ]; then
			set -- "$@" "$folder/${name%.la}.so" "-Wl,-rpath,$folder"
		else
			# what it needs goes to the front of what is still to be read
			field "$word" dependency_libs
			before=$#
			# shellcheck disable=SC2086 # a list of words
			set -- $value "$@"
			count=$((count + $# - before))
			set -- "$@" "$folder/${name%.la}.a"
		fi
		;;
	*) set -- "$@" "$word" ;;
	esac
done
exec "$@"
