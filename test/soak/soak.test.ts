/** A short run of `npm run soak`: jobs that expire, a kill, samples, chart and verdicts. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { sqliteSite } from "../torture/site.ts";
import { endpointsWith } from "../torture/endpoints.ts";
import { Times } from "./latency.ts";
import { report } from "./report.ts";
import type { Sample } from "./series.ts";
import { RETENTION, paced, soak } from "./soak.ts";

it("D9 D17: jobs at a fixed rate break no rule, and everything is measured", {
	timeout: 240_000,
}, async () => {
	const samples: Sample[] = [];
	const site = await sqliteSite(endpointsWith(RETENTION));
	onTestFinished(() => site.end());
	const result = await soak({
		site,
		seed: 3,
		ms: 6000,
		rate: 20,
		scale: 0.2,
		names: ["bulk", "stream", "purge"],
		killMs: 3000,
		cycleMs: 20_000,
		everyMs: 250,
		sampled: (sample) => samples.push(sample),
	});
	expect(result.violations).toEqual([]);
	expect(result.faults["kill -9 of the server"]).toBeGreaterThan(0);
	expect(result.acknowledged).toBeGreaterThan(30);
	expect(result.acknowledged).toBeLessThan(200);
	const pids = samples.flatMap(({ servers }) => servers.flatMap((each) => each?.pid ?? []));
	expect(new Set(pids).size).toBeGreaterThan(1);
	for (const panel of [
		"Resident memory, MB",
		"Open file descriptors",
		"Submission (/run), ms",
		"Whole job (/runsync), ms",
		"Database file, MB",
		"Log, MB",
		"Payload files, MB",
		"Jobs submitted, /s",
	])
		expect(chartOf(samples)).toContain(`>${panel}</text>`);
});

/** As `report` writes it. */
function chartOf(samples: readonly Sample[]): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-soak-"));
	try {
		const lines = samples.map((sample) => `${JSON.stringify(sample)}\n`);
		writeFileSync(join(folder, "samples.jsonl"), lines.join(""));
		report(folder, "sqlite");
		return readFileSync(join(folder, "chart.svg"), "utf8");
	} finally {
		rmSync(folder, { recursive: true });
	}
}

it("finds percentiles within 5 %", () => {
	const times = new Times();
	expect(times.at(0.5)).toBeUndefined();
	for (let ms = 1; ms <= 1000; ms += 1) times.add(ms);
	times.add(0);
	for (const [part, exact] of [
		[0.5, 500],
		[0.99, 990],
		[1, 1000],
	] as const)
		expect(Math.abs(times.at(part)! / exact - 1)).toBeLessThan(0.06);
	expect(times.at(0)).toBe(0.05);
});

it("gives turns at its rate, and does not make up for missed ones", async () => {
	const turns = paced(100);
	const { signal } = new AbortController();
	const began = performance.now();
	await Promise.all(Array.from({ length: 11 }, () => turns.next(signal)));
	expect(performance.now() - began).toBeGreaterThan(95);
	await new Promise((resolve) => setTimeout(resolve, 100));
	const again = performance.now();
	await Promise.all(Array.from({ length: 6 }, () => turns.next(signal)));
	expect(performance.now() - again).toBeGreaterThan(45);
});
