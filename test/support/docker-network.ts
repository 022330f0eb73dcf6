/**
 * A Docker daemon with bridges and published ports, in a network namespace of a test: the machine's own
 * network stays as it is. Needs root, `dockerd`, `ip`, `nsenter` and iptables.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { dockerAt } from "./docker.ts";
import { until } from "./until.ts";

export interface DockerNetwork {
	/** Of the daemon, for `DOCKER_HOST`. */
	host: string;
	/** Runs a program in the namespace and returns its output. */
	run(...command: string[]): Promise<string>;
	/** A command that runs this one in the namespace. */
	inside(...command: string[]): string[];
	/** Ends the daemon with its containers, and removes everything. */
	remove(): Promise<void>;
}

export async function startDockerNetwork(): Promise<DockerNetwork> {
	const namespace = `sluice-${randomBytes(4).toString("hex")}`;
	const folder = mkdtempSync(join(tmpdir(), "sluice-dockerd-"));
	// `ip netns exec` would hide the cgroups.
	const inside = (...command: string[]): string[] => [
		...["nsenter", `--net=/run/netns/${namespace}`, "--"],
		...command,
	];
	const run = async (...command: string[]): Promise<string> => {
		const [file, ...args] = inside(...command);
		return (await promisify(execFile)(file!, args, { maxBuffer: 16 << 20 })).stdout;
	};
	execFileSync("ip", ["netns", "add", namespace]);
	await run("ip", "link", "set", "lo", "up");
	const host = `unix://${folder}/docker.sock`;
	const log = openSync(join(folder, "log"), "a");
	const [file, ...args] = inside(
		...["dockerd", "--host", host, "--pidfile", `${folder}/pid`],
		...["--data-root", `${folder}/data`, "--exec-root", `${folder}/exec`],
	);
	const daemon = spawn(file!, args, { stdio: ["ignore", log, log] });
	const ended = once(daemon, "exit");
	async function remove(): Promise<void> {
		const ids = await dockerAt(host, "ps", "--all", "--quiet").catch(() => "");
		for (const id of ids.split("\n").filter(Boolean)) await dockerAt(host, "rm", "--force", id).catch(() => {});
		daemon.kill();
		await ended;
		for (const line of readFileSync("/proc/mounts", "utf8").split("\n").toReversed()) {
			const path = line.split(" ")[1];
			if (path?.startsWith(folder)) execFileSync("umount", ["--lazy", path]);
		}
		execFileSync("ip", ["netns", "delete", namespace]);
		rmSync(folder, { recursive: true, force: true });
	}
	try {
		await until(
			"dockerd answers",
			async () => {
				if (daemon.exitCode !== null) return "it ended";
				return await dockerAt(host, "version");
			},
			60_000,
		);
		if (daemon.exitCode !== null)
			throw new Error(`dockerd ended:\n${readFileSync(join(folder, "log"), "utf8").slice(-2000)}`);
	} catch (error) {
		await remove();
		throw error;
	}
	return { host, run, inside, remove };
}
