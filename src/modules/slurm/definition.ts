/** Workers as batch jobs of Slurm (D25). */
import { resolve } from "node:path";
import type { Fault } from "../../kernel/lib/schema.ts";
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { SETTINGS, type SlurmSettings } from "./settings.ts";

export const SLURM: LauncherDefinition<SlurmSettings> = {
	type: "slurm",
	title: "A Slurm job",
	description:
		"Workers are batch jobs of Slurm, submitted with sbatch by the service's user when jobs arrive and " +
		"cancelled when none are left. The nodes must reach the service: set publicUrl.",
	managed: true,
	settings: SETTINGS,
	placesGpus: () => true,
	shared: true,
	adapts: "child",
	keepsWorkers: ["drainBefore"],
	faults: startFaults,
	resolvePaths: (settings, folder) => ({
		...settings,
		cwd: resolve(folder, settings.cwd ?? "."),
		sharedDir: resolve(folder, settings.sharedDir),
	}),
	create: async (dependencies) => new (await import("./launcher.ts")).SlurmLauncher(dependencies),
	doctor: async (endpoints, env) => (await import("./doctor.ts")).findings(endpoints, env),
};

function startFaults({ command, entrypoint, image, container }: SlurmSettings): Fault[] {
	if (entrypoint !== undefined && image === undefined)
		return [{ field: "entrypoint", message: "needs image: without one, the command names the program." }];
	if (command !== undefined) return [];
	if (entrypoint === undefined) return [{ field: "command", message: "is required, unless entrypoint is set." }];
	if (entrypoint !== "image" || container !== "pyxis") return [];
	return [{ field: "command", message: "is required with pyxis: srun starts no image without a command." }];
}
