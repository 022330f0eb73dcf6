/**
 * A worker of the launcher `process` that prints as fast as it can (`yes`): what a client of another endpoint waits,
 * how long the event loop is blocked, and how much of the disk its log takes at any moment. Prints JSON. `node
 * bench/attacks/printing.ts [seconds]`.
 */
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Attacked, attacked, print, sleep } from "./parts/attacked.ts";
import { launchedShell } from "./parts/launched.ts";
import { after, eventually, judged, otherClient } from "./parts/verdict.ts";

const [seconds = "12"] = process.argv.slice(2);
const EVERY_MS = 50;
/** A log is shortened to 16 MiB whenever its length is read; `yes` prints about 1 GB a second, and had 6 GB once. */
const MOST_LOG_MB = 1024;
/** Of the event loop, and of 99 of 100 calls of another client, on a machine that is busy otherwise too. */
const MOST_MS = 200;

/** The disk that the files of its logs take. */
function logMb(folder: string): number {
	let bytes = 0;
	// A file may have been removed meanwhile.
	for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
		if (entry.isFile() && entry.name.startsWith("worker-"))
			bytes += (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
	return bytes / 2 ** 20;
}

/** The longest time since it was asked before. */
async function blockedMs({ child }: Attacked): Promise<number> {
	child.send("read");
	const [{ longestMs }] = await once(child, "message");
	return longestMs;
}

const figures = await attacked({ probe: true }, async (service) => {
	const { call, folder } = service;
	await otherClient(service, after(1000));
	await blockedMs(service);
	const alone = { ...(await otherClient(service, after(3000))), blockedMs: await blockedMs(service) };
	const launcher = { type: "process", command: launchedShell("exec yes 'a line that a worker prints'") };
	const prints = { id: "prints", launcher, env: { DIR: folder }, workersMin: 1, workersMax: 1, stopGraceMs: 0 };
	await call("/v1/endpoints", { body: JSON.stringify(prints) });
	const hasBegun = (await eventually(() => logMb(folder) > 0)) ?? false;
	const isOver = after(Number(seconds) * 1000);
	let mostLogMb = 0;
	const watching = (async () => {
		while (!isOver()) {
			mostLogMb = Math.max(mostLogMb, Math.round(logMb(folder)));
			await sleep(EVERY_MS);
		}
	})();
	const [client] = await Promise.all([otherClient(service, isOver), watching]);
	const meanwhile = { ...client, blockedMs: await blockedMs(service) };
	await call("/v1/endpoints/prints?force=true", { method: "DELETE" });
	return {
		...judged({
			workersThatPrinted: { found: Number(hasBegun), atLeast: 1 },
			logMb: { found: mostLogMb, atMost: MOST_LOG_MB },
			blockedMs: { found: meanwhile.blockedMs, atMost: MOST_MS },
			runP99Ms: { found: meanwhile.run.p99, atMost: MOST_MS },
			healthzP99Ms: { found: meanwhile.healthz.p99, atMost: MOST_MS },
			failedCalls: { found: meanwhile.run.failed + meanwhile.healthz.failed, atMost: 0 },
		}),
		seconds: Number(seconds),
		alone,
		meanwhile,
	};
});
print("printing", figures);
