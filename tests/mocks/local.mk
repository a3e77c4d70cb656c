# SPDX-License-Identifier: BSD-2-Clause
# One source, and one library for each set of macros: .libs/mock_ODDITY.so.
MOCK_SOURCES = tests/mocks/mock.c tests/mocks/mock.h tests/mocks/mock_slots.h
MOCK_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
MOCK_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared

# These mocks are useful to others, and are installed: datp-mocks(7).
mockdir = $(plugindir)/mocks
mock_HEADERS = tests/mocks/mock.h
mock_LTLIBRARIES = \
	mock_plain.la \
	mock_null_slots.la \
	mock_open_fails.la \
	mock_open_nothing.la \
	mock_no_init.la \
	mock_no_fini.la \
	mock_nothing.la \
	mock_other_name.la \
	mock_undefined.la

mock_plain_la_SOURCES = $(MOCK_SOURCES)
mock_plain_la_CPPFLAGS = $(MOCK_CPPFLAGS)
mock_plain_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_null_slots_la_SOURCES = $(MOCK_SOURCES)
mock_null_slots_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_NULL_SLOTS
mock_null_slots_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_open_fails_la_SOURCES = $(MOCK_SOURCES)
mock_open_fails_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_OPEN_FAILS
mock_open_fails_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_open_nothing_la_SOURCES = $(MOCK_SOURCES)
mock_open_nothing_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_OPEN_NOTHING
mock_open_nothing_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_no_init_la_SOURCES = $(MOCK_SOURCES)
mock_no_init_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_NO_INIT
mock_no_init_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_no_fini_la_SOURCES = $(MOCK_SOURCES)
mock_no_fini_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_NO_FINI
mock_no_fini_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_nothing_la_SOURCES = $(MOCK_SOURCES)
mock_nothing_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_NOTHING
mock_nothing_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_other_name_la_SOURCES = $(MOCK_SOURCES)
mock_other_name_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_OTHER_NAME
mock_other_name_la_LDFLAGS = $(MOCK_LDFLAGS)

mock_undefined_la_SOURCES = $(MOCK_SOURCES)
mock_undefined_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_UNDEFINED
mock_undefined_la_LDFLAGS = $(MOCK_LDFLAGS)

# These mocks test libdat itself, and are not installed. -rpath makes libtool build them shared all the same.
MOCK_CHECK_LDFLAGS = $(MOCK_LDFLAGS) -rpath $(abs_top_builddir)/nowhere
MOCKS_CHECK = \
	mock_two_names.la \
	mock_reenter.la \
	mock_flip_safety.la \
	mock_higher_minor.la \
	mock_foreign_major.la \
	mock_legacy11.la \
	mock_no_remove.la \
	mock_only_dequeue.la \
	mock_own_vtable.la \
	mock_constructor.la
check_LTLIBRARIES += $(MOCKS_CHECK)
MOCKS = $(mock_LTLIBRARIES) $(MOCKS_CHECK)

mock_two_names_la_SOURCES = $(MOCK_SOURCES)
mock_two_names_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_TWO_NAMES
mock_two_names_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_reenter_la_SOURCES = $(MOCK_SOURCES)
mock_reenter_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_REENTER
mock_reenter_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_flip_safety_la_SOURCES = $(MOCK_SOURCES)
mock_flip_safety_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_FLIP_SAFETY
mock_flip_safety_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_higher_minor_la_SOURCES = $(MOCK_SOURCES)
mock_higher_minor_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_HIGHER_MINOR
mock_higher_minor_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_foreign_major_la_SOURCES = $(MOCK_SOURCES)
mock_foreign_major_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_FOREIGN_MAJOR
mock_foreign_major_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_legacy11_la_SOURCES = $(MOCK_SOURCES)
mock_legacy11_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_LEGACY11
mock_legacy11_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_no_remove_la_SOURCES = $(MOCK_SOURCES)
mock_no_remove_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_NO_REMOVE
mock_no_remove_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_only_dequeue_la_SOURCES = $(MOCK_SOURCES)
mock_only_dequeue_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_ONLY_DEQUEUE
mock_only_dequeue_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_own_vtable_la_SOURCES = $(MOCK_SOURCES)
mock_own_vtable_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_OWN_VTABLE
mock_own_vtable_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)

mock_constructor_la_SOURCES = $(MOCK_SOURCES)
mock_constructor_la_CPPFLAGS = $(MOCK_CPPFLAGS) -DMOCK_CONSTRUCTOR
mock_constructor_la_LDFLAGS = $(MOCK_CHECK_LDFLAGS)
