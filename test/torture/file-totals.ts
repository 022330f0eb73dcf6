/** Reads at the end what `/metrics` counts of the files of each endpoint, and what there is, objects too (D56, D59). */
import type { Api } from "./api.ts";
import { isRight } from "./checker/file-totals.ts";
import type { FileTotal, FileTotalsOp } from "./history.ts";
import type { ObjectClients } from "./object-clients.ts";
import type { Time } from "./time.ts";
import type { Tracker } from "./tracker.ts";

/** A service removes files of deleted endpoints a little later. */
const [TRIES, RETRY_MS] = [20, 250];

const PAGE = 1000;
const NONE: FileTotal = { files: 0, bytes: 0 };
const SAMPLE = /^sluice_files(_bytes)?\{endpoint="([^"]+)"\} (\d+)$/gm;

/** Endpoints without files too, and those that were deleted. No client may change a file meanwhile. */
export async function readFileTotals(q: {
	api: Api;
	time: Time;
	tracker: Tracker;
	endpoints: readonly string[];
	objects: Pick<ObjectClients, "endpoint" | "totals"> | undefined;
}): Promise<void> {
	const { api, time, tracker, endpoints, objects } = q;
	const server = api.url(0);

	/** Undefined without an answer. */
	async function listed(endpoint: string): Promise<FileTotal | undefined> {
		const total = objects?.endpoint === endpoint ? await objects.totals(server) : { ...NONE };
		for (let after = ""; ; ) {
			const path = `/v2/${endpoint}/openai/v1/files?order=asc&limit=${PAGE}${after && `&after=${after}`}`;
			const { result, status, json } = await api.call(server + path);
			if (status === 404) return NONE;
			if (result !== "ok" || !total) return undefined;
			for (const { bytes } of json.data as { bytes: number }[]) {
				total.files += 1;
				total.bytes += bytes;
			}
			if (!json.has_more) return total;
			after = json.last_id as string;
		}
	}

	async function counted(): Promise<Map<string, FileTotal> | undefined> {
		const { result, text } = await api.call(`${server}/metrics`);
		if (result !== "ok") return undefined;
		const totals = new Map(endpoints.map((endpoint) => [endpoint, { ...NONE }]));
		for (const [, bytes, endpoint, value] of text.matchAll(SAMPLE)) {
			const total = totals.get(endpoint!) ?? { ...NONE };
			totals.set(endpoint!, { ...total, [bytes ? "bytes" : "files"]: Number(value) });
		}
		return totals;
	}

	/** Undefined without an answer. */
	async function read(): Promise<FileTotalsOp[] | undefined> {
		const from = time.now();
		const ops: FileTotalsOp[] = [];
		for (const [endpoint, shown] of (await counted()) ?? []) {
			const found = await listed(endpoint);
			if (!found) return undefined;
			const about = { op: "file-totals", by: "audit", endpoint, counted: shown, listed: found } as const;
			ops.push({ ...about, result: "ok", from, to: time.now() });
		}
		return ops.length > 0 ? ops : undefined;
	}

	for (let tries = 1; ; tries += 1) {
		const ops = await read();
		if (tries === TRIES || ops?.every(isRight)) return (ops ?? []).forEach((op) => tracker.record(op));
		await time.sleep(RETRY_MS);
	}
}
