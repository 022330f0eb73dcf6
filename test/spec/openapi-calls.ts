/** What tests of the OpenAPI document and of `/docs` share. */
import { advanceUntil, type ManualClock } from "../support/manual-clock.ts";
import type { OpenApi, Operation } from "../../scripts/api-page/openapi-types.ts";
import type { HandWorker } from "./hand-worker.ts";

/** All operations with their places. */
export function operationsOf(document: OpenApi): { id: string; method: string; path: string; operation: Operation }[] {
	return Object.entries(document.paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, operation]) => ({
			id: operation.operationId,
			method: method.toUpperCase(),
			path,
			operation,
		})),
	);
}

/** Time goes on, `step` ms by `step` ms, until the answer is there. */
export async function held<T>(clock: ManualClock, promise: Promise<T>, step: number): Promise<T> {
	let over = false;
	const end = (): void => void (over = true);
	promise.then(end, end);
	await advanceUntil(clock, () => over, step);
	return await promise;
}

/** A call with a form, whose field `file` is a file. */
export function formOf(fields: Record<string, string>): { text: string; headers: Record<string, string> } {
	const parts = Object.entries(fields).map(([name, value]) => {
		const file = name === "file" ? '; filename="a.txt"' : "";
		return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
	});
	return { text: `${parts.join("")}--b--\r\n`, headers: { "content-type": "multipart/form-data; boundary=b" } };
}

/**
 * A schema whose objects have no members but those it names: an answer may not hold what the
 * document does not say.
 */
export function closed(schema: unknown): unknown {
	if (Array.isArray(schema)) return schema.map(closed);
	if (typeof schema !== "object" || schema === null) return schema;
	const inner: Record<string, unknown> = Object.fromEntries(
		Object.entries(schema).map(([name, member]) => [name, closed(member)]),
	);
	return inner["type"] === "object" && "properties" in inner ? { additionalProperties: false, ...inner } : inner;
}

/** Operations of OpenAI's API on one file, batch or response, in an order in which all succeed. */
const OF_ONE: readonly string[] = [
	...["listBatches", "getBatch", "cancelBatch"],
	...["listFiles", "getFile", "getFileContent", "removeFile"],
	...["getResponse", "listInputItems", "cancelResponse", "deleteResponse"],
];

type Ask = (id: string, params: Record<string, string>, init?: { body: object }) => Promise<{ json: any }>;

/** Calls each operation on one of these, and on a video, which it makes. */
export async function askOfOne(
	ask: Ask,
	worker: Pick<HandWorker, "takeThis" | "done">,
	ids: Readonly<Record<"batch" | "file" | "response", string>>,
): Promise<void> {
	for (const id of OF_ONE) await ask(id, ids);
	async function made(output: object): Promise<string> {
		const { id } = (await ask("createVideo", {}, { body: { prompt: "x" } })).json;
		const job = id.slice("video_".length);
		await worker.takeThis(job);
		await worker.done(job, { output });
		return id;
	}
	await ask("getVideoContent", { video: await made({ contentType: "video/mp4", bytes: 0, data: "" }) });
	const video = await made({ url: "https://cdn.example/a.mp4" });
	await ask("listVideos", {});
	await ask("getVideo", { video });
	await ask("remixVideo", { video }, { body: { prompt: "y" } });
	await ask("deleteVideo", { video });
}
