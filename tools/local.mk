# SPDX-License-Identifier: BSD-2-Clause
# datctl and datperf. A command of datctl is a file of its own.
TOOLS_COMMON = \
	tools/cli.c \
	tools/cli.h \
	tools/names.c \
	tools/names.h

bin_PROGRAMS += datctl
datctl_SOURCES = \
	$(TOOLS_COMMON) \
	registry/loader.c \
	registry/loader.h \
	registry/loader_why.c \
	registry/loader_why.h \
	tools/check.h \
	tools/check_calls.c \
	tools/check_calls20.c \
	tools/check_device.c \
	tools/check_entry.c \
	tools/check_file.c \
	tools/check_try.c \
	tools/confedit.c \
	tools/confedit.h \
	tools/dat20.c \
	tools/dat20.h \
	tools/conffile.c \
	tools/conffile.h \
	tools/datctl.c \
	tools/datctl.h \
	tools/datctl_certify.c \
	tools/datctl_check.c \
	tools/datctl_datadm.c \
	tools/datctl_discover.c \
	tools/datctl_dump.c \
	tools/datctl_env.c \
	tools/datctl_explain.c \
	tools/datctl_list.c \
	tools/datctl_ping.c \
	tools/datctl_report.c \
	tools/datctl_show.c \
	tools/datctl_which.c \
	tools/dump.h \
	tools/device_attr.c \
	tools/device_attr.h \
	tools/devices.c \
	tools/devices.h \
	tools/explain.h \
	tools/explain_events.c \
	tools/explain_events20.c \
	tools/explain_returns.c \
	tools/explain_returns20.c \
	tools/host.h \
	tools/json.c \
	tools/json.h \
	tools/ping.h \
	tools/ping_end.c \
	tools/ping_end20.c \
	tools/ping_queue.c \
	tools/ping_queue20.c \
	tools/ping_run.c \
	tools/ping_run20.c \
	tools/probe.c \
	tools/probe.h \
	tools/serves20.c \
	tools/serves20.h \
	tools/show.h \
	tools/show_attr.c \
	tools/show_attr20.c
datctl_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -DLOADER_OUTSIDE
datctl_LDFLAGS = $(AM_LDFLAGS) $(BIN_RPATH)
datctl_LDADD = libregconf.la libdat.la $(LTDL_LIBS)

# datperf is compiled once for each API. The program for 2.0 is among the plugins, and datperf --api 2.0 executes it.
perf_sources = \
	$(TOOLS_COMMON) \
	tools/datperf.c \
	tools/datperf.h \
	tools/datperf_api.h \
	tools/datperf_bw.c \
	tools/datperf_clock.c \
	tools/datperf_conn.c \
	tools/datperf_ctl.c \
	tools/datperf_data.c \
	tools/datperf_guest.c \
	tools/datperf_hist.c \
	tools/host.h \
	tools/datperf_ia.c \
	tools/datperf_lane.c \
	tools/datperf_lat.c \
	tools/datperf_opt.c \
	tools/datperf_plot.c \
	tools/datperf_post.c \
	tools/datperf_proc.c \
	tools/datperf_rate.c \
	tools/datperf_repeat.c \
	tools/datperf_report.c \
	tools/other_api.c \
	tools/other_api.h
perf_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -DBIN_TO_LIB='"$(BIN_TO_LIB)"'

bin_PROGRAMS += datperf
datperf_SOURCES = \
	$(perf_sources) \
	tools/datperf_vipl.c \
	tools/datperf_vipl.h \
	tools/datperf_vipl_run.c
datperf_CPPFLAGS = $(perf_cppflags) -DPERF_API=1
datperf_LDFLAGS = $(AM_LDFLAGS) $(BIN_RPATH)
datperf_LDADD = libvipl.la libdat.la -lm

plugin_PROGRAMS += datperf-2.0
datperf_2_0_SOURCES = $(perf_sources)
datperf_2_0_CPPFLAGS = $(perf_cppflags) -DPERF_API=2
datperf_2_0_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/dat2' $(PLUGIN_RPATH)
datperf_2_0_LDADD = libdat2.la -lm

# The program with which a newcomer begins. Its source is installed, and ./quickstart demo compiles it there as a user would. The
# tests run the program of the build tree.
examplesdir = $(docdir)/examples
dist_examples_DATA = examples/exchange.c
check_PROGRAMS += examples/exchange
examples_exchange_SOURCES = examples/exchange.c
examples_exchange_LDADD = libdat.la

# The programs of opendat-tutorial(7), which tests/tools/tutorial.sh compiles as their users do.
tutorialdir = $(examplesdir)/tutorial
dist_tutorial_DATA = \
	examples/tutorial/echo.c \
	examples/tutorial/event_loop.cc \
	examples/tutorial/notify.c \
	examples/tutorial/step1_open.c \
	examples/tutorial/step2_objects.c \
	examples/tutorial/step3_connect.c \
	examples/tutorial/step4_send.c \
	examples/tutorial/step5_rdma.c \
	examples/tutorial/step6_errors.c \
	examples/tutorial/tutorial.h

# bash-completion searches this folder below every prefix. A file has to have the name of its command.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = tools/completions/datconform tools/completions/datctl tools/completions/datperf

# zsh looks for a function whose name is an underscore and the command's. Debian's zsh reads those of packages from another folder.
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = tools/completions/zsh/_datconform tools/completions/zsh/_datctl tools/completions/zsh/_datperf \
	tools/completions/zsh/_opendat
