import { expect, it } from "vitest";
import type { JobDetail } from "../../client/shapes.ts";
import { lanesOf } from "../waterfall.ts";
import { returnsOf } from "./returns.ts";

type Attempt = JobDetail["attempts"][number];

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const attempt = (number: number, more: Partial<Attempt>): Attempt => ({
	attempt: number,
	workerId: "w",
	startedAt: at(number * 2),
	endedAt: at(number * 2 + 1),
	end: "released",
	open: false,
	...more,
});

const BUSY = { returned: true, workerEnd: "HTTP 503 busy" } as const;

it("D54: equal returns that follow each other are one, with the numbers of their attempts", () => {
	const attempts = [
		attempt(1, BUSY),
		attempt(2, BUSY),
		attempt(3, { ...BUSY, end: "lost" }),
		attempt(4, BUSY),
		attempt(5, { end: "lost", workerEnd: "exit code 7" }),
		attempt(6, { end: "released" }),
	];
	expect(returnsOf({ attempts })).toEqual([
		{ attempts: [1, 2], reason: "HTTP 503 busy", isLoss: false },
		{ attempts: [3], reason: "HTTP 503 busy", isLoss: true },
		{ attempts: [4], reason: "HTTP 503 busy", isLoss: false },
	]);
});

it("D54: the lane of a returned attempt is marked", () => {
	const job = { submittedAt: at(0), attempts: [attempt(1, BUSY), attempt(2, { end: "lost" })] };
	const { lanes } = lanesOf(job, { now: Date.UTC(2026, 0, 1, 0, 0, 9), workers: [], deliveries: [] });
	expect(lanes.map(({ kind, returned }) => [kind, returned ?? false])).toEqual([
		["attempt", true],
		["attempt", false],
		["waiting", false],
	]);
});
