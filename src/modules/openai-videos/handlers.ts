/** OpenAI's `/videos` (D62). */
import { ApiError, badQuery, badRequest } from "../../kernel/core/errors.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { type Call, valueOf } from "../../kernel/http/exchange/call.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel } from "../../kernel/module.ts";
import { changesOf, edited, membersOf, partOf, removal } from "../openai/background/members.ts";
import { linkOf, sendContent } from "./content.ts";
import { createVideo, submitVideo } from "./create.ts";
import { ERRORS } from "./errors.ts";
import { promptFault, readObject } from "./request.ts";
import { AFTER, LIMIT, ORDER, type Video, VARIANT, type VIDEO_ROUTES } from "./routes.ts";
import { jobOf, notFound, searchFor, type StoredVideo, storedVideo, videoId, videosOf } from "./stored.ts";

/** When clients that poll ask again, ms. */
const POLL_MS = "2000";

export function videoHandlers(kernel: Kernel): HandlersOf<typeof VIDEO_ROUTES> {
	/** Throws `video_not_found`. */
	async function found(call: Call<"endpoint">, job: string): Promise<StoredVideo> {
		const { endpoint } = call.params;
		kernel.endpoints.get(endpoint);
		const video = await storedVideo(kernel, call, { endpoint, id: job });
		if (!video) throw notFound(endpoint, videoId(job));
		return video;
	}

	const named = (call: Call<"endpoint" | "video">): Promise<StoredVideo> =>
		found(call, jobOf(call.params.endpoint, call.params.video));

	async function shown(call: Call<"endpoint">, video: Promise<StoredVideo>): Promise<Video> {
		const { shown: its } = await video;
		call.res.setHeader("openai-poll-after-ms", POLL_MS);
		return its;
	}

	/** A job that was removed meanwhile is an unknown video. */
	async function orNotFound<T>({ params }: Call<"endpoint" | "video">, work: Promise<T>): Promise<T> {
		try {
			return await work;
		} catch (error) {
			if (error instanceof ApiError && error.code === "job_not_found") throw notFound(params.endpoint, params.video);
			throw error;
		}
	}

	/** The submission of the video with this id, the last one of the page before. */
	async function submittedAt(call: Call<"endpoint">, video: string): Promise<number> {
		try {
			return (await found(call, jobOf(call.params.endpoint, video))).found.job.submittedAt;
		} catch (error) {
			if (!(error instanceof ApiError) || error.code !== ERRORS.video_not_found.code) throw error;
			throw badQuery(AFTER.name, video, "the id of a video of this endpoint");
		}
	}

	async function remix(call: Call<"endpoint" | "video">): Promise<string> {
		const given = await readObject(call);
		const { prompt } = (await inSlices(membersOf(given, ["prompt"])))!;
		const fault = promptFault(prompt && JSON.parse(partOf(given, prompt)));
		if (fault) throw badRequest([fault]);
		const source = await named(call);
		const { id, status } = source.shown;
		const refused = (message: string): ApiError => badRequest([{ field: "video", message }]);
		if (status !== "completed") throw refused(`is ${status.replace("_", " ")}; only a completed one can be remixed.`);
		const link = await linkOf(kernel, call, source);
		if (link === undefined)
			throw refused("has its bytes in the result of its job, and no link that a worker could read: set files: true.");
		const values = { prompt: partOf(given, prompt!), video_url: JSON.stringify(link) };
		const members = (await inSlices(membersOf(source.body, ["prompt", "video_url", "input_reference"])))!;
		const changes = changesOf(source.body, members, values);
		const { input_reference: picture } = members;
		const body = edited(source.body, picture ? [...changes, removal(source.body, picture)] : changes);
		return await submitVideo(kernel, call, {
			// A route of its own: a server without it refuses it, and does not leave the source out.
			route: `/v1/videos/${id}/remix`,
			request: values.prompt,
			remixedFrom: id,
			body: () => Promise.resolve(body),
		});
	}

	function notSupported(what: string): () => never {
		return () => {
			throw new ApiError(ERRORS.videos_not_supported, { what });
		};
	}

	return {
		createVideo: async (call) => await shown(call, found(call, await createVideo(kernel, call))),
		getVideo: (call) => shown(call, named(call)),
		remixVideo: async (call) => await shown(call, found(call, await remix(call))),

		async listVideos(call) {
			kernel.endpoints.get(call.params.endpoint);
			const [after, limit] = [valueOf(call, AFTER), valueOf(call, LIMIT)];
			// Refuses another order.
			valueOf(call, ORDER);
			const to = after === undefined ? undefined : (await submittedAt(call, after)) + 1;
			const videos = videosOf(kernel, call, { ...(to !== undefined && { to }), search: searchFor() });
			const data: Video[] = [];
			let isAfter = after === undefined;
			for await (const { shown: video } of videos) {
				if (isAfter) data.push(video);
				// Others may have been submitted in the same millisecond.
				isAfter ||= video.id === after;
				if (data.length > limit) break;
			}
			const page = data.slice(0, limit);
			const ids = { first_id: page.at(0)?.id ?? null, last_id: page.at(-1)?.id ?? null };
			return { object: "list", data: page, ...ids, has_more: data.length > limit };
		},

		async getVideoContent(call) {
			const variant = valueOf(call, VARIANT) ?? "video";
			await orNotFound(call, sendContent(kernel, call, { video: await named(call), variant }));
		},

		async deleteVideo(call) {
			const video = await named(call);
			const { endpoint, id, state } = video.found.job;
			const job = { endpoint, id };
			if (!isFinal(state)) await orNotFound(call, kernel.jobs.cancel(job));
			await orNotFound(call, kernel.jobs.retain({ ...job, retainMs: 0 }));
			await kernel.hooks.deletedJob?.(job);
			return { id: video.shown.id, object: "video.deleted", deleted: true };
		},

		editVideo: notSupported("An edit"),
		extendVideo: notSupported("An extension"),
		createVideoCharacter: notSupported("A character"),
		getVideoCharacter: notSupported("A character"),
	};
}
