#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pictures that datperf draws with gnuplot: of this run, and of earlier ones.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

perf=(./datperf --ia soft0 --timeout 60)
export LC_ALL=C # the locale in which packages are built

has_gnuplot()
{
	command -v gnuplot >/dev/null || skips 'gnuplot is not here'
	[ "$verdict" = 0 ]
}

# Each curve has its name in the picture.
a_picture_shows_this_run_and_earlier_ones()
{
	local name
	has_gnuplot || return 0
	run "${perf[@]}" --json --sweep=8:32 --iters 5
	cp "$out" "$dir/before.json"
	run "${perf[@]}" --csv --test send-bw --sweep=8:32 --iters 5 --plot "$dir/p.svg" "$dir/before.json"
	exits_with 0
	says_nothing
	for name in 'soft0 send-bw' 'soft0 send-bw (before.json)'; do
		[ "$(grep -c "<title>$name</title>" "$dir/p.svg")" -eq 1 ] || fails "not one $name: $(grep -o '<title>.*' "$dir/p.svg")"
	done
	run ./datperf --plot "$dir/q.svg" "$dir/before.json" "$dir/before.json"
	exits_with 0
	prints_nothing
	[ "$(grep -c '<title>soft0 [a-z-]* (before.json)</title>' "$dir/q.svg")" -eq 14 ] || fails 'not fourteen curves'
	mkdir -p "$dir/old/x" "$dir/new/x"
	cp "$dir/before.json" "$dir/old/x/run.json"
	cp "$dir/before.json" "$dir/new/x/run.json"
	run ./datperf --plot "$dir/q.svg" "$dir/before.json" "$dir/old/x/run.json" "$dir/new/x/run.json"
	exits_with 0
	for name in before.json old/x/run.json new/x/run.json; do
		grep -q "<title>soft0 send-bw ($name)</title>" "$dir/q.svg" || fails "no curve of $name: $(grep -o '<title>.*' "$dir/q.svg")"
	done
	run "${perf[@]}" --json --test send-bw --sweep=8:32 --iters 50 --eps 4 --threads 2 --bidirectional
	cat "$out" >>"$dir/before.json"
	run "${perf[@]}" --json --api 2.0 --test send-bw --sweep=8:32 --iters 50
	cat "$out" >>"$dir/before.json"
	run ./datperf --plot "$dir/r.svg" "$dir/before.json"
	exits_with 0
	[ "$(grep -c '<title>soft0 send-bw, API 2.0</title>' "$dir/r.svg")" -eq 1 ] ||
		fails "no curve of 2.0: $(grep -o '<title>.*' "$dir/r.svg")"
	[ "$(grep -c '<title>soft0 send-bw</title>' "$dir/r.svg")" -eq 1 ] || fails 'not one plain curve'
	[ "$(grep -c '<title>soft0 send-bw, 4 eps, 2 threads, both ways</title>' "$dir/r.svg")" -eq 1 ] ||
		fails "no curve of its own: $(grep -o '<title>.*' "$dir/r.svg")"
	run ./datperf --plot "$dir/p.png" "$dir/before.json"
	exits_with 0
	[ "$(head -c 4 "$dir/p.png" | tail -c 3)" = PNG ] || fails 'no PNG'
}

# bands PICTURE N: N curves have a band
bands()
{
	[ "$(grep -c "fill-opacity *= *'0.25" "$1")" -eq "$2" ] || fails "$(grep -c "fill-opacity *= *'0.25" "$1") bands instead of $2"
}

a_band_shows_how_far_repetitions_are_apart()
{
	has_gnuplot || return 0
	run "${perf[@]}" --json --test send-lat --sweep=8:32 --iters 5 --repeat 3
	sed -E 's/"low": [0-9.]+, "high": [0-9.]+/"low": 0.1, "high": 900/' "$out" >"$dir/apart.json"
	sed -E 's/"repeat": .*"window"/"window"/' "$out" >"$dir/once.json"
	run ./datperf --plot "$dir/b.svg" "$dir/apart.json" "$dir/once.json"
	exits_with 0
	says_nothing
	bands "$dir/b.svg" 1
	grep -q '<title>soft0 send-lat (once.json)</title>' "$dir/b.svg" || fails 'one curve is not there'
	head -n 1 "$dir/apart.json" >"$dir/one.json"
	run ./datperf --plot "$dir/b.svg" "$dir/one.json"
	exits_with 0
	says_nothing
	bands "$dir/b.svg" 0 # a bar: there is only one size
}

# appends FILE OPTION...: appends the results of one more run
appends()
{
	run "${perf[@]}" --json --iters 5 "${@:2}"
	exits_with 0
	cat "$out" >>"$1"
}

# curves PICTURE NAME...: checks that the picture has these curves and no others
curves()
{
	local names
	names=$(sed -n 's,.*<title>\(soft0 .*\)</title>.*,\1,p' "$1")
	[ "$names" = "$(printf '%s\n' "${@:2}")" ] || fails "other curves: $names"
}

runs_of_one_file_are_curves_of_their_own()
{
	has_gnuplot || return 0
	appends "$dir/windows.json" --test send-bw --sweep=8:64 --window 4
	appends "$dir/windows.json" --test send-bw --sweep=8:64 --window 4
	appends "$dir/windows.json" --test send-bw --sweep=128:256 --window 8
	appends "$dir/windows.json" --test send-bw --sweep=8:64
	run ./datperf --plot "$dir/w.svg" "$dir/windows.json"
	exits_with 0
	curves "$dir/w.svg" 'soft0 send-bw, window 4 (run 1)' 'soft0 send-bw, window 4 (run 2)' 'soft0 send-bw, window 8' \
		'soft0 send-bw'
	appends "$dir/sizes.json" --test send-lat --sweep=8:64
	appends "$dir/sizes.json" --test send-lat --sweep=32:128
	appends "$dir/sizes.json" --test send-lat --size 256
	run ./datperf --plot "$dir/w.svg" "$dir/sizes.json" "$dir/windows.json"
	exits_with 0
	curves "$dir/w.svg" 'soft0 send-lat (sizes.json, run 1)' 'soft0 send-lat (sizes.json, run 2)' \
		'soft0 send-bw, window 4 (windows.json, run 1)' 'soft0 send-bw, window 4 (windows.json, run 2)' \
		'soft0 send-bw, window 8 (windows.json)' 'soft0 send-bw (windows.json)'
}

# By default it depends on the size; one that was chosen may be the default of some sizes.
a_window_is_named_if_it_was_chosen()
{
	has_gnuplot || return 0
	appends "$dir/usual.json" --test send-bw --sweep=64k:1m
	appends "$dir/usual.json" --test send-bw --sweep=64k:1m --window 64
	run ./datperf --plot "$dir/u.svg" "$dir/usual.json"
	exits_with 0
	curves "$dir/u.svg" 'soft0 send-bw' 'soft0 send-bw, window 64'
	sed 's/"window": [0-9]*, //' "$dir/usual.json" >"$dir/older.json"
	run ./datperf --plot "$dir/u.svg" "$dir/older.json"
	exits_with 0
	curves "$dir/u.svg" 'soft0 send-bw (run 1)' 'soft0 send-bw (run 2)'
}

# height PICTURE TEXT: how far down the first text of this kind is
height()
{
	awk -v text="$2" '/transform="translate\(/ { sub(/.*translate\([0-9.]*,/, ""); at = int($0) }
		/<text>/ && index($0, text) { print at; exit }' "$1"
}

the_names_of_the_curves_are_apart_from_that_of_the_axis()
{
	local axis name
	has_gnuplot || return 0
	run "${perf[@]}" --test send-lat --sweep=8:32 --iters 5 --plot "$dir/apart.svg"
	exits_with 0
	axis=$(height "$dir/apart.svg" 'size of a message')
	name=$(height "$dir/apart.svg" 'soft0 send-lat')
	[ "$((name - axis))" -ge 24 ] || fails "the letters of 12 are at $axis and $name"
}

the_picture_says_what_it_shows_where_and_when()
{
	local host version
	has_gnuplot || return 0
	host=$(uname -n)
	version=$(./datperf --version | awk '{ print $NF }')
	run "${perf[@]}" --json --test send-lat --sweep=8:32 --iters 5 --plot "$dir/says.svg"
	exits_with 0
	cp "$out" "$dir/says.json"
	grep -qF "soft0, measured on $host, $(date +%Y-%m-%d), OpenDAT $version<" "$dir/says.svg" ||
		fails "$(grep -o '[^>]*OpenDAT[^<]*' "$dir/says.svg")"
	grep -q 'latency (us, one way; of a read: post to completion)' "$dir/says.svg" || fails 'the axis has no unit'
	run ./datperf --plot "$dir/says.png" "$dir/says.json"
	exits_with 0
	[ "$(head -c 8 "$dir/says.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fails 'no PNG'
	run ./datperf --plot "$dir/says.svg" "$dir/says.json"
	exits_with 0
	grep -qF "soft0, drawn on $host, " "$dir/says.svg" || fails 'not what was drawn only'
}

a_picture_that_cannot_be_is_refused_before_anything_is_measured()
{
	has_gnuplot || return 0
	echo nonsense >"$dir/bad.json"
	run "${perf[@]}" --test send-lat --plot "$dir/p.svg" "$dir/bad.json"
	exits_with 1
	prints_nothing
	says 'bad.json:1: no result'
	run ./datperf --plot "$dir/p.svg" "$dir/nosuchfile"
	exits_with 1
	says 'nosuchfile: No such file'
	run "${perf[@]}" --json --test connect-rate --iters 2 --plot "$dir/p.svg"
	exits_with 1
	says 'nothing to draw'
	: >"$dir/empty.json"
	run ./datperf --plot "$dir/p.svg" "$dir/empty.json"
	exits_with 1
	says 'empty.json: it is empty'
	run ./datperf --plot "$dir/p.svg" "$dir"
	exits_with 1
	says ': Is a directory'
	run "${perf[@]}" --json --test send-lat --iters 2 --plot /nosuchfolder/p.svg
	exits_with 1
	prints_nothing
	says '--plot: /nosuchfolder/p.svg cannot be written: No such file'
	echo before >"$dir/kept.svg"
	run "${perf[@]}" --json --test connect-rate --iters 2 --plot "$dir/kept.svg"
	[ "$(cat "$dir/kept.svg")" = before ] || fails 'the picture of before is gone'
}

a_picture_without_gnuplot_is_an_error()
{
	run env PATH=/nosuchfolder "$PWD/datperf" --ia soft0 --test send-lat --plot "$dir/p.svg"
	exits_with 1
	prints_nothing
	says '--plot needs gnuplot'
}

a_picture_that_finds_no_room_is_an_error()
{
	has_gnuplot || return 0
	ln -s /dev/full "$dir/full.svg"
	run "${perf[@]}" --json --test send-lat --iters 2 --plot "$dir/full.svg"
	exits_with 1
	prints_lines 1
	says '--plot: .*/full.svg cannot be written: No space left'
}

# gnuplot 6 refuses to read points from its standard input within a multiplot, and 5 does not: this script behaves like 6.
a_picture_is_drawn_without_what_gnuplot_6_refuses()
{
	local real
	has_gnuplot || return 0
	real=$(command -v gnuplot)
	mkdir -p "$dir/bin"
	cat >"$dir/bin/gnuplot" <<-END
		#!/bin/bash
		cat >"$dir/script"
		! sed -n '/^set multiplot/,/^unset multiplot/p' "$dir/script" | grep -F "'-'" >&2 || exit 1
		exec $real "$dir/script"
	END
	chmod +x "$dir/bin/gnuplot"
	PATH=$dir/bin:$PATH run "${perf[@]}" --json --sweep=8:32 --iters 5 --plot "$dir/six.svg"
	exits_with 0
	says_nothing
	grep -q '^set multiplot' "$dir/script" || fails 'that was no multiplot'
	curves "$dir/six.svg" 'soft0 send-lat' 'soft0 write-lat' 'soft0 read-lat' 'soft0 eager-lat' 'soft0 send-bw' 'soft0 write-bw' 'soft0 read-bw'
}

# The axes keep their size, however many names there are.
many_curves_make_a_higher_picture()
{
	local i
	has_gnuplot || return 0
	run "${perf[@]}" --json --test send-lat --size 8 --iters 5
	for i in 1 2 3 4 5 6 7 8 9 10; do
		cp "$out" "$dir/$i.json"
	done
	run ./datperf --plot "$dir/few.svg" "$dir"/[12].json
	exits_with 0
	says_nothing
	grep -q 'width="700" height="610"' "$dir/few.svg" || fails "another size: $(head -n 3 "$dir/few.svg")"
	run ./datperf --plot "$dir/many.svg" "$dir"/[0-9]*.json
	exits_with 0
	says_nothing
	grep -q 'width="700" height="724"' "$dir/many.svg" || fails "another size: $(head -n 3 "$dir/many.svg")"
}

tests a_picture_shows_this_run_and_earlier_ones runs_of_one_file_are_curves_of_their_own \
	a_window_is_named_if_it_was_chosen a_band_shows_how_far_repetitions_are_apart the_picture_says_what_it_shows_where_and_when \
	the_names_of_the_curves_are_apart_from_that_of_the_axis \
	a_picture_that_cannot_be_is_refused_before_anything_is_measured \
	a_picture_without_gnuplot_is_an_error a_picture_that_finds_no_room_is_an_error \
	a_picture_is_drawn_without_what_gnuplot_6_refuses many_curves_make_a_higher_picture
