/**
 * Runs the attacks of this folder one after the other, each for ten minutes at most, and prints their figures as one
 * JSON object. Those with bounds say whether the service held. `npm run attacks -- [pattern]`, `pattern` selects
 * attacks by name.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const [pattern = "."] = process.argv.slice(2);
const LONGEST_MS = 600_000;
const HERE = fileURLToPath(new URL(".", import.meta.url));

const figures: Record<string, unknown> = {};
for (const file of readdirSync(HERE).filter((name) => name.endsWith(".ts") && name !== "all.ts")) {
	const name = file.replace(/\.ts$/, "");
	if (!new RegExp(pattern).test(name)) continue;
	process.stderr.write(`${name} ...\n`);
	// A group of its own, with the service that it attacks.
	const child = spawn(process.execPath, [join(HERE, file)], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
	const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), LONGEST_MS);
	const [said] = await Promise.all([text(child.stdout), once(child, "close")]);
	clearTimeout(timer);
	try {
		const found = JSON.parse(said);
		figures[name] = found;
		if ("held" in found) process.stderr.write(`${name} ${found.held ? "held" : "did NOT hold"}\n`);
	} catch {
		figures[name] = { failed: child.signalCode ?? `exit code ${child.exitCode}` };
		process.stderr.write(`${name} failed\n`);
	}
}
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
