/** Why a launched worker does not run yet, will be ended, or has ended (D29). */

import { withFullStop } from "../text.ts";

/** Shared by all launchers. Those of the platform's doing first, then those of the service's own. */
export const WORKER_REASON_CODES = [
	"unschedulable",
	"queued",
	"image_pull",
	"config",
	"volume",
	"starting",
	"out_of_memory",
	"evicted",
	"preempted",
	"node_failed",
	"node_drained",
	"time_limit",
	"deleted",
	"crashed",
	"start_failed",
	"init_timeout",
	"unhealthy",
	"no_gpu_free",
] as const;
export type WorkerReasonCode = (typeof WORKER_REASON_CODES)[number];

export interface WorkerReason {
	code: WorkerReasonCode;
	/** One or two sentences for the operator, in the platform's words where it has any. No secrets. */
	message: string;
	/** Percent, where the platform knows it. */
	progress?: number;
	/** When the next worker is started after a crash, ms since the epoch. */
	retryAt?: number;
	/** The line of the output of the worker that ended, for admin keys: see `errorLine`. */
	lastLine?: string;
}

/** Such as "Pulling image a:1, 43 %." */
export function reasonText({ message, progress }: Pick<WorkerReason, "message" | "progress">): string {
	return progress === undefined ? message : `${message.replace(/\.$/, "")}, ${progress} %.`;
}

/** Why a worker ended, where its platform knows more than its exit code. */
export interface ExitReason extends Pick<WorkerReason, "code" | "message"> {
	/** False if it was not the worker's doing: an eviction, a lost node. The next start is not delayed. */
	crash: boolean;
}

/** Why no worker is started or one is missed, as scaling knows it. Messages are sentences. */
export interface HeldBack {
	/** Its workers crash. */
	crashing?: string | undefined;
	/** Missing from earlier versions. */
	crashCode?: WorkerReasonCode | undefined;
	/** When the next one is started, if needed; ms since the epoch. */
	retryAt?: number | undefined;
	/** A worker that is needed gets no GPU. */
	withoutGpu?: string | undefined;
	/** What its platform lacks for its workers, such as an image that is being pulled. */
	preparing?: WorkerReason | undefined;
	/** The last worker that ended by a fault. `at`: ms since the epoch. */
	ended?: (WorkerReason & { at: number }) | undefined;
	/** What the last worker that ended by a fault printed, for a reason of the same code. */
	printed?: { code: WorkerReasonCode; line: string } | undefined;
}

/** How long the end of a worker is shown, ms. */
const ENDED_SHOWN_MS = 600_000;

/**
 * Why an endpoint lacks workers, the most serious first; undefined if nothing is known to hinder
 * them. `waiting`: of its workers that do not run yet, oldest first.
 */
export function reasonOf(
	{ crashing, crashCode = "crashed", retryAt, withoutGpu, preparing, ended, printed }: HeldBack,
	{ waiting, now }: { waiting: readonly WorkerReason[]; now: number },
): WorkerReason | undefined {
	const output = (code: WorkerReasonCode): Pick<WorkerReason, "lastLine"> =>
		printed?.code === code ? { lastLine: printed.line } : {};
	// A failed pull is repeated: while bytes arrive, that is the news.
	const moving = waiting.find(({ code, progress }) => code === "image_pull" && progress !== undefined);
	if (moving && crashCode === "image_pull") return moving;
	if (crashing !== undefined)
		return {
			code: crashCode,
			message: sentence(crashing),
			...(retryAt !== undefined && retryAt > now && { retryAt }),
			...output(crashCode),
		};
	if (waiting[0]) return waiting[0];
	if (withoutGpu !== undefined) return { code: "no_gpu_free", message: withoutGpu };
	if (preparing) return { ...preparing, message: sentence(preparing.message) };
	if (!ended || now - ended.at > ENDED_SHOWN_MS) return undefined;
	return { code: ended.code, message: sentence(ended.message), ...output(ended.code) };
}

function sentence(text: string): string {
	return withFullStop(text.charAt(0).toUpperCase() + text.slice(1));
}
