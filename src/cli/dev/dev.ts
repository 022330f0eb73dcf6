/** `sluice dev`: service and worker in one terminal; the worker restarts on changes (D36). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Action, FlagValues } from "../framework/command.ts";
import { CliError } from "../client/errors.ts";
import { HEAP_FLAGS } from "../serve/serve.ts";
import { printNotes, readTests, unusedNote } from "../repository/hub.ts";
import { startDev } from "./service.ts";
import { crashText, onStopSignal, print, session } from "./session.ts";
import { openState } from "./state.ts";
import { devTarget, type DevTarget } from "./target.ts";
import { runTests } from "./test-jobs.ts";

export const dev: Action = {
	name: "dev",
	summary: "run a handler with a local service and restart it on changes",
	args: ["[HANDLER]"],
	local: true,
	synopsis: "HANDLER | FOLDER | -- COMMAND [options]",
	rest: true,
	flags: {
		port: { value: "PORT", summary: "port to listen on (default 8080, or a free one when that is in use)" },
		endpoint: { value: "ID", summary: "id of the endpoint (default: from the name of the file or folder)" },
		run: { summary: "send test_input.json, or the first of .runpod/tests.json, as the first job" },
		test: { summary: "run the tests of .runpod/tests.json, print a table and exit; exit code 1 if one fails" },
		preset: { value: "NAME", summary: "take the variables of this preset of .runpod/hub.json" },
		fresh: { summary: "start with an empty queue instead of that of the last run" },
		verbose: {
			short: "v",
			summary: "also debugging lines of the SDKs, whole stack traces, addresses for all clients",
		},
	},
	examples: ["sluice dev handler.ts", "sluice dev path/to/repository --test", "sluice dev -- python3 worker.py"],
	env: { BROWSER: "program that the key o opens the console with" },
	async run({ args: [path], flags, rest: command }) {
		if (path !== undefined && command.length > 0)
			throw new CliError(`Unexpected argument '${path}'. Usage: sluice dev ${dev.synopsis}`);
		const { endpoint, preset } = flags;
		const target = devTarget({ path, command, endpoint, preset, cwd: process.cwd(), env: process.env });
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		return flags["test"] ? await testSession(target, flags) : await session(target, flags);
	},
};

async function testSession(target: DevTarget, flags: FlagValues): Promise<number> {
	const { tests, env: testEnv, unused } = readTests(target.folder);
	printNotes(unusedNote(unused));
	const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
	const { requested } = onStopSignal();
	const crashed = Promise.withResolvers<never>();
	try {
		const { worker, calls, stop } = await startDev({
			target,
			testEnv,
			state: openState({ folder, fresh: false }),
			port: flags["port"] ?? "0",
			verbose: flags["verbose"] !== undefined,
			env: process.env,
			print,
			onCrash: (crash) => crashed.reject(new CliError(crashText(crash), 1)),
		});
		let outcome: Awaited<ReturnType<typeof runTests>>;
		try {
			worker.restart();
			const stopped = requested.then(() => Promise.reject(new CliError("Interrupted before all tests had run.", 130)));
			outcome = await Promise.race([runTests(calls, tests), crashed.promise, stopped]);
		} finally {
			await stop();
		}
		process.stdout.write(`\n${outcome.text}`);
		return outcome.passed ? 0 : 1;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
