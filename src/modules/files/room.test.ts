/** Which of several uploads that do not fit together goes on (D56). */
import { expect, it } from "vitest";
import { rooms } from "./room.ts";

/** `totals.stored`: bytes of the files of endpoint `a`. */
function open(stored: number) {
	const totals = { stored, reads: 0 };
	const read = async () => {
		totals.reads += 1;
		return [{ endpoint: "a", files: 1, bytes: totals.stored }];
	};
	return { totals, room: rooms({ totals: read }, { maxBytes: 100, endpointBytes: 150, totalBytes: 170 }) };
}

it("D56: of two without a length that do not fit, the later one is refused as soon as they do not", async () => {
	const { room } = open(50);
	const [first, second] = await Promise.all([room.open("a", 0), room.open("a", 0)]);
	for (let n = 0; n < 5; n += 1) for (const each of [first, second]) await each.add(10);
	await first.add(10);
	await expect(second.add(10)).rejects.toThrow("files.endpointMb");
	second.close();
	await first.add(40);
	expect(first.arrived).toBe(100);
	await expect(first.add(1)).rejects.toThrow("files.maxMb");
});

it("D56: one with a length has its room from the start; all endpoints share files.totalMb", async () => {
	const { room } = open(50);
	const [first, refused] = await Promise.allSettled([room.open("b", 90), room.open("c", 31)]);
	expect(refused).toMatchObject({ reason: { message: expect.stringContaining("files.totalMb") } });
	const second = await room.open("c", 30);
	await second.add(30);
	await expect(second.add(1)).rejects.toThrow("files.totalMb");
	if (first.status === "fulfilled") first.value.close();
	await expect(room.open("c", 31)).resolves.toBeDefined();
});

it("D56: an upload goes on after a deletion that made its room, though it began before", async () => {
	const { room, totals } = open(145);
	const upload = await room.open("a", 0);
	await upload.add(5);
	totals.stored = 100;
	await upload.add(45);
	await expect(upload.add(1)).rejects.toThrow("files of endpoint 'a' have 0.0 MB");
	expect(upload.arrived).toBe(51);
});

it("D56: what another upload has stored counts once, from its row on; totals are read again for it once", async () => {
	const { room, totals } = open(50);
	const [first, second] = [await room.open("a", 0), await room.open("a", 0)];
	await first.add(40);
	await second.add(50);
	first.storing();
	totals.stored = 90;
	// The totals have the row although its upload has not ended.
	const late = await room.open("a", 10);
	late.close();
	await second.add(10);
	first.stored();
	first.close();
	const { reads } = totals;
	await expect(second.add(1)).rejects.toThrow("files.endpointMb");
	expect(totals.reads).toBe(reads + 1);
	second.close();
	const third = await room.open("a", 60);
	await third.add(60);
	expect(totals.reads).toBe(reads + 2);
});
