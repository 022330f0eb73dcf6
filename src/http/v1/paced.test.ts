import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { scanQueue } from "./paced.ts";

it("D41: scans of one key run one after the other with pauses, those of another key do not wait", async () => {
	const clock = manualClock();
	const scans = scanQueue(clock);
	const order: string[] = [];
	const scan = (name: string) => async () => {
		order.push(`${name} begins`);
		await clock.sleep(20);
		order.push(`${name} ends`);
	};
	const all = [
		scans.run("a", scan("first")),
		scans.run("a", scan("second")),
		scans.run("b", scan("other")),
	];
	await clock.advance(20);
	expect(order).toEqual(["first begins", "other begins", "first ends", "other ends"]);
	await clock.advance(59);
	expect(order).toHaveLength(4);
	await clock.advance(1);
	expect(order.at(-1)).toBe("second begins");
	await clock.advance(20);
	await Promise.all(all);
});

it("D41: a scan that fails lets the next one of its key run", async () => {
	const scans = scanQueue(manualClock());
	await expect(scans.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
	expect(await scans.run("a", () => Promise.resolve(1))).toBe(1);
});
