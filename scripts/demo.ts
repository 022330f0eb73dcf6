/**
 * `npm run demo` (D33): starts the service with the example endpoints on a free loopback port,
 * sends it the shipped pictures through the public HTTP API by `/runsync`, by `/run` and `/status`,
 * and by `/stream`, prints what came back and how long each step took, stops the service and exits
 * 0. On a failure it says what went wrong and exits 1. It needs no network and leaves nothing
 * behind.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type DemoService, startDemoService } from "./demo-service.ts";

type Job = {
	id: string;
	status: string;
	delayTime: number;
	executionTime: number;
	output?: unknown;
	error?: string;
};
type Thumbnail = {
	width: number;
	height: number;
	format: string;
	bytes: number;
	image: string;
	ms: number;
};
type Reading = {
	text: string;
	confidence: number;
	lines: { text: string; confidence: number }[];
	words: number;
};
type Progress = { step: string; percent: number };
type Api = (method: "GET" | "POST", path: string, body?: unknown) => Promise<{ json: unknown; headers: Headers }>;
type Step = { name: string; what: string; ms: number };

const OVERALL_LIMIT_MS = 120_000;
const POLL_EVERY_MS = 100;
const FINAL = ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"];
const EXPECTED_SENTENCE = "Alice was beginning to get very tired of sitting by her sister on the bank";

const say = (line = ""): void => void process.stdout.write(`${line}\n`);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const count = (value: number): string => value.toLocaleString("en-US");

async function picture(name: string): Promise<{ base64: string; bytes: number }> {
	const bytes = await readFile(new URL(`../examples/pictures/${name}`, import.meta.url));
	return { base64: bytes.toString("base64"), bytes: bytes.length };
}

/**
 * Calls the public API with the key; anything but 200 is an error with the answer's own sentence.
 */
function client(base: string, key: string, signal: AbortSignal): Api {
	return async (method, path, body) => {
		const answer = await fetch(`${base}/v2${path}`, {
			method,
			headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
			signal,
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
		const text = await answer.text();
		if (answer.status !== 200)
			throw new Error(`${method} /v2${path} was answered ${answer.status}: ${text.slice(0, 500)}`);
		return { json: JSON.parse(text) as unknown, headers: answer.headers };
	};
}

function completed(job: Job): Job {
	if (job.status === "COMPLETED") return job;
	throw new Error(`Job ${job.id} ended ${job.status}${job.error === undefined ? "" : `: ${job.error}`}.`);
}

function thumbnailLine(one: Thumbnail, original: number): string {
	const size = `${one.width} x ${one.height}`.padStart(11);
	const share = ((100 * one.bytes) / original).toFixed(1).padStart(5);
	const bytes = count(one.bytes).padStart(7);
	return `${size}  ${one.format.padEnd(5)} ${bytes} bytes, ${share} % of the original, made in ${one.ms} ms`;
}

function took(job: Job, ms: number): string {
	const parts = `${seconds(job.delayTime)} in the queue, ${seconds(job.executionTime)} at work`;
	return `   ${job.status} in ${seconds(ms)} (${parts})`;
}

function same(found: unknown, expected: unknown, what: string): void {
	if (JSON.stringify(found) !== JSON.stringify(expected))
		throw new Error(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(found)}.`);
}

/** A: one call that waits for the result. */
async function thumbnailsAtOnce(api: Api): Promise<string> {
	const photo = await picture("landscape.jpg");
	const sizes = [64, 128, 256, { width: 320, height: 320 }];
	say(`   landscape.jpg, ${count(photo.bytes)} bytes, as webp in ${sizes.length} sizes`);
	const started = performance.now();
	const { json } = await api("POST", "/thumbnail/runsync", {
		input: { image: photo.base64, sizes, format: "webp" },
	});
	const job = completed(json as Job);
	const thumbnails = job.output as Thumbnail[];
	for (const one of thumbnails) say(`   ${thumbnailLine(one, photo.bytes)}`);
	same(
		thumbnails.map((one) => one.width),
		[64, 128, 256, 320],
		"The widths of the thumbnails",
	);
	say(took(job, performance.now() - started));
	return `${thumbnails.length} thumbnails`;
}

/** B: submit, then ask for the status until it is final; progress shows as `output` meanwhile. */
async function readPage(api: Api, signal: AbortSignal): Promise<string> {
	const page = await picture("page.png");
	say(`   page.png, ${count(page.bytes)} bytes`);
	const started = performance.now();
	let job = (await api("POST", "/ocr/run", { input: { image: `data:image/png;base64,${page.base64}` } })).json as Job;
	say(`   job ${job.id}: ${job.status}`);
	let seen = "";
	while (!FINAL.includes(job.status)) {
		await sleep(POLL_EVERY_MS, undefined, { signal });
		job = (await api("GET", `/ocr/status/${job.id}`)).json as Job;
		const progress = job.status === "IN_PROGRESS" ? (job.output as Progress | undefined) : undefined;
		const line = progress === undefined ? job.status : `${job.status}  ${progress.step}, ${progress.percent} %`;
		if (line !== seen && !FINAL.includes(job.status))
			say(`   ${seconds(performance.now() - started).padStart(8)}  ${line}`);
		seen = line;
	}
	const reading = completed(job).output as Reading;
	say();
	for (const line of reading.text.split("\n")) say(`   | ${line}`.trimEnd());
	say();
	if (!reading.text.replaceAll(/\s+/g, " ").includes(EXPECTED_SENTENCE))
		throw new Error(`The text read does not hold the sentence "${EXPECTED_SENTENCE}".`);
	say(`   ${reading.words} words in ${reading.lines.length} lines, confidence ${reading.confidence} %`);
	say(took(job, performance.now() - started));
	return `${reading.words} words, confidence ${reading.confidence} %`;
}

/**
 * C: submit, then read the stream; each answer brings the sizes that are done, and the header says
 * when that was all.
 */
async function thumbnailsStreamed(api: Api): Promise<string> {
	const photo = await picture("receipt.jpg");
	const sizes = [96, 192, 384, 768];
	say(`   receipt.jpg, ${count(photo.bytes)} bytes, as avif in ${sizes.length} sizes`);
	const started = performance.now();
	const submitted = (
		await api("POST", "/thumbnail/run", {
			input: { image: photo.base64, sizes, format: "avif", quality: 60 },
		})
	).json as Job;
	say(`   job ${submitted.id}: ${submitted.status}`);
	const arrived: Thumbnail[] = [];
	let status = submitted.status;
	while (!FINAL.includes(status)) {
		const { json, headers } = await api("GET", `/thumbnail/stream/${submitted.id}`);
		for (const { output } of json as { output: Thumbnail }[]) {
			arrived.push(output);
			say(`   ${seconds(performance.now() - started).padStart(8)}  ${thumbnailLine(output, photo.bytes)}`);
		}
		status = headers.get("sluice-job-status") ?? "missing";
		if (status === "missing") throw new Error("The answer of /stream has no header Sluice-Job-Status.");
	}
	const job = completed((await api("GET", `/thumbnail/status/${submitted.id}`)).json as Job);
	same(arrived, job.output, "The chunks of /stream, compared with the output in /status");
	same(arrived.length, sizes.length, "The number of streamed sizes");
	say(took(job, performance.now() - started));
	return `${arrived.length} thumbnails, streamed`;
}

async function steps(service: DemoService, api: (base: string) => Api, signal: AbortSignal): Promise<Step[]> {
	const done: Step[] = [];
	const step = async (name: string, work: () => Promise<string>): Promise<void> => {
		say(`\n${done.length + 1}. ${name}`);
		const started = performance.now();
		const what = await work();
		done.push({ name, what, ms: performance.now() - started });
	};
	let base = "";
	await step("Start the service", async () => {
		base = await service.listening;
		say(`   it listens on ${base}; its workers start with the first jobs`);
		return "listening";
	});
	await step("POST /v2/thumbnail/runsync", () => thumbnailsAtOnce(api(base)));
	await step("POST /v2/ocr/run, GET /v2/ocr/status", () => readPage(api(base), signal));
	await step("POST /v2/thumbnail/run, GET /v2/thumbnail/stream", () => thumbnailsStreamed(api(base)));
	await step("Stop the service", async () => {
		await service.stop();
		say("   SIGTERM, then exit code 0");
		return "exit code 0";
	});
	return done;
}

async function demo(): Promise<void> {
	const limit = new AbortController();
	const timer = setTimeout(
		() => limit.abort(new Error(`The demo is not done after ${OVERALL_LIMIT_MS / 1000} s.`)),
		OVERALL_LIMIT_MS,
	);
	for (const name of ["SIGINT", "SIGTERM"] as const)
		process.once(name, () => limit.abort(new Error(`The demo was ended by ${name}.`)));
	const directory = await mkdtemp(join(tmpdir(), "sluice-demo-"));
	const key = randomBytes(24).toString("base64url");
	const service = startDemoService({ key, store: `sqlite:${join(directory, "sluice.db")}` });
	const signal = AbortSignal.any([limit.signal, service.ended]);
	say("Sluice: real jobs on real pictures, through the public HTTP API");
	try {
		const done = await Promise.race([steps(service, (base) => client(base, key, signal), signal), aborted(signal)]);
		say("\nSummary");
		for (const { name, what, ms } of done) say(`   ${name.padEnd(50)}${what.padEnd(32)}${seconds(ms).padStart(8)}`);
		say(`   ${"".padEnd(82)}${seconds(done.reduce((sum, { ms }) => sum + ms, 0)).padStart(8)}`);
		say("\nCOMPLETED: every job ran to its result.");
	} catch (error) {
		process.exitCode = 1;
		const byItself = service.ended.aborted;
		const end = await service.stop().then(
			() => "",
			(failure: Error) => (byItself ? "" : ` ${failure.message}`),
		);
		const reason = (signal.aborted ? signal.reason : error) as Error;
		const cause = reason.cause instanceof Error ? ` (${reason.cause.message})` : "";
		process.stderr.write(`\nThe demo failed: ${reason.message}${cause}${end}\n${service.errorTail()}`);
	} finally {
		clearTimeout(timer);
		await rm(directory, { recursive: true, force: true });
	}
}

/** Rejects with the signal's reason when it aborts. */
function aborted(signal: AbortSignal): Promise<never> {
	return new Promise((_, reject) =>
		signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
	);
}

await demo();
