/** The bytes of a video, of what its worker has answered (D62). */
import { ApiError } from "../../kernel/core/errors.ts";
import { cut, type JsonBlocks, type JsonText, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import { admitOutput } from "../../kernel/http/exchange/answer.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import type { Kernel } from "../../kernel/module.ts";
import { blocksOf, membersOf, partOf } from "../openai/background/members.ts";
import { answeredAsFile, answerFile, decodedSize } from "../openai/file-answer.ts";
import { singleResult } from "../openai/translation.ts";
import { getObject } from "../s3/objects/get-object.ts";
import { filesOf } from "../s3/open.ts";
import type { S3Request } from "../s3/requests/request.ts";
import { ERRORS } from "./errors.ts";
import type { StoredVideo } from "./stored.ts";

export type Variant = "video" | "thumbnail" | "spritesheet";

/** Members of a result, in the order in which they are looked for. */
const MEMBERS = {
	video: ["url", "video_url", "result", "video", "b64_json"],
	thumbnail: ["thumbnail_url"],
	spritesheet: ["spritesheet_url"],
} as const satisfies Record<Variant, readonly string[]>;

const TYPES = { video: "video/mp4", thumbnail: "image/webp", spritesheet: "image/webp" } as const;

const LONGEST_LINK = 8192;
/** Characters in which a `data:` URL says its type. */
const LONGEST_TYPE = 100;

export async function sendContent(
	kernel: Kernel,
	call: Call<"endpoint">,
	{ video, variant }: { video: StoredVideo; variant: Variant },
): Promise<void> {
	const { status, id } = video.shown;
	const missing = (why: string): ApiError => new ApiError(ERRORS.variant_not_found, { video: id, variant, why });
	if (status !== "completed") throw missing(`it is ${status.replace("_", " ")}`);
	const result = await resultOf(kernel, call, video);
	if (variant === "video" && result !== undefined && (await answeredAsFile(call, result))) return;
	const value = result && (await inSlices(valueIn(blocksOf(result), variant)));
	if (!value) throw missing(`the result of its job has none of ${MEMBERS[variant].join(", ")}`);
	const link = linkIn(value);
	if (link === undefined) return await sendBase64(call, value, { type: TYPES[variant], missing });
	const place = placeIn(link, await kernel.url);
	if (!place) {
		call.res.writeHead(302, { Location: new URL(link).href, "Cache-Control": "no-store" });
		call.res.end();
		return;
	}
	const object = { ...place, endpoint: call.params.endpoint };
	if (!(await kernel.store.objects.find({ ...object, now: kernel.now() }))) throw missing("its file was removed");
	// It reads no more of a request, whose parameters would be those of S3.
	const request: Omit<S3Request, "header" | "keyId" | "payload"> = { ...object, call, query: new Map() };
	await getObject({ kernel, files: filesOf(kernel) }, request as S3Request);
}

/** The link that a completed video is at. Undefined if its bytes are in the result. */
export async function linkOf(kernel: Kernel, call: Call<"endpoint">, video: StoredVideo): Promise<string | undefined> {
	const result = await resultOf(kernel, call, video);
	const value = result && (await inSlices(valueIn(blocksOf(result), "video")));
	return value && linkIn(value);
}

async function resultOf(
	{ jobs }: Kernel,
	call: Call<"endpoint">,
	{ found }: StoredVideo,
): Promise<JsonText | undefined> {
	const { endpoint, id } = found.job;
	const { output } = await jobs.status({ endpoint, id, output: admitOutput(call) });
	return await inSlices(singleResult(output));
}

/** The text of a member, or the result itself if it is a text, without quotes. Yields after each block. */
function* valueIn(result: JsonBlocks, variant: Variant): Generator<void, JsonBlocks | undefined> {
	const names: readonly string[] = MEMBERS[variant];
	const members = yield* membersOf(result, names);
	if (!members) {
		const text = stringOf(cut(result, 0, LONGEST_LINK)).trim();
		return variant === "video" && /^"https?:[^"\\]*"$/.test(text) ? blocksOf(text.slice(1, -1)) : undefined;
	}
	const found = names.map((name) => members[name]).find((each) => each?.kind === "string");
	return found && cut(result, found.start + 1, found.end - 1);
}

/** A link is short, and may have escapes. */
function linkIn(value: JsonBlocks): string | undefined {
	const size = sizeOf(value);
	const begin = stringOf(cut(value, 0, 8));
	if (size > LONGEST_LINK || !/^https?:/i.test(begin)) return undefined;
	const link = JSON.parse(`"${partOf(value, { start: 0, end: size })}"`) as string;
	return URL.canParse(link) ? link : undefined;
}

/** The object of a link into the buckets of this service. The path is taken as it is: a URL would fold `..`. */
function placeIn(link: string, address: string): { bucket: string; key: string } | undefined {
	const base = `${address}/s3/`;
	if (!link.startsWith(base)) return undefined;
	const [path = ""] = link.slice(base.length).split(/[?#]/, 1);
	const [bucket = "", ...key] = path.split("/");
	try {
		return { bucket: decodeURIComponent(bucket), key: decodeURIComponent(key.join("/")) };
	} catch {
		return undefined;
	}
}

async function sendBase64(
	call: Call,
	value: JsonBlocks,
	{ type, missing }: { type: string; missing: (why: string) => ApiError },
): Promise<void> {
	const head = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+=-]+)*;base64,/.exec(stringOf(cut(value, 0, LONGEST_TYPE)));
	const data = cut(value, head?.[0].length ?? 0, sizeOf(value));
	const bytes = await inSlices(decodedSize(data));
	if (!bytes) throw missing("the result of its job has neither a link nor base64");
	await answerFile(call, { type: head?.[1] ?? type, bytes, data });
}
