/** An interactive session of `sluice dev`: banner, keys, restarts, until it is stopped (D36). */
import { relative } from "node:path";
import { systemClock } from "../../clock.ts";
import { withoutSecrets } from "../../config/options.ts";
import type { FlagValues } from "../command.ts";
import { CliError } from "../errors.ts";
import { styled } from "../style.ts";
import { RefusedJob } from "../submit/job-calls.ts";
import { banner, clientsText } from "./banner.ts";
import { envFileOf } from "./dot-env.ts";
import { lastInput, type SampleInput, sampleInputs } from "./inputs.ts";
import { type KeyAction, keysText, listenToKeys } from "./keys.ts";
import { openPage } from "./open-page.ts";
import { type DevSession, startDev } from "./service.ts";
import { openState, refuseSecondSession } from "./state.ts";
import type { DevTarget } from "./target.ts";
import { sendSample } from "./test-jobs.ts";
import { watchSources } from "./watch.ts";
import type { Crash } from "./worker-process.ts";

const NO_INPUT = 'No input to send: create test_input.json, such as {"input": {"prompt": "hi"}}, or send a job once.';

/** Returns the exit code. */
export async function session(target: DevTarget, flags: FlagValues): Promise<number> {
	const { folder } = target;
	await refuseSecondSession(folder);
	const samples = samplesNow(target);
	if (flags["run"] && samples.length === 0)
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
			print(`${styled("red", crashText(crash))} It restarts when a source file in ${folder} changes.`),
	});
	state.setUrl(dev.url);
	const [first] = samples;
	const variables = Object.keys(envFileOf(folder, process.env));
	const facts = {
		...target,
		url: dev.url,
		consoleLink: dev.consoleLink,
		key: state.key,
		example: first && {
			text: first.body,
			...(target.testInput === undefined ? {} : { path: target.testInput }),
		},
		notes: [...target.notes, ...(variables.length > 0 ? [`From .env: ${variables.join(", ")}.`] : [])],
	};
	process.stdout.write(banner(facts));
	if (verbose) process.stdout.write(clientsText(facts));
	const unwatch = watchSources({
		folder,
		clock: systemClock,
		onChange(path) {
			print(styled("cyan", `${relative(folder, path)} changed: restarting worker`));
			dev.worker.restart();
		},
	});
	dev.worker.restart();
	const send = (find: () => Promise<SampleInput | undefined>): void => {
		sendFound(dev, find).catch((error: unknown) => {
			const isKnown = error instanceof CliError || error instanceof RefusedJob;
			if (!stopping.signal.aborted) print(isKnown ? error.message : String(error));
		});
	};
	if (flags["run"] && first) send(async () => first);
	const showClients = (): void => void process.stdout.write(`\n${clientsText(facts)}`);
	const actions = keyActions({ dev, target, send, showClients, quit: stopping.stop });
	const keys = listenToKeys(actions, stopping.stop);
	if (keys) process.stdout.write(keysText(actions));
	await stopping.requested;
	keys?.close();
	unwatch();
	await dev.stop();
	state.setUrl(undefined);
	return 0;
}

async function sendFound({ calls }: DevSession, find: () => Promise<SampleInput | undefined>): Promise<void> {
	const sample = await find();
	if (sample === undefined) print(NO_INPUT);
	else await sendSample(calls, sample);
}

/** None where a file is wrong: that is reported when it is sent. */
function samplesNow(target: DevTarget): SampleInput[] {
	try {
		return sampleInputs(target);
	} catch {
		return [];
	}
}

function keyActions(q: {
	dev: DevSession;
	target: DevTarget;
	send: (find: () => Promise<SampleInput | undefined>) => void;
	showClients: () => void;
	quit: () => void;
}): KeyAction[] {
	const { dev, target, send } = q;
	const last = (): Promise<SampleInput | undefined> => lastInput(dev.calls, target.endpoint);
	let index = 0;
	const samples = samplesNow(target);
	const chosen = async (): Promise<SampleInput | undefined> => {
		const found = sampleInputs(target);
		return found[index % Math.max(1, found.length)] ?? (await last());
	};
	return [
		{
			key: "enter",
			what: samples[0] ? `sends ${samples[0].name}` : "sends the last input again",
			run: () => send(chosen),
		},
		...(samples.length < 2
			? []
			: [
					{
						key: "n",
						what: "next input",
						run() {
							index = (index + 1) % samples.length;
							print(`Enter sends ${samples[index]!.name} from now on.`);
						},
					},
				]),
		...(samples.length === 0 ? [] : [{ key: "l", what: "last input again", run: () => send(last) }]),
		{ key: "c", what: "cancel", run: () => void dev.cancel().then(print) },
		{ key: "r", what: "restart worker", run: () => dev.worker.restart() },
		{
			key: "o",
			what: "open console",
			run() {
				void dev.newConsoleLink().then((link) => {
					if (link === undefined) return;
					print(link);
					openPage(link, withoutSecrets(process.env));
				});
			},
		},
		{ key: "i", what: "addresses for SDKs", run: q.showClients },
		{ key: "q", what: "quit", run: q.quit },
	];
}

export function crashText({ how, polled, requeued }: Crash): string {
	const when = polled ? "" : " before it asked for a job";
	const jobs =
		requeued === 0
			? ""
			: requeued === 1
				? " Its job is back in the queue."
				: ` Its ${requeued} jobs are back in the queue.`;
	return `The worker ${how}${when}; its last lines are above.${jobs}`;
}

export function print(line: string): void {
	const time = new Date(systemClock.wall()).toTimeString().slice(0, 8);
	process.stdout.write(`${styled("dim", time)} ${line}\n`);
}

/** Later signals are ignored: stopping takes at most 2 s. */
export function onStopSignal(): {
	requested: Promise<void>;
	signal: AbortSignal;
	stop: () => void;
} {
	const controller = new AbortController();
	const { promise, resolve } = Promise.withResolvers<void>();
	const stop = (): void => {
		controller.abort();
		resolve();
	};
	for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
	return { requested: promise, signal: controller.signal, stop };
}
