/**
 * The worker process of `sluice dev` for JavaScript and TypeScript: loads the handler's file, and
 * starts the kit unless the file has done so itself (D36).
 */
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { start, wasStarted } from "./kit.ts";
import type { StartOptions } from "./kit.ts";

const KIT = new URL(`./kit${extname(import.meta.filename)}`, import.meta.url).href;

/**
 * The handler that a file exports: as its default, as `handler`, or with options as an object;
 * undefined when it exports none.
 */
function exported(module: Record<string, unknown>): StartOptions | undefined {
	for (const found of [module["default"], module["handler"]]) {
		if (typeof found === "function") return { handler: found as StartOptions["handler"] };
		if (typeof (found as { handler?: unknown } | undefined)?.handler === "function")
			return found as StartOptions;
	}
	return undefined;
}

// A beginner's folder has no package installed: the kit of this installation is there all the same.
registerHooks({
	resolve: (specifier, context, next) =>
		specifier === "sluice/worker"
			? { url: KIT, format: "module", shortCircuit: true }
			: next(specifier, context),
});

// When `sluice dev` is killed outright, its worker must not go on alone.
process.on("disconnect", () => process.exit());
process.channel?.unref();

const [, , file = ""] = process.argv;
// What the handler sees is how it would be run by itself.
process.argv.splice(1, 2, file);
const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
if (!wasStarted()) {
	const options = exported(module);
	if (!options) {
		process.stderr.write(
			`${file} neither calls start() of sluice/worker nor exports a handler. Add: export default async (job) => ({ hello: job.input });\n`,
		);
		process.exit(1);
	}
	await start(options);
}
