/** Opens what a power loss left as the service does, and holds it against what was acknowledged. */
import { type JsonText, stringOf } from "../../../src/kernel/lib/json/json-text.ts";
import { T0 } from "../../store/site.ts";
import type { Expected } from "./expected.ts";
import { openInline } from "./inline-store.ts";

/** All that was acknowledged of a job. */
export interface Known extends Omit<Expected, "chunk"> {
	chunks: string[];
}

export function learn(known: Map<string, Known>, { chunk, ...said }: Expected): void {
	const before = known.get(said.id);
	const chunks = [...(before?.chunks ?? []), ...(chunk === undefined ? [] : [chunk])];
	known.set(said.id, { ...before, ...said, chunks });
}

type Opened = Awaited<ReturnType<typeof openInline>>;

/** What is wrong; empty when nothing is. */
export async function check(path: string, known: ReadonlyMap<string, Known>): Promise<string[]> {
	let store: Opened;
	try {
		store = await openInline(path);
	} catch (error) {
		return [`it cannot be opened: ${(error as Error).message}`];
	}
	try {
		await store.ping();
		return (await Promise.all([...known.values()].map((each) => wrongOf(store, each)))).flat();
	} catch (error) {
		return [`it cannot be used: ${(error as Error).message}`];
	} finally {
		await store.close();
	}
}

async function wrongOf(store: Opened, known: Known): Promise<string[]> {
	const { endpoint, id, input, state, output, worker, chunks } = known;
	const q = { endpoint, id, now: T0 };
	const found = await store.jobs.record(q);
	if (!found) return [`job ${id} is lost`];
	const wrong: string[] = [];
	if (state !== undefined && found.job.state !== state) wrong.push(`job ${id} is ${found.job.state}, not ${state}`);
	if (worker !== undefined && found.job.worker !== worker) wrong.push(`job ${id} is not at ${worker}`);
	if (!isText(found.input, input)) wrong.push(`job ${id} has another input`);
	if (!isText(found.output, output)) wrong.push(`job ${id} has another output`);
	if (chunks.length === 0) return wrong;
	const there = (await store.chunks.read({ ...q, from: 0, maxBytes: 1e6 }))?.chunks ?? [];
	if (chunks.some((chunk, index) => there[index] !== chunk))
		wrong.push(`job ${id} has the chunks ${there.join()}, not ${chunks.join()}`);
	return wrong;
}

function isText(found: JsonText | undefined, expected: string | undefined): boolean {
	return expected === undefined || (found !== undefined && stringOf(found) === expected);
}
