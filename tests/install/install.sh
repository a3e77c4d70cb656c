#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Takes what is installed with DESTDIR, moves the tree elsewhere, and uses it from there: the tools, and what pkg-config says of it.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
. "$top_srcdir/tests/install/movable.sh"
unset LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL MFLAGS

# what /etc/dat.conf says on this machine is another matter
export PKG_CONFIG_PATH=$moved/lib/pkgconfig DAT_OVERRIDE=$moved/etc/dat.conf

# Prints everything of quickstart except its commands, to be run from $tap_dir/head.
quickstart_without_commands()
{
	mkdir -p "$tap_dir/tests/harness" && cp "$top_srcdir/tests/harness/results.sh" "$tap_dir/tests/harness/" &&
		sed '/^case "${1-} ${2-}" in$/,$d' "$top_srcdir/quickstart"
}

# Runs everything of quickstart except its commands, to see which of the user's variables the commands get.
quickstart_has_no_variables()
{
	quickstart_without_commands >"$tap_dir/head"
	echo 'trap - EXIT; echo the variables are:; env | grep -E "^(DAT|DAPL_DBG)_" || :' >>"$tap_dir/head"
	[ "$(DAT_PROVIDERS=ib DAT_LOG=none DAPL_DBG_TYPE=1 bash "$tap_dir/head" demo)" = 'the variables are:' ]
}

# quickstart_ends COMMAND...: while quickstart runs this command, which has to run `slow`, Ctrl-C ends both
quickstart_ends()
{
	local quickstart slow status=0
	{
		quickstart_without_commands
		# shellcheck disable=SC2016 # that is for the other shells
		echo 'slow() { bounded 3600 bash -c '\''echo $$ >"$0/begun" && exec sleep 3600'\'' "${0%/*}"; }'
		echo "$*"
	} >"$tap_dir/head"
	rm -f "$tap_dir/begun" && mkfifo "$tap_dir/begun" || return
	env --default-signal=INT setsid bash "$tap_dir/head" &
	quickstart=$!
	read -r slow <"$tap_dir/begun"
	kill -INT -- "-$quickstart"
	if ! timeout 60 tail --pid="$quickstart" -f /dev/null || ! timeout 60 tail --pid="$slow" -f /dev/null; then
		echo 'a minute later it still waits for its command, or that goes on'
		kill "$slow"
		return 1
	fi
	wait "$quickstart" || status=$?
	echo "status $status"
	[ $status -eq 130 ]
}

# quickstart_runs_each_step_once EXPECTED BESIDE AWAITED: the lab is expected to take EXPECTED seconds. Each step of 'check all', of
# which all but the names is left out here, runs once, and the packages, which take 600 s, beside the lab or not. The lab ends when the
# file AWAITED is there.
quickstart_runs_each_step_once()
{
	local build=$tap_dir/build
	{
		quickstart_without_commands
		cat <<-'END'
			trap - EXIT
			step_fabric()
			{
				timeout 60 bash -c 'until [ -e "$0" ]; do sleep 0.1; done' "$build/$(cat "$build/awaited")"
				ran fabric
			}
			ran() { record "$1" PASS; echo "$1" >>"$build/ran"; }
			sanitized_tree() { :; }
			for name in plain distcheck systems-made systems asan tsan clang; do
				eval "step_$name() { ran $name; }"
			done
			step_debian() { [ ! -e "$build/.beside" ] || touch "$build/was-beside"; ran debian; }
			check_all=1
			run_steps plain fabric asan tsan clang debian systems distcheck
		END
	} >"$tap_dir/head"
	rm -rf "$build" && mkdir -p "$build/steps" && touch -d '1 hour ago' "$build/.mark-all" || return
	echo "$1" >"$build/steps/fabric.seconds"
	echo 600 >"$build/steps/debian.seconds"
	# what the lab waits for
	echo "$3" >"$build/awaited"
	bash "$tap_dir/head" || return
	cat "$build/ran"
	[ "$(sort "$build/ran" | xargs)" = "asan clang debian distcheck fabric plain systems systems-made tsan" ] &&
		[ "$([ ! -e "$build/was-beside" ] || echo beside)" = "$2" ]
}

# quickstart refuses a folder that cannot be built in, whichever character is in its name, before it installs or builds anything.
quickstart_names_a_bad_folder()
{
	local character bad=0
	for character in ' ' $'\t' \' '"' '$' '&' '#' '*' '(' ')' ';' , : = % '\'; do
		mkdir -p "$tap_dir/a${character}b/tests/harness" && cp "$top_srcdir/quickstart" "$tap_dir/a${character}b/" &&
			cp "$top_srcdir/tests/harness/results.sh" "$tap_dir/a${character}b/tests/harness/" || return
		"$tap_dir/a${character}b/quickstart" demo >"$tap_dir/said" 2>&1 || :
		grep -qF "folder '$tap_dir/a${character}b' cannot be built in" "$tap_dir/said" || { cat "$tap_dir/said"; bad=1; }
		[ ! -e "$tap_dir/a${character}b/build" ] || bad=1
	done
	return $bad
}

# The libraries under $moved that a file needs are found under $moved.
finds_its_libraries()
{
	local libs
	libs=$(ldd "$1") || return 1
	printf '%s\n' "$libs"
	! grep -E 'lib(dat|dat2|datp)[.]so' <<<"$libs" | grep -v -F "=> $moved/"
}

# The installed tree is used in a folder that has nothing made for tests.
needs_no_test_library()
{
	local libs
	libs=$(ldd "$1") || return 1
	printf '%s\n' "$libs"
	! grep -i cunit <<<"$libs"
}

flags()
{
	pkg-config --define-prefix "$@"
}

builds_a_program()
{
	cat >"$tap_dir/program.c" <<-'END'
	#include <stdio.h>
	#include <dat/udat.h>

	int main(void)
	{
		DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
		DAT_RETURN ret = dat_ia_open((DAT_NAME_PTR)"soft0", 8, &evd, &ia);

		if (ret == DAT_SUCCESS)
			ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
		printf("0x%08x\n", ret);
		return ret != DAT_SUCCESS;
	}
	END
	# shellcheck disable=SC2046 # lists of flags
	$CC -std=c99 -Wall -Wextra -Werror $CFLAGS $(flags --cflags dat) -o "$tap_dir/program" \
		"$tap_dir/program.c" $(flags --libs dat)
}

builds_a_program_of_2_0()
{
	cat >"$tap_dir/program2.c" <<-'END'
	#include <stdio.h>
	#include <dat2/udat.h>

	int main(void)
	{
		DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
		DAT_PROVIDER_ATTR attr = { 0 };
		DAT_RETURN ret = dat_ia_open((DAT_NAME_PTR)"soft0", 8, &evd, &ia);

		if (ret == DAT_SUCCESS)
			ret = dat_ia_query(ia, &evd, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
		printf("DAT %u.%u\n", (unsigned int)attr.dapl_version_major, (unsigned int)attr.dapl_version_minor);
		if (ret == DAT_SUCCESS)
			ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
		printf("0x%08x\n", ret);
		return ret != DAT_SUCCESS;
	}
	END
	# shellcheck disable=SC2046 # lists of flags
	$CC -std=c99 -Wall -Wextra -Werror $CFLAGS $(flags --cflags dat2) -o "$tap_dir/program2" \
		"$tap_dir/program2.c" $(flags --libs dat2) -Wl,-rpath,"$(flags --variable=dat2libdir dat2)"
}

# One line serves programs of 1.2, one programs of 2.0.
program_of_2_0_opens()
{
	{ cat "$moved/etc/dat.conf"; echo 'soft0 u2.0 nonthreadsafe default libdatsoft.so opendat.1.0 "" ""'; } >"$tap_dir/both.conf"
	tap_holds '^DAT 2[.]0' env DAT_OVERRIDE="$tap_dir/both.conf" "$1"
}

builds_a_plugin()
{
	cat >"$tap_dir/plugin.c" <<-'END'
	#include <datp/provider.h>

	DAT_RETURN plugin_ret(enum datp_err err);
	DAT_RETURN plugin_ret(enum datp_err err) { return datp_ret(err); }
	END
	# shellcheck disable=SC2046 # lists of flags
	$CC -std=gnu11 -Wall -Wextra -Werror $CFLAGS -fPIC -shared -Wl,-z,defs $(flags --cflags datp) \
		-o "$tap_dir/plugin.so" "$tap_dir/plugin.c" $(flags --libs datp)
}

builds_a_vipl_program()
{
	# shellcheck disable=SC2046 # lists of flags
	$CC -std=gnu11 -Wall -Wextra -Werror $CFLAGS $(flags --cflags vipl) -o "$tap_dir/vipl_exchange" \
		"$moved/share/doc/opendat/examples/vipl_exchange.c" $(flags --libs vipl)
}

# A place where build/stage is the moved tree, and pkg-config believes that it belongs where it is.
readme_place()
{
	mkdir -p "$tap_dir/clone/build" "$tap_dir/bin"
	ln -sfn "$moved" "$tap_dir/clone/build/stage"
	printf '#!/bin/sh\nexec %s --define-prefix "$@"\n' "$(command -v pkg-config)" >"$tap_dir/bin/pkg-config"
	chmod +x "$tap_dir/bin/pkg-config"
}

# The block of README.md that compiles exchange.c, word for word.
readme_compiles_the_example()
{
	local block
	block=$(awk '/^```/ { if (inside && text ~ /cc exchange[.]c/) printf "%s", text; inside = !inside; text = ""; next }
		inside { text = text $0 "\n" }' "$top_srcdir/README.md")
	[ -n "$block" ] || { echo 'README.md has no such block'; return 1; }
	(cd "$tap_dir/clone" && env -u PKG_CONFIG_PATH PATH="$tap_dir/bin:$PATH" CFLAGS= bash -euxc "$block")
}

# Each `datctl ...` of its text.
readme_commands_succeed()
{
	local words bad=0 count=0
	while IFS= read -r words; do
		count=$((count + 1))
		# shellcheck disable=SC2086 # a command's words
		"$moved/bin/"$words >"$tap_dir/said" 2>&1 || { echo "fails: $words"; cat "$tap_dir/said"; bad=1; }
	done < <(grep -oE '`(build/stage/bin/)?datctl [^`]*`' "$top_srcdir/README.md" | sed 's,build/stage/bin/,,' |
		tr -d '`' | sort -u)
	[ $count -ge 5 ] || { echo "only $count commands were found"; return 1; }
	return $bad
}

# What datp.pc says is the SDK's version, as its header has it.
sdk_version_is_the_headers()
{
	local version
	version=$(printf '#include <datp/provider.h>\nis DATP_SDK_MAJOR.DATP_SDK_MINOR\n' |
		$CC -E -P -I"$moved/include" - | sed -n 's/^is *//p' | tr -d ' ')
	echo "header: $version, datp.pc: $(flags --modversion datp)"
	[ -n "$version" ] && [ "$(flags --modversion datp)" = "$version" ]
}

# builds_with_cmake REQUEST [PREFIX]: where CMake looks for it, in place of $moved
builds_with_cmake()
{
	local build=$tap_dir/cmake/build${2:+-by-link}
	mkdir -p "$tap_dir/cmake" || return
	cat >"$tap_dir/cmake/CMakeLists.txt" <<-END
	cmake_minimum_required(VERSION 3.13)
	project(stranger C)
	find_package(OpenDAT $1 REQUIRED)
	if(NOT OpenDAT_PLUGINDIR STREQUAL "$(cd "$moved" && pwd -P)/lib/opendat")
		message(FATAL_ERROR "the folder of plugins is \${OpenDAT_PLUGINDIR}")
	endif()
	add_executable(program $tap_dir/program.c)
	target_link_libraries(program OpenDAT::dat)
	add_executable(program2 $tap_dir/program2.c)
	target_link_libraries(program2 OpenDAT::dat2)
	add_library(plugin MODULE $tap_dir/plugin.c)
	target_link_libraries(plugin OpenDAT::datp -Wl,-z,defs)
	add_executable(vipl_exchange $moved/share/doc/opendat/examples/vipl_exchange.c)
	target_link_libraries(vipl_exchange OpenDAT::vipl)
	END
	cmake -S "$tap_dir/cmake" -B "$build" -DCMAKE_PREFIX_PATH="${2:-$moved}" && cmake --build "$build"
}

# As where /lib is a link to usr/lib, and /bin comes before /usr/bin in PATH.
builds_with_cmake_through_a_link()
{
	mkdir -p "$tap_dir/merged" && ln -sfn "$moved/lib" "$tap_dir/merged/lib" && builds_with_cmake 0.1 "$tap_dir/merged"
}

cmake_refuses_another_major()
{
	! builds_with_cmake 7.0 >"$tap_dir/refused" 2>&1 && cat "$tap_dir/refused" && grep -q '"7.0"' "$tap_dir/refused"
}

cmake_refuses_an_unknown_component()
{
	! builds_with_cmake '0.1 COMPONENTS vipl udp' >"$tap_dir/refused" 2>&1 && cat "$tap_dir/refused" &&
		grep -q 'OpenDAT has no component udp: ' "$tap_dir/refused" && builds_with_cmake '0.1 COMPONENTS dat dat2 datp vipl'
}

# The administrator's files are there, each says where it is copied to, and what it has is what the programs there read.
files_for_an_administrator()
{
	local admin=$moved/share/doc/opendat/admin name
	for name in limits.conf:/etc/security/limits.d/ modules.conf:/etc/modules-load.d/ rdma-names.rules:/etc/udev/rules.d/; do
		grep -F "Copy this to ${name#*:}" "$admin/${name%:*}" || return
	done
	[ "$(awk '!/^#/ && NF { print NF, $1, $3, $4 }' "$admin/limits.conf" | sort -u)" = '4 * memlock unlimited' ] &&
		[ "$(grep -v '^#' "$admin/modules.conf" | xargs)" = 'ib_uverbs rdma_ucm' ] &&
		sed -n 's/^#\(ACTION.*\)/\1/p' "$admin/rdma-names.rules" | grep -E '^([A-Z]+(\{[a-z_]+\})?=="[^"]+", )+PROGRAM="rdma_rename %k NAME_FIXED [a-z0-9]+"$'
}

uninstall_leaves_nothing()
{
	cp -a "$PWD/tests/install/dest" "$tap_dir/again" && make -s uninstall DESTDIR="$tap_dir/again" || return 1
	! find "$tap_dir/again" -type f | grep .
}

tap 'quickstart: what the user has set for programs does not reach what it runs' quickstart_has_no_variables
tap 'quickstart: Ctrl-C ends it at once, and what it runs' quickstart_ends slow
# The lane has to do it alone here, because which of the two processes Ctrl-C ends first is left to chance.
tap 'quickstart: Ctrl-C ends what it runs in the background' quickstart_ends 'lane slow & trap "" INT; join $!; exit 130'
tap 'quickstart: each step runs once, and the packages beside a lab that takes long' \
	quickstart_runs_each_step_once 1000 beside was-beside
tap 'quickstart: each step runs once, and the packages after a lab that takes as long as they do' \
	quickstart_runs_each_step_once 500 '' steps/distcheck.trs
tap 'quickstart: a folder that cannot be built in is refused' quickstart_names_a_bad_folder
tap 'install: a tree installs under DESTDIR and moves' install_and_move || tap_end
for file in bin/datconform bin/datctl bin/datperf lib/libdat.so.1 lib/libdat2.so.2 \
	lib/libdatp.so.0 lib/libvipl.so.0 lib/opendat/libdatsoft.so lib/opendat/datconform-2.0 \
	lib/opendat/datperf-2.0; do
	tap "install: moved, $file finds its libraries" finds_its_libraries "$moved/$file"
done
for file in bin/datconform bin/datctl bin/datperf; do
	tap "install: $file needs no library that is for tests" needs_no_test_library "$moved/$file"
done
tap 'install: moved, datctl lists soft0' tap_holds '^soft0' "$moved/bin/datctl" list
tap 'install: moved, datctl opens soft0' tap_holds soft0 "$moved/bin/datctl" show soft0
tap 'install: moved, datconform judges soft0 as a program of 2.0' tap_holds '^1 passed, 0 failed' \
	"$moved/bin/datconform" --api 2.0 --ia soft0 --only EVD_WAIT-08
tap 'install: a program builds with the flags of dat.pc' builds_a_program
tap 'install: that program opens soft0' env LD_LIBRARY_PATH="$moved/lib" "$tap_dir/program"
tap 'install: a program of 2.0 builds with the flags of dat2.pc' builds_a_program_of_2_0
tap "install: that program's libraries are those of the tree" finds_its_libraries "$tap_dir/program2"
tap 'install: that program opens soft0 by a line for 2.0' program_of_2_0_opens "$tap_dir/program2"
tap 'install: datp.pc names the folder of plugins' test "$(flags --variable=plugindir datp)" = "$moved/lib/opendat"
tap 'install: a plugin builds with the flags of datp.pc' builds_a_plugin
tap 'install: a program for VIPL builds with the flags of vipl.pc' builds_a_vipl_program
tap 'install: that program exchanges data over soft0' tap_holds 'All bytes were checked' env LD_LIBRARY_PATH="$moved/lib" \
	"$tap_dir/vipl_exchange" soft0
readme_place
if [ "${SANITIZE:-no}" = no ]; then
	tap 'install: the commands of README.md compile and run the example' readme_compiles_the_example
else	# they name no sanitizer
	tap_skip 'install: the commands of README.md compile and run the example' 'the libraries are built for a sanitizer'
fi
tap 'install: each datctl command of README.md succeeds' readme_commands_succeed
tap 'install: datp.pc has the version of the SDK' sdk_version_is_the_headers
if ! command -v cmake >/dev/null; then
	tap_skip 'install: programs and a plugin build with find_package(OpenDAT)' 'no cmake here: install the package cmake'
elif [ "${SANITIZE:-no}" != no ]; then
	tap_skip 'install: programs and a plugin build with find_package(OpenDAT)' 'CMake links without the sanitizers'
else
	tap 'install: programs and a plugin build with find_package(OpenDAT)' builds_with_cmake 0.1
	tap 'install: they do if CMake finds it through a link to the folder of libraries' builds_with_cmake_through_a_link
	tap 'install: the program that CMake built opens soft0' "$tap_dir/cmake/build/program"
	tap 'install: the program of 2.0 that CMake built opens soft0' program_of_2_0_opens "$tap_dir/cmake/build/program2"
	tap 'install: find_package(OpenDAT) of another major is refused' cmake_refuses_another_major
	tap 'install: find_package(OpenDAT) with an unknown component is refused' cmake_refuses_an_unknown_component
fi
tap "install: the administrator's files are there" files_for_an_administrator
tap 'install: uninstall leaves no file' uninstall_leaves_nothing
tap_end
