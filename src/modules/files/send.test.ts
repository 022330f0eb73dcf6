/** Downloads, and the turns of their key (D41). */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { pace } from "../../kernel/http/gates/pace.ts";
import type { FileRow } from "../../kernel/store/contract/files.ts";
import type { ContentPieces } from "./contents/contents.ts";
import { sendContent } from "./send.ts";

const KEY = "k";
const FILE = { name: "a.txt", type: "text/plain", bytes: 1 } as FileRow;

/** Begins a download in a turn of the key, as its route does. */
async function download({ paces, ...reader }: { paces: ReturnType<typeof pace> } & ContentPieces): Promise<void> {
	const turn = await paces.enter(KEY);
	const socket = Object.assign(new EventEmitter(), { writable: true, setTimeout() {} });
	const write = (_piece: Uint8Array, done: () => void): void => void setImmediate(done);
	const call = {
		req: { headers: {}, socket },
		res: Object.assign(new EventEmitter(), { writeHead() {}, write, end() {} }),
		holds: { bytes: 0, turn },
		engine: { budgets: { readTimeout: { limit: 1000 } } },
	};
	await sendContent(call as unknown as Call, FILE, { memory: 0, open: async () => reader });
	turn.end();
}

it("D41: a download closes its file although its key must wait for its next turn", async () => {
	const clock = manualClock();
	const paces = pace(clock);
	let isClosed = false;
	void download({
		paces,
		async *[Symbol.asyncIterator]() {
			await paces.spend(KEY, 1000, { disconnected: false });
			yield Buffer.from("x");
		},
		close: async () => void (isClosed = true),
	});
	await clock.advance(0);
	expect(isClosed).toBe(true);
});

it("D41: the time in which a file is closed is not charged to the key that has read it", async () => {
	const clock = manualClock();
	const paces = pace(clock);
	await download({
		paces,
		async *[Symbol.asyncIterator]() {
			yield Buffer.from("x");
		},
		close: () => clock.leap(5000),
	});
	let hasTurn = false;
	void paces.enter(KEY).then(() => (hasTurn = true));
	await clock.advance(0);
	expect(hasTurn).toBe(true);
});
