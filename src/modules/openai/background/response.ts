/** The response object of a background response (D58), as JSON text. */
import type { Job } from "../../../kernel/core/jobs/job.ts";
import { type JsonText, stringOf } from "../../../kernel/lib/json/json-text.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { onOneLine } from "../event-text.ts";
import { atOnce, blocksOf, type Members, membersOf, partOf, withMembers } from "./members.ts";
import type { Status } from "./routes.ts";

export const FINAL = ["completed", "failed", "incomplete", "cancelled"] as const satisfies readonly Status[];
export type FinalStatus = (typeof FINAL)[number];

/** `resp_` and the id of the job, a UUID of version 7. */
const ID = /^resp_([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$/;

export function responseId(job: string): string {
	return `resp_${job}`;
}

/** Undefined for an id that no background response has: a worker may know it. */
export function jobOf(response: string): string | undefined {
	return ID.exec(response)?.[1];
}

/** Members of the request that the response repeats, and the JSON texts without them, which are OpenAI's defaults. */
const DEFAULTS = {
	instructions: "null",
	max_output_tokens: "null",
	max_tool_calls: "null",
	metadata: "{}",
	model: "null",
	parallel_tool_calls: "true",
	previous_response_id: "null",
	prompt: "null",
	reasoning: '{"effort":null,"summary":null}',
	temperature: "1",
	text: '{"format":{"type":"text"}}',
	tool_choice: '"auto"',
	tools: "[]",
	top_p: "1",
	truncation: '"disabled"',
} as const;

export const REPEATED = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];

/** What is known of a background response without its result. */
export interface Shown {
	id: string;
	/** Seconds since 1970. */
	createdAt: number;
	/** What the client asked for. */
	store: boolean;
	/** Created with `stream`. */
	stream: boolean;
	/** Members that repeat those of the request, `"name":value,...`. */
	repeated: string;
}

export function shownOf(
	{ calendar }: Pick<Kernel, "calendar">,
	job: string,
	q: Pick<Shown, "store" | "stream" | "repeated">,
): Shown {
	// The time of the submission is in the id, so that it is the same wherever it is shown.
	return { ...q, id: responseId(job), createdAt: Math.floor((calendar.of(timeIn(job)) as number) / 1000) };
}

/** `body`: the request. */
export function repeatedIn(body: readonly Uint8Array[], members: Members<string>): string {
	const texts = REPEATED.map((name) => {
		const member = members[name];
		return `"${name}":${member && member.kind !== "null" ? partOf(body, member) : DEFAULTS[name]}`;
	});
	return onOneLine(texts.join(","));
}

function timeIn(uuid: string): EpochMs {
	return Number.parseInt(uuid.slice(0, 13).replace("-", ""), 16) as EpochMs;
}

/** The response without output. `completedAt`: seconds since 1970. */
export function ownObject(
	{ id, createdAt, store, repeated }: Shown,
	status: Status,
	{ message, completedAt = null }: { message?: string | undefined; completedAt?: number | null } = {},
): string {
	const error = message === undefined ? null : { code: "server_error", message };
	return (
		`{"id":"${id}","object":"response","created_at":${createdAt},"status":"${status}","background":true,` +
		`"completed_at":${completedAt},"error":${JSON.stringify(error)},"incomplete_details":null,"output":[],` +
		`"store":${store},"usage":null,${repeated}}`
	);
}

export interface Ending {
	status: FinalStatus;
	/** The whole response. */
	response: JsonText;
}

const NAMES = ["id", "object", "created_at", "background", "store", "status"] as const;

/**
 * The response of a worker, with our id. Undefined for what is none. `status`: what its event says; without one its
 * own, or `completed` if that is not final: clients would wait for another one. Yields after each block.
 */
export function* workersResponse(
	text: JsonText,
	shown: Shown,
	status?: FinalStatus,
): Generator<void, Ending | undefined> {
	const blocks = blocksOf(text);
	const members = yield* membersOf(blocks, NAMES);
	const word = (name: "object" | "status"): unknown =>
		members?.[name]?.kind === "string" ? JSON.parse(partOf(blocks, members[name])) : undefined;
	if (!members || word("object") !== "response") return undefined;
	const own = word("status");
	const is = status ?? FINAL.find((each) => each === own) ?? "completed";
	const changed = withMembers(blocks, members, { ...ours(shown), ...(is === own ? {} : { status: `"${is}"` }) });
	return { status: is, response: typeof text === "string" ? stringOf(changed) : changed };
}

const ours = ({ id, createdAt, store }: Shown): Record<string, string> => ({
	id: `"${id}"`,
	created_at: String(createdAt),
	background: "true",
	store: String(store),
});

/** An event of a worker with our number, and our id in the response that it has. */
export function renumbered(data: string, number: number, shown: Shown): string {
	const blocks = blocksOf(data);
	const members = atOnce(membersOf(blocks, ["sequence_number", "response"] as const))!;
	const values: Record<string, string> = { sequence_number: String(number) };
	const { response } = members;
	if (response?.kind === "object") {
		const inner = blocksOf(partOf(blocks, response));
		values["response"] = stringOf(withMembers(inner, atOnce(membersOf(inner, NAMES))!, ours(shown)));
	}
	return stringOf(withMembers(blocks, members, values));
}

/** The data of a last event, with its response as it is shown. Undefined without one. */
export function withResponse(data: string, status: FinalStatus, shown: Shown): string | undefined {
	const blocks = blocksOf(data);
	const members = atOnce(membersOf(blocks, ["response"] as const))!;
	const { response } = members;
	const ending = response && atOnce(workersResponse(partOf(blocks, response), shown, status));
	return ending && stringOf(withMembers(blocks, members, { response: ending.response as string }));
}

/** The response in the data of an event, if it has one. */
export function responseIn(data: string): string | undefined {
	const blocks = blocksOf(data);
	const response = atOnce(membersOf(blocks, ["response"] as const))?.response;
	return response?.kind === "object" ? partOf(blocks, response) : undefined;
}

export const endedAt = ({ calendar }: Pick<Kernel, "calendar">, { endedAt: at }: Job): number | null =>
	at === undefined ? null : Math.floor((calendar.of(at as EpochMs) as number) / 1000);
