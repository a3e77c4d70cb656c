# SPDX-License-Identifier: BSD-2-Clause
# Tests of the soft provider from inside, and under strain.
SOFT_TEST_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
SOFT_TEST_LIBS = libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

SOFT_UNIT_TESTS = \
	tests/soft/arena_test \
	tests/soft/bounce_test \
	tests/soft/bounds_test \
	tests/soft/coop_test \
	tests/soft/exec_test \
	tests/soft/mr_test \
	tests/soft/ring_test \
	tests/soft/sock_test \
	tests/soft/xfer_test

# These do not run under valgrind. pages_test asks about memory that is not mapped, which valgrind reports. In the others a
# thread waits for a page that another one provides: valgrind runs one thread at a time.
SOFT_BARE_TESTS = tests/soft/pages_test tests/soft/remap_test tests/soft/convert_test
check_PROGRAMS += $(SOFT_UNIT_TESTS) $(SOFT_BARE_TESTS)
TESTS += $(SOFT_UNIT_TESTS) $(SOFT_BARE_TESTS)

tests_soft_arena_test_SOURCES = tests/soft/arena_test.c
tests_soft_arena_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_arena_test_LDADD = $(SOFT_TEST_LIBS)
# its two sources include mr.c and ia.c, with other definitions for some names
tests_soft_bounds_test_SOURCES = tests/soft/bounds_test.c tests/soft/bounds_serve.c
tests_soft_bounds_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_bounds_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_exec_test_SOURCES = tests/soft/exec_test.c
tests_soft_exec_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_exec_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_coop_test_SOURCES = tests/soft/coop_test.c
tests_soft_coop_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_coop_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_bounce_test_SOURCES = tests/soft/bounce_test.c
tests_soft_bounce_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_bounce_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_mr_test_SOURCES = tests/soft/mr_test.c
tests_soft_mr_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_mr_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_pages_test_SOURCES = tests/soft/pages_test.c
tests_soft_pages_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_pages_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_remap_test_SOURCES = tests/soft/remap_test.c
tests_soft_remap_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_remap_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_convert_test_SOURCES = tests/soft/convert_test.c tests/soft/convert_file.c tests/soft/convert_file.h
tests_soft_convert_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
# its memfd_create() and fcntl() interpose the C library's
tests_soft_convert_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_convert_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_ring_test_SOURCES = tests/soft/ring_test.c
tests_soft_ring_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_ring_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_sock_test_SOURCES = tests/soft/sock_test.c
tests_soft_sock_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_sock_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=datp_timer_set_by
tests_soft_sock_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_xfer_test_SOURCES = tests/soft/xfer_test.c
tests_soft_xfer_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_xfer_test_LDADD = $(SOFT_TEST_LIBS)

# Black-box programs, which use the helpers of tests/api.
SOFT_API_TESTS = \
	tests/soft/arrival_test \
	tests/soft/corrupt_test \
	tests/soft/credit_test \
	tests/soft/cycle_test \
	tests/soft/end_test \
	tests/soft/established_test \
	tests/soft/fault_test \
	tests/soft/progress_test \
	tests/soft/fork_test \
	tests/soft/gone_test \
	tests/soft/held_test \
	tests/soft/hostile_test \
	tests/soft/hostile/skip_test \
	tests/soft/hostile/death_test \
	tests/soft/hostile/half_open_test \
	tests/soft/hostile/peer_test \
	tests/soft/hostile/limits_test \
	tests/soft/hostile/lock_test \
	tests/soft/hostile/queue_test \
	tests/soft/hostile/region_test \
	tests/soft/hostile/rights_test \
	tests/soft/hostile/early_test \
	tests/soft/hostile/requeue_test \
	tests/soft/hostile/leftover_test \
	tests/soft/hostile/foreign_test \
	tests/soft/hostile/stuck_test \
	tests/soft/hostile/probe_test \
	tests/soft/hostile/deaf_test \
	tests/soft/hostile/service_test \
	tests/soft/hostile/redirect_test \
	tests/soft/hostile/rewind_test \
	tests/soft/hostile/slow_test \
	tests/soft/hostile/close_test \
	tests/soft/hostile/adapters_test \
	tests/soft/hostile/claim_test \
	tests/soft/hostile/walk_test \
	tests/soft/hostile/scribble_test \
	tests/soft/cancel_test \
	tests/soft/kill_test \
	tests/soft/long_test \
	tests/soft/lost_test \
	tests/soft/midst_test \
	tests/soft/mix_test \
	tests/soft/orphan_test \
	tests/soft/outlast_test \
	tests/soft/pending_test \
	tests/soft/realm_test \
	tests/soft/retry_test \
	tests/soft/secret_test \
	tests/soft/share_test \
	tests/soft/short_test \
	tests/soft/spared_test \
	tests/soft/steady_test \
	tests/soft/silent_test \
	tests/soft/stop_test \
	tests/soft/stop_conn_test \
	tests/soft/storm_test \
	tests/soft/unready_test \
	tests/soft/interrupted_test \
	tests/soft/unmap_test \
	tests/soft/withheld_bind_test \
	tests/soft/withheld_test \
	tests/soft/strict_test \
	tests/soft/thread_test \
	tests/soft/straight_test

check_PROGRAMS += $(SOFT_API_TESTS)
TESTS += $(SOFT_API_TESTS)

tests_soft_arrival_test_SOURCES = tests/soft/arrival_test.c
tests_soft_arrival_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_arrival_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_corrupt_test_SOURCES = tests/soft/corrupt_test.c
tests_soft_corrupt_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_corrupt_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_credit_test_SOURCES = tests/soft/credit_test.c
tests_soft_credit_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_credit_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_cycle_test_SOURCES = tests/soft/cycle_test.c
tests_soft_cycle_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_cycle_test_LDADD = libapi.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_end_test_SOURCES = tests/soft/end_test.c
tests_soft_end_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_end_test_LDADD = libapi.la libdatp_core.la $(HARNESS_LIBS) libdat.la

# it interposes functions of the C library, also for the plugin
tests_soft_fork_test_SOURCES = tests/soft/fork_test.c
tests_soft_fork_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_fork_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_fork_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_fault_test_SOURCES = tests/soft/fault_test.c
tests_soft_fault_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_fault_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_progress_test_SOURCES = tests/soft/progress_test.c
tests_soft_progress_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_progress_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_gone_test_SOURCES = tests/soft/gone_test.c
tests_soft_gone_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_gone_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_established_test_SOURCES = tests/soft/established_test.c
tests_soft_established_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
# libdatp calls a function of the program
tests_soft_established_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_established_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_pending_test_SOURCES = tests/soft/pending_test.c
tests_soft_pending_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_pending_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_pending_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_hostile_test_SOURCES = tests/soft/hostile_test.c
tests_soft_hostile_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

# The attacker, and the tests in which it attacks.
check_LTLIBRARIES += libhostile.la
libhostile_la_SOURCES = tests/soft/hostile/hostile.c tests/soft/hostile/hostile.h \
	tests/soft/hostile/trap.c tests/soft/hostile/trap.h tests/soft/hostile/victim.c tests/soft/hostile/victim.h
libhostile_la_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_skip_test_SOURCES = tests/soft/hostile/skip_test.c
tests_soft_hostile_skip_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_skip_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_death_test_SOURCES = tests/soft/hostile/death_test.c
tests_soft_hostile_death_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_death_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_half_open_test_SOURCES = tests/soft/hostile/half_open_test.c
tests_soft_hostile_half_open_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_half_open_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_peer_test_SOURCES = tests/soft/hostile/peer_test.c
tests_soft_hostile_peer_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_peer_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_limits_test_SOURCES = tests/soft/hostile/limits_test.c
tests_soft_hostile_limits_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_limits_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
# it interposes a function of the C library, also for the plugin
tests_soft_hostile_lock_test_SOURCES = tests/soft/hostile/lock_test.c
tests_soft_hostile_lock_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_lock_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_hostile_lock_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_queue_test_SOURCES = tests/soft/hostile/queue_test.c
tests_soft_hostile_queue_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_queue_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
# it interposes a function of the C library, also for the plugin
tests_soft_hostile_region_test_SOURCES = tests/soft/hostile/region_test.c
tests_soft_hostile_region_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_region_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_hostile_region_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_rights_test_SOURCES = tests/soft/hostile/rights_test.c
tests_soft_hostile_rights_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_rights_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_early_test_SOURCES = tests/soft/hostile/early_test.c
tests_soft_hostile_early_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_early_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_requeue_test_SOURCES = tests/soft/hostile/requeue_test.c
tests_soft_hostile_requeue_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_requeue_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_leftover_test_SOURCES = tests/soft/hostile/leftover_test.c
tests_soft_hostile_leftover_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_leftover_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_foreign_test_SOURCES = tests/soft/hostile/foreign_test.c
tests_soft_hostile_foreign_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_foreign_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_stuck_test_SOURCES = tests/soft/hostile/stuck_test.c
tests_soft_hostile_stuck_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_stuck_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_probe_test_SOURCES = tests/soft/hostile/probe_test.c
tests_soft_hostile_probe_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_probe_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_deaf_test_SOURCES = tests/soft/hostile/deaf_test.c
tests_soft_hostile_deaf_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_deaf_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_service_test_SOURCES = tests/soft/hostile/service_test.c
tests_soft_hostile_service_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_service_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_redirect_test_SOURCES = tests/soft/hostile/redirect_test.c
tests_soft_hostile_redirect_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_redirect_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_rewind_test_SOURCES = tests/soft/hostile/rewind_test.c
tests_soft_hostile_rewind_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_rewind_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_slow_test_SOURCES = tests/soft/hostile/slow_test.c
tests_soft_hostile_slow_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_slow_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_close_test_SOURCES = tests/soft/hostile/close_test.c
tests_soft_hostile_close_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_close_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_adapters_test_SOURCES = tests/soft/hostile/adapters_test.c
tests_soft_hostile_adapters_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_adapters_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_claim_test_SOURCES = tests/soft/hostile/claim_test.c
tests_soft_hostile_claim_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_claim_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_walk_test_SOURCES = tests/soft/hostile/walk_test.c
tests_soft_hostile_walk_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_walk_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_soft_hostile_walk_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la
tests_soft_hostile_scribble_test_SOURCES = tests/soft/hostile/scribble_test.c
tests_soft_hostile_scribble_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_hostile_scribble_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_kill_test_SOURCES = tests/soft/kill_test.c
tests_soft_kill_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_kill_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_long_test_SOURCES = tests/soft/long_test.c
tests_soft_long_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_long_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_lost_test_SOURCES = tests/soft/lost_test.c
tests_soft_lost_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_lost_test_LDADD = libapi.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_midst_test_SOURCES = tests/soft/midst_test.c
tests_soft_midst_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_midst_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_mix_test_SOURCES = tests/soft/mix_test.c
tests_soft_mix_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_mix_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_realm_test_SOURCES = tests/soft/realm_test.c
tests_soft_realm_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_realm_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_retry_test_SOURCES = tests/soft/retry_test.c
tests_soft_retry_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_retry_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_share_test_SOURCES = tests/soft/share_test.c
tests_soft_share_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_share_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_short_test_SOURCES = tests/soft/short_test.c
tests_soft_short_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_short_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_cancel_test_SOURCES = tests/soft/cancel_test.c
tests_soft_cancel_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_cancel_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_spared_test_SOURCES = tests/soft/spared_test.c
tests_soft_spared_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_spared_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_steady_test_SOURCES = tests/soft/steady_test.c
tests_soft_steady_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_steady_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_strict_test_SOURCES = tests/soft/strict_test.c
tests_soft_strict_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_strict_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_secret_test_SOURCES = tests/soft/secret_test.c
tests_soft_secret_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_secret_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_orphan_test_SOURCES = tests/soft/orphan_test.c
tests_soft_orphan_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api -I$(top_srcdir)/tests/soft
tests_soft_orphan_test_LDADD = libhostile.la libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_outlast_test_SOURCES = tests/soft/outlast_test.c
tests_soft_outlast_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_outlast_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_held_test_SOURCES = tests/soft/held_test.c
tests_soft_held_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_held_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_silent_test_SOURCES = tests/soft/silent_test.c
tests_soft_silent_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_silent_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_storm_test_SOURCES = tests/soft/storm_test.c
tests_soft_storm_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_storm_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_stop_test_SOURCES = tests/soft/stop_test.c
tests_soft_stop_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_stop_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_stop_conn_test_SOURCES = tests/soft/stop_conn_test.c
tests_soft_stop_conn_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_stop_conn_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_thread_test_SOURCES = tests/soft/thread_test.c
tests_soft_thread_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_thread_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_straight_test_SOURCES = tests/soft/straight_test.c
tests_soft_straight_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_straight_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la

tests_soft_unready_test_SOURCES = tests/soft/unready_test.c
tests_soft_unready_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_unready_test_LDADD = libapi.la $(HARNESS_LIBS) libdat.la
tests_soft_withheld_test_SOURCES = tests/soft/withheld_test.c tests/soft/writer.c tests/soft/writer.h
tests_soft_withheld_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_withheld_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

tests_soft_interrupted_test_SOURCES = tests/soft/interrupted_test.c
tests_soft_interrupted_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_interrupted_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

# its munmap() and close() interpose the C library's
tests_soft_unmap_test_SOURCES = tests/soft/unmap_test.c
tests_soft_unmap_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS)
tests_soft_unmap_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic -Wl,--wrap=soft_run
tests_soft_unmap_test_LDADD = libsoft_core.la libdatp_core.la $(HARNESS_LIBS)

tests_soft_withheld_bind_test_SOURCES = tests/soft/withheld_bind_test.c tests/soft/writer.c tests/soft/writer.h
tests_soft_withheld_bind_test_CPPFLAGS = $(SOFT_TEST_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_soft_withheld_bind_test_LDADD = libapi.la libsoft_core.la libdatp_core.la $(HARNESS_LIBS) libdat.la

TESTS += tests/soft/bounce.sh
EXTRA_DIST += tests/soft/bounce.sh tests/soft/pages_quiet.sh

if HAVE_VALGRIND
TESTS += tests/soft/pages_quiet.sh
endif

# The provider's own sources, compiled once more so that their atomics call the model checker. It uses coroutines, which the
# sanitizers do not understand. libmodel has what the programs share, but model_short_test compiles it with other macros.
if !SANITIZED
check_PROGRAMS += tests/soft/model_ring_test tests/soft/model_test tests/soft/model_mix_test tests/soft/model_bias_test \
	tests/soft/model_attack_test tests/soft/model_short_test tests/soft/model_srq_test
check_LTLIBRARIES += libmodel.la
TESTS += tests/soft/model_ring_test tests/soft/model_test tests/soft/model_mix_test tests/soft/model_bias_test \
	tests/soft/model_attack_test tests/soft/model_short_test tests/soft/model_srq_test
endif
SOFT_MODEL_SOURCES = \
	providers/soft/cq.c providers/soft/owed.c \
	providers/soft/exec.c providers/soft/exec_atomic.c providers/soft/exec_short.c providers/soft/exec_wait.c \
	providers/soft/skip.c \
	providers/soft/coop.c \
	providers/soft/port.c \
	providers/soft/posted.c \
	providers/soft/polling.c \
	providers/soft/recv.c \
	providers/soft/send.c \
	providers/soft/srq.c \
	providers/soft/strict.c \
	providers/soft/place.c \
	tests/soft/model.c \
	tests/soft/model.h \
	tests/soft/model_states.c tests/soft/model_states.h \
	tests/soft/model_world.c tests/soft/model_world.h
SOFT_MODEL_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE= -include $(top_srcdir)/tests/soft/model.h
SOFT_MODEL_LIBS = libmodel.la $(SOFT_TEST_LIBS)
libmodel_la_SOURCES = $(SOFT_MODEL_SOURCES)
libmodel_la_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_ring_test_SOURCES = tests/soft/model_ring_test.c
tests_soft_model_ring_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_ring_test_LDADD = $(SOFT_MODEL_LIBS)
tests_soft_model_test_SOURCES = tests/soft/model_test.c
tests_soft_model_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_test_LDADD = $(SOFT_MODEL_LIBS)
tests_soft_model_mix_test_SOURCES = tests/soft/model_mix_test.c
tests_soft_model_mix_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_mix_test_LDADD = $(SOFT_MODEL_LIBS)
tests_soft_model_short_test_SOURCES = $(SOFT_MODEL_SOURCES) tests/soft/model_share.c tests/soft/model_share.h \
	tests/soft/model_short_test.c
tests_soft_model_short_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS) -DMODEL_SHARES
tests_soft_model_short_test_LDADD = $(SOFT_TEST_LIBS)
tests_soft_model_attack_test_SOURCES = tests/soft/model_attack.c tests/soft/model_attack.h \
	tests/soft/model_conn.c tests/soft/model_conn.h tests/soft/model_attack_test.c
tests_soft_model_attack_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_attack_test_LDADD = $(SOFT_MODEL_LIBS)
tests_soft_model_srq_test_SOURCES = tests/soft/model_srq_test.c
tests_soft_model_srq_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_srq_test_LDADD = $(SOFT_MODEL_LIBS)
tests_soft_model_bias_test_SOURCES = \
	tests/soft/model.c \
	tests/soft/model.h \
	tests/soft/model_states.c tests/soft/model_states.h \
	tests/soft/model_bias_test.c
tests_soft_model_bias_test_CPPFLAGS = $(SOFT_MODEL_CPPFLAGS)
tests_soft_model_bias_test_LDADD = $(SOFT_TEST_LIBS)

# These tests depend on chance, so they need many runs to find something. Each variable can be set: tests/README.md.
SOFT_CAMPAIGNS = \
	tests/soft/hostile/scribble_test \
	tests/soft/arrival_test \
	tests/soft/kill_test \
	tests/soft/stop_test \
	tests/soft/stop_conn_test \
	tests/dat20/stop_test \
	tests/api/habits_test

check-campaigns:
	SCRIBBLE_RUNS=$${SCRIBBLE_RUNS-1000} ARRIVAL_ROUNDS=$${ARRIVAL_ROUNDS-1000} KILL_ROUNDS=$${KILL_ROUNDS-100} \
		STOP_ROUNDS=$${STOP_ROUNDS-25} HABITS_ROUNDS=$${HABITS_ROUNDS-1000} $(MAKE) $(AM_MAKEFLAGS) check TESTS="$(SOFT_CAMPAIGNS)"
.PHONY: check-campaigns
