/**
 * A real Slurm of one node for each test file that needs one, from the programs of this machine
 * (`slurm-cluster.sh`), called with Slurm's own commands.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isActive } from "../../src/modules/slurm/job-states.ts";
import { until } from "./until.ts";

const SCRIPT = fileURLToPath(new URL("slurm-cluster.sh", import.meta.url));
const PATH = [process.env["PATH"], "/usr/sbin", "/sbin"].join(delimiter);

/** GPUs of the pretended node. */
export const GPUS = 3;

/** Why tests with Slurm cannot run here; undefined where they can. */
export const noSlurm: string | undefined = reason();

function reason(): string | undefined {
	const missing = ["slurmctld", "slurmd", "sbatch", "munged"].filter((program) =>
		PATH.split(delimiter).every((folder) => !existsSync(join(folder, program))),
	);
	return missing.length === 0
		? undefined
		: `${missing.join(", ")} not found: apt-get install slurmctld slurmd slurm-client munge`;
}

/** The title of a suite, with the reason why it does not run. */
export function titled(title: string): string {
	return noSlurm === undefined ? title : `${title} (skipped: ${noSlurm})`;
}

export interface TestJob {
	id: string;
	state: string;
	name: string;
}

export interface SlurmCluster {
	/** What Slurm's commands need in their environment. */
	readonly env: Record<string, string>;
	/** Runs a command of Slurm and returns its output. */
	run(program: string, ...args: string[]): Promise<string>;
	/** Jobs that have not ended and whose name contains the text. */
	active(text: string): Promise<TestJob[]>;
	/** Also those that have ended. */
	jobs(text: string): Promise<TestJob[]>;
	/** Ends all jobs whose name contains the text. */
	endJobs(text: string): Promise<void>;
	/** Copies the jobs that slurmctld has now; the returned function puts them back while it is killed. */
	keepState(): Promise<() => void>;
	/** SIGKILL to slurmctld, after it saved the jobs that it has now, unless `saved` is false. */
	killController(q?: { saved?: boolean }): Promise<void>;
	startController(): Promise<void>;
	/** Stops slurmd, so that jobs are placed and do not begin; the returned function lets it go on. */
	holdNode(): () => void;
	remove(): void;
}

/** Starts a cluster; about 4 s. It is removed with its owner's process at the latest. */
export async function startSlurm(gpus = GPUS): Promise<SlurmCluster> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-slurm-cluster-"));
	const env = { SLURM_CONF: join(folder, "slurm.conf"), PATH };
	const stateFile = join(folder, "state", "job_state");
	process.once("exit", remove);
	await promisify(execFile)(SCRIPT, ["up", folder, String(gpus)]);

	function remove(): void {
		if (!existsSync(folder)) return;
		execFileSync(SCRIPT, ["down", folder], { stdio: "ignore" });
		rmSync(folder, { recursive: true, force: true });
	}

	const run = async (program: string, ...args: string[]): Promise<string> =>
		(await promisify(execFile)(program, args, { env: { ...process.env, ...env } })).stdout.trim();

	async function jobs(text: string): Promise<TestJob[]> {
		const output = await run("squeue", "--noheader", "--states=all", "--format=%i|%T|%j");
		return output
			.split("\n")
			.map((line) => line.split("|"))
			.map(([id = "", state = "", name = ""]) => ({ id, state, name }))
			.filter(({ name }) => name.includes(text));
	}

	const active = async (text: string): Promise<TestJob[]> => (await jobs(text)).filter(({ state }) => isActive(state));

	/** It saves changes every few seconds only. */
	async function saved(): Promise<void> {
		const since = Date.now();
		const marker = await run("sbatch", "--hold", "--parsable", "--output=/dev/null", "--wrap=true");
		await until("its state to be saved", () => statSync(stateFile).mtimeMs > since);
		await run("scancel", marker);
	}

	return {
		env,
		run,
		jobs,
		active,
		async endJobs(text) {
			// Without --batch it would take KillWait, 30 s, and the node would take no job meanwhile.
			for (const { id } of await active(text))
				for (const how of [["--state=PENDING"], ["--batch", "--signal=KILL"]])
					await run("scancel", ...how, id).catch(() => {});
			await until("its jobs to end", async () => (await active(text)).length === 0);
		},
		async keepState() {
			await saved();
			const [from, to] = [join(folder, "state"), join(folder, "state-before")];
			rmSync(to, { recursive: true, force: true });
			cpSync(from, to, { recursive: true });
			return () => {
				rmSync(from, { recursive: true });
				cpSync(to, from, { recursive: true });
			};
		},
		async killController(q = {}) {
			// A job that it forgot would be killed by slurmd.
			if (q.saved !== false) await saved();
			const pid = Number(readFileSync(join(folder, "slurmctld.pid"), "utf8"));
			process.kill(pid, "SIGKILL");
			await until("slurmctld to end", () => !existsSync(`/proc/${pid}`));
		},
		async startController() {
			const options = { env: { ...process.env, ...env }, detached: true, stdio: "ignore" } as const;
			spawn("slurmctld", ["-L", join(folder, "slurmctld.log")], options).unref();
			await until("slurmctld to answer", () => run("scontrol", "ping"));
		},
		holdNode() {
			const pid = Number(readFileSync(join(folder, "slurmd.pid"), "utf8"));
			process.kill(pid, "SIGSTOP");
			return () => void process.kill(pid, "SIGCONT");
		},
		remove,
	};
}
