/** A video is a job whose input says that it is one (D62): found again, and shown as OpenAI's object. */
import { ApiError } from "../../kernel/core/errors.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { isObject } from "../../kernel/lib/schema.ts";
import { sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { JobRecord } from "../../kernel/store/contract/jobs.ts";
import { atOnce, membersOf, partOf } from "../openai/background/members.ts";
import { failureInOutput, failureOfJob } from "../openai/failures.ts";
import { type MarkedJob, markedJob } from "../openai/marked-job.ts";
import { singleResult } from "../openai/translation.ts";
import { ERRORS } from "./errors.ts";
import type { Video } from "./routes.ts";

/** The member of a job's input that makes it a video. */
export const MARK = "openai_video";

/** Its value: the SHA-256 of the request, by which a repeat is known, and the id of the video that it is made of. */
export interface Mark {
	request: string;
	remixed_from?: string;
}

/** What an input with a mark begins with. The store searches inputs for it, so `request` is the first member. */
export function inputHead(route: string, mark: Mark): string {
	return `{"openai_route":${JSON.stringify(route)},"${MARK}":${JSON.stringify(mark)},"openai_input":`;
}

export function searchFor(request = ""): string {
	return `"${MARK}":{"request":"${request}`;
}

const ID = /^video_([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$/;

export const videoId = (job: string): string => `video_${job}`;

/** Throws `video_not_found` for what is no id of a video. */
export function jobOf(endpoint: string, video: string): string {
	const job = ID.exec(video)?.[1];
	if (job === undefined) throw notFound(endpoint, video);
	return job;
}

export function notFound(endpoint: string, video: string): ApiError {
	return new ApiError(ERRORS.video_not_found, { endpoint, video: video.slice(0, 80) });
}

export interface StoredVideo extends Pick<MarkedJob, "found" | "body"> {
	mark: Mark;
	shown: Video;
}

type Context = Pick<Kernel, "calendar" | "now" | "store">;

/** Undefined for a job that is no video, or has expired. */
export async function storedVideo(
	d: Context,
	call: Call,
	name: { endpoint: string; id: string },
): Promise<StoredVideo | undefined> {
	const marked = await markedJob(d, call, name, MARK);
	if (!marked) return undefined;
	const { found, body } = marked;
	const mark = JSON.parse(marked.mark) as Mark;
	const members = (await inSlices(membersOf(body, ["model", "prompt", "seconds", "size"] as const))) ?? {};
	const given = (member: keyof typeof members): string | null => {
		const value = members[member] && (JSON.parse(partOf(body, members[member])) as unknown);
		return typeof value === "string" || typeof value === "number" ? String(value) : null;
	};
	const { job } = found;
	const seconds = (at: number): number => Math.floor(d.calendar.of(at) / 1000);
	const shown: Video = {
		id: videoId(job.id),
		object: "video",
		model: given("model"),
		...stateOf(found),
		created_at: seconds(job.submittedAt),
		completed_at: null,
		expires_at: job.endedAt === undefined ? null : seconds(job.endedAt + job.retainMs),
		prompt: given("prompt"),
		size: given("size"),
		seconds: given("seconds"),
		remixed_from_video_id: mark.remixed_from ?? null,
	};
	if (shown.status === "completed") shown.completed_at = seconds(job.endedAt!);
	return { found, body, mark, shown };
}

/** Videos of the endpoint, the newest first. `search`: what their inputs contain. Times as in filters of lists. */
export async function* videosOf(
	kernel: Context,
	call: Call<"endpoint">,
	{ search, ...filter }: { from?: number; to?: number; search: string },
): AsyncGenerator<StoredVideo, void> {
	const { endpoint } = call.params;
	let cursor: string | undefined;
	do {
		const q = { endpoint, filter, search, cursor, erased: false, limit: 100, now: kernel.now() };
		const page = await kernel.store.jobs.list(q);
		for (const { job } of page.jobs) {
			const video = await storedVideo(kernel, call, job);
			if (video) yield video;
		}
		cursor = page.next;
	} while (cursor !== undefined && !call.caller.disconnected);
}

function stateOf(found: JobRecord): Pick<Video, "status" | "progress" | "error"> {
	const { state } = found.job;
	if (state === "IN_QUEUE") return { status: "queued", progress: 0, error: null };
	const progress = progressOf(found);
	if (!isFinal(state)) return { status: "in_progress", progress, error: null };
	const failure = failureOf(found);
	if (!failure) return { status: "completed", progress: 100, error: null };
	return { status: "failed", progress: 0, error: { code: failure.code, message: failure.message } };
}

function failureOf(found: JobRecord): { code: string; message: string } | undefined {
	const { state } = found.job;
	const failure = state === "COMPLETED" ? failureInResult(found) : failureOfJob(found);
	if (!failure) return undefined;
	if (state === "CANCELLED") return { ...failure, code: "cancelled" };
	return { ...failure, code: state === "TIMED_OUT" ? "request_timeout" : String(failure.code ?? failure.type) };
}

/** A large output was not read, and is no error. */
function failureInResult({ output }: JobRecord) {
	if (output === undefined) return undefined;
	const result = atOnce(singleResult(output));
	return result === undefined ? undefined : failureInOutput(stringOf(result));
}

/** Whole percent below 100 of what a worker reports: a number, or its `percent` or `progress`. */
function progressOf({ output }: JobRecord): number {
	if (output === undefined || sizeOf(output) > 4096) return 0;
	const value: unknown = JSON.parse(stringOf(output));
	const { percent, progress = value } = isObject(value) ? value : {};
	if (typeof percent === "number") return bounded(percent);
	// Many report a fraction.
	return typeof progress === "number" ? bounded(progress <= 1 ? progress * 100 : progress) : 0;
}

const bounded = (percent: number): number => Math.min(99, Math.max(0, Math.floor(percent)));
