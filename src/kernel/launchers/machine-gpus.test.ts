/** Programs in place of `nvidia-smi` that answer badly, or not at all. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { folder, type Folder } from "../../../test/support/service.ts";
import { systemClock } from "../system/clock.ts";
import { machineGpus } from "./machine-gpus.ts";

let place: Folder;
beforeEach(() => {
	place = folder();
});
afterEach(() => place.remove());

function programs(smi: string, { path } = place) {
	writeFileSync(join(path, "nvidia-smi"), `#!/bin/sh\n${smi}\n`, { mode: 0o755 });
	return machineGpus(systemClock, { PATH: `${path}:${process.env["PATH"]}` });
}

it("D27: a program that ignores its end, or leaves its output open, delays a reading by its time at most", {
	timeout: 15_000,
}, async () => {
	const other = folder();
	const readings = [
		programs("trap '' TERM; echo $$ > ${0%/*}/pid; while :; do sleep 1; done").gpus(),
		programs("sleep 20 & exit 0", other).gpus(),
	];
	expect(await Promise.all(readings)).toEqual([[], []]);
	const pid = Number(readFileSync(join(place.path, "pid"), "utf8"));
	await expect.poll(() => existsSync(`/proc/${pid}`), { message: "its end" }).toBe(false);
	other.remove();
});

it("D27: what is no list of GPUs is none", async () => {
	for (const smi of [
		"echo 'No devices were found'",
		"echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
		"head -c 3000000 /dev/zero | tr '\\0' x",
		"echo '[Insufficient Permissions], [N/A], [N/A]'",
	])
		expect(await programs(smi).gpus(), smi).toEqual([]);
});
