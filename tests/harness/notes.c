/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a test that did not end by itself: the failures that it and its peers had found, which are noted in memory
 * that the watcher shares, and the stacks of their threads. Invariant: a test that ends by itself reports its failures as its
 * result, so the notes are printed only for a test that crashed or was killed.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define NOTES_SIZE 16384u

/* Shared by the watcher, the process that runs the tests, and its peers. */
static struct {
	_Atomic unsigned int used; /* bytes of `text` that are in use; the count may go beyond the end */
	char text[NOTES_SIZE];
} *notes;

void check_notes_begin(void)
{
	void *mem = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	notes = mem == MAP_FAILED ? NULL : mem;
}

void check_notes_clear(void)
{
	if (!notes)
		return;
	memset(notes->text, 0, sizeof(notes->text));
	atomic_store(&notes->used, 0);
}

void check_note(const char *file, unsigned int line, const char *text)
{
	char note[1200];
	unsigned int at;
	int length;

	if (!notes)
		return;
	length = snprintf(note, sizeof(note), "# %s:%u: %s", file, line, text);
	if (length < 0)
		return;
	if ((size_t)length > sizeof(note) - 1)
		length = sizeof(note) - 1;
	for (char *c = note; *c; c++)
		if (*c == '\n')
			*c = ' ';
	at = atomic_fetch_add(&notes->used, (unsigned int)length + 1);
	if (at + (unsigned int)length + 1 > sizeof(notes->text))
		return; /* a hundred notes are enough */
	memcpy(notes->text + at, note, (size_t)length);
	notes->text[at + (unsigned int)length] = '\n';
}

void check_notes_print(void)
{
	if (notes)
		printf("%.*s", (int)sizeof(notes->text), notes->text);
}

void check_print_threads(pid_t pid)
{
	char command[512], line[512];
	FILE *said;

	/* the debugger has a limit of time, so that it cannot hang as well */
	snprintf(command, sizeof(command),
		 "command -v gdb >/dev/null && for p in %d $(ps -o pid= --ppid %d); do echo process $p; "
		 "timeout 20 gdb -p $p -nx -batch -ex 'thread apply all bt 12' 2>/dev/null | grep -E '^(Thread|#)'; done",
		 (int)pid, (int)pid);
	said = popen(command, "r");
	while (said && fgets(line, sizeof(line), said))
		printf("# %s", line);
	if (said)
		pclose(said);
}
