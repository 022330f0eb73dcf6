/** Workers as local processes (D25). */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Fault } from "../../lib/schema.ts";
import { fileCalls } from "../../system/file-calls.ts";
import type { LauncherDefinition } from "../definition.ts";
import { type ProcessSettings, SETTINGS } from "./settings.ts";

export const PROCESS: LauncherDefinition<ProcessSettings> = {
	type: "process",
	title: "A command on the service's machine",
	description:
		"Workers are processes on the machine of the service, started when jobs arrive and stopped when none are left.",
	managed: true,
	sharesGpus: true,
	adapts: "child",
	canSleep: () => true,
	settings: SETTINGS,
	resolvePaths: (settings, folder) => ({
		...settings,
		cwd: resolve(folder, settings.cwd ?? "."),
	}),
	missing: async ({ cwd }) => (cwd === undefined ? [] : await faultsOfFolder(cwd)),
	// It reads the GPUs of this machine.
	atStart: () => true,
	create: async (dependencies) => new (await import("./launcher.ts")).ProcessLauncher(dependencies),
};

/** An unreadable folder may be readable for the workers' user, and one that hangs may answer by then. */
async function faultsOfFolder(path: string): Promise<Fault[]> {
	const found = await fileCalls.run(path, () => stat(path), path).catch((error: NodeJS.ErrnoException) => error);
	const isMissing = found instanceof Error ? found.code === "ENOENT" || found.code === "ENOTDIR" : !found.isDirectory();
	const message = `must be a folder of the machine of the service; '${path}' is not there.`;
	return isMissing ? [{ field: "cwd", message }] : [];
}
