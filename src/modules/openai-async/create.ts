/** Reads the request that creates a batch (D57). */
import { createHash } from "node:crypto";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import { uuidv7 } from "../../kernel/lib/ids.ts";
import { isObject } from "../../kernel/lib/schema.ts";
import { notAnObject, readJson } from "../../kernel/http/exchange/body.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import type { StoredFiles } from "../../kernel/engine/stored-files.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import { ERRORS } from "./errors.ts";
import { NO_COUNTS, type Progress } from "./progress.ts";
import { LONGEST_WINDOW_MS, METADATA, OUTPUT_LIFETIME } from "./routes.ts";

const UNIT_MS = { h: 3_600_000, d: 86_400_000 } as const;

/** Lifetime of output files by default, as OpenAI's. */
const OUTPUT_MS = 30 * 86_400_000;

/** A repeat of the official clients comes within this time, one with an `Idempotency-Key` within a day (D14), ms. */
const REPEAT_MS = 600_000;
const KEYED_MS = 86_400_000;

export interface Creation {
	row: BatchRow;
	/** An earlier batch with the same fingerprint is this one, if it was created then or later. */
	repeatsSince: number;
}

type Members = Record<string, unknown>;

/** Throws 400, also if there is no such file. */
export async function creationOf(
	{ hooks: { webhookFault = NO_WEBHOOKS }, now, random, store }: Pick<Kernel, "hooks" | "now" | "random" | "store">,
	files: StoredFiles,
	call: Call<"endpoint">,
): Promise<Creation> {
	const { endpoint } = call.params;
	const body = await readJson(call, { members: [], maxDepth: 16 });
	if (!body.scan.ok || body.scan.kind !== "object") throw notAnObject(call, body.scan);
	const text = body.text({ start: 0, end: body.size });
	const given = JSON.parse(text) as Members;
	const input = textOf(given, "input_file_id");
	const path = pathOf(textOf(given, "endpoint"));
	const window = textOf(given, "completion_window");
	const windowMs = windowOf(window);
	const metadata = metadataOf(given["metadata"]);
	const outputMs = outputLifetimeOf(given["output_expires_after"]);
	const webhook = webhookOf(given["webhook"], webhookFault);
	const createdAt = now();
	const key = principalOf(call).keyId;
	const request = sha256(text);
	const idempotencyKey = call.req.headers["idempotency-key"];
	const isRepeat = Number(call.req.headers["x-stainless-retry-count"] ?? 0) > 0;
	const progress: Progress = {
		...{ state: "validating", path, input, window, metadata, outputMs, request },
		...{ expiresAt: createdAt + windowMs, at: {}, total: 0, open: [], output: [], errors: [], faults: [] },
		...{ collected: NO_COUNTS, shown: NO_COUNTS, outputFile: null, errorFile: null, webhook },
	};
	const creation: Creation = {
		row: {
			...{ id: `batch_${uuidv7(createdAt, random).replaceAll("-", "")}`, endpoint, key, createdAt },
			...{ isOpen: true, version: 0, progress: JSON.stringify(progress) },
			fingerprint: sha256(`${key}\n${idempotencyKey === undefined ? request : `key ${String(idempotencyKey)}`}`),
		},
		repeatsSince:
			idempotencyKey !== undefined ? createdAt - KEYED_MS : isRepeat ? createdAt - REPEAT_MS : Number.MAX_SAFE_INTEGER,
	};
	await checkInput(files, { endpoint, input }).catch(async (error: unknown) => {
		// A repeat gets its batch although the file was removed.
		if (!(await isKnown(store, creation))) throw error;
	});
	return creation;
}

/** Whether it repeats one of the last batches of the endpoint. */
async function isKnown({ batches }: Kernel["store"], { row, repeatsSince }: Creation): Promise<boolean> {
	if (repeatsSince > row.createdAt) return false;
	const last = await batches.list({ endpoint: row.endpoint, limit: 100 });
	return last.batches.some(
		({ fingerprint, createdAt }) => fingerprint === row.fingerprint && createdAt >= repeatsSince,
	);
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const fault = (field: string, message: string): ApiError => badRequest([{ field, message }]);

function textOf(given: Members, name: string): string {
	const value = given[name];
	if (value === undefined || value === null) throw fault(name, "is missing.");
	if (typeof value !== "string") throw fault(name, "must be a text.");
	return value;
}

function pathOf(path: string): string {
	if (!/^\/v1\/[\w./-]{1,200}$/.test(path) || path.includes(".."))
		throw fault("endpoint", "must be the path of a request, such as /v1/chat/completions.");
	if (/^\/v1\/(?:batches|files|uploads)(?:\/|$)/.test(path))
		throw fault("endpoint", `must be a path of the worker; ${path} is one of Sluice.`);
	return path;
}

function windowOf(window: string): number {
	const [, digits, unit] = /^(\d{1,3})([hd])$/.exec(window) ?? [];
	const ms = unit ? Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS] : 0;
	if (ms > 0 && ms <= LONGEST_WINDOW_MS) return ms;
	throw fault("completion_window", "must be 24h, or another number of hours or days from 1h to 7d.");
}

function metadataOf(value: unknown): Progress["metadata"] {
	if (value === undefined || value === null) return null;
	if (!isObject(value)) throw fault("metadata", "must be an object of texts.");
	const pairs = Object.entries(value);
	if (pairs.length > METADATA.pairs) throw fault("metadata", `has ${pairs.length} members; at most ${METADATA.pairs}.`);
	for (const [name, text] of pairs) {
		const field = `metadata.${name.slice(0, METADATA.nameLength)}`;
		if (name.length > METADATA.nameLength) throw fault(field, `has a name of over ${METADATA.nameLength} characters.`);
		if (typeof text !== "string" || text.length > METADATA.valueLength)
			throw fault(field, `must be a text of at most ${METADATA.valueLength} characters.`);
	}
	return value as Record<string, string>;
}

const NO_WEBHOOKS = (): string => "this service sends no webhooks";

function webhookOf(value: unknown, faultOf: (url: string) => string | undefined): string | undefined {
	if (value === undefined || value === null) return undefined;
	if (
		typeof value !== "string" ||
		value.length > 8192 ||
		!/^https?:\/\/[^\0-\x20]+$/i.test(value) ||
		!URL.canParse(value)
	)
		throw fault("webhook", "must be an absolute http or https URL of at most 8192 characters.");
	const why = faultOf(value);
	if (why !== undefined) throw fault("webhook", `can never be sent: ${why}.`);
	return value;
}

function outputLifetimeOf(value: unknown): number {
	if (value === undefined || value === null) return OUTPUT_MS;
	const { anchor, seconds } = isObject(value) ? value : {};
	if (anchor !== "created_at") throw fault("output_expires_after.anchor", "must be created_at.");
	const { minimum, maximum } = OUTPUT_LIFETIME;
	if (Number.isInteger(seconds) && (seconds as number) >= minimum && (seconds as number) <= maximum)
		return (seconds as number) * 1000;
	throw fault("output_expires_after.seconds", `must be a whole number from ${minimum} to ${maximum}.`);
}

async function checkInput(files: StoredFiles, { endpoint, input }: { endpoint: string; input: string }): Promise<void> {
	const field = "input_file_id";
	const file = await files.find(endpoint, input).catch((error: unknown) => {
		if (!(error instanceof ApiError)) throw error;
		const values = { file: input.slice(0, 80), endpoint };
		throw new ApiError(ERRORS.input_file_not_found, values, [{ field, message: "is unknown." }]);
	});
	if (file.purpose !== "batch") throw fault(field, `is a file for ${file.purpose}. Upload it with the purpose batch.`);
}
