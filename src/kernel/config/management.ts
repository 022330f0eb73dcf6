/** Checks of `management` in `sluice.yaml` beyond the schema (D49). */
import { dirname } from "node:path";
import type { LauncherSettings } from "../core/endpoints/endpoint.ts";
import type { ManagementRules } from "../core/management/rules.ts";
import { readEndpoint } from "../launchers/endpoint-settings.ts";
import { resolvePaths } from "../launchers/index.ts";

/** Placeholders for image and command, which requests name. */
const REQUESTED = { image: "worker", command: ["worker"] };

/** With absolute paths. `raw` fits the schema unless there are problems. */
export function readManagement(raw: unknown, path: string, problems: string[]): ManagementRules {
	if (problems.length > 0) return {};
	const { launcher: given, ...rules } = (raw ?? {}) as Omit<ManagementRules, "launcher"> & {
		launcher?: string | LauncherSettings;
	};
	if (given === undefined || given === null) return rules;
	const launcher = typeof given === "string" ? { type: given } : given;
	// The image of a new endpoint is not on any machine yet.
	const settings = launcher.type === "docker" ? { pullPolicy: "missing", ...launcher } : launcher;
	const read = readEndpoint("management", { launcher: { ...REQUESTED, ...settings } });
	if (!read.ok) {
		problems.push(...read.faults.map(({ field, message }) => `${path}: management.${field} ${message}`));
		return rules;
	}
	return { ...rules, launcher: resolvePaths(settings, dirname(path)) };
}
