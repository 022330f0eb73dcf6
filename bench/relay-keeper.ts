/** Where `job-relay.ts` keeps bodies. What arrives during a flush shares the next one. */
import { open } from "node:fs/promises";
import { Client } from "pg";

/** Resolves when the body is on disk. */
export type Keep = (body: readonly Buffer[]) => Promise<void>;

const FILE_BYTES = 512 * 2 ** 20;
const SMALL = 16_384;

/** In a file that is written again from the start when it has 512 MB. */
export async function fileKeeper(path: string): Promise<Keep> {
	const file = await open(path, "w+");
	let at = 0;

	async function write(pieces: readonly Buffer[]): Promise<void> {
		const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
		if (at + bytes > FILE_BYTES) at = 0;
		const place = at;
		at += bytes;
		await file.writev(pieces, place);
	}

	/** Small bodies are written together. */
	const flush = grouped(async (small) => {
		if (small.length > 0) await write(small);
		await file.datasync();
	});
	return async (body) => {
		if (body.length === 1 && body[0]!.length <= SMALL) return flush(body);
		await write(body);
		await flush([]);
	};
}

/** As rows of a new table, with one statement and transaction for all that wait. */
export async function postgresKeeper(url: string): Promise<Keep> {
	const client = new Client(url);
	await client.connect();
	await client.query("DROP TABLE IF EXISTS bodies");
	await client.query("CREATE TABLE bodies (number bigserial PRIMARY KEY, body text NOT NULL)");
	const insert = grouped(async (bodies) => {
		await client.query({
			name: "insert",
			text: "INSERT INTO bodies (body) SELECT unnest($1::text[])",
			values: [bodies.map(String)],
		});
	});
	return (body) => insert([Buffer.concat(body)]);
}

/** Calls `keep` for all pieces that came while it ran before, one call at a time. */
function grouped(keep: (pieces: readonly Buffer[]) => Promise<void>): Keep {
	let running: Promise<void> | undefined;
	let following: Promise<void> | undefined;
	let gathered: Buffer[] = [];
	return (pieces) => {
		gathered.push(...pieces);
		return (following ??= (running ?? Promise.resolve()).then(() => {
			following = undefined;
			const all = gathered;
			gathered = [];
			running = keep(all);
			return running;
		}));
	};
}
