import { describe, expect, it } from "vitest";
import { resolveMapping } from "./resolve-mapping.ts";

/** The resolved value. */
function valueOf(given: unknown): Record<string, unknown> {
	const read = resolveMapping(given);
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	return read.value;
}

describe("resolveMapping", () => {
	it("the name of a preset is the preset", () => {
		expect(valueOf("docling")).toEqual(valueOf({ preset: "docling" }));
		expect(valueOf("docling")).toMatchObject({ port: 5001, request: { path: "/v1/convert/source/async" } });
	});

	it("without a preset it is what the user wrote", () => {
		expect(valueOf({ port: 1 })).toEqual({ port: 1 });
	});

	it("merges objects by member, removes by null, replaces lists", () => {
		const value = valueOf({
			preset: "cog",
			ready: { everyMs: "2s", where: null },
			request: { body: { more: 1 } },
			failed: [],
			cancel: null,
		});
		expect(value).toMatchObject({
			ready: { path: "/health-check", everyMs: "2s" },
			request: { method: "PUT", body: { input: "{input}", more: 1 } },
			failed: [],
		});
		expect(value["ready"]).not.toHaveProperty("where");
		expect(value).not.toHaveProperty("cancel");
	});

	it("one place replaces that of the preset", () => {
		expect(valueOf({ preset: "vllm", url: "https://host/base" })).not.toHaveProperty("port");
		expect(valueOf({ preset: "vllm", port: 0 })).toMatchObject({ port: 0 });
	});

	it("can be resolved again, also without a member that was removed", () => {
		const value = valueOf({ preset: "cog", failed: null, cancel: null });
		expect(valueOf(JSON.parse(JSON.stringify(value)))).toEqual(value);
	});

	it("leaves the presets as they are", () => {
		const before = JSON.stringify(valueOf("cog"));
		valueOf({ preset: "cog", request: { body: { input: null, a: 1 } } });
		expect(JSON.stringify(valueOf("cog"))).toBe(before);
	});

	it("refuses more levels than can be read", () => {
		const body = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`) as object;
		const faults = [{ path: "http", message: "must have at most 32 levels." }];
		expect(resolveMapping({ port: 1, request: { body } })).toEqual({ ok: false, faults });
	});

	it.each<[unknown, string, string]>([
		[7, "http", "must be the name of a preset or an object; it is 7."],
		["dockling", "http.preset", "must be one of raw, openai, vllm, nim, sglang, llamacpp, ollama, tgi, docling"],
		[{ preset: "constructor" }, "http.preset", 'it is "constructor".'],
		["openai", "http.port", "is missing: write the server's http.port: 8000"],
		[{ preset: "vllm", reqest: {} }, "http.reqest", "is unknown. Expected one of"],
		[{ preset: "cog", request: { text: "x" } }, "http.request.text", "remove one of them, with null"],
		[{ preset: "vllm", async: { path: "/x", done: [1] } }, "http.stream", "does not go with http.async"],
		[{ port: 1, request: { body: "é".repeat(40_000) } }, "http", "must have at most 65536 bytes as JSON; it has 8"],
		[JSON.parse('{"port":1,"__proto__":{"request":1}}'), "http.__proto__", "is unknown."],
	])("refuses %j", (given, path, message) => {
		const read = resolveMapping(given);
		expect(read.ok ? undefined : read.faults).toEqual([{ path, message: expect.stringContaining(message) }]);
	});
});
