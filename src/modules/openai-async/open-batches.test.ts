/** What a server reads of the open batches (D57). */
import { expect, it } from "vitest";
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import { openBatches } from "./open-batches.ts";
import type { Progress } from "./progress.ts";

type Members = Partial<Pick<Progress, "state" | "waits">>;

/** A store of batches, all of endpoints `ep-0` to `ep-9`, and which rows were read since the last call of `reads`. */
function site(count: number) {
	const rows = new Map<string, BatchRow>();
	let read: string[] = [];
	const change = (id: string, members: Members, more: Partial<BatchRow> = {}): void => {
		const progress = JSON.stringify({ state: "in_progress", expiresAt: 9, ...members });
		rows.set(id, { ...rows.get(id)!, version: rows.get(id)!.version + 1, progress, ...more });
	};
	for (let n = 0; n < count; n += 1) {
		const id = `batch-${String(n).padStart(4, "0")}`;
		const given = { id, endpoint: `ep-${n % 10}`, version: 0, isOpen: true, createdAt: n, key: "k", fingerprint: "f" };
		rows.set(id, { ...given, progress: "" });
		change(id, {});
	}
	const batches = {
		open: async ({ limit }: { limit: number }) => [...rows.values()].filter(({ isOpen }) => isOpen).slice(0, limit),
		async find({ id }: { id: string }) {
			read.push(id);
			return rows.get(id);
		},
	};
	const own = new Map<string, Progress>();
	const store = { batches } as unknown as Kernel["store"];
	const open = openBatches({ store }, { own: (id) => own.get(id) });
	return {
		...{ open, own, change, ids: [...rows.keys()] },
		reads(): string[] {
			const before = read;
			read = [];
			return before;
		},
	};
}

it("D57: a server reads a row whole when it has changed, or when its batch may start", async () => {
	const { open, own, change, ids, reads } = site(250);
	const visited = async (wanted: readonly string[] = []): Promise<string[]> => {
		const read: string[] = [];
		await open.read();
		await open.each(
			({ id }) => wanted.includes(id),
			({ id }, _, row) => void (row && read.push(id)),
		);
		return read;
	};
	expect(await visited()).toEqual(ids);
	expect(reads()).toHaveLength(250);
	expect(await visited()).toEqual([]);
	change(ids[3]!, {});
	own.set(ids[4]!, { state: "in_progress", expiresAt: 9 } as Progress);
	change(ids[4]!, {});
	expect(await visited([ids[5]!])).toEqual([ids[3], ids[5]]);
	expect(reads()).toEqual([ids[3], ids[5]]);
});

it("D57: a batch that ends between the two reads is left out", async () => {
	const { open, change, ids } = site(2);
	await open.read();
	change(ids[0]!, {}, { isOpen: false });
	const visited: string[] = [];
	await open.each(
		() => true,
		({ id }) => void visited.push(id),
	);
	expect(visited).toEqual([ids[1]]);
	expect([...open.active()]).toEqual(["ep-1"]);
});

it("D57: a server that runs none reads 100 changed rows at a time, each in its turn", async () => {
	const { open, change, ids, reads } = site(250);
	const seen = new Set<string>();
	for (const expected of [100, 200, 250]) {
		await open.read();
		await open.readSome();
		for (const id of reads()) seen.add(id);
		expect(seen.size).toBe(expected);
		for (const id of ids) change(id, { waits: "full" });
	}
	for (const expected of [100, 100, 50]) {
		await open.read();
		await open.readSome();
		expect(reads()).toHaveLength(expected);
	}
	expect([...open.active()]).toEqual([]);
});

it("D57: an endpoint is active while one of its batches waits for nothing, as of the run on this server", async () => {
	const { open, own, change, ids } = site(4);
	change(ids[1]!, { waits: "full" });
	change(ids[2]!, { state: "completed" });
	await open.read();
	await open.readSome();
	expect([...open.active()]).toEqual(["ep-0", "ep-3"]);
	own.set(ids[3]!, { state: "in_progress", waits: "full" } as Progress);
	own.set(ids[1]!, { state: "in_progress" } as Progress);
	expect([...open.active()]).toEqual(["ep-0", "ep-1"]);
	expect([...open.counts()]).toEqual([0, 1, 2, 3].map((n) => [`ep-${n}`, 1]));
});
