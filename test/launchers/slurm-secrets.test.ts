/** What a Slurm job shows of its worker's token, on a real cluster (D26). */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { folderOf } from "../../src/modules/slurm/script.ts";
import { noSlurm, titled } from "../support/slurm.ts";
import { SCRIPTS } from "./sample-workers.ts";
import { logDir, pidsOf, ready, script, suiteOfSlurm, TOKEN } from "./slurm-workers.ts";

describe.skipIf(noSlurm !== undefined)(titled("secrets of a slurm job"), () => {
	const { cluster, open } = suiteOfSlurm();

	it("D26: the token is in no command line, job record, script or log; its file is private and brief", async () => {
		const launcher = open();
		const spec = script(`${SCRIPTS.runs}`);
		const { job } = await launcher.start(spec);
		await ready(spec);
		const file = join(folderOf(spec), `worker-${spec.workerId}.env`);
		expect(readFileSync(file, "utf8")).toBe("");
		const seen = [
			await cluster().run("scontrol", "show", "job", "--details", String(job)),
			await cluster().run("scontrol", "write", "batch_script", String(job), "-"),
			await cluster()
				.run("squeue", "--noheader", "--job", String(job), "--Format=ALL:.1000")
				.catch(() => ""),
			readFileSync(logPath(logDir, spec.workerId), "utf8"),
			...pidsOf(spec).map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8")),
		];
		expect(seen[0]).toContain(spec.workerId);
		expect(seen[1]).toContain("exec");
		expect(seen.filter((text) => text.includes(TOKEN))).toEqual([]);
		expect(readFileSync(`/proc/${pidsOf(spec)[0]}/environ`, "utf8")).toContain(TOKEN);
		await launcher.stop(spec.workerId, 0);
	});

	it("D26: while the job waits the file is for this user only; it goes with a cancelled job", async () => {
		const launcher = open();
		const waits = new Promise<void>((resolve) => {
			launcher.onNotice((notice) => notice.state === "waiting" && resolve());
		});
		const spec = script(SCRIPTS.runs, { options: ["--begin=now+1hour"] });
		await launcher.start(spec);
		const file = join(folderOf(spec), `worker-${spec.workerId}.env`);
		expect(readFileSync(file, "utf8")).toContain(TOKEN);
		expect(statSync(file).mode & 0o777).toBe(0o600);
		expect(statSync(folderOf(spec)).mode & 0o777).toBe(0o700);
		await waits;
		await launcher.stop(spec.workerId, 600_000);
		expect(() => statSync(file)).toThrow("ENOENT");
	});
});
