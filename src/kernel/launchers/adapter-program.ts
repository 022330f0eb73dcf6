import { fileURLToPath } from "node:url";

/**
 * The path of `sluice-http`, the program of workers with `WorkerSpec.adapter`: that of the built package, or of the
 * worker kit if the service runs from its source.
 */
export function adapterProgram(): string {
	const isBuilt = import.meta.url.endsWith(".js");
	const path = isBuilt ? "../../worker/sluice-http.js" : "../../../packages/worker/src/http/main.ts";
	return fileURLToPath(new URL(path, import.meta.url));
}

/** The folder of the built worker kit: this program with all that it imports, which needs nothing but Node. */
export function adapterKit(): string {
	const isBuilt = import.meta.url.endsWith(".js");
	return fileURLToPath(new URL(isBuilt ? "../../worker/" : "../../../dist/worker/", import.meta.url));
}

/** The command that runs it with these arguments on the machine of the service. */
export function adapterCommand(args: readonly string[]): string[] {
	return [process.execPath, adapterProgram(), ...args];
}
