/** An interactive session of `sluice dev`: banner, keys, restarts, until it is stopped (D36). */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { relative, basename } from "node:path";
import { readFileSync } from "node:fs";
import { systemClock } from "../../kernel/system/clock.ts";
import type { FlagValues } from "../framework/command.ts";
import { openBrowser } from "../client/browser.ts";
import { CliError } from "../client/errors.ts";
import { styled } from "../framework/style.ts";
import { printTimed as print } from "../framework/timed-line.ts";
import { RefusedJob, type JobCalls } from "../submit/job-calls.ts";
import { banner, clientsText } from "./banner.ts";
import { type KeyAction, keysText, listenToKeys } from "./keys.ts";
import { type DevSession, startDev } from "./service.ts";
import { openState, refuseSecondSession } from "./state.ts";
import { type DevTarget, envFileOf } from "./target.ts";
import { watchSources } from "./watch.ts";
import { type Crash, SILENT_MS } from "./output/worker-process.ts";
import type { JobList } from "../../kernel/api/job-records.ts";
import { membersOf } from "../framework/json-members.ts";
import { callsStart } from "./python.ts";
import { withoutMark } from "../../kernel/lib/byte-order-mark.ts";
import { path } from "../client/service-client.ts";
import { hasTests, readTests } from "../repository/hub.ts";

const NO_INPUT = 'No input to send: create test_input.json, such as {"input": {"prompt": "hi"}}, or send a job once.';

type FindSample = () => SampleInput | undefined | Promise<SampleInput | undefined>;

export async function session(target: DevTarget, flags: FlagValues): Promise<number> {
	const { folder, testInput } = target;
	await refuseSecondSession(folder);
	const [first] = flags["run"] ? sampleInputs(target) : samplesNow(target);
	if (flags["run"] && !first)
		throw new CliError(
			`There is no test_input.json in ${folder}. Create it with a first job: {"input": {"prompt": "hi"}}`,
		);
	const stopping = onStopSignal();
	const state = openState({ folder, fresh: flags["fresh"] !== undefined });
	const verbose = flags["verbose"] !== undefined;
	const dev = await startDev({
		target,
		state,
		print,
		verbose,
		port: flags["port"],
		env: process.env,
		onCrash: (crash) =>
			print(
				`${styled("red", crashText(crash, target))} It restarts when a source file in ${folder} changes. ` +
					`r restarts it now${crash.requeued > 0 ? ", c drops the job" : ""}.`,
			),
		onSilence: () => print(silenceText(target)),
	});
	state.setUrl(dev.url);
	const variables = Object.keys(envFileOf(folder, process.env));
	const facts = {
		...target,
		url: dev.url,
		consoleLink: dev.consoleLink,
		key: state.key,
		example: first && { text: first.body, path: testInput },
		notes: [...target.notes, ...(variables.length > 0 ? [`From .env: ${variables.join(", ")}.`] : [])],
	};
	process.stdout.write(banner(facts));
	if (verbose) process.stdout.write(clientsText(facts));
	const unwatch = watchSources(folder, systemClock, (path) => {
		print(styled("cyan", `${relative(folder, path)} changed: restarting worker`));
		dev.worker.restart();
	});
	dev.worker.restart();

	async function send(find: FindSample): Promise<void> {
		try {
			const sample = await find();
			if (sample === undefined) print(NO_INPUT);
			else await dev.calls.submit(sample.body, randomUUID());
		} catch (error) {
			const isKnown = error instanceof CliError || error instanceof RefusedJob;
			if (!stopping.signal.aborted) print(isKnown ? error.message : String(error));
		}
	}

	if (flags["run"]) void send(() => first);
	const actions: KeyAction[] = [
		{
			key: "enter",
			what: first ? `sends ${first.name}` : "sends the last input again",
			run: () => void send(() => sampleInputs(target)[0] ?? lastInput(dev.calls, target.endpoint)),
		},
		{ key: "c", what: "cancel", run: () => void dev.cancel().then(print) },
		{ key: "r", what: "restart worker", run: () => dev.worker.restart() },
		{ key: "o", what: "open console", run: () => void openConsole(dev) },
		{ key: "i", what: "addresses for SDKs", run: () => void process.stdout.write(`\n${clientsText(facts)}`) },
		{ key: "q", what: "quit", run: stopping.stop },
	];
	const keys = listenToKeys(actions, stopping.stop);
	if (keys) process.stdout.write(keysText(actions));
	await stopping.requested;
	keys?.close();
	unwatch();
	await dev.stop();
	state.setUrl(undefined);
	return 0;
}

/** A faulty file is reported when it is sent. */
function samplesNow(target: DevTarget): SampleInput[] {
	try {
		return sampleInputs(target);
	} catch {
		return [];
	}
}

async function openConsole(dev: DevSession): Promise<void> {
	const link = await dev.newConsoleLink();
	if (link === undefined) return;
	print(link);
	openBrowser(link);
}

export function crashText({ how, polled, requeued, spoke }: Crash, { handler }: Pick<DevTarget, "handler">): string {
	if (!polled && handler !== undefined && !callsStart(handler))
		return `The worker ${how}: ${basename(handler)} never calls runpod.serverless.start.`;
	const when = polled ? "" : " before it asked for a job";
	const jobs = requeued === 1 ? " Its job is back in the queue." : ` Its ${requeued} jobs are back in the queue.`;
	const printed = spoke ? "its last lines are above" : "it printed nothing";
	return `The worker ${how}${when}; ${printed}.${requeued === 0 ? "" : jobs}`;
}

/** A worker that loads a model may be silent for long, so this is a question. */
export function silenceText({ handler, kit, serverPort }: Pick<DevTarget, "handler" | "kit" | "serverPort">): string {
	let question = "does it call start, such as runpod.serverless.start?";
	if (serverPort !== undefined)
		question = `does the server listen on 127.0.0.1, ${serverPort === 0 ? "the port in PORT" : `port ${serverPort}`}?`;
	else if (kit) question = "does the code outside its handler end? Jobs are taken after that.";
	else if (handler !== undefined && !callsStart(handler))
		question = `${basename(handler)} never calls runpod.serverless.start.`;
	const seconds = SILENT_MS / 1000;
	return `The worker runs and has not asked for a job within ${seconds} s. If it is not loading a model: ${question}`;
}

/** Later signals are ignored: stopping takes at most 2 s. */
export function onStopSignal(): { requested: Promise<unknown>; signal: AbortSignal; stop: () => void } {
	const controller = new AbortController();
	const { signal } = controller;
	const stop = (): void => controller.abort();
	for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
	return { requested: once(signal, "abort"), signal, stop };
}

interface SampleInput {
	name: string;
	body: string;
}

/** Read at each call, since files may have changed. Throws {@link CliError}. */
function sampleInputs({ testInput, folder }: DevTarget): SampleInput[] {
	const samples = testInput === undefined ? [] : [readTestInput(testInput)];
	if (hasTests(folder))
		for (const { name, input } of readTests(folder).tests)
			samples.push({ name: `test '${name}'`, body: JSON.stringify({ input }) });
	return samples;
}

function readTestInput(file: string): SampleInput {
	const found = membersOf(withoutMark(readFileSync(file, "utf8")), ["input"]);
	if (!found.ok) throw new CliError(`${file} is not JSON: ${found.fault}`);
	const { input } = found.texts;
	if (input === undefined)
		throw new CliError(`${file} must be an object with a member "input", such as {"input": {"prompt": "hi"}}.`);
	return { name: basename(file), body: `{"input":${input}}` };
}

async function lastInput(calls: JobCalls, endpoint: string): Promise<SampleInput | undefined> {
	const list = await calls.request(path`/v1/endpoints/${endpoint}/jobs?limit=1`);
	const [job] = ((await list.json()) as JobList).jobs;
	if (!job) return undefined;
	const details = await calls.request(path`/v1/endpoints/${endpoint}/jobs/${job.id}`);
	const found = membersOf(await details.text(), ["input"]);
	const input = found.ok ? found.texts["input"] : undefined;
	return input === undefined ? undefined : { name: `the input of job ${job.id}`, body: `{"input":${input}}` };
}
