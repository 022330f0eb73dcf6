/** The JSON scanner, the splitting of chunks, and the reading of bodies, against `JSON.parse`. */
import { Readable } from "node:stream";
import fc from "fast-check";
import { splitOutput } from "../../../src/kernel/lib/json/chunk-split.ts";
import { type JsonScan, JsonScanner, type JsonScanOptions, scanJson } from "../../../src/kernel/lib/json/json-scan.ts";
import { stringOf } from "../../../src/kernel/lib/json/json-text.ts";
import { elementsOf } from "../../../src/modules/openai/translation.ts";
import { BodyTooLarge, readJson } from "../../../src/kernel/http/exchange/body.ts";
import type { Call } from "../../../src/kernel/http/exchange/call.ts";
import { readJobs } from "../../../packages/worker/src/polling/job-text.ts";
import { bytesOf, jsonBytes, jsonText, natural } from "../generate.ts";
import { must, same, target } from "../target.ts";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const MEMBERS = ["input", "webhook", "output", "a", "__proto__"] as const;

/** The text and its value, or undefined when it is no JSON. */
function parsed(bytes: Uint8Array): { value: unknown } | undefined {
	try {
		return { value: JSON.parse(strict.decode(bytes)) };
	} catch {
		return undefined;
	}
}

/**
 * JSON.parse of Node 24 may take one escaped name for another after an object of the same shape was
 * parsed: it is no judge of such texts.
 */
const isMisread = (value: unknown): boolean => /\\["\\]/.test(JSON.stringify(value));

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Depth and longest integer, in a way of its own: over the text without its strings. */
function measures(text: string): { depth: number; digits: number } {
	const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""');
	let [depth, deepest] = [0, 0];
	for (const mark of bare) {
		if (mark === "[" || mark === "{") deepest = Math.max(deepest, (depth += 1));
		else if (mark === "]" || mark === "}") depth -= 1;
	}
	const integers = bare.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
	const digits = Math.max(0, ...integers.filter((one) => /^\d+$/.test(one)).map(({ length }) => length));
	return { depth: deepest, digits };
}

function inPieces(bytes: Uint8Array, cuts: readonly number[], options: JsonScanOptions): JsonScan {
	const scanner = new JsonScanner(options);
	let at = 0;
	for (const cut of [...cuts, bytes.length]) {
		scanner.push(bytes.slice(at, cut));
		at = Math.max(at, cut);
	}
	return scanner.finish();
}

export const JSON_SCAN = target({
	name: "json-scan",
	sources: ["kernel/lib/json/json-"],
	cases: fc.record({ text: jsonBytes, depth: fc.nat(6), digits: fc.nat(12) }),
	check({ text, depth, digits }) {
		const bytes = bytesOf(text);
		const expected = parsed(bytes);
		const scan = scanJson(bytes, { members: MEMBERS });
		same("accepted", scan.ok, expected !== undefined);
		for (let cut = 0; cut <= Math.min(bytes.length, 150); cut += 1)
			same(`cut at ${cut}`, inPieces(bytes, [cut], { members: MEMBERS }), scan);
		const each = Array.from({ length: Math.min(bytes.length, 400) }, (_, at) => at);
		same("byte by byte", inPieces(bytes, each, { members: MEMBERS }), scan);
		const options = {
			members: MEMBERS,
			maxDepth: Math.floor(Math.abs(depth)),
			maxDigits: 1 + Math.floor(Math.abs(digits)),
		};
		const bounded = scanJson(bytes, options);
		if (expected === undefined || !scan.ok) return must(!bounded.ok, "bounds accept more");
		const found = measures(strict.decode(bytes));
		same("bounded", bounded.ok, found.depth <= options.maxDepth && found.digits <= options.maxDigits);
		same(
			"ascii",
			scan.ascii,
			bytes.every((byte) => byte < 0x80),
		);
		for (const name of MEMBERS) {
			const member = isObject(expected.value) && Object.hasOwn(expected.value, name);
			const at = scan.members[name];
			same(`member ${name}`, at !== undefined, member);
			if (at && !isMisread(expected.value))
				same(name, JSON.parse(strict.decode(bytes.subarray(at.start, at.end))), (expected.value as any)[name]);
		}
	},
});

/** The value that the pieces of a chunk are the parts of. */
function joined(one: unknown, other: unknown): unknown {
	if (typeof one === "string" && typeof other === "string") return one + other;
	if (Array.isArray(one) && Array.isArray(other)) return [...one, ...other];
	return undefined;
}

export const CHUNK_SPLIT = target({
	name: "chunk-split",
	sources: ["kernel/lib/json/chunk-"],
	cases: fc.record({ text: jsonText, limit: fc.integer({ min: 8, max: 60 }) }),
	check({ text, limit }) {
		const bytes = Buffer.from(text);
		const expected = parsed(bytes);
		if (!expected || isMisread(expected.value)) return;
		if (limit < 8 || limit > 1000 || !Number.isInteger(limit)) return;
		const steps = splitOutput(Buffer.from(JSON.stringify(expected.value)), limit);
		let step = steps.next();
		while (!step.done) step = steps.next();
		if (!step.value.ok) return must(/\S/.test(step.value.reason), "no reason");
		const { pieces } = step.value;
		must(pieces.length > 0, "no piece");
		for (const piece of pieces)
			must(
				Buffer.byteLength(piece) <= Math.max(limit, bytes.length <= limit ? limit : 0),
				`piece of ${Buffer.byteLength(piece)} bytes`,
			);
		const values = pieces.map((piece) => JSON.parse(piece) as unknown);
		const { value } = expected;
		if (values.length === 1) return same("one piece", values[0], value);
		const flat = Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null);
		const short = flat && value.every((item) => Buffer.byteLength(JSON.stringify(item)) + 2 <= limit);
		if (typeof value === "string" || short) same("joined", values.reduce(joined), value);
	},
});

/** A request whose body arrives in these pieces. */
function callWith(pieces: readonly Buffer[], size: number | undefined, maxBody: number): Call {
	const req = Object.assign(Readable.from(pieces, { objectMode: false }), {
		headers: size === undefined ? {} : { "content-length": String(size) },
		complete: true,
		setTimeout: () => {},
		socket: { setTimeout: () => {} },
	});
	return {
		req,
		res: { closed: false },
		maxBody,
		identity: {},
		holds: { bytes: 0 },
		service: { memory: { take: () => undefined, give: () => {} } },
		engine: { budgets: { readTimeout: { limit: 30_000 } } },
	} as unknown as Call;
}

export const BODY = target({
	name: "body",
	sources: ["kernel/http/exchange/body.ts", "kernel/lib/json/json-text.ts"],
	turn: 600,
	cases: fc.record({
		text: jsonBytes,
		/** Characters added as a last member. */
		padding: fc.constantFrom(0, 0, 0, 10, 65_000, 65_536, 262_144, 300_000),
		cuts: fc.array(fc.nat(400_000), { maxLength: 6 }),
		declared: fc.boolean(),
		limit: fc.constantFrom(100, 70_000, 1_000_000),
	}),
	async check({ text, padding, cuts, declared, limit }) {
		const filled = Math.min(natural(padding), 400_000);
		const source = bytesOf(filled > 0 ? `{"a":${text === "" ? "0" : text},"output":"${"x".repeat(filled)}"}` : text);
		const at = [0, ...cuts.map((cut) => natural(cut) % (source.length + 1)).toSorted((a, b) => a - b), source.length];
		const pieces = at.slice(1).map((end, index) => Buffer.from(source.subarray(at[index], end)));
		const size = declared ? source.length : undefined;
		const call = callWith(
			pieces.filter(({ length }) => length > 0),
			size,
			limit,
		);
		const body = await readJson(call, { members: MEMBERS }).catch((error: unknown) => {
			if (error instanceof BodyTooLarge) return undefined;
			throw error;
		});
		same("too large", body === undefined, source.length > limit);
		if (!body) return;
		same("size", body.size, source.length);
		must(Buffer.concat(body.blocks).equals(source), "the blocks are not the body");
		const expected = parsed(source);
		same("accepted", body.scan.ok, expected !== undefined);
		if (!body.scan.ok) return;
		for (const name of MEMBERS) {
			const member = body.scan.members[name];
			if (!member || isMisread(expected!.value)) continue;
			const value = JSON.stringify((expected!.value as any)[name]);
			same(name, JSON.stringify(JSON.parse(body.text(member)!)), value);
			same(name, JSON.stringify(JSON.parse(stringOf(body.payload(member)!))), value);
		}
	},
});

export const ELEMENTS = target({
	name: "elements",
	sources: ["modules/openai/translation.ts"],
	cases: jsonText,
	check(any) {
		const text = any.toWellFormed().trimStart();
		const expected = parsed(Buffer.from(text));
		if (!expected || isMisread(expected.value)) return;
		const elements = elementsOf(text);
		same(
			"elements",
			elements?.map((each) => JSON.parse(each) as unknown),
			Array.isArray(expected.value) ? expected.value : undefined,
		);
	},
});

export const JOB_TEXT = target({
	name: "worker-job-text",
	sources: ["polling/job-text.ts"],
	cases: fc.oneof(
		jsonText,
		jsonText.map((input) => `{"id":"j","input":${input}}`),
		fc
			.array(jsonText, { maxLength: 3 })
			.map((inputs) => `[${inputs.map((input) => ` {"id":"j" ,"input" :${input} } `).join(",")}]`),
	),
	check(any) {
		const text = any.toWellFormed();
		const { jobs, problems } = readJobs(text);
		const expected = parsed(Buffer.from(text));
		if (!expected) return same("jobs of no JSON", [jobs.length, problems.length], [0, 1]);
		if (isMisread(expected.value)) return;
		for (const job of jobs) same("input", JSON.parse(job.inputText), (job as any).input ?? null);
	},
});
