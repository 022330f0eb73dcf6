/** `sluice doctor` for endpoints with Slurm workers, on a real Slurm. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Finding } from "../../src/kernel/core/finding.ts";
import { findings } from "../../src/modules/slurm/doctor.ts";
import type { SlurmSettings } from "../../src/modules/slurm/settings.ts";
import { GPUS, noSlurm, type SlurmCluster, startSlurm, titled } from "../support/slurm.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-slurm-"));

function endpoint(id: string, settings: Partial<SlurmSettings> = {}, gpusPerWorker = 0) {
	const launcher: SlurmSettings = {
		type: "slurm",
		command: ["true"],
		sharedDir: root,
		...settings,
	};
	return { id, launcher, gpusPerWorker };
}

const short = ({ check, level, message }: Finding): string => `${level} ${check}: ${message}`;

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe.skipIf(noSlurm !== undefined)(titled("sluice doctor and Slurm"), () => {
	let cluster: SlurmCluster;
	beforeAll(async () => {
		cluster = await startSlurm();
	}, 60_000);
	afterAll(() => cluster.remove());

	it("D36: checks the controller, the folder, and that Slurm accepts the job", async () => {
		const open = join(root, "open");
		mkdirSync(open);
		chmodSync(open, 0o777);
		const endpoints = [
			endpoint("good", { partition: "work", timeLimit: "10" }, GPUS),
			endpoint("bad", { partition: "no-such", sharedDir: join(root, "none") }),
			endpoint("open", { sharedDir: open }),
			endpoint("big", {}, GPUS + 1),
		];
		const env = { PATH: process.env["PATH"], ...cluster.env };
		expect((await findings(endpoints, env)).map(short)).toEqual([
			expect.stringMatching(/^ok slurm: The controller answers \(slurm.* \d/),
			expect.stringMatching(/^ok endpoint good: Its shared folder .* can be written here/),
			"ok endpoint good: Slurm accepts its batch job (sbatch --test-only).",
			expect.stringMatching(/^problem endpoint bad: .*none cannot be used: ENOENT/),
			expect.stringMatching(/^problem endpoint bad: .*invalid partition specified: no-such/),
			expect.stringMatching(/^problem endpoint open: .*open cannot be used: another user can .* run chmod go-w /),
			"ok endpoint open: Slurm accepts its batch job (sbatch --test-only).",
			expect.stringMatching(/^ok endpoint big: Its shared folder/),
			expect.stringMatching(/^problem endpoint big: .*Requested node configuration is not avail/),
		]);
	});
});

it("D36: says what is missing where Slurm's commands are", async () => {
	const [found, ...others] = await findings([endpoint("one")], { PATH: root });
	expect(others).toEqual([]);
	expect(short(found!)).toMatch(
		/^problem slurm: Slurm cannot be used: the command sbatch was not found: .*'one' cannot start/,
	);
});
