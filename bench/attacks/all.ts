/**
 * Runs the attacks of this folder one after the other, each for ten minutes at most, and prints their
 * figures as one JSON object. `npm run attacks -- [pattern]`, `pattern` selects attacks by name.
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
const SHARED = ["all.ts", "attacked.ts"];

const figures: Record<string, unknown> = {};
for (const file of readdirSync(HERE).filter((name) => name.endsWith(".ts") && !SHARED.includes(name))) {
	const name = file.replace(/\.ts$/, "");
	if (!new RegExp(pattern).test(name)) continue;
	process.stderr.write(`${name} ...\n`);
	// A group of its own, with the service that it attacks.
	const child = spawn(process.execPath, [join(HERE, file)], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
	const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), LONGEST_MS);
	const [said] = await Promise.all([text(child.stdout), once(child, "close")]);
	clearTimeout(timer);
	try {
		figures[name] = JSON.parse(said);
	} catch {
		figures[name] = { failed: child.signalCode ?? `exit code ${child.exitCode}` };
	}
}
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
