/** `sluice doctor` checks of endpoints with Slurm workers. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { type Finding, ok, problem } from "../../kernel/core/finding.ts";
import type { EndpointToCheck } from "../../kernel/launchers/definition.ts";
import { type RunCommand, slurmCommands } from "./commands.ts";
import { batchScript, sbatchOptions } from "./script.ts";
import type { SlurmSettings } from "./settings.ts";
import { checkFolder } from "./shared-folder.ts";
import type { Env } from "../../kernel/lib/env.ts";

type Endpoint = EndpointToCheck<SlurmSettings>;

const ANSWER_MS = 15_000;

export async function findings(endpoints: readonly Endpoint[], env: Env): Promise<Finding[]> {
	const run: RunCommand = (program, args, q) => slurmCommands(env)(program, args, { timeoutMs: ANSWER_MS, ...q });
	try {
		const [version] = await Promise.all(
			["sbatch", "squeue", "scancel", "scontrol"].map((each) => run(each, ["--version"])),
		);
		await run("scontrol", ["ping"]);
		const own = await Promise.all(endpoints.map((endpoint) => findingsOf(endpoint, run)));
		return [ok("slurm", `The controller answers (${version!.trim()}).`), ...own.flat()];
	} catch (error) {
		const ids = endpoints.map(({ id }) => `'${id}'`).join(", ");
		return [
			problem(
				"slurm",
				`Slurm cannot be used: ${(error as Error).message}; ${ids} cannot start workers.`,
				"Install Slurm's client commands on this machine, set SLURM_CONF if its configuration is not in " +
					"/etc/slurm, and check that munge and slurmctld run: scontrol ping.",
			),
		];
	}
}

async function findingsOf(endpoint: Endpoint, run: RunCommand): Promise<Finding[]> {
	const check = `endpoint ${endpoint.id}`;
	return [await folderFinding(check, endpoint.launcher), await jobFinding({ ...endpoint, check, run })];
}

async function folderFinding(check: string, { sharedDir }: SlurmSettings): Promise<Finding> {
	try {
		if (!(await stat(sharedDir)).isDirectory()) throw new Error("it is not a directory");
		await access(sharedDir, constants.W_OK | constants.X_OK);
		await checkFolder(sharedDir);
		return ok(check, `Its shared folder ${sharedDir} can be written here; the nodes must see it under the same path.`);
	} catch (error) {
		return problem(
			check,
			`Its shared folder ${sharedDir} cannot be used: ${(error as Error).message}.`,
			"Create it with mkdir -m 700 on a file system that this machine and the nodes share, or correct " +
				"launcher.sharedDir.",
		);
	}
}

/** `sbatch --test-only` checks partition, account, QOS, constraint, GPUs and time limit. */
async function jobFinding(q: Endpoint & { check: string; run: RunCommand }): Promise<Finding> {
	const spec = {
		workerId: `${q.id}-doctor`,
		endpoint: q.id,
		settings: q.launcher,
		serviceId: "doctor",
		env: {},
		url: "",
		gpus: [],
		gpuCount: q.gpusPerWorker ?? 0,
		workersMax: 3,
		stopGraceMs: 0,
	};
	try {
		await q.run("sbatch", ["--test-only", ...sbatchOptions(spec)], { input: batchScript(spec) });
		return ok(q.check, "Slurm accepts its batch job (sbatch --test-only).");
	} catch (error) {
		return problem(
			q.check,
			`Slurm does not accept its batch job: ${(error as Error).message}.`,
			"Correct partition, account, qos, constraint, timeLimit, cpus, memory or gpuType of its launcher: " +
				"sinfo and sacctmgr show associations list what there is.",
		);
	}
}
