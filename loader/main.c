// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl: the table of subcommands and nothing else. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
#include "owner.h"
#include "util.h"

#define FX_COMMAND(x) extern const struct fx_command fx_cmd_##x;
#include "cmds.h"
#undef FX_COMMAND

static const struct fx_command *const commands[] = {
#define FX_COMMAND(x) &fx_cmd_##x,
#include "cmds.h"
#undef FX_COMMAND
};

static const char *command_name(const void *list, u32 i)
{
	(void)list;
	return i < ARRAY_SIZE(commands) ? commands[i]->name : NULL;
}

static void usage(FILE *out)
{
	fprintf(out, "usage: fabricctl COMMAND [options] [operands]\n\ncommands:\n");
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-9s %s\n", commands[i]->name,
			commands[i]->summary);
	fprintf(out, "\n`fabricctl COMMAND --help` tells more; every command takes -j for JSON.\n"
		"exit status: 0 done, 1 the input is wrong, 2 the system failed\n");
}

int main(int argc, char **argv)
{
	const char *near;

	if (argc < 2) {
		usage(stderr);
		return FX_RC_INPUT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		usage(stdout);
		return FX_RC_OK;
	}
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i]->name))
			continue;
		/* what a killed one left is in nobody's way, nor in any list */
		if (!commands[i]->urgent)
			fx_owner_sweep_all();
		return fx_report_end(fx_command_main(commands[i], argc - 1, argv + 1));
	}

	fx_command_find_json(argc, argv);
	near = fx_nearest(argv[1], command_name, NULL);
	if (near)
		fx_err("there is no command '%s'; did you mean '%s'?", argv[1],
		       near);
	else
		fx_err("there is no command '%s'; `fabricctl --help` lists them",
		       argv[1]);
	return fx_report_end(FX_RC_INPUT);
}
