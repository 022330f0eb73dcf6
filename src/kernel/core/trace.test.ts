/** W3C Trace Context, level 1: what is a traceparent, and what is passed on. */
import { expect, it } from "vitest";
import { readTraceparent, storedTrace, traceparentOf, traceText } from "./trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

it("D52: a traceparent of this version, or of a later one with more members", () => {
	const ids = { traceId: TRACE, spanId: SPAN };
	expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ ...ids, isSampled: true });
	expect(readTraceparent(`00-${TRACE}-${SPAN}-02`)).toEqual({ ...ids, isSampled: false });
	expect(readTraceparent(`01-${TRACE}-${SPAN}-03-more`)).toEqual({ ...ids, isSampled: true });
});

it.each([
	"",
	"x",
	`00-${TRACE}-${SPAN}`,
	`00-${TRACE}-${SPAN}-01-more`,
	`ff-${TRACE}-${SPAN}-01`,
	`00-${TRACE.toUpperCase()}-${SPAN}-01`,
	`00-${"0".repeat(32)}-${SPAN}-01`,
	`00-${TRACE}-${"0".repeat(16)}-01`,
	`00-${TRACE}-${SPAN}-01 `,
])("D52: %j is none", (text) => {
	expect(readTraceparent(text)).toBeUndefined();
});

it("D52: tracestate is kept up to 512 printable characters", () => {
	const parent = `00-${TRACE}-${SPAN}-01`;
	expect(readTraceparent(parent, "a=1,b=2")?.state).toBe("a=1,b=2");
	expect(readTraceparent(parent, "a".repeat(512))?.state).toHaveLength(512);
	for (const state of ["", "a".repeat(513), "a=\n", "a=é"])
		expect(readTraceparent(parent, state)).not.toHaveProperty("state");
});

it("D52: what is stored reads back", () => {
	for (const state of [undefined, "a=1, b=2"]) {
		const context = { traceId: TRACE, spanId: SPAN, isSampled: true, ...(state !== undefined && { state }) };
		expect(storedTrace(traceText(context))).toEqual(context);
	}
	expect(traceparentOf({ traceId: TRACE, spanId: SPAN, isSampled: false })).toBe(`00-${TRACE}-${SPAN}-00`);
});
