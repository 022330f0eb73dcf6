import { expect, it } from "vitest";
import { fewAtOnce } from "./few-at-once.ts";

it("a task that fails leaves its place to those that wait", async () => {
	const enqueue = fewAtOnce(1);
	const held = Promise.withResolvers<void>();
	const ran: string[] = [];
	const failing = enqueue(() => held.promise);
	await enqueue(async () => void ran.push("queued"));
	expect(ran, "one at once").toEqual([]);
	held.reject(new TypeError("network error"));
	await expect(failing).rejects.toThrow("network error");
	await enqueue(async () => void ran.push("later"));
	await expect.poll(() => ran).toEqual(["queued", "later"]);
});
