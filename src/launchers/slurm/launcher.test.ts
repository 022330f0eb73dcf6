/** The watch over batch jobs, on real folders, with a Slurm that prints what a test says. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Exit } from "../launcher.ts";
import type { RunCommand } from "./commands.ts";
import { SlurmLauncher } from "./launcher.ts";
import { nameOf, variablesPath } from "./script.ts";

it("D25: a worker whose shared folder fails does not hide the end of another one", async () => {
	const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
	onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
	const folderOf = (endpoint: string): string => join(shared, "sluice-s", endpoint);
	const names = ["one", "two"].map((endpoint) => nameOf({ serviceId: "s", endpoint, workerId: `w-${endpoint}` }));
	const states = ["PENDING", "RUNNING"];
	const run: RunCommand = async (program) =>
		program === "squeue"
			? names.map((name, at) => `${at}|${states[at]}|None|1:00|1:00|${name}\n`).join("")
			: `JobId=1 JobName=${names[1]} JobState=${states[1]} ExitCode=7:0`;
	const clock = manualClock();
	const lines: string[] = [];
	const launcher = new SlurmLauncher({
		clock,
		run,
		logDir: join(shared, "logs"),
		log: (line: string) => void lines.push(line),
		serviceEnv: {},
	} as unknown as ConstructorParameters<typeof SlurmLauncher>[0]);
	const exits: Exit[] = [];
	launcher.onExit((exit) => exits.push(exit));
	for (const [at, endpoint] of ["one", "two"].entries()) {
		mkdirSync(folderOf(endpoint), { recursive: true, mode: 0o700 });
		const handle = { job: String(at), name: names[at]!, folder: folderOf(endpoint) };
		expect(await launcher.adopt(`w-${endpoint}`, handle)).toBe(true);
	}
	// Fails as a stale mount does: not by ENOENT.
	const file = variablesPath(folderOf("one"), "w-one");
	symlinkSync(file, file);
	states[1] = "FAILED";
	await clock.advance(10_000);
	expect(exits).toMatchObject([{ workerId: "w-two", code: 7 }]);
	expect(lines.filter((line) => line.includes("ELOOP"))).toHaveLength(1);
	await launcher.close();
});
