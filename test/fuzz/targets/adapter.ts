/** What the HTTP adapter reads: streams of servers however they are cut, values of jobs in paths, mappings, base64. */
import fc from "fast-check";
import { decodedBase64 } from "../../../packages/worker/src/http/exchange/base64.ts";
import { JobFailure } from "../../../packages/worker/src/http/job-failure.ts";
import { type JobMapping, mappingOfJob } from "../../../packages/worker/src/http/openai.ts";
import { resolveMapping } from "../../../packages/worker/src/http/mapping/resolve-mapping.ts";
import { linesOf, ndjsonEvents, sseEvents } from "../../../packages/worker/src/http/job/stream-events.ts";
import { fill, fillPath } from "../../../packages/worker/src/http/mapping/template.ts";
import { readJobs } from "../../../packages/worker/src/polling/job-text.ts";
import { bytesOf, jsonValue, natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
	for (let at = 0, n = 0; at < bytes.length; n += 1) {
		const size = 1 + (natural(sizes[n % sizes.length] ?? 0) % 16);
		yield bytes.subarray(at, at + size);
		at += size;
	}
}

const line = fc.oneof(fc.constantFrom("", "data: 1", "data:", "data", ": ping", "event: x", "\ufeffdata: a"), oddText);

export const ADAPTER_STREAMS = target({
	name: "adapter-streams",
	sources: ["http/job/stream-events.ts"],
	cases: fc.record({
		lines: fc.array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")), { maxLength: 12 }),
		sizes: fc.array(fc.nat(16), { maxLength: 6 }),
	}),
	async check(q) {
		const bytes = bytesOf(q.lines.map((each) => each.map(String).join("")).join(""));
		const text = new TextDecoder().decode(bytes);
		same("lines", (await Array.fromAsync(linesOf(cut(bytes, q.sizes)))).join(""), text);
		for (const events of [sseEvents, ndjsonEvents])
			same(
				"events",
				await Array.fromAsync(events(cut(bytes, q.sizes))),
				await Array.fromAsync(events(cut(bytes, [15]))),
			);
		for (const { data, text: all } of await Array.fromAsync(sseEvents(cut(bytes, q.sizes))))
			must(
				data.split("\n").every((each) => all.includes(each)),
				`an event with other data: ${data}`,
			);
	},
});

const PATHS = ["/a/{input.x}/b", "/{input.x}", "/a/.{input.x}"] as const;

export const ADAPTER_PATHS = target({
	name: "adapter-paths",
	sources: ["http/mapping/template.ts"],
	cases: fc.record({ path: fc.nat(2), x: jsonValue }),
	check({ path, x }) {
		const template = PATHS[natural(path) % PATHS.length]!;
		must(!JSON.stringify(fill({ a: template }, { input: { x } }) ?? null).includes("{input.x}"), "a name is left");
		let filled: string;
		try {
			filled = fillPath(template, { input: { x } });
		} catch (error) {
			return must(error instanceof JobFailure, `another error: ${String(error)}`);
		}
		const { pathname, host, search, hash } = new URL(`http://server${filled}`);
		same("where the request goes", [host, search, hash], ["server", "", ""]);
		same("segments", pathname.split("/").length, template.split("/").length);
		same(
			"segments for servers that decode first",
			decodeURIComponent(pathname).split(/[/\\\0]/).length,
			template.split("/").length,
		);
		must(pathname.startsWith(template.split("{")[0]!), `another path: ${pathname}`);
	},
});

const VLLM = resolveMapping("vllm");
const segment = fc.oneof(
	fc.constantFrom("v1", "models", "..", ".", "", "%2e%2e", "chat", "completions", "{env.X}"),
	oddText,
);

export const ADAPTER_ROUTES = target({
	name: "adapter-routes",
	sources: ["http/openai.ts", "polling/job-text.ts"],
	cases: fc.record({ segments: fc.array(segment, { maxLength: 6 }), body: jsonValue }),
	check({ segments, body }) {
		const route = `/v1/${segments.map(String).join("/")}`;
		const [job] = readJobs(JSON.stringify({ id: "a", input: { openai_route: route, openai_input: body } })).jobs;
		let found: JobMapping;
		try {
			found = mappingOfJob((VLLM as Extract<typeof VLLM, { ok: true }>).mapping, job!);
		} catch (error) {
			return must(error instanceof JobFailure, `another error: ${String(error)}`);
		}
		const { method, path } = found.mapping.request;
		const { pathname, search, hash, host } = new URL(`http://server${path}`);
		same("where the request goes", [host, pathname, search, hash], ["server", route, "", ""]);
		must(method === "POST" || /^\/v1\/models(?:\/|$)/.test(route), `another GET: ${route}`);
		if (method === "POST") same("body", found.openai?.inputText, JSON.stringify(body));
	},
});

export const ADAPTER_MAPPINGS = target({
	name: "adapter-mappings",
	sources: [
		"http/mapping/resolve-mapping.ts",
		"http/mapping/read-mapping.ts",
		"http/mapping/read-call.ts",
		"http/mapping/read-members.ts",
		"http/mapping/mapping-reader.ts",
	],
	cases: fc.oneof(
		jsonValue,
		fc.dictionary(
			fc.constantFrom(
				"preset",
				"port",
				"url",
				"ready",
				"request",
				"answer",
				"failed",
				"stream",
				"async",
				"progress",
				"cancel",
				"errors",
				"concurrency",
				"sleep",
			),
			fc.oneof(
				jsonValue,
				fc.constantFrom("openai", "docling"),
				fc.dictionary(
					fc.constantFrom(
						"path",
						"paths",
						"routes",
						"method",
						"headers",
						"query",
						"body",
						"files",
						"as",
						"at",
						"in",
						"done",
						"until",
						"status",
					),
					jsonValue,
				),
			),
		),
	),
	check(value) {
		const read = resolveMapping(value);
		must(read.ok || read.faults.length > 0, "refused without a reason");
		if (!read.ok)
			must(
				read.faults.every(({ path, message }) => path.startsWith("http") && message.endsWith(".")),
				`no path or sentence: ${JSON.stringify(read.faults)}`,
			);
	},
});

export const ADAPTER_BASE64 = target({
	name: "adapter-base64",
	sources: ["http/exchange/base64.ts"],
	cases: fc.oneof(
		oddText,
		fc.base64String(),
		fc.string().map((text) => Buffer.from(text).toString("base64url")),
	),
	check(text) {
		let body: ReturnType<typeof decodedBase64>;
		try {
			body = decodedBase64(text, "input.x");
		} catch (error) {
			return must(error instanceof JobFailure, `another error: ${String(error)}`);
		}
		const bytes = Buffer.concat([...(body.pieces() as Iterable<Uint8Array>)]);
		same("length", bytes.length, body.length);
		same("bytes", bytes.toString("hex"), Buffer.from(text.replace(/\s/g, ""), "base64").toString("hex"));
	},
});
