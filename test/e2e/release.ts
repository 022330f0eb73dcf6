/** The files of a release, made of what is built already, and programs that run from them. */
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestContext } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Without a registry: what the release needs is there. Returns what the script prints. */
export function makeRelease(out: string, ...args: string[]): string {
	const env = { ...process.env, npm_config_offline: "true", npm_config_update_notifier: "false" };
	return execFileSync(process.execPath, [join(ROOT, "scripts/release.ts"), "--out", out, ...args], {
		encoding: "utf8",
		env,
	});
}

interface Run {
	/** 0 if the program succeeded. */
	code: number;
	stdout: string;
	stderr: string;
}

/** Waits for the end of a program that has only these variables. */
export async function runProgram(
	program: string,
	args: readonly string[],
	env: Record<string, string>,
	cwd = env["HOME"] ?? "/",
): Promise<Run> {
	try {
		return { code: 0, ...(await promisify(execFile)(program, args, { env, cwd })) };
	} catch (error) {
		return error as Run & Error;
	}
}

/**
 * The address of a registry that has Node for this machine: a package, made in the folder `cwd`, whose program runs
 * the Node of this test.
 */
export async function nodeRegistry(cwd: string, test: TestContext): Promise<string> {
	const name = `node-${process.platform}-${process.arch}`;
	mkdirSync(join(cwd, "bin"), { recursive: true });
	writeFileSync(join(cwd, "bin/node"), `#!/bin/sh\nexec ${process.execPath} "$@"\n`, { mode: 0o755 });
	const manifest = { name, version: "24.0.0", bin: { node: "bin/node" } };
	writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
	execFileSync("npm", ["pack", "--silent"], { cwd });
	const server = createServer(({ url }, response) => {
		if (url!.endsWith(".tgz")) return response.end(readFileSync(join(cwd, `${name}-24.0.0.tgz`)));
		const dist = { tarball: `http://${response.req.headers.host}/${name}-24.0.0.tgz` };
		const versions = { "24.0.0": { ...manifest, dist } };
		return response.end(JSON.stringify({ name, "dist-tags": { latest: "24.0.0" }, versions }));
	});
	test.onTestFinished(() => void server.close());
	await once(server.listen(0, "127.0.0.1"), "listening");
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
