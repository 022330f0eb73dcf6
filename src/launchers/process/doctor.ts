/** `sluice doctor` checks of endpoints with process workers. */
import { accessSync, constants, existsSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { type Finding, ok, problem } from "../../core/finding.ts";
import type { EndpointToCheck } from "../definition.ts";
import { confinementOf } from "./confinement.ts";
import { hasModule, importsRunpod } from "./python.ts";
import type { ProcessSettings } from "./settings.ts";

type Env = Readonly<Record<string, string | undefined>>;

export function findings(endpoints: readonly EndpointToCheck<ProcessSettings>[], env: Env): Finding[] {
	return endpoints.flatMap((endpoint) => findingsOf(endpoint, env));
}

function findingsOf({ id, launcher }: EndpointToCheck<ProcessSettings>, env: Env): Finding[] {
	const { command, cwd } = launcher;
	const check = `endpoint ${id}`;
	try {
		confinementOf(launcher);
	} catch (error) {
		return [
			problem(
				check,
				`Its workers cannot start here: ${(error as Error).message}.`,
				"Correct launcher.user or launcher.limits, or run the service as root.",
			),
		];
	}
	if (cwd !== undefined && !existsSync(cwd))
		return [problem(check, `Its working directory ${cwd} does not exist.`, "Set launcher.cwd to a folder that does.")];
	/** Undefined if relative to a directory that only the service knows. */
	const placed = (path: string): string | undefined => (isAbsolute(path) ? path : cwd && resolve(cwd, path));
	const [program = "", ...args] = command;
	const places = program.includes("/")
		? [placed(program)]
		: (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program));
	if (places.some((place) => place === undefined)) return [];
	if (!places.some((place) => isExecutable(place!)))
		return [
			problem(
				check,
				`Its program '${program}' was not found.`,
				"Install it, or set launcher.command to its path: " +
					`sluice endpoints update ${id} --set 'launcher.command=[/path/to/${basename(program)}, ...]'`,
			),
		];
	const script = args.find((each) => each.endsWith(".py"));
	const path = script === undefined ? undefined : placed(script);
	if (!/^python[\d.]*$/.test(basename(program)) || path === undefined) return [];
	if (!existsSync(path))
		return [problem(check, `Its handler ${path} does not exist.`, "Correct launcher.command or launcher.cwd.")];
	if (!importsRunpod(path)) return [];
	const has = hasModule(program, "runpod", { cwd: cwd ?? dirname(path), env });
	if (has === undefined) return [problem(check, `'${program}' cannot be run.`, "Install Python 3.10 or newer.")];
	return has
		? [ok(check, `${program} has the runpod package.`)]
		: [
				problem(
					check,
					`${program} does not have the runpod package that its workers import.`,
					`Install it: ${program} -m pip install runpod, ` +
						"or name the python of a virtual environment in launcher.command.",
				),
			];
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
