/** Where `job-relay.ts` keeps bodies. What arrives during a flush shares the next one. */
import { open } from "node:fs/promises";
import { Client } from "pg";
import { grouped } from "../src/kernel/store/sqlite/payload-files/segment.ts";

/** Resolves when the body is on disk. */
export type Keep = (body: readonly Buffer[]) => Promise<void>;

const FILE_BYTES = 512 * 2 ** 20;
const SMALL = 16_384;

/** In a file that is written again from the start when it has 512 MB. */
export async function fileKeeper(path: string): Promise<Keep> {
	const file = await open(path, "w+");
	let at = 0;
	let small: Buffer[] = [];

	async function write(pieces: readonly Buffer[]): Promise<void> {
		const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
		if (at + bytes > FILE_BYTES) at = 0;
		const place = at;
		at += bytes;
		await file.writev(pieces, place);
	}

	/** Small bodies are written together. */
	const flush = grouped(async () => {
		const pieces = small;
		small = [];
		if (pieces.length > 0) await write(pieces);
		await file.datasync();
	});
	return async (body) => {
		if (body.length === 1 && body[0]!.length <= SMALL) small.push(body[0]!);
		else await write(body);
		await flush();
	};
}

/** As rows of a new table, with one statement and transaction for all that wait. */
export async function postgresKeeper(url: string): Promise<Keep> {
	const client = new Client(url);
	await client.connect();
	await client.query("DROP TABLE IF EXISTS bodies");
	await client.query("CREATE TABLE bodies (number bigserial PRIMARY KEY, body text NOT NULL)");
	let waiting: string[] = [];
	const insert = grouped(async () => {
		const bodies = waiting;
		waiting = [];
		await client.query({
			name: "insert",
			text: "INSERT INTO bodies (body) SELECT unnest($1::text[])",
			values: [bodies],
		});
	});
	return (body) => {
		waiting.push(Buffer.concat(body).toString());
		return insert();
	};
}
