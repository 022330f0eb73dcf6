/** `sluice dev`: service and worker in one terminal; the worker restarts on changes (D36). */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { systemClock } from "../../clock.ts";
import type { Action, FlagValues } from "../command.ts";
import { CliError } from "../errors.ts";
import { HEAP_FLAGS } from "../serve.ts";
import { RefusedJob } from "../submit/job-calls.ts";
import { banner } from "./banner.ts";
import { readTests } from "./hub-repository.ts";
import { startDev } from "./service.ts";
import { openState } from "./state.ts";
import { devTarget } from "./target.ts";
import type { DevTarget } from "./target.ts";
import { runTestInput, runTests } from "./test-jobs.ts";
import { watchSources } from "./watch.ts";
import type { Crash } from "./worker-process.ts";

export const dev: Action = {
	name: "dev",
	summary: "run a handler with a local service and restart it on changes",
	args: ["[HANDLER]"],
	synopsis: "HANDLER | FOLDER | -- COMMAND [options]",
	rest: true,
	flags: {
		port: {
			value: "PORT",
			summary: "port to listen on (default 8080, or a free one when that is in use)",
		},
		endpoint: {
			value: "ID",
			summary: "id of the endpoint (default: from the name of the file or folder)",
		},
		run: { summary: "send test_input.json as the first job" },
		test: {
			summary:
				"run the tests of .runpod/tests.json, print a table and exit; exit code 1 if one fails",
		},
		fresh: { summary: "start with an empty queue instead of that of the last run" },
	},
	async run({ args: [path], flags, rest: command }) {
		if (path !== undefined && command.length > 0)
			throw new CliError(`Unexpected argument '${path}'. Usage: sluice dev ${dev.synopsis}`);
		const target = devTarget({
			path,
			command,
			endpoint: flags["endpoint"],
			cwd: process.cwd(),
			env: process.env,
		});
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		return flags["test"] ? await testSession(target, flags) : await session(target, flags);
	},
};

async function session(target: DevTarget, flags: FlagValues): Promise<number> {
	const { folder, testInput } = target;
	if (flags["run"] && testInput === undefined)
		throw new CliError(
			`There is no test_input.json in ${folder}. Create it with a first job: {"input": {"prompt": "hi"}}`,
		);
	const { stopRequested, signal } = onStopSignal();
	const state = openState({ folder, fresh: flags["fresh"] !== undefined });
	const { url, consoleLink, worker, calls, stop } = await startDev({
		target,
		state,
		print,
		port: flags["port"],
		env: process.env,
		onCrash: (crash) =>
			print(`${crashText(crash)} It restarts when a source file in ${folder} changes.`),
	});
	process.stdout.write(
		banner({
			...target,
			url,
			consoleLink,
			key: state.key,
			testInput:
				testInput === undefined
					? undefined
					: { path: testInput, text: readFileSync(testInput, "utf8") },
		}),
	);
	const unwatch = watchSources({
		folder,
		clock: systemClock,
		onChange(path) {
			print(`${relative(folder, path)} changed: restarting worker`);
			worker.restart();
		},
	});
	worker.restart();
	const sendTestInput = (path: string): void => {
		runTestInput(calls, path).then(print, (error: unknown) => {
			const isKnown = error instanceof CliError || error instanceof RefusedJob;
			if (!signal.aborted) print(isKnown ? error.message : String(error));
		});
	};
	if (flags["run"] && testInput !== undefined) sendTestInput(testInput);
	const keys = listenToKeys({
		onEnter: testInput === undefined ? undefined : () => sendTestInput(testInput),
		onRestart: () => worker.restart(),
	});
	await stopRequested;
	keys?.close();
	unwatch();
	await stop();
	return 0;
}

/** Uses a temporary store. */
async function testSession(target: DevTarget, flags: FlagValues): Promise<number> {
	const { tests, env } = readTests(target.folder);
	const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
	const { stopRequested } = onStopSignal();
	const crashed = Promise.withResolvers<never>();
	let outcome: Awaited<ReturnType<typeof runTests>>;
	try {
		const { worker, calls, stop } = await startDev({
			target: { ...target, env: { ...target.env, ...env } },
			state: {
				database: join(folder, "dev.db"),
				key: randomBytes(18).toString("hex"),
				setWorker: () => {},
			},
			port: flags["port"] ?? "0",
			env: process.env,
			print,
			onCrash: (crash) => crashed.reject(new CliError(crashText(crash), 1)),
		});
		try {
			worker.restart();
			const stopped = stopRequested.then(() =>
				Promise.reject(new CliError("Interrupted before all tests had run.", 130)),
			);
			outcome = await Promise.race([runTests(calls, tests), crashed.promise, stopped]);
		} finally {
			await stop();
		}
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
	process.stdout.write(`\n${outcome.text}`);
	return outcome.passed ? 0 : 1;
}

function crashText({ how, polled, requeued }: Crash): string {
	const when = polled ? "" : " before it asked for a job";
	const jobs =
		requeued === 0
			? ""
			: requeued === 1
				? " Its job is back in the queue."
				: ` Its ${requeued} jobs are back in the queue.`;
	return `The worker ${how}${when}; its last lines are above.${jobs}`;
}

function print(line: string): void {
	process.stdout.write(`${new Date(systemClock.wall()).toTimeString().slice(0, 8)} ${line}\n`);
}

/** Reads Enter and r; undefined if stdin is no terminal. */
function listenToKeys({
	onEnter,
	onRestart,
}: {
	onEnter: (() => void) | undefined;
	onRestart: () => void;
}): { close(): void } | undefined {
	if (!process.stdin.isTTY) return undefined;
	const enter = onEnter ? "Press Enter to send test_input.json as a job, " : "Press ";
	process.stdout.write(`${enter}r and Enter to restart the worker, Ctrl-C to exit.\n\n`);
	return createInterface({ input: process.stdin }).on("line", (text) => {
		if (text.trim() === "r") onRestart();
		else if (text.trim() === "") onEnter?.();
	});
}

/** Later signals are ignored: stopping takes at most 2 s. */
function onStopSignal(): { stopRequested: Promise<void>; signal: AbortSignal } {
	const controller = new AbortController();
	const stopRequested = new Promise<void>((resolve) => {
		for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
			process.on(name, () => {
				controller.abort();
				resolve();
			});
		}
	});
	return { stopRequested, signal: controller.signal };
}
