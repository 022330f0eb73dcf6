/** Loads a JavaScript or TypeScript handler, and starts the worker kit unless the file did (D36). */
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { start, type StartOptions, wasStarted } from "./kit.ts";

const KIT = new URL(`./kit${extname(import.meta.url)}`, import.meta.url).href;

/** The kit's names in the service's package and as its own package. */
const KITS = new Set(["sluice/worker", "sluice-worker"]);

function exportedHandler(module: Record<string, unknown>): StartOptions | undefined {
	for (const value of [module["default"], module["handler"]]) {
		if (typeof value === "function") return { handler: value as StartOptions["handler"] };
		if (typeof (value as { handler?: unknown } | undefined)?.handler === "function") return value as StartOptions;
	}
	return undefined;
}

// The handler's folder needs no installed package.
registerHooks({
	resolve: (specifier, context, next) =>
		KITS.has(specifier) ? { url: KIT, format: "module", shortCircuit: true } : next(specifier, context),
});

// Exit if `sluice dev` is killed.
process.on("disconnect", () => process.exit());
process.channel?.unref();

const [, , file = ""] = process.argv;
// The handler sees the arguments of a direct run.
process.argv.splice(1, 2, file);
const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
if (!wasStarted()) {
	const options = exportedHandler(module);
	if (!options) {
		process.stderr.write(
			`${file} neither calls start() of sluice/worker nor exports a handler. Add: export ` +
				`default async (job) => ({ hello: job.input });\n`,
		);
		process.exit(1);
	}
	await start(options);
}
