/**
 * Redis for BullMQ: `redis-server` from PATH (Debian package of that name), each write flushed
 * before it is answered.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../../test/support/free-port.ts";
import { end } from "../processes.ts";

export interface Redis {
	port: number;
	version: string;
	stop(): Promise<void>;
}

/** Starts it with its data in `folder`. Undefined where there is no `redis-server`. */
export async function startRedis(folder: string): Promise<Redis | undefined> {
	const version = versionOf();
	if (version === undefined) return undefined;
	const dir = join(folder, "redis");
	mkdirSync(dir);
	const port = await freePort();
	const options = {
		bind: "127.0.0.1",
		port,
		dir,
		appendonly: "yes",
		appendfsync: "always",
		save: "",
	};
	const child = spawn(
		"redis-server",
		Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	await new Promise<void>((resolve, reject) => {
		createInterface({ input: child.stdout }).on(
			"line",
			(line) => void (line.includes("Ready to accept connections") && resolve()),
		);
		child.once("exit", (code) => reject(new Error(`redis-server ended with code ${code}.`)));
	});
	return { port, version, stop: () => end(child) };
}

function versionOf(): string | undefined {
	try {
		return /v=(\S+)/.exec(execFileSync("redis-server", ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown";
	} catch {
		return undefined;
	}
}
