/** Ends a job on the server: by its route, by closing the connection, by ending the server. */
import type { Clock } from "../../clock.ts";
import type { CancelMapping } from "../mapping/mapping.ts";

export interface CancelOptions {
	cancel: CancelMapping;
	/** The server keeps the job after the connection is closed, so that only its state shows the end. */
	isAsync: boolean;
	/** Calls the route of the mapping, if it has one. May reject. */
	callRoute: () => Promise<void>;
	/** Closes the connections of the job. */
	close: () => void;
	/** Aborts when the job has ended on the server, as far as its answers show. */
	ended: AbortSignal;
	/** Ends the server if it is ours and has no other job. */
	kill: (reason: string) => void;
	clock: Clock;
	log: (message: string) => void;
}

/**
 * Resolves when nothing more is done about the job: with true if the server had ended it before its connections were
 * closed. Never rejects.
 */
export async function cancelJob({
	cancel: { ending, waitMs },
	isAsync,
	callRoute,
	close,
	ended,
	kill,
	clock,
	log,
}: CancelOptions): Promise<boolean> {
	try {
		await callRoute();
	} catch (error) {
		log(`The server's route to cancel failed: ${(error as Error).message}`);
	}
	if (ending !== "kill" && (ending === "wait" || isAsync)) await clock.sleep(waitMs, ended);
	const hasEnded = ended.aborted;
	close();
	if (!hasEnded && (ending !== "close" || isAsync))
		kill(ending === "kill" ? "its job was cancelled" : `its job did not end in ${waitMs} ms`);
	return hasEnded;
}
