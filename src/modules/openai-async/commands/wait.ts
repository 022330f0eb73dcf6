/** Waits for the end of a batch, with a progress bar (D57). */
import type { BatchObject } from "../routes.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { path, type ServiceAnswer, type ServiceClient } from "../../../cli/client/service-client.ts";
import { progressBar } from "../../../cli/framework/progress-bar.ts";
import { isEnded, paceMeter, progressOf } from "./progress.ts";

/** A batch of a minute is asked for each second, one of hours every ten. */
const PAUSE_MS = { shortest: 1000, longest: 10_000, share: 0.02 } as const;
/** A service that starts again, an upgrade. */
const LONGEST_OUTAGE_MS = 600_000;

export const batchesOf = (endpoint: string): string => path`/v2/${endpoint}/openai/v1/batches`;

export function followHint(endpoint: string, id: string): string {
	return `Follow it: sluice batches get ${endpoint} ${id} --wait`;
}

export function goesOn(endpoint: string, id: string): string {
	return `The batch goes on. ${followHint(endpoint, id)}`;
}

/** Returns the batch that has ended. Throws {@link CliError}, and the reason of the signal. */
export async function waitForEnd(q: {
	service: Pick<ServiceClient, "request">;
	endpoint: string;
	id: string;
	clock: Clock;
	signal: AbortSignal;
	stream?: Parameters<typeof progressBar>[1];
}): Promise<ServiceAnswer> {
	const { service, endpoint, id, clock, signal } = q;
	const bar = progressBar(clock.now, q.stream);
	const paceAt = paceMeter();
	const begunAt = clock.now();
	let failingSince: number | undefined;
	const stopped = aborted(signal);
	stopped.catch(() => {});

	function show(batch: BatchObject): void {
		failingSince = undefined;
		bar.show(progressOf(batch, paceAt(clock.now(), batch), clock.wall()));
	}

	function bear(error: unknown): void {
		if (!(error instanceof CliError) || !mayPass(error)) throw error;
		if (failingSince === undefined) bar.line(`${error.message} Retrying.`);
		failingSince ??= clock.now();
		if (clock.now() - failingSince > LONGEST_OUTAGE_MS)
			throw new CliError(`${error.message}\n${goesOn(endpoint, id)}`, 1);
	}

	try {
		for (;;) {
			const asked = service.request("GET", batchesOf(endpoint) + path`/${id}`).catch(bear);
			const answer = await Promise.race([asked, stopped]);
			if (answer && isEnded(answer.json as BatchObject)) return answer;
			if (answer) show(answer.json as BatchObject);
			await clock.sleep(pauseAfter(clock.now() - begunAt), signal);
			signal.throwIfAborted();
		}
	} finally {
		bar.clear();
	}
}

function pauseAfter(elapsedMs: number): number {
	return Math.min(PAUSE_MS.longest, Math.max(PAUSE_MS.shortest, elapsedMs * PAUSE_MS.share));
}

/** No answer, or one that says that the service cannot answer now. */
function mayPass({ status, exitCode }: CliError): boolean {
	return status === undefined ? exitCode === 1 : status === 429 || status >= 500;
}

async function aborted(signal: AbortSignal): Promise<never> {
	return await new Promise((_, reject) => {
		if (signal.aborted) reject(signal.reason as Error);
		signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
	});
}
