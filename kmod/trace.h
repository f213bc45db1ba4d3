/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints fabric_ext:*, one for questions to policies, one for events. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM fabric_ext

#if !defined(_FX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _FX_TRACE_H

#include <linux/tracepoint.h>
#include <linux/fabric_ext.h>

TRACE_EVENT(fabric_ext_event,
	TP_PROTO(const char *graph, const struct fx_event *ev),
	TP_ARGS(graph, ev),
	TP_STRUCT__entry(
		__string(graph, graph)
		__field(u64, seq)
		__field(u16, type)
		__field(u16, op)
		__field(u32, edge)
		__field(u32, reason)
		__field(s32, error)
		__field(u16, place)
		__field(u64, bytes)
	),
	TP_fast_assign(
		__assign_str(graph);
		__entry->seq = ev->seq;
		__entry->type = ev->type;
		__entry->op = ev->op;
		__entry->edge = ev->edge;
		__entry->reason = ev->reason;
		__entry->error = ev->error;
		__entry->place = ev->place;
		__entry->bytes = ev->bytes;
	),
	TP_printk("graph=%s seq=%llu type=%u op=%u edge=%d reason=%u error=%d place=%d bytes=%llu",
		  __get_str(graph), __entry->seq, __entry->type, __entry->op,
		  (int)__entry->edge, __entry->reason, __entry->error,
		  (s16)__entry->place, __entry->bytes)
);

TRACE_EVENT(fabric_ext_verdict,
	TP_PROTO(const char *graph, u32 op, u32 edge, int answer, u32 reason),
	TP_ARGS(graph, op, edge, answer, reason),
	TP_STRUCT__entry(
		__string(graph, graph)
		__field(u32, op)
		__field(u32, edge)
		__field(int, answer)
		__field(u32, reason)
	),
	TP_fast_assign(
		__assign_str(graph);
		__entry->op = op;
		__entry->edge = edge;
		__entry->answer = answer;
		__entry->reason = reason;
	),
	TP_printk("graph=%s op=%u edge=%d answer=%d reason=%u", __get_str(graph),
		  __entry->op, (int)__entry->edge, __entry->answer,
		  __entry->reason)
);

#endif /* _FX_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
