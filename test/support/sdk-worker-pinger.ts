/**
 * The ping process of a fake SDK worker, as a thread of its own (protocol B.7): it pings while
 * the main part blocks. Every so often, or on request. The list of jobs it names comes by
 * message and may lag, as the real one's does.
 */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { sdkProtocol } from "./sdk-protocol.ts";

/** What the thread is started with. */
export interface PingerStart {
	env: Record<string, string>;
	version: string;
	/** Pause between pings, ms; absent: only on request. */
	everyMs?: number;
	/** Pings answered so far; a thread that waits on it is woken by each. */
	answered: Int32Array;
}

/** What it receives: the jobs it names from now on, and whether to ping at once. */
export interface PingerOrder {
	named: readonly string[];
	ping: boolean;
}

const { env, version, everyMs, answered } = workerData as PingerStart;
const protocol = sdkProtocol(env, { version });
let named: readonly string[] = [];

async function ping(): Promise<void> {
	// The answer is ignored, and so is a refusal: nothing can be sent to a worker through ping.
	const status = await protocol.ping(named).then(
		(answer) => answer.status,
		() => 0,
	);
	Atomics.add(answered, 0, 1);
	Atomics.notify(answered, 0);
	parentPort!.postMessage(status);
}

parentPort!.on("message", (order: PingerOrder) => {
	named = order.named;
	if (order.ping) void ping();
});

if (everyMs !== undefined) {
	for (;;) {
		await ping();
		await systemClock.sleep(everyMs);
	}
}
