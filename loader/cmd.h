/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A subcommand is one table: its options, its operands, and a thin run().
 * Parsing, --help and -j come from the table; cmds.h lists the subcommands.
 */
#ifndef FX_CMD_H
#define FX_CMD_H

#include "types.h"

/* Exit status of every subcommand. */
enum fx_rc {
	FX_RC_OK	= 0,
	FX_RC_INPUT	= 1,	/* what the user gave is wrong */
	FX_RC_SYSTEM	= 2,	/* the system failed */
};

/* What an option stores at its place in the config structure. */
enum fx_option_kind {
	FX_OPT_FLAG,		/* bool */
	FX_OPT_STRING,		/* const char * */
	FX_OPT_NUMBER,		/* u64, decimal or 0x; min..max */
	FX_OPT_SIZE,		/* u64 bytes, units allowed; min..max */
	FX_OPT_TIME,		/* u64 ns, a unit is required; min..max */
};

/* The table of options ends with an entry without a name. */
struct fx_option {
	const char *name;	/* long form, without dashes */
	char letter;		/* short form or 0 */
	enum fx_option_kind kind;
	bool required;
	const char *value;	/* what the help calls the value */
	const char *help;
	size_t at;		/* offsetof() in the config structure */
	u64 min;
	u64 max;		/* 0: no limit */
};

/* Operands in order, each a const char *; ends with an entry without a name. */
struct fx_operand {
	const char *name;
	const char *help;
	size_t at;
	bool optional;
};

/* A loaded graph, kept as `graph` of the config structure. */
#define FX_OPERAND_GRAPH(type, ...)					\
	{ "GRAPH", "its name, as `fabricctl list` shows it",		\
	  offsetof(type, graph), ##__VA_ARGS__ }

struct fx_command {
	const char *name;
	const char *summary;	/* one line, lower case, no full stop */
	const char *details;	/* more lines for --help, or NULL */
	const struct fx_operand *operands;
	const struct fx_option *options;
	const char *rest;	/* what follows `--`: its help, or NULL: none */
	size_t rest_at;		/* where: char **, NULL terminated, or NULL */
	size_t config_size;
	const void *defaults;	/* of the config structure, or NULL: zero */
	enum fx_rc (*run)(const void *config);
	bool urgent;		/* nothing comes before it that may wait */
};

/* -j was given: print one JSON document on standard output, fx_json_print(). */
extern bool fx_json_mode;

enum fx_rc fx_command_main(const struct fx_command *cmd, int argc, char **argv);
void fx_command_find_json(int argc, char **argv);
void fx_command_help(const struct fx_command *cmd);

#endif /* FX_CMD_H */
