/** Texts that are kept for long leave files of which the rest is unused. */
import { mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../clock.ts";
import { openDatabase } from "../database.ts";
import { openUnitOfWork } from "../rows/unit-of-work.ts";
import { prepareSchema } from "../schema.ts";
import { moveHandlers, type TextMoves } from "../thread/text-moves.ts";
import { openCompaction } from "./compaction.ts";
import { textInFile } from "./file-block.ts";
import { openPayloadFiles, payloadFolder } from "./payload-files.ts";

const SEGMENT = 10_000;
const TEXT = 1000;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function site() {
	const folder = mkdtempSync(join(tmpdir(), "sluice-compaction-"));
	const db = openDatabase({ path: join(folder, "sluice.db") });
	await prepareSchema(db);
	const unit = openUnitOfWork(db);
	const files = await openPayloadFiles({
		folder: payloadFolder(db.path),
		referenced: [],
		segmentBytes: SEGMENT,
	});
	const [textsIn, move] = moveHandlers(unit) as ((q: unknown) => unknown)[];
	/** What the thread does with an operation. */
	const run = async <A>(work: () => A): Promise<A> => {
		const answer = unit.transaction(work);
		files.referenced(unit.texts.takeChanges());
		return answer;
	};
	const moves: TextMoves = {
		textsIn: (q) => run(() => textsIn!(q) as never),
		async move(q) {
			await run(() => move!(q));
		},
	};
	const compaction = openCompaction({ files, moves, clock: systemClock, unusedBytes: 20_000 });
	onTestFinished(async () => {
		await compaction.stop();
		await files.close();
		db.close();
		rmSync(folder, { recursive: true, force: true });
	});
	return {
		files,
		compaction,
		folder: payloadFolder(db.path),
		async add(seq: number): Promise<void> {
			const { block, settled } = await files.write([Buffer.alloc(TEXT, seq % 256)]);
			await run(() => unit.payloads.setInput({ seq }, textInFile(block)));
			unit.payloads.forgetFresh();
			settled();
		},
		erase: (seq: number) => run(() => unit.payloads.erase({ seq })),
		async text(seq: number): Promise<Buffer> {
			const [block] = unit.payloads.input({ seq }) as never as [Parameters<typeof files.read>[0]];
			return Buffer.concat(await files.read(block));
		},
	};
}

it("moves the texts of such files together, and frees the files", async () => {
	const { add, erase, compaction, files, folder, text } = await site();
	for (let seq = 1; seq <= 100; seq += 1) await add(seq);
	// Of each file one text stays.
	for (let seq = 1; seq <= 100; seq += 1) if (seq % 10 !== 3) await erase(seq);
	expect(files.total()).toEqual({ bytes: 100_000, referenced: 10_000 });
	compaction.begin();
	while (files.total().bytes - files.total().referenced > 20_000) await turn();
	await compaction.stop();
	for (let seq = 3; seq <= 100; seq += 10)
		expect((await text(seq)).equals(Buffer.alloc(TEXT, seq)), String(seq)).toBe(true);
	expect(files.total().referenced).toBe(10_000);
	expect(readdirSync(folder).length).toBeLessThanOrEqual(2 + 2 + 8);
});

it("leaves files alone while less is unused than may be", async () => {
	const { add, erase, compaction, files } = await site();
	for (let seq = 1; seq <= 60; seq += 1) await add(seq);
	for (let seq = 1; seq <= 20; seq += 1) if (seq % 10 !== 3) await erase(seq);
	compaction.begin();
	await compaction.stop();
	expect(files.total()).toEqual({ bytes: 60_000, referenced: 42_000 });
});

it("a damaged text stays where it is, and the other files are compacted", async () => {
	const { add, erase, compaction, files, folder, text } = await site();
	for (let seq = 1; seq <= 100; seq += 1) await add(seq);
	for (let seq = 1; seq <= 100; seq += 1) if (seq % 10 !== 3) await erase(seq);
	truncateSync(join(folder, "1"), 2500);
	compaction.begin();
	while (files.total().bytes - files.total().referenced > 30_000) await turn();
	await compaction.stop();
	await expect(text(3)).rejects.toMatchObject({ why: "damaged" });
	expect((await text(93)).equals(Buffer.alloc(TEXT, 93))).toBe(true);
});
