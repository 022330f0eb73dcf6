/** Chunks of a job's stream, one or several in a post (protocol B.5, D7). */
import { splitOutput } from "../../lib/json/chunk-split.ts";
import { CHUNK_LIMIT, CHUNK_MEMBERS, notJson, type Report } from "../../core/jobs/report.ts";
import { readBytes, scanBytes, type ScannedBody } from "../exchange/body.ts";
import { type Call, connected, query } from "../exchange/call.ts";
import { jsonWritten, inSlices } from "../exchange/reply.ts";
import { linesOf } from "./lines.ts";
import { POSTED, readWorkerBody, signOfLife } from "./worker-api.ts";

/** `failure`: why the first invalid chunk fails the job; chunks before it are kept. */
interface ChunkTexts {
	chunks: string[];
	failure?: Report;
}

/** A chunk whose output is over `CHUNK_LIMIT` is split (D7). Each piece repeats its metrics, which do not count. */
export async function chunk(call: Call<"job">): Promise<void> {
	const body = await readWorkerBody(call, CHUNK_MEMBERS);
	await add(call, "report" in body ? { chunks: [], failure: body.report } : await chunksOf(body), 1);
}

/** Chunks are stored together, in order. Throws 400 for too many lines. */
export async function chunkBatch(call: Call<"job">): Promise<void> {
	const reading = readBytes(call);
	signOfLife(call);
	const lines = linesOf(await reading);
	const chunks: string[] = [];
	for (const line of lines) {
		const body = scanBytes(line, { members: [...CHUNK_MEMBERS] });
		const found = await chunksOf(body);
		chunks.push(...found.chunks);
		if (found.failure) return await add(call, { chunks, failure: found.failure }, lines.length);
	}
	await add(call, { chunks }, lines.length);
}

/** `count`: how many chunk numbers this post uses, from `?chunk=` on. */
async function add(call: Call<"job">, { chunks, failure }: ChunkTexts, count: number): Promise<void> {
	const { jobs } = call.engine;
	const worker = call.identity.worker!;
	const id = call.params.job;
	if (failure && chunks.length === 0) {
		await jobs.report({ worker, id, report: failure });
		if (connected(call)) await jsonWritten(call, POSTED);
		return;
	}
	const [number, attempt] = [numberIn(call, "chunk"), numberIn(call, "attempt")];
	const acknowledge = await jobs.addChunks({ worker, id, pieces: chunks, number, attempt, count });
	if (failure) await jobs.report({ worker, id, report: failure });
	acknowledge(connected(call) && (await jsonWritten(call, POSTED)));
}

/** Numbers of the first chunk within its attempt, and of that, from our worker kit. A repeated post has them again. */
function numberIn(call: Call, name: "chunk" | "attempt"): number | undefined {
	const value = query(call).get(name);
	return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

async function chunksOf(body: ScannedBody): Promise<ChunkTexts> {
	const { scan, size } = body;
	if (!scan.ok) return { chunks: [], failure: notJson(scan.fault.message, size) };
	if (scan.kind !== "object") return { chunks: [], failure: notJson("it is not an object.", size) };
	const { output, metrics: given } = scan.members;
	const metrics = given?.kind === "object" ? body.text(given) : "{}";
	const split = await inSlices(splitOutput(output ? body.bytes(output) : Buffer.from("null"), CHUNK_LIMIT));
	if (split.ok) return { chunks: split.pieces.map((piece) => `{"output":${piece},"metrics":${metrics}}`) };
	return {
		chunks: [],
		failure: {
			kind: "end",
			on: "fail",
			error: `A chunk of the worker's stream cannot be kept: ${split.reason}`,
			restart: false,
		},
	};
}
