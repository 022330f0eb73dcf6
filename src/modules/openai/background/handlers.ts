/** `/responses/{id}` of background responses (D58). */
import { badQuery, ApiError } from "../../../kernel/core/errors.ts";
import { isFinal } from "../../../kernel/core/jobs/job-states.ts";
import { cut } from "../../../kernel/lib/json/json-text.ts";
import { answer } from "../../../kernel/http/exchange/answer.ts";
import { type Call, isHead, valueOf } from "../../../kernel/http/exchange/call.ts";
import { headOnly, inSlices, JSON_HEADERS } from "../../../kernel/http/exchange/reply.ts";
import { EVENT_STREAM } from "../../../kernel/http/exchange/server-sent-events.ts";
import { permit, principalOf } from "../../../kernel/http/gates/auth.ts";
import { holdNow } from "../../../kernel/http/memory/call-memory.ts";
import type { HandlersOf } from "../../../kernel/http/server/route.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { endingOf } from "./ending.ts";
import { readingOf, sendEvents } from "./follow.ts";
import { pageOf } from "./input-items.ts";
import { oneBlock } from "./members.ts";
import { jobOf, ownObject, responseId, type Shown } from "./response.ts";
import { AFTER, type BACKGROUND_ROUTES, LIMIT, ORDER, STARTING_AFTER, STREAM } from "./routes.ts";
import { notFound, type StoredResponse, storedResponse } from "./stored.ts";

type OneCall = Call<"endpoint" | "response">;

/** Runs a request as a job of the worker. `rest`: path after `/openai/`. */
export type AtWorker = (call: Call<"endpoint" | "rest">) => Promise<void>;

export function backgroundHandlers(kernel: Kernel, atWorker: AtWorker): HandlersOf<typeof BACKGROUND_ROUTES> {
	/** A response that the worker has stored itself. A request to a worker is a job, which needs `write`. */
	async function passOn(call: OneCall, below = ""): Promise<void> {
		const { endpoint, response } = call.params;
		permit(principalOf(call), "write", endpoint);
		const params = { ...call.params, endpoint, rest: `v1/responses/${response}${below}` };
		call.params = params;
		await atWorker(call as unknown as Call<"endpoint" | "rest">);
	}

	async function found(call: OneCall, job: string): Promise<StoredResponse> {
		const { endpoint } = call.params;
		kernel.endpoints.get(endpoint);
		return await storedResponse(kernel, call, { endpoint, id: job });
	}

	/** A function of its own: the frame of a stream would keep the whole request. */
	async function shownNow(call: OneCall, job: string): Promise<Shown> {
		return (await found(call, job)).shown;
	}

	/** Sends the response as it is now. */
	async function show(call: OneCall, { found: job, shown }: StoredResponse): Promise<void> {
		const { state } = job.job;
		if (!isFinal(state)) return await answer(call, ownObject(shown, state === "IN_QUEUE" ? "queued" : "in_progress"));
		const { response } = await endingOf(kernel, job, shown, readingOf(call, shown));
		await answer(call, response);
	}

	/** A job that was removed meanwhile is an unknown response. */
	function orNotFound(job: string): (error: unknown) => never {
		return (error) => {
			throw error instanceof ApiError && error.code === "job_not_found" ? notFound(responseId(job)) : error;
		};
	}

	return {
		async getResponse(call) {
			const job = jobOf(call.params.response);
			if (job === undefined) return await passOn(call);
			const [stream, after = -1] = [valueOf(call, STREAM), valueOf(call, STARTING_AFTER)];
			if (isHead(call)) {
				await found(call, job);
				return headOnly(call.res, stream ? EVENT_STREAM : JSON_HEADERS);
			}
			if (!stream) return await show(call, await found(call, job)).catch(orNotFound(job));
			const shown = await shownNow(call, job);
			await sendEvents(kernel, call, { job: { endpoint: call.params.endpoint, id: job }, shown, after });
		},

		async cancelResponse(call) {
			const job = jobOf(call.params.response);
			if (job === undefined) return await passOn(call, "/cancel");
			const { endpoint } = call.params;
			const before = await found(call, job);
			if (isFinal(before.found.job.state)) return await show(call, before).catch(orNotFound(job));
			await kernel.jobs.cancel({ endpoint, id: job }).catch(orNotFound(job));
			await show(call, await found(call, job)).catch(orNotFound(job));
		},

		async deleteResponse(call) {
			const { endpoint, response } = call.params;
			const job = jobOf(response);
			if (job === undefined) throw notFound(response);
			const name = { endpoint, id: job };
			const { state } = (await found(call, job)).found.job;
			if (!isFinal(state)) await kernel.jobs.cancel(name).catch(orNotFound(job));
			await kernel.jobs.retain({ ...name, retainMs: 0 }).catch(orNotFound(job));
			await kernel.hooks.deletedJob?.(name);
			await answer(call, JSON.stringify({ id: response, object: "response", deleted: true }));
		},

		async listInputItems(call) {
			const { response } = call.params;
			const job = jobOf(response);
			if (job === undefined) return await passOn(call, "/input_items");
			const q = { after: valueOf(call, AFTER), limit: valueOf(call, LIMIT), order: valueOf(call, ORDER) ?? "desc" };
			const { body, members } = await found(call, job);
			if (isHead(call)) return headOnly(call.res, JSON_HEADERS);
			const input = members.input && oneBlock(cut(body, members.input.start, members.input.end));
			holdNow(call, call.holds.bytes + 2 * (input?.length ?? 0));
			const page = await inSlices(pageOf(input, response, q));
			if (!page) throw badQuery(AFTER.name, q.after!, "the id of an item of this response");
			const { items, hasMore } = page;
			const ids = { first_id: items.at(0)?.id ?? null, last_id: items.at(-1)?.id ?? null, has_more: hasMore };
			const data = items.map(({ text }) => text).join(",");
			await answer(call, `{"object":"list","data":[${data}],${JSON.stringify(ids).slice(1)}`);
		},

		postBelowResponses: (call) => passOn(call),
	};
}
