#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What make calls as libtool. A program of the tests is never installed, so all that libtool does for it is to find the libraries
# of this build. This script does that in one process. Libtool starts two hundred, for each of about 170 programs, and puts a
# script around each program, which costs as much again at every start. All other calls go on to libtool unchanged.
#
# usage: link.sh LIBTOOL ARGUMENT...
libtool=$1
shift

# Whether the command links a program into a folder below tests/, with nothing that only libtool knows how to do.
links_a_test()
{
	links=
	while [ $# -gt 0 ]; do
		case $1 in
		--mode=link) links=yes ;;
		--mode=*) return 1 ;;
		-o)
			case $2 in
			*.la | *.lo | *.a) return 1 ;;
			tests/*) ;;
			*) return 1 ;;
			esac
			;;
		-dlopen | -dlpreopen | -rpath | -R | -static | -all-static | *.lo) return 1 ;;
		esac
		shift
	done
	[ -n "$links" ]
}

# Libtool is written for every shell of POSIX. The system's own is often a quicker one than configure has found.
links_a_test "$@" || exec /bin/sh "$libtool" "$@"

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
