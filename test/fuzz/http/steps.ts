/** Requests to every operation, from its definition: valid, nearly valid, and not at all. */
import fc from "fast-check";
import type { BoundRoute } from "../../../src/kernel/http/server/route.ts";
import { ROUTES } from "../../../src/modules/tables.ts";
import { EXAMPLES } from "../../../scripts/api-page/examples.ts";
import type { Example } from "../../../scripts/api-page/job-examples.ts";
import { type AnySchema, brokenJson, fromSchema, jsonText, oddText } from "../generate.ts";
import type { Case } from "../target.ts";

/** A request and the time after it. Texts hold {@link PLACES}. */
export interface Step {
	[name: string]: Case;
	method: string;
	path: string;
	query: string[][];
	headers: string[][];
	/** Null: none. */
	body: string | null;
	/** 0: with Content-Length; else in so many chunks. */
	chunks: number;
	/** Closes the connection after this share of the body, in percent; 0: never. */
	cut: number;
	/** Time after it, ms. */
	wait: number;
}

/** Stand in texts for what is known only while the service runs. */
export const PLACES = [
	"@ep",
	"@other",
	"@job",
	"@old",
	"@taken",
	"@worker",
	"@token",
	"@admin",
	"@write",
	"@read",
	"@delivery",
	"@keyid",
	"@cursor",
	"@origin",
] as const;
export type Place = (typeof PLACES)[number];

const OF_PARAMETER: Record<string, fc.Arbitrary<string>> = {
	endpoint: fc.oneof({ weight: 15, arbitrary: fc.constant("@ep") }, { weight: 1, arbitrary: fc.constant("@other") }),
	job: fc.constantFrom("@job", "@taken", "@taken", "@old"),
	worker: fc.constant("@worker"),
	delivery: fc.constant("@delivery"),
	batch: fc.constantFrom(`batch_${"0".repeat(32)}`, "none"),
	response: fc.constantFrom("resp_@job", "resp_@taken", "resp_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77", "none"),
	video: fc.constantFrom("video_@job", "video_@taken", "video_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77", "none"),
	character: fc.constantFrom("none"),
	file: fc.constantFrom(`file-${"0".repeat(32)}`, "none"),
	receiver: fc.constant("127.0.0.1:9"),
	key: fc.constant("@keyid"),
	session: fc.constant("none"),
	host: fc.constantFrom("rig1", "local"),
	alert: fc.constantFrom("SluiceOldestWait", "none"),
	version: fc.constantFrom("1", "2"),
	template: fc.constant("none"),
	volume: fc.constant("none"),
	login: fc.constant("none"),
	secret: fc.constant("none"),
	id: fc.constantFrom("local", "none"),
	registry: fc.constantFrom("ghcr.io", "registry.example.com%3A5000"),
};
const encoded = oddText.map((text) => encodeURIComponent(text.toWellFormed()));
const rest = fc.constantFrom("v1/models", "v1/chat/completions", "index.html", "assets/..%2f..%2fx", "a//b");

function pathOf({ path }: BoundRoute): fc.Arbitrary<string> {
	const names = path.match(/:\w+|\*/g) ?? [];
	const values = names.map((name) =>
		fc.oneof(
			{ weight: 14, arbitrary: name === "*" ? rest : OF_PARAMETER[name.slice(1)]! },
			{ weight: 1, arbitrary: encoded },
		),
	);
	return fc.tuple(...values).map((found) => {
		let at = 0;
		return path.replace(/:\w+|\*/g, () => found[at++]!);
	});
}

const number = fc.constantFrom("0", "1", "2", "1000", "5000", "-1", "1e9", "NaN", "", "9007199254740993", "1.5");
const WORKER_QUERY = [
	"gpu",
	"job_in_progress",
	"batch_size",
	"job_id",
	"retry_ping",
	"runpod_version",
	"status",
	"check",
	"reason",
	"isStream",
	"chunk",
];

function queryOf({ query = [], access }: BoundRoute): fc.Arbitrary<string[][]> {
	const names = [...query.map(({ name }) => name), ...(access === "worker" ? WORKER_QUERY : []), "x"];
	const value = (name: string): fc.Arbitrary<string> => {
		const schema = query.find((each) => each.name === name)?.schema as AnySchema | undefined;
		const known = schema
			? fromSchema(schema, 1).map((each) => (typeof each === "string" ? each : JSON.stringify(each)))
			: number;
		return fc.oneof(
			known.map((text) => encodeURIComponent(text.toWellFormed())),
			number,
			encoded,
			fc.constantFrom("@job", "@taken,@old", "@cursor", "n5", "n999999999999999", "IN_QUEUE", "unhealthy", "true"),
		);
	};
	const pair = fc.constantFrom(...names).chain((name) => fc.tuple(fc.constant(name), value(name)));
	return fc.array(pair, { maxLength: 3 });
}

const examples: Readonly<Record<string, Example>> = EXAMPLES;

function bodyOf({ body, definition }: BoundRoute): fc.Arbitrary<string | null> {
	if (!body) return fc.constantFrom(null, null, null, "{}", "x");
	const valid = fromSchema(body.schema as AnySchema).map((value) => JSON.stringify(value));
	const known =
		body.media === "application/x-ndjson"
			? fc
					.array(fc.oneof(valid, fc.constant('{"id":"@taken","output":1}')), { maxLength: 4 })
					.map((lines) => lines.join("\n"))
			: valid;
	return fc.oneof(
		{ weight: 8, arbitrary: known },
		{ weight: 8, arbitrary: fc.constant(JSON.stringify(examples[definition]?.body ?? {})) },
		{ weight: 2, arbitrary: fc.oneof(jsonText, brokenJson, oddText) },
		{ weight: 1, arbitrary: fc.constantFrom(null, "", "[]", "null") },
	);
}

const OF_ACCESS = {
	anyone: ["", "@admin"],
	read: ["Bearer @read", "Bearer @write", "Bearer @admin"],
	write: ["Bearer @write", "@write", "Bearer @admin", "Bearer @read"],
	admin: ["Bearer @admin", "Bearer @admin", "Bearer @admin", "Bearer @write"],
	worker: ["@token", "Bearer @token"],
} as const;

const HEADERS = [
	"Accept|Content-Type|User-Agent|X-Request-ID|Last-Event-ID|Idempotency-Key|Origin|Cookie|Host",
	"Expect|Range|If-None-Match|Accept-Encoding|Connection|Sec-Fetch-Site|X-Forwarded-For|Upgrade|TE",
	"Access-Control-Request-Method|Access-Control-Request-Headers|Content-Encoding|__proto__|Authorization",
].flatMap((line) => line.split("|"));
const strangeHeader = fc.tuple(
	fc.constantFrom(...HEADERS),
	fc.oneof(
		fc.constantFrom(
			"text/event-stream",
			"application/json",
			"text/plain",
			"application/x-www-form-urlencoded",
			"RunPod-Python-SDK/1",
			"@job",
			"5",
			"key-1",
			"@origin",
			"https://evil.test",
			"null",
			"100-continue",
			"bytes=0-1",
			"*",
			"gzip, br;q=0",
			"close",
			"same-origin",
			"cross-site",
			"POST",
			"a, b",
			"h2c",
			"trailers",
			"sluice_x=y; a=%",
			"%",
			"%zz%00",
			"é",
			'W/"x"',
		),
		fc.string({ maxLength: 30 }),
	),
);

const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

function stepOf(operation: BoundRoute): fc.Arbitrary<Step> {
	const { methods, access } = operation;
	return fc
		.record({
			method: fc.oneof(
				{ weight: 19, arbitrary: fc.constantFrom(...methods) },
				{ weight: 1, arbitrary: fc.constantFrom(...METHODS) },
			),
			path: pathOf(operation),
			query: queryOf(operation),
			authorization: fc.oneof(
				{ weight: 14, arbitrary: fc.constantFrom(...OF_ACCESS[access]) },
				{
					weight: 1,
					arbitrary: fc.constantFrom("", "Bearer", "Bearer x", "Basic eDp5", "@token", "@admin"),
				},
			),
			headers: fc.oneof(
				{ weight: 1, arbitrary: fc.constant<string[][]>([]) },
				{ weight: 1, arbitrary: fc.array(strangeHeader, { maxLength: 3 }) },
			),
			body: bodyOf(operation),
			chunks: fc.constantFrom(0, 0, 0, 1, 5),
			cut: fc.constantFrom(...Array<number>(20).fill(0), 1, 50, 100),
			wait: fc.constantFrom(0, 0, 0, 0, 10, 1000, 6000, 30_000),
		})
		.map(({ authorization, headers, ...step }) => ({
			...step,
			headers: authorization === "" ? headers : [["Authorization", authorization], ...headers],
		}));
}

/** What makes the other requests meaningful: a job that is submitted, taken, reported. */
const FREQUENT = [
	"run",
	"runsync",
	"jobTake",
	"jobTakeBatch",
	"jobDone",
	"jobStream",
	"ping",
	"openai",
	"stream",
	"status",
	"cancel",
	"retry",
];
const frequent = ROUTES.filter(({ definition }) => FREQUENT.includes(definition));

const anySegment = fc.oneof(encoded, fc.constantFrom("v1", "v2", "sdk", "worker", "..", "%", ""));
const nowhere: fc.Arbitrary<Step> = fc.record({
	method: fc.constantFrom(...METHODS),
	path: fc.array(anySegment, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`),
	query: fc.constant([] as string[][]),
	headers: fc.array(strangeHeader, { maxLength: 4 }),
	body: fc.constantFrom(null, "{}"),
	chunks: fc.constant(0),
	cut: fc.constant(0),
	wait: fc.constant(0),
});

export const steps: fc.Arbitrary<Step[]> = fc.array(
	fc.oneof(
		{ weight: 10, arbitrary: fc.oneof(...frequent.map(stepOf)) },
		{ weight: 10, arbitrary: fc.oneof(...ROUTES.map(stepOf)) },
		{ weight: 1, arbitrary: nowhere },
	),
	{ minLength: 1, maxLength: 14 },
);
