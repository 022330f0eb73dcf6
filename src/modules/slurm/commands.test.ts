/** Slurm's commands as programs that answer badly. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { slurmCommands } from "./commands.ts";

let folder: string;
beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs `squeue` as this shell script. */
async function squeue(script: string, q?: { input?: string; timeoutMs?: number }): Promise<string> {
	writeFileSync(join(folder, "squeue"), `#!/bin/sh\n${script}\n`);
	chmodSync(join(folder, "squeue"), 0o755);
	const run = slurmCommands({ PATH: `${folder}:${process.env["PATH"]}`, SLUICE_SECRET: "s", PGPASSWORD: "p" });
	return await run("squeue", ["a", "b c"], q);
}

describe("a command of Slurm", () => {
	it("D25: gets arguments and input, and no secrets of the service", async () => {
		expect(await squeue('echo "$#-$2"; cat; env | grep -c -e SLUICE -e PGPASS || true', { input: "in\n" })).toBe(
			"2-b c\nin\n0\n",
		);
	});

	it("D25: that prints without end is ended", async () => {
		const held = process.memoryUsage().heapUsed;
		await expect(squeue("exec yes 12345678901234567890")).rejects.toThrow("squeue printed more than 32 MiB");
		await expect(squeue("exec yes 12345678901234567890 >&2")).rejects.toThrow("squeue printed more than 32 MiB");
		expect(process.memoryUsage().heapUsed - held).toBeLessThan(300 * 1024 ** 2);
	});

	it("D25: that is late, fails or is missing is a sentence, which says whether the answer was lost", async () => {
		const late = squeue("echo waiting >&2; exec sleep 60", { timeoutMs: 500 });
		await expect(late).rejects.toMatchObject({
			fault: "answer_lost",
			message: "squeue did not answer for 0.5 s: waiting",
		});
		const failed = squeue("echo 'squeue: error: no such partition' >&2; exit 1");
		await expect(failed).rejects.toMatchObject({ fault: undefined, message: "squeue: no such partition" });
		const missing = slurmCommands({ PATH: folder })("sbatch", []);
		await expect(missing).rejects.toMatchObject({ fault: undefined, message: /sbatch was not found/ });
	});
});
