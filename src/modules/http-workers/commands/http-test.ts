/** `sluice http test`: sends one job to an HTTP server without a queue, and shows all of it (D36). */
import { randomUUID } from "node:crypto";
import { PRESETS } from "../../../../packages/worker/src/http/mapping-index.ts";
import { CliError } from "../../../cli/client/errors.ts";
import {
	type HttpSetting,
	httpSetting,
	isFileName,
	isPreset,
	resolved,
} from "../../../cli/commands/jobs/http-setting.ts";
import { readable } from "../../../cli/commands/jobs/job-text.ts";
import type { Action, ActionInput, CommandGroup } from "../../../cli/framework/command.ts";
import { membersOf } from "../../../cli/framework/json-members.ts";
import { styled } from "../../../cli/framework/style.ts";
import { givenSubmission, INPUT_FLAG } from "../../../cli/submit/body.ts";
import { didYouMean } from "../../../kernel/lib/nearest.ts";
import { printableLines } from "../../../kernel/lib/terminal-text.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { type JobEnd, logged } from "./adapter-lines.ts";
import { mergedMapping } from "./attach.ts";
import { recordExchanges } from "./exchange-record.ts";
import { exchangeTexts } from "./exchange-text.ts";
import { atUrl } from "./server-mapping.ts";

/** Bytes of a body that are kept: more than are shown, so that no credential is cut before it is hidden. */
const MAX_BODY = 16_384;
/** A server that is not ready within this time gets no job, ms. The adapter says why after 10 s. */
const READY_MS = 12_000;
const NOTE_MS = 1000;

const test: Action = {
	name: "test",
	summary: "send one job to an HTTP server without a queue; print request, answer and output",
	args: ["NAME", "URL"],
	synopsis: "PRESET|FILE|ENDPOINT URL --input JSON [options]",
	flags: { ...INPUT_FLAG },
	examples: [
		"sluice http test docling http://127.0.0.1:5001 --input @job.json",
		'sluice http test ./mapping.yaml http://127.0.0.1:8000 --input \'{"text": "hello"}\'',
	],
	async run({ args: [name = "", url = ""], flags, service }) {
		if (flags["input"] === undefined)
			throw new CliError(`Missing option --input. Usage: sluice http test ${test.synopsis}`);
		const submission = givenSubmission(flags["input"]);
		const { value, mapping } = resolved(atUrl(await settingNamed(name, service), { url }));
		// The id of a job is a UUID, which some servers take as their own.
		const job = `{"id":"${randomUUID()}","run":1,${submission.slice(1)}`;
		const outcome = await runJob({ value, mapping, job, url });
		process.stdout.write(outcome.text);
		return outcome.succeeded ? 0 : 1;
	},
};

export const http: CommandGroup = {
	name: "http",
	summary: "test HTTP servers that are to become workers",
	actions: [test],
};

/** Presets go before endpoints of the same name. */
async function settingNamed(name: string, service: ActionInput["service"]): Promise<HttpSetting> {
	if (isPreset(name) || isFileName(name)) return httpSetting(name);
	return await mergedMapping(service, name).catch((error: unknown) => {
		if (!(error instanceof CliError)) throw error;
		const meant = didYouMean(name, Object.keys(PRESETS));
		throw new CliError(`There is no preset '${name}'.${meant} As an endpoint: ${error.message}`, error.exitCode);
	});
}

async function runJob(q: {
	value: HttpSetting;
	mapping: ReturnType<typeof resolved>["mapping"];
	job: string;
	url: string;
}): Promise<{ succeeded: boolean; text: string }> {
	const { value, mapping, job, url } = q;
	// Without those of a worker, the adapter runs the job that its arguments have.
	const variables = Object.entries(process.env).filter(([name]) => !name.startsWith("RUNPOD_"));
	const env = { ...Object.fromEntries(variables), RUNPOD_ENDPOINT_ID: "test" };
	const texts = exchangeTexts({ mapping: value, env, origin: new URL(url).origin });
	const print = (text: string | undefined): void => void (text === undefined || process.stdout.write(`${text}\n`));
	const endRecord = recordExchanges({
		clock: systemClock,
		maxBody: MAX_BODY,
		onSent: (sent) => print(texts.request(sent)),
		onAnswer: (received) => print(texts.answer(received)),
	});
	const lines: string[] = [];
	let end: JobEnd | undefined;
	let reason = "";
	const { processEnvironment, runAdapter } = await import("sluice/worker/http");
	const ready = new AbortController();
	const late = new AbortController();
	const unlessReady = (ms: number, act: () => void): void =>
		void systemClock.sleep(ms, ready.signal).then(() => ready.signal.aborted || act());
	unlessReady(NOTE_MS, () => process.stderr.write(`Waiting until ${url} is ready.\n`));
	unlessReady(READY_MS, () => late.abort());
	await runAdapter({
		...processEnvironment(),
		mapping,
		command: [],
		isLaunched: false,
		env,
		argv: ["--test_input", job],
		randomId: randomUUID,
		signal: late.signal,
		onReady: () => ready.abort(),
		onJob: (ended) => void (end = ended),
		write(text) {
			const line = logged(text);
			if (!line) lines.push(text.trimEnd());
			else if (!line.isOfJob) reason = printableLines(line.message);
		},
	});
	ready.abort();
	endRecord();
	if (end) return { succeeded: end.outcome === "succeeded", text: outcomeText(end, lines) };
	if (!late.signal.aborted) throw new CliError("Interrupted before the server was ready.", 130);
	const why = reason.replace(/^(?:Waiting for the server:|Error: the server did not become ready\.) /, "");
	throw new CliError(`The server at ${url} was not ready within ${READY_MS / 1000} s${why && `: ${why}`}`, 1);
}

/** What a client would see. `lines`: chunks of a stream and the result, as the kit reports them. */
function outcomeText({ outcome, reason = "", ms }: JobEnd, lines: readonly string[]): string {
	const result = lines.at(-1) ?? "{}";
	const chunks = lines.slice(0, -1).map((chunk) => `chunk ${readable(outputOf(chunk))}\n`);
	const text = printableLines(reason);
	if (outcome === "returned")
		return `${styled("yellow", "Back in the queue")} after ${ms} ms, for any worker: ${text}\n`;
	if (outcome !== "succeeded") return `${chunks.join("")}${styled("red", "FAILED")} after ${ms} ms: ${text}\n`;
	const output = readable(outputOf(result));
	return `${chunks.join("")}${styled("green", "COMPLETED")} after ${ms} ms, with the output:\n${output}\n`;
}

/** JSON text of the output in a report of the kit. */
function outputOf(report: string): string {
	const found = membersOf(report, ["output"]);
	return (found.ok ? found.texts["output"] : undefined) ?? "null";
}
