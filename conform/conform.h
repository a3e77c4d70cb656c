/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a clause's test is written. A test names the clauses it judges, and runs in a process of its
 * own:
 *
 *	CLAUSE("EVD_WAIT-07", "EVD_WAIT-08")
 *	{
 *		DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_SOFTWARE_FLAG);
 *		...
 *		ABOUT("EVD_WAIT-08");
 *		CHECK_NUM(nmore, 2);
 *	}
 *
 * A clause about two sides has its other side in a process of its own (remote.h):
 *
 *	CLAUSE_ACTIVE("EP_DISC-10")	this process connects, the other one listens
 *	CLAUSE_PASSIVE("CR_QUERY-05")	the other one connects, this process listens
 *	CLAUSE_EACH("EP_DISC-08")	once as the active side and once as the passive one
 *
 * The endpoints of a kit_pair are a, which connects, and b, which accepts. The active side has a in this process and b in the
 * other one, the passive side has b here and a there; the calls are the same. With CLAUSE() both are in this process.
 *
 * A failed check counts against the clause that ABOUT() named last; without any ABOUT() all clauses
 * of the test share its verdict. Once a test uses ABOUT(), a clause that it never names has failed,
 * so that no clause passes untested.
 *
 * CHECK...() records a failure and goes on, MUST...() ends the test. Only the thread of the test
 * makes checks; a thread that the test starts stores its results, and the test's thread checks them.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "api.h"

struct conform_test {
	const char *const *ids;	/* closed by NULL */
	void (*run)(void);
	const char *file;
	enum conform_sides {
		ONE_SIDED,
		BARE,		/* the test opens its IA itself, if it needs one */
		ACTIVE,		/* it connects to another process */
		PASSIVE		/* another process connects to it */
	} sides;
};

#define CONFORM_TEST_(sides_, n, ...) \
	static void clause_##n(void); \
	static const char *const ids_##n[] = { __VA_ARGS__, NULL }; \
	static const struct conform_test test_##n = { ids_##n, clause_##n, __FILE__, sides_ }; \
	static const struct conform_test *const entry_##n \
		__attribute__((section("conform_tests"), used)) = &test_##n; \
	static void clause_##n(void)
#define CONFORM_TESTS_(n, ...) \
	static void clause_##n(void); \
	static const char *const ids_##n[] = { __VA_ARGS__, NULL }; \
	static const struct conform_test tests_##n[] = { \
		{ ids_##n, clause_##n, __FILE__, ACTIVE }, \
		{ ids_##n, clause_##n, __FILE__, PASSIVE } \
	}; \
	static const struct conform_test *const active_##n \
		__attribute__((section("conform_tests"), used)) = &tests_##n[0]; \
	static const struct conform_test *const passive_##n \
		__attribute__((section("conform_tests"), used)) = &tests_##n[1]; \
	static void clause_##n(void)
#define CONFORM_TEST(sides, n, ...) CONFORM_TEST_(sides, n, __VA_ARGS__)

#define CLAUSE(...)	    CONFORM_TEST(ONE_SIDED, __COUNTER__, __VA_ARGS__) /* with an open IA */
#define CLAUSE_BARE(...)    CONFORM_TEST(BARE, __COUNTER__, __VA_ARGS__)	/* with nothing */
#define CLAUSE_ACTIVE(...)  CONFORM_TEST(ACTIVE, __COUNTER__, __VA_ARGS__)
#define CLAUSE_PASSIVE(...) CONFORM_TEST(PASSIVE, __COUNTER__, __VA_ARGS__)
#define CONFORM_TESTS(n, ...) CONFORM_TESTS_(n, __VA_ARGS__)
#define CLAUSE_EACH(...)    CONFORM_TESTS(__COUNTER__, __VA_ARGS__)

/* The entries of all files, put side by side by the linker. */
extern const struct conform_test *const __start_conform_tests[];
extern const struct conform_test *const __stop_conform_tests[];

/* What the running test works on. */
struct conform {
	const char *ia_name;
	unsigned int patience_ms;	/* the bound of one wait */
	unsigned int quiet_ms;		/* how long a test checks that no event comes */
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
	bool a_remote, b_remote; /* whether this end of a pair is in the other process */
	struct {
		DAT_IA_HANDLE ia;
		DAT_EVD_HANDLE async;
		DAT_PZ_HANDLE pz;
		DAT_IA_ADDRESS_PTR address;
	} remote;		/* stand-ins for the objects of that process */
	struct sockaddr_storage server;	/* where the other process is; AF_UNSPEC: it is forked */
};

extern struct conform t;

/* The checks that follow are about this clause. */
void judge_about(const char *id);
#define ABOUT(id) judge_about(id)

/*
 * Ends the test unless the provider has the feature; `attribute` is the one that declares it
 * absent.
 */
#define NEEDS(cond, attribute) judge_needs((cond), attribute)
void judge_needs(bool there, const char *attribute);
/*
 * A provider may declare, by its transport attribute "reach", that its adapters connect within one
 * process only, for example a template or a simulator. Then both sides are in one process; a test
 * that needs a second process says so. Called after kit_open().
 */
bool judge_reaches(void);
#define NEEDS_REACH() NEEDS(judge_reaches(), "reach")
/*
 * Properties that a provider may declare for a transport such as iWARP. "refused_access" = "ends":
 * only the end of the connection shows that the peer has refused an RDMA operation, and not the
 * completion. "accept" = "unconfirmed": the accepting side cannot detect whether the connecting
 * side is still there. "read_right" = "unchecked": the device executes RDMA Reads of memory without
 * the right to be read remotely. "write_right" = "unchecked": what may be written locally may be
 * written remotely, too. "solicited" = "unknown": any message wakes a thread that waits for
 * solicited ones. "broken" = "unsure": a connection may break and be reported as disconnected.
 * "short_receive" = "flushed": a receive that is too short for its message may complete as flushed.
 */
bool judge_refusals_are_told(void);
#define NEEDS_REFUSALS() NEEDS(judge_refusals_are_told(), "refused_access")
bool judge_accepts_are_confirmed(void);
bool judge_reads_are_checked(void);
#define NEEDS_READ_RIGHT() NEEDS(judge_reads_are_checked(), "read_right")
bool judge_writes_are_checked(void);
#define NEEDS_WRITE_RIGHT() NEEDS(judge_writes_are_checked(), "write_right")
bool judge_solicited_are_known(void);
bool judge_breaks_are_sure(void);
bool judge_short_receives_are_told(void);
/*
 * What an administrator allows although a clause forbids it, because programs depend on it: a word
 * of the provider attribute "allow", a list of words with commas between them. "mixed_completions":
 * default and UNSIGNALLED completions share an EVD.
 */
bool judge_allows(const char *word);
/* Returns the value of a named attribute of the provider, or NULL if the provider has none of this name, or it has no value. */
const char *judge_named(const DAT_PROVIDER_ATTR *attr, const char *name);
/* Returns true if the provider has this named attribute with the value TRUE. */
bool judge_promises(const char *name);

/* Stores with the verdict which of several accepted outcomes occurred. */
void judge_outcome(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK_THAT(expr) judge_true((expr), false, #expr, __FILE__, __LINE__)
#define MUST(expr)	 judge_true((expr), true, #expr, __FILE__, __LINE__)
#define CHECK_NUM(got, want) \
	judge_num((long long)(got), (long long)(want), false, #got, __FILE__, __LINE__)
#define MUST_NUM(got, want) \
	judge_num((long long)(got), (long long)(want), true, #got, __FILE__, __LINE__)
/* Record a failure that the test itself has found. MUST_NOT_COME_HERE() also ends the test. */
#define CHECK_FAIL(call, expected, ...) \
	judge_fail(false, __FILE__, __LINE__, call, expected, __VA_ARGS__)
#define MUST_NOT_COME_HERE(call, expected, ...) \
	judge_fail(true, __FILE__, __LINE__, call, expected, __VA_ARGS__)

/* Compare return values by type. A call that returns DAT_NOT_IMPLEMENTED always fails the check. */
#define CHECK_RET(call, want) judge_ret(call, want, false, #call, __FILE__, __LINE__)
#define MUST_RET(call, want)  judge_ret(call, want, true, #call, __FILE__, __LINE__)
/* The return value is one of several; the actual one is stored as the outcome. */
#define CHECK_RET_IN(call, ...)                                                                    \
	judge_ret_in(call, (const DAT_RETURN[]){ __VA_ARGS__, CONFORM_END }, #call, __FILE__,      \
		     __LINE__)
/* The call returns any error. */
#define CHECK_REFUSED(call)	judge_refused(call, #call, __FILE__, __LINE__)
#define CONFORM_END		0xfffffffe

/* Waits, in small steps and with a bound, for a change that no event reports. */
#define CONFORM_WAIT(expr, fatal) \
	do { \
		uint64_t until_ = judge_now_ms() + t.patience_ms; \
		bool ok_; \
		while (!(ok_ = (expr)) && judge_now_ms() < until_) \
			judge_nap(); \
		judge_true(ok_, fatal, "soon: " #expr, __FILE__, __LINE__); \
	} while (0)
#define CHECK_SOON(expr) CONFORM_WAIT(expr, false)
#define MUST_SOON(expr)	 CONFORM_WAIT(expr, true)

void judge_true(bool ok, bool fatal, const char *text, const char *file, int line);
void judge_num(long long got, long long want, bool fatal, const char *text, const char *file,
	       int line);
void judge_ret(DAT_RETURN got, DAT_RETURN want, bool fatal, const char *call, const char *file,
	       int line);
void judge_ret_in(DAT_RETURN got, const DAT_RETURN *wanted, const char *call, const char *file,
		  int line);
void judge_refused(DAT_RETURN got, const char *call, const char *file, int line);
void judge_fail(bool fatal, const char *file, int line, const char *call, const char *expected,
		const char *format, ...) __attribute__((format(printf, 6, 7)));
const char *judge_ret_name(DAT_RETURN ret);	/* "DAT_INVALID_STATE" */
uint64_t judge_now_ms(void);
void judge_nap(void);

/*
 * A function of the kit that makes checks stores the place in the test that called it, so that the message of a failed check
 * names that place too.
 */
void judge_site(const char *file, int line);

/*
 * A process for other purposes than connections. It is forked before this process opens its IA,
 * exchanges messages over a socket, and its checks count as the test's. It is killed when the test
 * ends.
 */
int peer_start(void (*run)(int fd));	/* -> socket to it */
void peer_tell(int fd, const void *data, size_t size);
void peer_hear(int fd, void *data, size_t size);	/* the data MUST come in time */
void peer_kill(void);	/* SIGKILL, and wait until it is gone */

/* Called in a process that only serves: its checks are not part of a verdict. */
void judge_leave_to_parent(void);

/* The child's part of run.c: runs one test, and reports it on this descriptor. */
void judge_child(const struct conform_test *test, int report_fd);

#endif /* CONFORM_H */
