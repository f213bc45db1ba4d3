// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads a command line by a subcommand's table, and prints the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
#include "util.h"

bool fx_json_mode;

/* Options of every subcommand; they have no place in its structure. */
static bool help_wanted;

static const struct fx_option common[] = {
	{ "json", 'j', FX_OPT_FLAG, .help = "print one JSON document" },
	{ "help", 'h', FX_OPT_FLAG, .help = "print this help" },
	{ }
};

static const char *option_at(const void *list, u32 i)
{
	const struct fx_option *o = list;
	u32 n = 0;

	for (; o && o->name; o++, n++)
		if (n == i)
			return o->name;
	i -= n;
	return i < ARRAY_SIZE(common) - 1 ? common[i].name : NULL;
}

/* One word of the command line against one table; length of the option's name. */
static const struct fx_option *find(const struct fx_option *o, const char *word,
				    size_t len, char letter)
{
	for (; o && o->name; o++)
		if (letter ? o->letter == letter :
		    strlen(o->name) == len && !strncmp(o->name, word, len))
			return o;
	return NULL;
}

static enum fx_rc number(const struct fx_option *o, const char *value, u64 *out)
{
	static const char *const want[] = {
		[FX_OPT_NUMBER] = "a number such as 16",
		[FX_OPT_SIZE] = "a size such as 64KiB",
		[FX_OPT_TIME] = "a time such as 100ms",
	};
	static const enum fx_unit_kind unit[] = {
		[FX_OPT_NUMBER] = FX_UNIT_NONE,
		[FX_OPT_SIZE] = FX_UNIT_BYTES,
		[FX_OPT_TIME] = FX_UNIT_TIME,
	};
	struct fx_number n;
	const char *end;
	enum fx_number_err err = fx_parse_number(value, &end, &n);
	bool plain = o->kind == FX_OPT_SIZE && n.unit == FX_UNIT_NONE;

	if (err == FX_NUM_RANGE) {
		fx_err("--%s: %s does not fit 64 bits", o->name, value);
		return FX_RC_INPUT;
	}
	if (err != FX_NUM_OK || *end || (n.unit != unit[o->kind] && !plain)) {
		fx_err("--%s takes %s, not '%s'", o->name, want[o->kind], value);
		return FX_RC_INPUT;
	}
	if (n.value < o->min || (o->max && n.value > o->max)) {
		if (o->max)
			fx_err("--%s takes %llu to %llu, not %s", o->name,
			       o->min, o->max, value);
		else
			fx_err("--%s takes %llu or more, not %s", o->name,
			       o->min, value);
		return FX_RC_INPUT;
	}
	*out = n.value;
	return FX_RC_OK;
}

static enum fx_rc store(const struct fx_option *o, const char *value, char *config)
{
	void *at = config + o->at;

	switch (o->kind) {
	case FX_OPT_FLAG:
		*(bool *)at = true;
		return FX_RC_OK;
	case FX_OPT_STRING:
		if (!*value) {
			fx_err("--%s takes a %s, not an empty word", o->name,
			       o->value);
			return FX_RC_INPUT;
		}
		*(const char **)at = value;
		return FX_RC_OK;
	default:
		return number(o, value, at);
	}
}

static enum fx_rc unknown(const struct fx_command *cmd, const char *word)
{
	const char *name = word;
	const char *near;

	while (*name == '-')
		name++;
	near = fx_nearest(name, option_at, cmd->options);
	if (near)
		fx_err("%s has no option '%s'; did you mean '--%s'?", cmd->name,
		       word, near);
	else
		fx_err("%s has no option '%s'; `fabricctl %s --help` lists them",
		       cmd->name, word, cmd->name);
	return FX_RC_INPUT;
}

/* The option at argv[0]; how many words it took, 0 on an error. */
static int option(const struct fx_command *cmd, int argc, char **argv,
		  char *config, u64 *seen)
{
	const char *word = argv[0], *value = NULL;
	bool longform = word[1] == '-';
	const char *name = word + 1 + longform;
	size_t len = longform ? strcspn(name, "=") : 1;
	char letter = longform ? 0 : *name;
	const struct fx_option *o = find(common, name, len, letter);
	int used = 1;

	if (o) {
		if (name[len]) {
			fx_err("--%s takes no value", o->name);
			return 0;
		}
		*(o->letter == 'j' ? &fx_json_mode : &help_wanted) = true;
		return 1;
	}
	o = find(cmd->options, name, len, letter);
	if (!o) {
		unknown(cmd, word);
		return 0;
	}
	if (*seen & 1ULL << (o - cmd->options)) {
		fx_err("--%s is given twice", o->name);
		return 0;
	}
	*seen |= 1ULL << (o - cmd->options);

	if (name[len])
		value = name + len + longform;
	if (o->kind == FX_OPT_FLAG && value) {
		fx_err("--%s takes no value", o->name);
		return 0;
	}
	if (o->kind != FX_OPT_FLAG && !value) {
		if (argc < 2) {
			fx_err("--%s needs a value: %s", o->name, o->value);
			return 0;
		}
		value = argv[1];
		used = 2;
	}
	return store(o, value, config) == FX_RC_OK ? used : 0;
}

static enum fx_rc parse(const struct fx_command *cmd, int argc, char **argv,
			char *config)
{
	const struct fx_operand *operand = cmd->operands;
	bool options = true;
	u64 seen = 0;

	for (int i = 1; i < argc;) {
		if (options && !strcmp(argv[i], "--")) {
			if (cmd->rest) {
				*(char ***)(config + cmd->rest_at) =
					i + 1 < argc ? argv + i + 1 : NULL;
				break;
			}
			options = false;
			i++;
			continue;
		}
		if (options && argv[i][0] == '-' && argv[i][1]) {
			int used = option(cmd, argc - i, argv + i, config,
					  &seen);

			if (!used)
				return FX_RC_INPUT;
			i += used;
			continue;
		}
		if (!operand || !operand->name) {
			fx_err("%s takes no further operand '%s'", cmd->name,
			       argv[i]);
			return FX_RC_INPUT;
		}
		/* "" would name a directory of all graphs, or every policy */
		if (!*argv[i]) {
			fx_err("%s takes %s: %s, not an empty word", cmd->name,
			       operand->name, operand->help);
			return FX_RC_INPUT;
		}
		*(const char **)(config + operand->at) = argv[i++];
		operand++;
	}
	if (help_wanted)
		return FX_RC_OK;
	if (operand && operand->name && !operand->optional) {
		fx_err("%s needs %s: %s", cmd->name, operand->name,
		       operand->help);
		return FX_RC_INPUT;
	}
	for (const struct fx_option *o = cmd->options; o && o->name; o++) {
		if (o->required && !(seen & 1ULL << (o - cmd->options))) {
			fx_err("%s needs --%s %s", cmd->name, o->name, o->value);
			return FX_RC_INPUT;
		}
	}
	return FX_RC_OK;
}

/**
 * fx_command_find_json() - look for -j where reading the words has stopped
 * @argc: words
 * @argv: the words
 *
 * Whoever asks for JSON gets the errors in it, wherever the -j stands.
 */
void fx_command_find_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json"))
			fx_json_mode = true;
}

/**
 * fx_command_main() - read a subcommand's command line and run it
 * @cmd: the subcommand
 * @argc: words, with its name
 * @argv: the words
 *
 * Return: the exit status.
 */
enum fx_rc fx_command_main(const struct fx_command *cmd, int argc, char **argv)
{
	void *config = fx_calloc(1, cmd->config_size);
	enum fx_rc rc;

	if (cmd->defaults)
		memcpy(config, cmd->defaults, cmd->config_size);
	rc = parse(cmd, argc, argv, config);
	if (rc != FX_RC_OK)
		fx_command_find_json(argc, argv);
	if (rc == FX_RC_OK && help_wanted)
		fx_command_help(cmd);
	else if (rc == FX_RC_OK)
		rc = cmd->run(config);
	free(config);
	return rc;
}

static void option_help(const struct fx_option *o)
{
	int n;

	if (o->letter)
		n = printf("  -%c, --%s", o->letter, o->name);
	else
		n = printf("      --%s", o->name);
	if (o->value)
		n += printf(" %s", o->value);
	if (n > 25) {
		printf("\n");
		n = 0;
	}
	printf("%*s%s%s\n", 26 - n, "", o->help, o->required ? " (required)" : "");
}

/* fx_command_help() - print a subcommand's table for people */
void fx_command_help(const struct fx_command *cmd)
{
	printf("usage: fabricctl %s [options]", cmd->name);
	for (const struct fx_operand *p = cmd->operands; p && p->name; p++)
		printf(p->optional ? " [%s]" : " %s", p->name);
	printf("%s\n\n  %s\n", cmd->rest ? " [-- CMD...]" : "", cmd->summary);
	if (cmd->details)
		printf("\n%s", cmd->details);
	if (cmd->operands && cmd->operands->name)
		printf("\noperands:\n");
	for (const struct fx_operand *p = cmd->operands; p && p->name; p++)
		printf("  %-22s  %s\n", p->name, p->help);
	if (cmd->rest)
		printf("  %-22s  %s\n", "-- CMD...", cmd->rest);
	printf("\noptions:\n");
	for (const struct fx_option *o = cmd->options; o && o->name; o++)
		option_help(o);
	for (const struct fx_option *o = common; o->name; o++)
		option_help(o);
}
