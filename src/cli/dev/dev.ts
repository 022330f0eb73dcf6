/**
 * `sluice dev`: service and worker in one terminal, the worker started anew when its source
 * changes, the queue kept (D36).
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { systemClock } from "../../clock.ts";
import { CliError, readFlags } from "../command.ts";
import type { Command } from "../command.ts";
import { greeting } from "./banner.ts";
import { runTestInput, runTests } from "./test-jobs.ts";
import type { Crash } from "./worker-process.ts";
import { startDev } from "./service.ts";
import { devStore } from "./state.ts";
import { devTarget } from "./target.ts";
import type { DevTarget } from "./target.ts";
import { watchSources } from "./watch.ts";
import { readTests } from "./hub-repository.ts";
import { RefusedJob } from "../submit/job-calls.ts";
import { HEAP_FLAGS } from "../serve.ts";

const FLAGS = {
	port: {
		value: "PORT",
		summary: "port to listen on (default 8080, or a free one when that is in use)",
	},
	endpoint: {
		value: "ID",
		summary: "id of the endpoint (default: from the name of the file or folder)",
	},
	run: { summary: "send test_input.json as a first job" },
	test: {
		summary: "run the tests of .runpod/tests.json, print a table and end; exit code 1 if one fails",
	},
	fresh: { summary: "begin with an empty queue instead of that of the last run" },
};

type Given = Readonly<Record<string, string | undefined>>;

export const dev: Command = {
	name: "dev",
	summary: "run a handler with a service around it, while you write it",
	synopsis: "HANDLER | FOLDER | -- COMMAND [options]",
	flags: FLAGS,
	async run(args) {
		const cut = args.includes("--") ? args.indexOf("--") : args.length;
		const { help, flags, rest } = readFlags({ ...dev, args: args.slice(0, cut) });
		if (help) return 0;
		const command = args.slice(cut + 1);
		if (rest.length > (command.length > 0 ? 0 : 1))
			throw new CliError(`There is no place for '${rest.at(-1)}': sluice dev ${dev.synopsis}`);
		const target = devTarget({
			path: rest[0],
			command,
			endpoint: flags["endpoint"],
			cwd: process.cwd(),
			env: process.env,
		});
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		return flags["test"] ? await acceptance(target, flags) : await session(target, flags);
	},
};

/** Serves until a signal. */
async function session(target: DevTarget, flags: Given): Promise<number> {
	const { folder, testInput } = target;
	if (flags["run"] && testInput === undefined)
		throw new CliError(
			`There is no test_input.json in ${folder}. It holds a first job: {"input": {"prompt": "hi"}}`,
		);
	const over = stopAsked();
	const kept = devStore({ folder, fresh: flags["fresh"] !== undefined });
	const { url, consoleLink, worker, calls, stop } = await startDev({
		target,
		kept,
		say,
		port: flags["port"],
		env: process.env,
		crashed: (crash) =>
			say(`${crashed(crash)} It is started again when a source file in ${folder} changes.`),
	});
	const { key } = kept;
	process.stdout.write(
		greeting({
			...target,
			url,
			consoleLink,
			key,
			testInput:
				testInput === undefined
					? undefined
					: { path: testInput, text: readFileSync(testInput, "utf8") },
		}),
	);
	const unwatch = watchSources({
		folder,
		clock: systemClock,
		changed(path) {
			say(`${relative(folder, path)} changed: the worker is started anew`);
			worker.restart();
		},
	});
	worker.restart();
	const sendFirst = (path: string): void => {
		runTestInput(calls, path).then(say, (error: unknown) => {
			if (!over.signal.aborted)
				say(
					error instanceof CliError || error instanceof RefusedJob ? error.message : String(error),
				);
		});
	};
	if (flags["run"] && testInput !== undefined) sendFirst(testInput);
	const keys = listenToKeys({
		enter: testInput === undefined ? undefined : () => sendFirst(testInput),
		restart: () => worker.restart(),
	});
	await over.asked;
	keys?.close();
	unwatch();
	await stop();
	return 0;
}

/** Runs the tests of the repository in a store of their own. */
async function acceptance(target: DevTarget, flags: Given): Promise<number> {
	const { tests, env } = readTests(target.folder);
	const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
	const over = stopAsked();
	const failed = Promise.withResolvers<never>();
	let outcome: Awaited<ReturnType<typeof runTests>>;
	try {
		const { worker, calls, stop } = await startDev({
			target: { ...target, env: { ...target.env, ...env } },
			kept: {
				path: join(folder, "dev.db"),
				key: randomBytes(18).toString("hex"),
				remember: () => {},
			},
			port: flags["port"] ?? "0",
			env: process.env,
			say,
			crashed: (crash) => failed.reject(new CliError(crashed(crash), 1)),
		});
		try {
			worker.restart();
			const stopped = over.asked.then(() =>
				Promise.reject(new CliError("The tests were ended before their end.", 130)),
			);
			outcome = await Promise.race([runTests(calls, tests), failed.promise, stopped]);
		} finally {
			await stop();
		}
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
	process.stdout.write(`\n${outcome.text}`);
	return outcome.passed ? 0 : 1;
}

function crashed({ how, asked, returned }: Crash): string {
	const when = asked ? "" : " before it asked for a job";
	const waits =
		returned === 0
			? ""
			: returned === 1
				? " The job that it had waits."
				: ` The ${returned} jobs that it had wait.`;
	return `The worker ${how}${when}; its last lines are above.${waits}`;
}

/** Writes a line with the time of day. */
function say(line: string): void {
	process.stdout.write(`${new Date(systemClock.now()).toTimeString().slice(0, 8)} ${line}\n`);
}

/** Enter and r, where a person sits at the terminal. */
function listenToKeys({
	enter,
	restart,
}: {
	enter: (() => void) | undefined;
	restart: () => void;
}): { close(): void } | undefined {
	if (!process.stdin.isTTY) return undefined;
	process.stdout.write(
		`${enter ? "Press Enter to send test_input.json as a job, " : "Press "}r and Enter to start the worker anew, Ctrl-C to end.\n\n`,
	);
	return createInterface({ input: process.stdin }).on("line", (text) => {
		if (text.trim() === "r") restart();
		else if (text.trim() === "") enter?.();
	});
}

/** Resolves at the first signal that ends; later ones change nothing, all is gone within 2 s. */
function stopAsked(): { asked: Promise<void>; signal: AbortSignal } {
	const over = new AbortController();
	const asked = new Promise<void>((resolve) => {
		for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
			process.on(name, () => {
				over.abort();
				resolve();
			});
		}
	});
	return { asked, signal: over.signal };
}
