import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Env } from "../../kernel/lib/env.ts";

export function importsRunpod(file: string): boolean {
	return /^[ \t]*(?:import|from)[ \t]+runpod\b/m.test(readFileSync(file, "utf8"));
}

/** Whether a handler may start its worker: as RunPod's SDK is called, or by a `start` that it imports. */
export function callsStart(file: string): boolean {
	return /\bstart[ \t]*\(/.test(readFileSync(file, "utf8"));
}

/** Does not import the module. Undefined if the interpreter cannot run. */
export function hasModule(
	python: string,
	module: string,
	{ cwd, env }: { cwd: string; env: Env },
): boolean | undefined {
	try {
		execFileSync(
			python,
			["-c", `import importlib.util, sys; sys.exit(0 if importlib.util.find_spec(${JSON.stringify(module)}) else 3)`],
			{ cwd, env: { ...env }, stdio: "ignore", timeout: 20_000 },
		);
		return true;
	} catch (error) {
		return (error as { status?: number | null }).status === 3 ? false : undefined;
	}
}
