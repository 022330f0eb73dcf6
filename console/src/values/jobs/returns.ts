/** Attempts whose worker gave the job back to the queue, such as that of a busy HTTP server. */
import type { JobDetail } from "../../client/shapes.ts";

export interface Return {
	/** Numbers of the attempts that follow each other and were returned for the same reason. */
	attempts: number[];
	reason: string;
	/** Whether each of them counts as a loss, of which the third fails the job. */
	isLoss: boolean;
}

export function returnsOf({ attempts }: { attempts: Readonly<JobDetail["attempts"]> }): readonly Return[] {
	const returns: Return[] = [];
	for (const { attempt, returned, end, workerEnd: reason = "" } of attempts) {
		if (!returned) continue;
		const isLoss = end === "lost";
		const last = returns.at(-1);
		if (last?.reason === reason && last.isLoss === isLoss) last.attempts.push(attempt);
		else returns.push({ attempts: [attempt], reason, isLoss });
	}
	return returns;
}
