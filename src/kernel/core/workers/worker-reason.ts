/** Why a launched worker does not run yet, will be ended, or has ended (D29). */

import { asSentence } from "../../lib/text.ts";

/** The platform's reasons first, then those of the service. */
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
	"gpu_memory_exceeded",
	"no_gpu_free",
] as const;
export type WorkerReasonCode = (typeof WORKER_REASON_CODES)[number];

export interface WorkerReason {
	code: WorkerReasonCode;
	/** One or two sentences, in the platform's words where it has any. No secrets. */
	message: string;
	/** Percent. */
	progress?: number;
	/** Ms since the epoch. */
	retryAt?: number;
	/** Only admin keys see it; see `errorLine`. */
	lastLine?: string;
}

/** Such as "Pulling image a:1, 43 %." */
export function reasonText({ message, progress }: Pick<WorkerReason, "message" | "progress">): string {
	return progress === undefined ? message : `${message.replace(/\.$/, "")}, ${progress} %.`;
}

export interface ExitReason extends Pick<WorkerReason, "code" | "message"> {
	/** False for an eviction or a lost node: the next start is not delayed. */
	crash: boolean;
}

/** Why no worker is started or one is missed. Messages are sentences. */
export interface HeldBack {
	crashing?: string | undefined;
	/** Missing from earlier versions. */
	crashCode?: WorkerReasonCode | undefined;
	/** Ms since the epoch. */
	retryAt?: number | undefined;
	withoutGpu?: string | undefined;
	/** Such as an image that is being pulled. */
	preparing?: WorkerReason | undefined;
	/** Ended by a fault. `at`: ms since the epoch. */
	ended?: (WorkerReason & { at: number }) | undefined;
	/** The last worker that ended by a fault, for a reason of the same code. */
	printed?: { code: WorkerReasonCode; line: string } | undefined;
}

const ENDED_SHOWN_MS = 600_000;

/** The most serious reason; undefined if nothing is known. `waiting`: workers that do not run yet, oldest first. */
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
			message: asSentence(crashing),
			...(retryAt !== undefined && retryAt > now && { retryAt }),
			...output(crashCode),
		};
	if (waiting[0]) return waiting[0];
	if (withoutGpu !== undefined) return { code: "no_gpu_free", message: withoutGpu };
	if (preparing) return { ...preparing, message: asSentence(preparing.message) };
	if (!ended || now - ended.at > ENDED_SHOWN_MS) return undefined;
	return { code: ended.code, message: asSentence(ended.message), ...output(ended.code) };
}
