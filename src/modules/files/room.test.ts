/** Which of several uploads that do not fit together goes on (D56). */
import { expect, it } from "vitest";
import { rooms } from "./room.ts";

const open = (stored: number) =>
	rooms(
		{ totals: async () => [{ endpoint: "a", files: 1, bytes: stored }] },
		{ maxBytes: 100, endpointBytes: 150, totalBytes: 170 },
	);

it("D56: of two without a length that do not fit, the later one is refused as soon as they do not", async () => {
	const room = open(50);
	const [first, second] = [await room.open("a", 0), await room.open("a", 0)];
	for (let n = 0; n < 5; n += 1) for (const each of [first, second]) each.add(10);
	first.add(10);
	expect(() => second.add(10)).toThrow("files.endpointMb");
	second.close();
	first.add(40);
	expect(first.arrived).toBe(100);
	expect(() => first.add(1)).toThrow("files.maxMb");
});

it("D56: one with a length has its room from the start; all endpoints share files.totalMb", async () => {
	const room = open(50);
	const first = await room.open("b", 90);
	await expect(room.open("c", 31)).rejects.toThrow("files.totalMb");
	const second = await room.open("c", 30);
	first.add(90);
	second.add(30);
	expect(() => second.add(1)).toThrow("files.totalMb");
	first.close();
	await expect(room.open("c", 31)).resolves.toBeDefined();
});
