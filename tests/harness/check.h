/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test harness: a thin layer over CUnit which prints TAP.
 *
 * A program hands its suites to the harness and links libharness.la, which brings main():
 *
 *	static void accept_twice_is_invalid_state(void) { REQUIRE_DAT(dat_cr_accept(...), DAT_SUCCESS); }
 *	static const struct check_test tests[] = { CHECK_TEST(accept_twice_is_invalid_state), CHECK_END };
 *	static const struct check_suite cr = { .name = "cr", .setup = open_ia, .tests = tests };
 *	CHECK_SUITES(&cr);
 *
 * prints "ok 1 - cr: accept twice is invalid state".
 *
 * CHECK...() records a failure and goes on; REQUIRE...() ends the test. Both work in any thread and in a
 * forked peer (REQUIRE in a thread other than the test's own ends that thread). The teardown runs after a
 * failed REQUIRE too, in setup or test: free there, and only there.
 *
 * The tests run in a child of main(), so a crash, an exit() or a hang costs one test, is reported under the
 * test's name, and the tests behind it still run. What a test prints on stdout goes to stderr: stdout is TAP's.
 *
 * Command line: [--list] [--no-fork] [FILTER]   FILTER is part of "suite: sentence" or of the C name.
 * Environment:  CHECK_WATCHDOG seconds a test may take (60), CHECK_PATIENCE seconds one wait may take (20).
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <CUnit/CUnit.h>

#include "sanitizer.h"

struct check_test {
	const char *name;	/* a C identifier; its underscores are printed as blanks */
	void (*run)(void);
};

struct check_suite {
	const char *name;
	void (*setup)(void);	/* before each test; may CHECK, REQUIRE and check_skip() */
	void (*teardown)(void);	/* after each test, whatever became of it */
	const struct check_test *tests;		/* closed by CHECK_END */
	int (*init)(void);	/* once before the suite; other than 0 fails every test of the suite */
	int (*cleanup)(void);	/* once after the suite; other than 0 fails the program */
};

#define CHECK_TEST(fn)	{ #fn, fn }
#define CHECK_END	{ NULL, NULL }
#define CHECK_SUITES(...) \
	const struct check_suite *const check_suites[] = { __VA_ARGS__, NULL }

extern const struct check_suite *const check_suites[];	/* the program defines it with CHECK_SUITES */

/* Assertions. Every argument is evaluated once. */
#define CHECK(expr)		check_true((expr), false, #expr, __FILE__, __LINE__)
#define REQUIRE(expr)		check_true((expr), true, #expr, __FILE__, __LINE__)
#define CHECK_FAIL(...)		check_fail(false, __FILE__, __LINE__, __VA_ARGS__)	/* printf-like */
#define REQUIRE_FAIL(...)	check_fail(true, __FILE__, __LINE__, __VA_ARGS__)

/* Integers of any type: CHECK_EQ_INT(got, wanted) */
#define CHECK_EQ_INT(got, want)		CHECK_INT_(got, want, false)
#define REQUIRE_EQ_INT(got, want)	CHECK_INT_(got, want, true)

/* Strings; NULL equals only NULL. */
#define CHECK_EQ_STR(got, want)		check_str(got, want, false, #got " == " #want, __FILE__, __LINE__)
#define REQUIRE_EQ_STR(got, want)	check_str(got, want, true, #got " == " #want, __FILE__, __LINE__)

/* The string contains another one. */
#define CHECK_HAS_STR(got, part)	check_has(got, part, false, #got " holds " #part, __FILE__, __LINE__)
#define REQUIRE_HAS_STR(got, part)	check_has(got, part, true, #got " holds " #part, __FILE__, __LINE__)

/* Bytes; the first difference is printed. */
#define CHECK_EQ_MEM(got, want, size)	CHECK_MEM_(got, want, size, false)
#define REQUIRE_EQ_MEM(got, want, size)	CHECK_MEM_(got, want, size, true)

/*
 * A DAT_RETURN. A wanted value without subtype (DAT_SUCCESS, DAT_INVALID_STATE) is compared by type only,
 * one with a subtype (DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP) by both; the class bits never count.
 */
#define CHECK_DAT(expr, want)	check_dat(expr, want, false, #expr, #want, __FILE__, __LINE__)
#define REQUIRE_DAT(expr, want)	check_dat(expr, want, true, #expr, #want, __FILE__, __LINE__)

/* Waits, in small steps and with a bound, until an expression is true, where there is no event to wait for. */
#define CHECK_SOON(expr)	CHECK_WAIT_(expr, false)
#define REQUIRE_SOON(expr)	CHECK_WAIT_(expr, true)

/* Ends the test as skipped. For what this machine lacks, never for what the code lacks. Own thread only. */
_Noreturn void check_skip(const char *reason);

/*
 * Restarts the watchdog. A test that computes for long, so that it depends on the load whether it ends in time, calls
 * this after each step. The number of its steps must be limited.
 */
void check_alive(void);

/* How long one wait may last, in milliseconds: pass it as the bound of every blocking call. */
unsigned int check_patience_ms(void);

/*
 * True if the environment has CHECK_DEPTH=brief, as in './quickstart check': a test that takes many seconds does a part
 * of its work then, the part that finds most. tests/README.md says which tests do.
 */
bool check_is_brief(void);

/*
 * Peers: processes forked off a test. A failed assertion in a peer fails the test that joins it. A peer is
 * killed when the test program dies, and at the end of its test when nobody joined it (which is a failure).
 */
#define CHECK_PARENT	((pid_t)0)	/* the test, as its peer names it */

pid_t check_fork(void (*run)(void *arg), void *arg);

/*
 * Called in a child of a process with threads before it exits: what only the stack of such a thread points to is no leak, but leak
 * checkers do not read the stacks of threads that the child does not have.
 */
void check_ignore_leaks(void);

#define check_join(peer)	check_join_at(peer, __FILE__, __LINE__)	/* bounded; anything but a clean end fails */
void check_kill(pid_t peer);		/* SIGKILL, and wait until it is gone */
void check_stop(pid_t peer);		/* SIGSTOP, and wait until none of its threads runs any more */

/* Returns how many mappings this process has with `words` in their line of /proc/self/maps, and all of them with "". */
int check_mappings(const char *words);

/* Hands bytes over between a test and its peer, bounded; REQUIRE-like when the other side is gone or late. */
#define check_put(to, buf, size)	check_put_at(to, buf, size, __FILE__, __LINE__)
#define check_get(from, buf, size)	check_get_at(from, buf, size, __FILE__, __LINE__)
#define check_signal(to)		check_put(to, "!", 1)		/* "I have come this far" */
#define check_await(from)		do { char c_; check_get(from, &c_, 1); } while (0)

/*
 * From here on the kernel refuses these system calls (EPERM) to the calling thread, and to those that it starts. That cannot
 * be undone, so use it in a peer, or at the end of a test. Returns 0 or an errno: EINVAL if system calls cannot be
 * filtered, as in an emulator.
 */
int check_forbid(const int *calls, size_t count);

/* A directory of the test's own: made at the first call in a test, removed with all it holds at the end. */
const char *check_tmpdir(void);

/* Writes a file of that name, with this text, into it. */
void check_write(const char *name, const char *text);

/* Collects what is written to stderr between the two calls; the text lives until the next capture. */
void check_stderr_begin(void);
const char *check_stderr_end(void);
bool check_stderr_holds(const char *text); /* between the two: returns true if the text has been written so far */

/* The functions behind the macros. */
#define CHECK_INT_(got, want, fatal) \
	check_int((long long)(got), (long long)(want), fatal, #got " == " #want, __FILE__, __LINE__)
#define CHECK_MEM_(got, want, size, fatal) \
	check_mem(got, want, size, fatal, #got " == " #want, __FILE__, __LINE__)
#define CHECK_WAIT_(expr, fatal) \
	do { \
		uint64_t until_ = check_now_ms() + check_patience_ms(); \
		bool done_; \
		while (!(done_ = (expr)) && check_now_ms() < until_) \
			check_nap(); \
		check_true(done_, fatal, #expr " in time", __FILE__, __LINE__); \
	} while (0)

void check_true(bool ok, bool fatal, const char *text, const char *file, unsigned int line);
void check_fail(bool fatal, const char *file, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void check_int(long long got, long long want, bool fatal, const char *text, const char *file,
	       unsigned int line);
void check_str(const char *got, const char *want, bool fatal, const char *text, const char *file,
	       unsigned int line);
void check_has(const char *got, const char *part, bool fatal, const char *text, const char *file,
	       unsigned int line);
void check_mem(const void *got, const void *want, size_t size, bool fatal, const char *text,
	       const char *file, unsigned int line);
void check_dat(uint32_t got, uint32_t want, bool fatal, const char *expr, const char *want_text,
	       const char *file, unsigned int line);
void check_join_at(pid_t peer, const char *file, unsigned int line);
void check_put_at(pid_t to, const void *buf, size_t size, const char *file, unsigned int line);
void check_get_at(pid_t from, void *buf, size_t size, const char *file, unsigned int line);
uint64_t check_now_ms(void);
void check_nap(void);
bool check_sleeps(pid_t tid); /* returns true if this thread of the process sleeps, false if it runs or does not exist */

#endif /* CHECK_H */
