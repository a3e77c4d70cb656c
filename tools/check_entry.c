/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks one adapter, from its version up to registered memory; each step is made only if the one
 * before has succeeded.
 *
 * Invariant: an entry gets exactly one finding as its verdict: ok, skipped or failed. It may have
 * warnings as well.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <dat/udat.h>

#include "check.h"
#include "cli.h"
#include "dat20.h"
#include "names.h"
#include "probe.h"
#include "serves20.h"
#include "registry/loader_why.h"

/* A library that could not be loaded, and need not be tried again for every line that names it. */
struct missing {
	struct missing *next;
	unsigned int count;	/* elements in the list from this one on */
	char *library;
	char *why;
};

#define MISSING_MAX 64 /* further ones are not kept */

static const struct stage {
	const char *name;
	const char *doing;
} stages[] = {
	{ "registry", "before it was loaded" },
	{ "library", "while it was loaded" },
	{ "symbol", "while it was loaded" },
	{ "open", "while it was initialised and opened" },
	{ "query", "in dat_ia_query" },
	{ "memory", "while memory was registered" },
	{ "listen", "in dat_psp_create" },
	{ "connect", "while it connected" },
	{ "close", "while it was closed" },
	{ NULL, "before it was loaded" },
};

static const char *stage_doing(const char *stage)
{
	const struct stage *s = stages;

	while (s->name != NULL && (stage == NULL || strcmp(s->name, stage) != 0))
		s++;
	return s->doing;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/*
 * Returns true for a library of the OpenFabrics distribution that was never released again for
 * uDAPL 1.2.
 */
static bool is_of_ofed(const struct conf_entry *e)
{
	static const char *const names[] = { "libdaplscm.so", "libdaplucm.so", "libdaploscm.so",
					     "libdaploucm.so", "libdaplomcm.so", "libdaplofa.so" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base_name(e->library), names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Returns true, and adds a finding, if DAT_PROVIDERS hides the entry. */
static bool hidden_check(struct check *c, const struct conf_entry *e)
{
	char *remedy;

	if (e->hidden == CONF_SHOWN)
		return false;
	if (e->hidden == CONF_EXCLUDED)
		remedy = cli_text("to use it, remove the word with ^ that names it, or its library "
				  "%s, from DAT_PROVIDERS",
				  e->library);
	else
		remedy = cli_text("to use it, add %s to DAT_PROVIDERS, or unset "
				  "DAT_PROVIDERS", e->name);
	check_add(c, c->only != NULL ? CHECK_FAIL : CHECK_SKIP, "hidden", e,
		  cli_text("hidden from programs by DAT_PROVIDERS=%s", c->conf.providers), remedy);
	return true;
}

/*
 * A line for uDAPL 2.0 is tried if its library is ours, or if it is asked for. A distribution's file has
 * dozens of others, for libraries and devices that are not there. Returns true if it is not tried.
 */
static bool version_20_check(struct check *c, const struct conf_entry *e)
{
	if (c->only != NULL || library_is_ours(e->library))
		return false;
	check_add(c, CHECK_SKIP, "other-version", e,
		  cli_text("for programs of uDAPL %u.%u (libdat2), not of 1.2", e->major, e->minor),
		  cli_text("nothing; to test one of them: datctl check --ia '%s'", e->name));
	return true;
}

/*
 * Handles entries that are not for programs of uDAPL 1.2. Returns true if the entry needs no
 * further check.
 */
static bool version_check(struct check *c, const struct conf_entry *e)
{
	/* a user who names this adapter wants to know why it cannot be used */
	enum verdict skip = c->only != NULL ? CHECK_FAIL : CHECK_SKIP;

	if (e->skip == CONF_SKIP_KDAPL) {
		check_add(c, skip, "kernel-api", e,
			  cli_text("for the kernel's API (k%u.%u), not for programs", e->major,
				   e->minor),
			  cli_text("nothing; name another adapter: datctl list"));
	} else if (e->skip == CONF_SKIP_NONDEFAULT) {
		check_add(c, skip, "nondefault", e,
			  cli_text("field 4 is nondefault: libraries skip such lines"),
			  cli_text("to use it, write default in field 4"));
	} else if (e->major == 2) {
		return version_20_check(c, e);
	} else if (e->major != 1) {
		check_add(c, CHECK_FAIL, "wrong-version", e,
			  cli_text("field 2 says uDAPL %u.%u; %s", e->major, e->minor,
				   library_is_ours(e->library) ? "this provider serves 1.2 and 2.0" :
								 "no library serves it"),
			  cli_text("write u1.2 in field 2 of %s:%u", e->file, e->line));
	} else {
		if (e->minor < 2)
			check_add(c, CHECK_WARN, "old-version", e,
				  cli_text("only programs written for uDAPL 1.%u can open it: "
					   "those for 1.2 ask for u1.2",
					   e->minor),
				  cli_text("write u1.2 in field 2 of %s:%u", e->file, e->line));
		return false;
	}
	return true;
}

static void fail(struct check *c, const struct conf_entry *e, const char *code, char *cause,
		 char *remedy)
{
	check_add(c, CHECK_FAIL, code, e, cause, remedy);
}

/* Returns what to do if the library does not exist, apart from removing the line; malloced. */
static char *library_remedy(const struct check *c, const struct conf_entry *e)
{
	const struct rdma_port *p = NULL;
	unsigned int port = 0;
	char name[64];

	if (library_is_ours(e->library))
		return cli_text(LOADER_WHY_PACKAGE);
	if (!is_of_ofed(e))
		return cli_text(strchr(e->library, '/') != NULL ? "install the provider, or correct the path in field 5" :
				"install the provider, or write its full path in field 5");
	if (sscanf(e->ia_params, "%63s %u", name, &port) >= 1)
		p = devices_find(&c->devices, name, port);
	if (p != NULL)
		return cli_text("write %s in field 5, which serves %s",
				p->kind == PORT_IWARP ? "libdatiwarp.so" : "libdatib.so", name);
	if (e->major == 2)
		return cli_text("install it (Debian: package libdapl2)");
	return cli_text("OFED has this provider for uDAPL 2.0 only: 'datctl discover' prints a "
			"line for each device that is here");
}

/* Adds that the loader has refused the library, or one that it needs, for the reason `why`. */
static void library_add(struct check *c, const struct conf_entry *e, const char *why)
{
	char *drop = check_comment_out(e), *remedy;
	size_t file;

	switch (loader_why(e->library, why, &file)) {
	case LOADER_WHY_NEEDS:
		fail(c, e, "library-needs", cli_text("library %s: %s", e->library, why),
		     cli_text("install the package that contains %.*s: apt-file search %.*s",
			      (int)file, why, (int)file, why));
		break;
	case LOADER_WHY_MISSING:
		remedy = library_remedy(c, e);
		fail(c, e, "library-missing", cli_text("library %s", why),
		     cli_text("%s, or remove the line: %s", remedy, drop));
		free(remedy);
		break;
	case LOADER_WHY_DENIED:
		fail(c, e, "library-denied", cli_text("library %s", why),
		     cli_text("chmod a+rx '%.*s'    (as its owner or root)", (int)file, why));
		break;
	case LOADER_WHY_MISFIT:
		fail(c, e, "library-misfit",
		     cli_text("library %s was built for another version of a library that it uses: "
			      "%s", e->library, why),
		     cli_text("install the versions that belong together, or remove the line: %s",
			      drop));
		break;
	case LOADER_WHY_BROKEN:
		fail(c, e, "library-broken", cli_text("library %s: %s", e->library, why),
		     cli_text("install a library for this machine, or remove the line: %s",
			      drop));
		break;
	}
	free(drop);
}

/*
 * Returns the provider's own reason as "cause; remedy", malloced, or NULL: the text that the child
 * got, or else what the provider has printed. Lines of libdat are about the child's registry, which
 * the user does not know.
 */
static char *provider_words(const struct probe_result *r)
{
	char *why = probe_get(r, "why");

	if (why != NULL)
		return why;
	for (const char *line = r->said; *line != '\0'; line += strcspn(line, "\n")) {
		line += strspn(line, "\n");
		if (*line != '\0' && strncmp(line, "libdat:", 7) != 0 &&
		    strncmp(line, "libdatp:", 8) != 0)
			return cli_text("%.*s", (int)strcspn(line, "\n"), line);
	}
	return NULL;
}

/* Returns whether `ret`, the name of a return value and of its subtype, is of this type. */
static bool is_type(const char *ret, const char *type)
{
	size_t length = strlen(type);

	return strncmp(ret, type, length) == 0 && (ret[length] == ' ' || ret[length] == '\0');
}

/* Returns whether the cause is in dat.conf. Otherwise it is the device, or the system. */
static bool is_about_conf(const char *ret)
{
	return is_type(ret, "DAT_INVALID_PARAMETER") || is_type(ret, "DAT_INVALID_ADDRESS");
}

static void open_add(struct check *c, const struct conf_entry *e, const char *ret,
		     const struct probe_result *r)
{
	char *words = provider_words(r);
	char *semicolon = words != NULL ? strrchr(words, ';') : NULL;
	bool unregistered = is_type(ret, "DAT_PROVIDER_NOT_FOUND");
	const char *code = unregistered ? "not-registered" : "open-failed";
	const char *remedy = semicolon != NULL ? semicolon + 1 + strspn(semicolon + 1, " ") : NULL;

	if (semicolon != NULL)
		*semicolon = '\0';
	if (remedy != NULL && is_about_conf(ret)) {
		fail(c, e, code, cli_text("%s", words),
		     cli_text("correct field 7 of %s:%u: %s", e->file, e->line, remedy));
	} else if (remedy != NULL) {
		fail(c, e, code, cli_text("%s", words), cli_text("%s", remedy));
	} else if (unregistered) {
		fail(c, e, code,
		     cli_text("library %s registers no adapter for the parameters \"%s\"%s%s",
			      e->library, e->ia_params, words != NULL ? ": " : "",
			      words != NULL ? words : ""),
		     cli_text("correct field 7 of %s:%u, or check that its device exists", e->file,
			      e->line));
	} else {
		fail(c, e, code,
		     cli_text("library %s could not open it: %s%s%s", e->library, ret,
			      words != NULL ? ": " : "", words != NULL ? words : ""),
		     cli_text("check that its device exists, and that field 7 of %s:%u is correct; "
			      "for more: DAT_LOG=debug datctl show '%s'",
			      e->file, e->line, e->name));
	}
	free(words);
}

static void memory_add(struct check *c, const struct conf_entry *e, const char *ret)
{
	struct rlimit limit = { 0, 0 };

	/* the limit on locked memory shows as a lack of resources; what else there is, only the provider can say */
	if (!is_type(ret, "DAT_INSUFFICIENT_RESOURCES")) {
		fail(c, e, "memory", cli_text("1 MiB of memory cannot be registered: %s", ret),
		     cli_text("for the cause: datconform --verbose %s--only dat_lmr_create --ia '%s'",
			      e->major == 2 ? "--api 2.0 " : "", e->name));
		return;
	}
	getrlimit(RLIMIT_MEMLOCK, &limit);
	fail(c, e, "memory",
	     cli_text("1 MiB of memory cannot be registered: %s; RLIMIT_MEMLOCK allows %llu KiB",
		      ret, (unsigned long long)limit.rlim_cur >> 10),
	     check_memlock_remedy());
}

static void listen_add(struct check *c, const struct conf_entry *e, const char *ret)
{
	unsigned long long qual = c->listen;

	if (is_type(ret, "DAT_CONN_QUAL_IN_USE"))
		fail(c, e, "qualifier-busy",
		     cli_text("connection qualifier %llu is held by another program: %s", qual,
			      ret),
		     cli_text("end that program, or have yours listen at another qualifier; to see "
			      "who holds it: %s | grep -w %llu",
			      check_is_rdma(e) ? "rdma resource show cm_id" : "ss -lxtnp", qual));
	else
		fail(c, e, "listen",
		     cli_text("nobody can listen at connection qualifier %llu: %s", qual, ret),
		     cli_text("choose another one; TCP ports (1 to 65535) work on every adapter"));
}

static void connect_add(struct check *c, const struct conf_entry *e, const char *ret,
			const char *event)
{
	unsigned long number = event != NULL ? strtoul(event, NULL, 10) : 0;
	unsigned long long qual = c->peer_qual;
	const char *name = number != 0 ? event_name((unsigned int)number) : ret;

	if (number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
	    number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
		fail(c, e, "peer-refuses",
		     cli_text("%s can be reached, but nobody accepts at connection qualifier "
			      "%llu: %s",
			      c->peer_name, qual, name),
		     cli_text("start the server there; to test without it: datctl ping --server "
			      "--qual %llu '%s'",
			      qual, e->name));
	else
		fail(c, e, "peer-unreachable",
		     cli_text("%s cannot be reached at connection qualifier %llu: %s", c->peer_name,
			      qual, name),
		     cli_text("give the address of the peer's adapter, on the network of this one; "
			      "ip route get %s; ping %s",
			      c->peer_name, c->peer_name));
}

static const char *missing_why(const struct check *c, const struct conf_entry *e)
{
	const struct missing *m = c->missing;

	while (m != NULL && strcmp(m->library, e->library) != 0)
		m = m->next;
	return m != NULL ? m->why : NULL;
}

static void missing_keep(struct check *c, const struct conf_entry *e, const char *why)
{
	unsigned int count = c->missing != NULL ? c->missing->count : 0;
	struct missing *m = count < MISSING_MAX ? malloc(sizeof(*m)) : NULL;

	if (m == NULL)
		return;
	m->next = c->missing;
	m->count = count + 1;
	m->library = cli_strdup(e->library);
	m->why = cli_strdup(why);
	c->missing = m;
}

void check_entry_end(struct check *c)
{
	struct missing *m;

	while ((m = c->missing) != NULL) {
		c->missing = m->next;
		free(m->library);
		free(m->why);
		free(m);
	}
}

/* Adds that the child exited by itself before it had completed all stages. */
static void stage_add(struct check *c, const struct conf_entry *e, const char *stage,
		      const struct probe_result *r)
{
	char *why = probe_get(r, "why"), *ret_text = probe_get(r, "ret"),
	     *event = probe_get(r, "event");
	const char *ret = ret_text != NULL ? ret_text : "DAT_SUCCESS";

	if (strcmp(stage, "registry") == 0) {
		fail(c, e, "no-libdat2",
		     cli_text("for programs of uDAPL %u.%u, which need libdat2.so.2: %s", e->major,
			      e->minor, why != NULL ? why : "the loader gave no reason"),
		     cli_text(DAT20_PACKAGE));
	} else if (strcmp(stage, "library") == 0) {
		if (why != NULL)
			missing_keep(c, e, why);
		library_add(c, e, why != NULL ? why : "the loader gave no reason");
	} else if (strcmp(stage, "symbol") == 0)
		fail(c, e, "no-init-symbol",
		     cli_text("library %s has no symbol dat_provider_init, so it is not a provider",
			      e->library),
		     cli_text("name a provider's library in field 5 of %s:%u", e->file, e->line));
	else if (strcmp(stage, "memory") == 0 && ret_text != NULL)
		memory_add(c, e, ret);
	else if (strcmp(stage, "listen") == 0)
		listen_add(c, e, ret);
	else if (strcmp(stage, "connect") == 0)
		connect_add(c, e, ret, event);
	else
		open_add(c, e, ret, r);
	free(why);
	free(ret_text);
	free(event);
}

static void crash_add(struct check *c, const struct conf_entry *e, const char *stage,
		      const struct probe_result *r)
{
	char *remedy = check_comment_out(e);

	if (r->timed_out)
		fail(c, e, "hangs",
		     cli_text("library %s hangs %s: given up after %u s", e->library,
			      stage_doing(stage), c->seconds),
		     cli_text("remove the line: %s (a slow device: datctl check --timeout %u)",
			      remedy, c->seconds * 6));
	else if (r->signal != 0)
		fail(c, e, "crashes",
		     cli_text("library %s crashes %s: %s", e->library, stage_doing(stage),
			      strsignal(r->signal)),
		     cli_text("update or reinstall it, or remove the line: %s", remedy));
	else
		fail(c, e, "exits",
		     cli_text("library %s ends the program %s, with status %d", e->library,
			      stage_doing(stage), r->status),
		     cli_text("update or reinstall it, or remove the line: %s", remedy));
	free(remedy);
}

/* Returns whether the library and its symbol were found. Then the device is checked next. */
static bool is_loaded(const char *stage)
{
	return stage != NULL && strcmp(stage, "registry") != 0 && strcmp(stage, "library") != 0 &&
	       strcmp(stage, "symbol") != 0;
}

static void verdict_add(struct check *c, const struct conf_entry *e, const struct probe_result *r)
{
	char *stage = probe_get(r, "stage"), *address = probe_get(r, "address");
	bool ended = !r->timed_out && r->signal == 0;
	bool done = ended && stage != NULL && strcmp(stage, "done") == 0;

	if (is_loaded(stage) && check_device(c, e))
		; /* this is the reason, or will be one when the adapter is used */
	else if (done)
		check_add(c, CHECK_OK, "ok", e,
			  cli_text("opened%s%s, memory registered%s%s",
				   address != NULL ? ", address " : "",
				   address != NULL ? address : "",
				   c->peer_qual != 0 ? ", peer reached" : "",
				   serves_20(&c->conf, e) ? "; also for uDAPL 2.0" : ""),
			  NULL);
	else if (!ended || stage == NULL || r->status != 0)
		crash_add(c, e, stage, r);
	else
		stage_add(c, e, stage, r);
	if (done && check_is_rdma(e))
		check_memlock(c, e);
	if (e->thread_safe && library_is_nonthreadsafe(e->library))
		check_add(c, CHECK_WARN, "thread-safety", e,
			  cli_text("field 3 says threadsafe, which library %s does not promise: "
				   "programs may use one object in several threads at once",
				   e->library),
			  cli_text("write nonthreadsafe in field 3 of %s:%u", e->file, e->line));
	free(stage);
	free(address);
}

void check_entry(struct check *c, const struct conf_entry *e)
{
	struct check_try try = { c, e };
	struct probe_result result;
	int err;

	if (version_check(c, e) || hidden_check(c, e))
		return;
	if (missing_why(c, e) != NULL) {
		library_add(c, e, missing_why(c, e));
		return;
	}
	err = probe_run(check_try, &try, c->seconds, &result);
	if (err != 0)
		fail(c, e, "no-process", cli_text("cannot create a process to test it: "
						  "%s", strerror(-err)),
		     cli_text("end some programs, or raise ulimit -u and ulimit -n"));
	else
		verdict_add(c, e, &result);
	probe_free(&result);
}
