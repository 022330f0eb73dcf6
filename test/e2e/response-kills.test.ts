/** Background responses while the service is killed (D17, D58). */
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { expect, it } from "vitest";
import { call, KEY, type ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { site, type Site } from "./site.ts";

const WORKER = [process.execPath, fileURLToPath(new URL("workers/responses.ts", import.meta.url))] as const;
const TEXT = "Boats in the harbour";
const REQUEST = { model: "m", input: "x", background: true } as const;

const clientOf = ({ url }: ServiceProcess): OpenAI =>
	new OpenAI({ baseURL: `${url}/v2/ep/openai/v1`, apiKey: KEY, maxRetries: 0 });

async function attach(place: Site, { url }: ServiceProcess): Promise<void> {
	const { json } = await call(url, `/v1/endpoints/ep/worker-env?url=${encodeURIComponent(url)}`, { method: "POST" });
	place.spawn(WORKER, { ...json.env, DIARY: `${place.folder.path}/diary` });
}

/** Reads into the list until the end, or an error. */
async function read(events: AsyncIterable<ResponseStreamEvent>, into: ResponseStreamEvent[]): Promise<void> {
	for await (const event of events) into.push(event);
}

it("D17, D58: a stream that a kill -9 of the service cut goes on after its last event, and ends once", {
	timeout: 60_000,
}, async (test) => {
	const place = site(test);
	let service = await place.serve({ endpoints: { ep: { launcher: { type: "external" } } } });
	await attach(place, service);
	const seen: ResponseStreamEvent[] = [];
	const cut = read(await clientOf(service).responses.create({ ...REQUEST, stream: true }), seen);
	cut.catch(() => {});
	await until("the first half of the text", () => seen.length === 12);
	await service.end("SIGKILL");
	await expect(cut).rejects.toThrow();
	const { id } = (seen[0] as { response: { id: string } }).response as { id: string };

	service = await place.serve();
	const client = clientOf(service);
	const resume = async (after: number) => await client.responses.retrieve(id, { stream: true, starting_after: after });
	const rest = read(await resume(seen.at(-1)!.sequence_number), seen);
	place.allow("go");
	await rest;
	expect(seen.map(({ sequence_number: number }) => number)).toEqual(seen.map((_, index) => index));
	expect(seen.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("")).toBe(TEXT);
	expect(seen.filter(({ type }) => type === "response.completed")).toHaveLength(1);
	const replayed: ResponseStreamEvent[] = [];
	await read(await client.responses.retrieve(id, { stream: true }), replayed);
	expect(replayed).toEqual(seen);
	expect(await client.responses.retrieve(id)).toMatchObject({ id, status: "completed", output_text: TEXT });
	// Its worker lived, so it has run once.
	expect(place.runs(id.slice("resp_".length))).toHaveLength(1);
});

it("D17, D58: one that waited when the service was killed is there afterwards, and runs", {
	timeout: 60_000,
}, async (test) => {
	const place = site(test);
	let service = await place.serve({ endpoints: { ep: { launcher: { type: "external" } } } });
	const created = await clientOf(service).responses.create(REQUEST);
	await service.end("SIGKILL");
	service = await place.serve();
	const client = clientOf(service);
	expect(await client.responses.retrieve(created.id)).toEqual({ ...created, _request_id: undefined });
	await attach(place, service);
	const done = await until("its end", async () => {
		const found = await client.responses.retrieve(created.id);
		return found.status === "queued" || found.status === "in_progress" ? undefined : found;
	});
	expect(done).toMatchObject({ id: created.id, created_at: created.created_at, output_text: TEXT });
});
