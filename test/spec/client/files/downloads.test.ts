/** Downloads to which something happens: clients that stop or leave, a deletion, a store that is lost (D41, D56). */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { PIECE_BYTES } from "../../../../src/kernel/store/contract/files.ts";
import { StoreUnavailable } from "../../../../src/kernel/store/contract/store.ts";
import { KEY, startService, type TestService } from "../../../support/service.ts";
import { endSessions, ON_POSTGRES } from "../../../support/service-store.ts";
import { until } from "../../../support/until.ts";
import { requestText, stalledReader } from "../../raw-http.ts";
import { clientOf, sendForm } from "./files-client.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

/** More than the buffers of a connection hold, and no whole number of pieces. */
const LARGE = randomBytes(20 * PIECE_BYTES + 17);

async function uploaded(): Promise<string> {
	const { status, json } = await sendForm(service, [
		["purpose", "user_data"],
		["file", new File([LARGE], "large.bin")],
	]);
	expect(status).toBe(200);
	return json.id;
}

/** Reads of pieces: how many were begun, how many run now. `before` is called with the number of each. */
const reads = { begun: 0, running: 0, before: async (_number: number): Promise<void> => {} };
beforeAll(() => {
	const { pieces } = service.engine.kernel.store;
	if (!pieces) return;
	const { get } = pieces;
	pieces.get = async (q) => {
		reads.begun += 1;
		reads.running += 1;
		try {
			await reads.before(q.number);
			return await get(q);
		} finally {
			reads.running -= 1;
		}
	};
});
afterEach(() => void Object.assign(reads, { begun: 0, before: async () => {} }));

/** Begins a download whose client stops to read at its begin. */
async function stalled(id: string): Promise<Socket> {
	const headers = { Authorization: `Bearer ${KEY}`, Connection: "close" };
	const path = `/v2/ep/openai/v1/files/${id}/content`;
	return await stalledReader(service.url, requestText({ method: "GET", path, headers }));
}

/** Reads the rest of an answer until its connection ends, and returns its body. */
async function rest(socket: Socket): Promise<Buffer> {
	const pieces: Buffer[] = [];
	socket.on("data", (piece) => void pieces.push(piece));
	await once(socket, "close");
	const got = Buffer.concat(pieces);
	expect(String(got.subarray(0, 15))).toBe("HTTP/1.1 200 OK");
	return got.subarray(got.indexOf("\r\n\r\n") + 4);
}

const memory = () => service.engine.budgets.memory;

/** How often this process has the file open. */
function opened(id: string): number {
	if (ON_POSTGRES || process.platform !== "linux") return 0;
	const folder = "/proc/self/fd";
	return readdirSync(folder).filter((each) => {
		try {
			return readlinkSync(`${folder}/${each}`).includes(id);
		} catch {
			return false;
		}
	}).length;
}

const released = (id: string): Promise<true> =>
	until("memory, file and reads to be given back", () =>
		memory().used === 0 && opened(id) === 0 && reads.running === 0 ? true : undefined,
	);

it("D56: a client that stops to read in the middle gets the file byte for byte when it goes on", async () => {
	const id = await uploaded();
	const sockets = [await stalled(id), await stalled(id)];
	if (ON_POSTGRES) await until("pieces to be read", () => reads.begun > 6);
	for (const socket of sockets) expect((await rest(socket)).equals(LARGE)).toBe(true);
	await released(id);
});

it("D41, D56: one that leaves in the middle gives back its memory and its file; no more of it is read", async () => {
	const id = await uploaded();
	const socket = await stalled(id);
	expect(memory().used).toBeGreaterThan(0);
	if (!ON_POSTGRES && process.platform === "linux") expect(opened(id)).toBe(1);
	socket.resetAndDestroy();
	await released(id);
	expect(reads.begun).toBeLessThan(20);
});

it("D56: a file that is deleted in the middle goes on whole, or ends early, with no byte but its own", async () => {
	const id = await uploaded();
	const client = clientOf(service, "ep");
	reads.before = async (number) => void (number === 5 && (await client.files.delete(id)));
	const socket = await stalled(id);
	if (!ON_POSTGRES) await client.files.delete(id);
	const got = await rest(socket);
	expect(got.equals(LARGE.subarray(0, got.length))).toBe(true);
	expect(got.length).toBe(ON_POSTGRES ? 5 * PIECE_BYTES : LARGE.length);
	await released(id);
});

it.runIf(ON_POSTGRES)("D56: a session of PostgreSQL that ends in the middle is not noticed by the client", async () => {
	const id = await uploaded();
	reads.before = async (number) => void (number === 3 && (await endSessions(service.folder.path)));
	expect((await rest(await stalled(id))).equals(LARGE)).toBe(true);
	await released(id);
});

it.runIf(ON_POSTGRES)(
	"D56: a PostgreSQL that is lost in the middle ends the answer early, and nothing is kept",
	async () => {
		const id = await uploaded();
		reads.before = async (number) => {
			if (number > 3) throw new StoreUnavailable("unreachable", "PostgreSQL cannot be reached.");
		};
		const got = await rest(await stalled(id));
		expect(got.equals(LARGE.subarray(0, 4 * PIECE_BYTES))).toBe(true);
		await released(id);
	},
);
