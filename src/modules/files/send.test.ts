/** Downloads, and the turns of their key (D41). */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { pace } from "../../kernel/http/gates/pace.ts";
import type { FileRow } from "../../kernel/store/contract/files.ts";
import type { ContentReader } from "../../kernel/engine/stored-files.ts";
import type { FileContents } from "./contents/contents.ts";
import { sendContent } from "./send.ts";

const KEY = "k";
const FILE = { name: "a.txt", type: "text/plain", bytes: 1 } as FileRow;

/** Begins a download in a turn of the key, as its route does. */
async function download({ paces, ...reader }: { paces: ReturnType<typeof pace> } & ContentReader): Promise<void> {
	const turn = await paces.enter(KEY);
	const call = {
		req: { headers: {} },
		res: { writeHead() {}, write: () => true, end() {} },
		caller: { disconnected: false },
		holds: { bytes: 0, turn },
	};
	const contents: Partial<FileContents> = { memory: 0, open: async () => reader };
	await sendContent(call as unknown as Call, FILE, contents as FileContents);
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
