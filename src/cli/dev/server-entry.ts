/** Runs the adapter of the worker kit for `sluice dev --http`, with the server of the command as its child (D36). */
import { randomUUID } from "node:crypto";
import { processEnvironment, runAdapter } from "sluice/worker/http";
import { resolveMapping } from "../../../packages/worker/src/http/mapping-index.ts";

// The server ends with this process: also when `sluice dev` is killed.
process.on("disconnect", () => process.exit());
process.channel?.unref();

const [, , ...command] = process.argv;
const read = resolveMapping(JSON.parse(process.env["SLUICE_HTTP"] ?? "{}"));
// `sluice dev` has checked it.
if (!read.ok) throw new Error("SLUICE_HTTP is not a mapping.");
process.exit(
	await runAdapter({
		...processEnvironment(),
		mapping: read.mapping,
		command,
		isLaunched: true,
		env: process.env,
		argv: [],
		randomId: randomUUID,
	}),
);
