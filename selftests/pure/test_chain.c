// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "pure_test.h"

#include "pure/transform.h"

#define MOVE		{ FX_XFORM_MOVE, 0, 0, 0 }
#define QUANTIZE	{ FX_XFORM_QUANTIZE, FX_ELEM_MXFP8, FX_ELEM_BF16, 0 }
#define DEQUANTIZE	{ FX_XFORM_DEQUANTIZE, FX_ELEM_BF16, FX_ELEM_MXFP8, 0 }
#define CRC32C		{ FX_XFORM_CHECKSUM, FX_CSUM_CRC32C, 0, 0 }
#define VERIFY		{ FX_XFORM_CHECKSUM, FX_CSUM_CRC32C, 0, FX_XFORM_F_VERIFY }

static const struct chain_case {
	const char *what;
	struct fx_xform_desc xform[FX_MAX_XFORMS + 1];
	u32 n;
	u8 element;
	bool exact;
	enum fx_chain_fault fault;
	u32 at;
	struct fx_chain chain;		/* where it is legal */
} cases[] = {
	{ "none at all", { { 0 } }, 0, FX_ELEM_FP32, true, FX_CHAIN_OK, 0,
	  { FX_XFORM_MOVE, FX_CSUM_NONE, FX_ELEM_FP32, FX_ELEM_FP32 } },
	{ "a move", { MOVE }, 1, FX_ELEM_NONE, true, FX_CHAIN_OK, 0,
	  { FX_XFORM_MOVE, FX_CSUM_NONE, FX_ELEM_NONE, FX_ELEM_NONE } },
	{ "move, checksum", { MOVE, CRC32C }, 2, FX_ELEM_BF16, true, FX_CHAIN_OK, 1,
	  { FX_XFORM_MOVE, FX_CSUM_CRC32C, FX_ELEM_BF16, FX_ELEM_BF16 } },
	{ "the demo's", { QUANTIZE, CRC32C }, 2, FX_ELEM_BF16, false, FX_CHAIN_OK, 1,
	  { FX_XFORM_QUANTIZE, FX_CSUM_CRC32C, FX_ELEM_BF16, FX_ELEM_MXFP8 } },
	{ "the same, with moves", { MOVE, QUANTIZE, MOVE, VERIFY, MOVE }, 5,
	  FX_ELEM_BF16, false, FX_CHAIN_OK, 4,
	  { FX_XFORM_QUANTIZE, FX_CSUM_CRC32C, FX_ELEM_BF16, FX_ELEM_MXFP8 } },
	{ "back", { DEQUANTIZE }, 1, FX_ELEM_MXFP8, false, FX_CHAIN_OK, 0,
	  { FX_XFORM_DEQUANTIZE, FX_CSUM_NONE, FX_ELEM_MXFP8, FX_ELEM_BF16 } },
	{ "opaque, typed by its transform", { MOVE, QUANTIZE }, 2, FX_ELEM_NONE,
	  false, FX_CHAIN_OK, 1,
	  { FX_XFORM_QUANTIZE, FX_CSUM_NONE, FX_ELEM_BF16, FX_ELEM_MXFP8 } },
	{ "type not stated twice",
	  { { FX_XFORM_QUANTIZE, FX_ELEM_MXFP8, FX_ELEM_NONE, 0 } }, 1,
	  FX_ELEM_BF16, false, FX_CHAIN_OK, 0,
	  { FX_XFORM_QUANTIZE, FX_CSUM_NONE, FX_ELEM_BF16, FX_ELEM_MXFP8 } },
	{ "as long as can be", { MOVE, MOVE, MOVE, MOVE, MOVE, MOVE, MOVE, MOVE },
	  FX_MAX_XFORMS, FX_ELEM_NONE, true, FX_CHAIN_OK, FX_MAX_XFORMS - 1,
	  { FX_XFORM_MOVE, FX_CSUM_NONE, FX_ELEM_NONE, FX_ELEM_NONE } },

	{ "one too long",
	  { MOVE, MOVE, MOVE, MOVE, MOVE, MOVE, MOVE, MOVE, MOVE },
	  FX_MAX_XFORMS + 1, FX_ELEM_NONE, false, FX_CHAIN_LONG, FX_MAX_XFORMS,
	  { 0 } },
	{ "2^32 - 1 of them", { MOVE }, 0xffffffff, FX_ELEM_NONE, false,
	  FX_CHAIN_LONG, FX_MAX_XFORMS, { 0 } },
	{ "no such element", { MOVE }, 1, FX_ELEMS, false, FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "no such transform", { MOVE, { FX_XFORMS, 0, 0, 0 } }, 2, FX_ELEM_NONE,
	  false, FX_CHAIN_UNKNOWN, 1, { 0 } },
	{ "no such input", { { FX_XFORM_MOVE, 0, FX_ELEMS, 0 } }, 1, FX_ELEM_NONE,
	  false, FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "no such output", { { FX_XFORM_QUANTIZE, FX_ELEMS, 0, 0 } }, 1,
	  FX_ELEM_BF16, false, FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "no output", { { FX_XFORM_QUANTIZE, 0, 0, 0 } }, 1, FX_ELEM_BF16, false,
	  FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "no such checksum", { { FX_XFORM_CHECKSUM, FX_CSUMS, 0, 0 } }, 1,
	  FX_ELEM_BF16, false, FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "checksum none", { { FX_XFORM_CHECKSUM, FX_CSUM_NONE, 0, 0 } }, 1,
	  FX_ELEM_BF16, false, FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "a move with an argument", { { FX_XFORM_MOVE, 1, 0, 0 } }, 1,
	  FX_ELEM_NONE, false, FX_CHAIN_UNKNOWN, 0, { 0 } },
	{ "verify without checksum",
	  { { FX_XFORM_QUANTIZE, FX_ELEM_MXFP8, 0, FX_XFORM_F_VERIFY } }, 1,
	  FX_ELEM_BF16, false, FX_CHAIN_FLAGS, 0, { 0 } },
	{ "no such flag", { { FX_XFORM_CHECKSUM, FX_CSUM_CRC32C, 0, 0x82 } }, 1,
	  FX_ELEM_BF16, false, FX_CHAIN_FLAGS, 0, { 0 } },
	{ "compress", { { FX_XFORM_COMPRESS, 0, 0, 0 } }, 1, FX_ELEM_BF16, false,
	  FX_CHAIN_UNSUPPORTED, 0, { 0 } },
	{ "crc64", { MOVE, { FX_XFORM_CHECKSUM, FX_CSUM_CRC64, 0, 0 } }, 2,
	  FX_ELEM_BF16, false, FX_CHAIN_UNSUPPORTED, 1, { 0 } },
	{ "mxfp4", { { FX_XFORM_QUANTIZE, FX_ELEM_MXFP4, 0, 0 } }, 1, FX_ELEM_BF16,
	  false, FX_CHAIN_UNSUPPORTED, 0, { 0 } },
	{ "quantize what is opaque", { { FX_XFORM_QUANTIZE, FX_ELEM_MXFP8, 0, 0 } },
	  1, FX_ELEM_NONE, false, FX_CHAIN_TYPE, 0, { 0 } },
	{ "quantize fp32", { { FX_XFORM_QUANTIZE, FX_ELEM_MXFP8, 0, 0 } }, 1,
	  FX_ELEM_FP32, false, FX_CHAIN_TYPE, 0, { 0 } },
	{ "another input than stated", { QUANTIZE }, 1, FX_ELEM_FP32, false,
	  FX_CHAIN_TYPE, 0, { 0 } },
	{ "dequantize bf16", { MOVE, DEQUANTIZE }, 2, FX_ELEM_BF16, false,
	  FX_CHAIN_TYPE, 1, { 0 } },
	{ "a checksum of another type",
	  { QUANTIZE, { FX_XFORM_CHECKSUM, FX_CSUM_CRC32C, FX_ELEM_BF16, 0 } }, 2,
	  FX_ELEM_BF16, false, FX_CHAIN_TYPE, 1, { 0 } },
	{ "quantize after the checksum", { CRC32C, QUANTIZE }, 2, FX_ELEM_BF16, false,
	  FX_CHAIN_AFTER_SUM, 1, { 0 } },
	{ "quantize, exact", { QUANTIZE }, 1, FX_ELEM_BF16, true, FX_CHAIN_LOSSY, 0,
	  { 0 } },
	{ "dequantize, exact", { DEQUANTIZE }, 1, FX_ELEM_MXFP8, true,
	  FX_CHAIN_LOSSY, 0, { 0 } },
	{ "there and back", { QUANTIZE, DEQUANTIZE }, 2, FX_ELEM_BF16, false,
	  FX_CHAIN_TWICE, 1, { 0 } },
	{ "two checksums", { CRC32C, VERIFY }, 2, FX_ELEM_BF16, false,
	  FX_CHAIN_TWICE, 1, { 0 } },
};

static void chains(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct chain_case *c = &cases[i];
		struct fx_chain chain = { 0xee, 0xee, 0xee, 0xee };
		enum fx_chain_fault fault;
		u32 at = 42;

		fault = fx_chain_check(c->n ? c->xform : NULL, c->n, c->element,
				       c->exact, &chain, &at);
		if (fault != c->fault || at != c->at ||
		    (!fault && memcmp(&chain, &c->chain, sizeof(chain)))) {
			print_message("# %s: fault %d at %u, chain %u %u %u %u\n",
				      c->what, fault, at, chain.convert, chain.csum,
				      chain.from, chain.to);
			fail();
		}
		assert_int_equal(fx_chain_check(c->n ? c->xform : NULL, c->n, c->element,
						c->exact, &chain, NULL), fault);
	}
}

/* Whatever bytes come: an answer within the enum, and no legal nonsense. */
static void any_bytes(void **state)
{
	u32 round, legal = 0;

	(void)state;
	for (round = 0; round < 2000000; round++) {
		struct fx_xform_desc x[3];
		struct fx_chain chain;
		u32 at, n = (u32)rnd_below(4);
		enum fx_chain_fault fault;
		u64 out;

		rnd_bytes(x, sizeof(x));
		if (rnd() & 1) {
			u8 *b = (u8 *)x;
			size_t i;

			for (i = 0; i < sizeof(x); i++)
				b[i] %= (i % 4 == 3) ? 2 : 6;
		}
		fault = fx_chain_check(x, n, (u8)rnd_below(9), rnd() & 1, &chain, &at);
		assert_in_range(fault, 0, FX_CHAIN_FAULTS - 1);
		assert_true(at <= n);
		if (fault)
			continue;
		legal++;
		assert_int_equal(fx_chain_bytes(&chain, 33 * 64, &out), FX_PURE_OK);
	}
	assert_true(legal > 1000);
}

static void every_fault_is_worded(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < FX_CHAIN_FAULTS; i++) {
		assert_true(strlen(fx_chain_why(i)) > 5);
		for (j = 0; j < i; j++)
			assert_string_not_equal(fx_chain_why(i), fx_chain_why(j));
	}
	assert_non_null(fx_chain_why(FX_CHAIN_FAULTS));
	assert_non_null(fx_chain_why((enum fx_chain_fault)-1));
}

static void sizes(void **state)
{
	const struct fx_chain move = { FX_XFORM_MOVE, FX_CSUM_NONE, 0, 0 };
	const struct fx_chain q = { FX_XFORM_QUANTIZE, FX_CSUM_CRC32C,
				    FX_ELEM_BF16, FX_ELEM_MXFP8 };
	const struct fx_chain d = { FX_XFORM_DEQUANTIZE, FX_CSUM_NONE,
				    FX_ELEM_MXFP8, FX_ELEM_BF16 };
	const struct sizes_case {
		const struct fx_chain *chain;
		u64 src, dst;
		int ret;
	} cases[] = {
		{ &move, 0, 0, FX_PURE_OK },
		{ &move, 7, 7, FX_PURE_OK },
		{ &move, ~0ull, ~0ull, FX_PURE_OK },
		{ &q, 0, 0, FX_PURE_OK },
		{ &q, 64, 33, FX_PURE_OK },
		{ &q, 65, 0, FX_PURE_RAGGED },
		{ &q, 66, 0, FX_PURE_RAGGED },
		{ &q, ~0ull, 0, FX_PURE_RAGGED },
		{ &q, ~0ull - 63, (1ull << 58) * 33 - 33, FX_PURE_OK },
		{ &d, 0, 0, FX_PURE_OK },
		{ &d, 33, 64, FX_PURE_OK },
		{ &d, 32, 0, FX_PURE_RAGGED },
		{ &d, ((1ull << 58) - 1) * 33, ~0ull - 63, FX_PURE_OK },
		{ &d, (1ull << 58) * 33, 0, FX_PURE_RANGE },
		{ &d, ~0ull / 33 * 33, 0, FX_PURE_RANGE },
		{ &d, ~0ull, 0, FX_PURE_RAGGED },
	};
	const struct fx_chain wrong[] = {
		{ FX_XFORM_MOVE, FX_CSUM_NONE, FX_ELEM_BF16, FX_ELEM_MXFP8 },
		{ FX_XFORM_QUANTIZE, FX_CSUM_NONE, FX_ELEM_MXFP8, FX_ELEM_BF16 },
		{ FX_XFORM_COMPRESS, FX_CSUM_NONE, FX_ELEM_BF16, FX_ELEM_BF16 },
		{ FX_XFORM_MOVE, FX_CSUM_XXH64, FX_ELEM_BF16, FX_ELEM_BF16 },
		{ 0xff, 0xff, 0xff, 0xff },
	};
	struct fx_pass pass;
	size_t i;
	u64 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		n = 42;
		assert_int_equal(fx_chain_bytes(cases[i].chain, cases[i].src, &n),
				 cases[i].ret);
		if (cases[i].ret)
			assert_true(n == 42);
		else
			assert_true(n == cases[i].dst);
		assert_int_equal(fx_pass_begin(&pass, cases[i].chain, cases[i].src, 0),
				 cases[i].ret);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(fx_chain_bytes(&wrong[i], 0, &n), FX_PURE_INVALID);
		assert_int_equal(fx_pass_begin(&pass, &wrong[i], 0, 0), FX_PURE_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(every_fault_is_worded),
		cmocka_unit_test(sizes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pure/chain", tests, NULL, NULL) ? 1 : 0;
}
