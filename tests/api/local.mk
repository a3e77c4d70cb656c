# SPDX-License-Identifier: BSD-2-Clause
# Black-box tests of the API: they include only <dat/udat.h>, and test the adapter that OPENDAT_TEST_IA names (soft0 by default).
API_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir)/tests/api -D_GNU_SOURCE
API_LIBS = libapi.la $(HARNESS_LIBS) libdat.la

check_LTLIBRARIES += libapi.la
libapi_la_SOURCES = tests/api/api.h tests/api/api.c tests/api/expect.c tests/api/remote.h tests/api/remote.c \
	tests/api/remote_call.h tests/api/remote_side.c tests/api/meet.h tests/api/meet.c tests/api/orphan.h \
	tests/api/orphan.c
libapi_la_CPPFLAGS = $(API_CPPFLAGS)

API_TESTS = tests/api/bias_test \
	tests/api/handles_test \
	tests/api/ia_test \
	tests/api/evd_test \
	tests/api/cno_test \
	tests/api/mem_test \
	tests/api/race_test \
	tests/api/rmr_test \
	tests/api/ep_test \
	tests/api/ep_state_test \
	tests/api/sp_test \
	tests/api/conn_test \
	tests/api/data_test \
	tests/api/flags_test \
	tests/api/allow_test \
	tests/api/broken_test \
	tests/api/diag_test \
	tests/api/limit_test \
	tests/api/order_test \
	tests/api/srq_test \
	tests/api/peer_test \
	tests/api/consumers_test \
	tests/api/consumers2_test \
	tests/api/habits_test \
	tests/api/threads_test

check_PROGRAMS += $(API_TESTS)

tests_api_bias_test_SOURCES = tests/api/bias_test.c
tests_api_bias_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_bias_test_LDADD = $(API_LIBS)

tests_api_handles_test_SOURCES = tests/api/handles_test.c
tests_api_handles_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_handles_test_LDADD = $(API_LIBS)

tests_api_ia_test_SOURCES = tests/api/ia_test.c
tests_api_ia_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_ia_test_LDADD = $(API_LIBS)

tests_api_evd_test_SOURCES = tests/api/evd_test.c
tests_api_evd_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_evd_test_LDADD = $(API_LIBS)

tests_api_cno_test_SOURCES = tests/api/cno_test.c
tests_api_cno_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_cno_test_LDADD = $(API_LIBS)

tests_api_mem_test_SOURCES = tests/api/mem_test.c
tests_api_mem_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_mem_test_LDADD = $(API_LIBS)

tests_api_race_test_SOURCES = tests/api/race_test.c
tests_api_race_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_race_test_LDADD = $(API_LIBS)

tests_api_rmr_test_SOURCES = tests/api/rmr_test.c
tests_api_rmr_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_rmr_test_LDADD = $(API_LIBS)

tests_api_ep_test_SOURCES = tests/api/ep_test.c
tests_api_ep_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_ep_test_LDADD = $(API_LIBS)

tests_api_ep_state_test_SOURCES = tests/api/ep_state_test.c
tests_api_ep_state_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_ep_state_test_LDADD = $(API_LIBS)

tests_api_sp_test_SOURCES = tests/api/sp_test.c
tests_api_sp_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_sp_test_LDADD = $(API_LIBS)

tests_api_conn_test_SOURCES = tests/api/conn_test.c
tests_api_conn_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_conn_test_LDADD = $(API_LIBS)

tests_api_data_test_SOURCES = tests/api/data_test.c
tests_api_data_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_data_test_LDADD = $(API_LIBS)

tests_api_flags_test_SOURCES = tests/api/flags_test.c
tests_api_flags_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_flags_test_LDADD = $(API_LIBS)

tests_api_allow_test_SOURCES = tests/api/allow_test.c
tests_api_allow_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_allow_test_LDADD = $(API_LIBS)

tests_api_broken_test_SOURCES = tests/api/broken_test.c
tests_api_broken_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_broken_test_LDADD = $(API_LIBS)
tests_api_diag_test_SOURCES = tests/api/diag_test.c
tests_api_diag_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_diag_test_LDADD = $(API_LIBS)

tests_api_limit_test_SOURCES = tests/api/limit_test.c
tests_api_limit_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_limit_test_LDADD = $(API_LIBS)

tests_api_order_test_SOURCES = tests/api/order_test.c
tests_api_order_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_order_test_LDADD = $(API_LIBS)

tests_api_srq_test_SOURCES = tests/api/srq_test.c
tests_api_srq_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_srq_test_LDADD = $(API_LIBS)

tests_api_peer_test_SOURCES = tests/api/peer_test.c
tests_api_peer_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_peer_test_LDADD = $(API_LIBS)

tests_api_consumers_test_SOURCES = tests/api/consumers_test.c
tests_api_consumers_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_consumers_test_LDADD = $(API_LIBS)

tests_api_consumers2_test_SOURCES = tests/api/consumers2_test.c
tests_api_consumers2_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_consumers2_test_LDADD = $(API_LIBS)

tests_api_habits_test_SOURCES = tests/api/habits_test.c
tests_api_habits_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_habits_test_LDADD = $(API_LIBS)

tests_api_threads_test_SOURCES = tests/api/threads_test.c
tests_api_threads_test_CPPFLAGS = $(API_CPPFLAGS)
tests_api_threads_test_LDADD = $(API_LIBS)

TESTS += $(API_TESTS)
