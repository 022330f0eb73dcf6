/**
 * What `sluice doctor` looks at without a service: Node, the configuration, the store's folder, the
 * port, the programs of launchers.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { hasModule, importsRunpod } from "../dev/target.ts";
import { ok, problem, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** The part of an endpoint's settings that starts workers. */
export interface LauncherCheck {
	id: string;
	launcher: { type: string; command?: readonly string[]; cwd?: string };
}

type Env = Readonly<Record<string, string | undefined>>;

const NODE_NEEDED = 24;
/** Free disk below which the store is about to stop, and below which that is near, bytes. */
const DISK = { least: 100e6, little: 1e9 } as const;
/** How long a Docker daemon may take to answer, ms. */
const DOCKER_MS = 3000;

/** The running Node. */
export function nodeFinding(version: string): Finding {
	return Number(version.split(".")[0]) >= NODE_NEEDED
		? ok("node", `Node ${version}.`)
		: problem("node", `Node ${version} is too old.`, `Install Node ${NODE_NEEDED} or newer.`);
}

/** Whether the store can be written where it is to be, and for how long. */
export function storeFindings(path: string): Finding[] {
	let folder = dirname(path);
	while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
	try {
		accessSync(folder, constants.W_OK);
		if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
		if (existsSync(path)) accessSync(path, constants.W_OK | constants.R_OK);
	} catch (error) {
		return [
			problem(
				"store",
				`${path} cannot be written: ${(error as Error).message}.`,
				"Give this user the right to write there, or choose another place with --store sqlite:PATH.",
			),
		];
	}
	const { bavail, bsize } = statfsSync(folder);
	const free = bavail * bsize;
	const told = `${(free / 1e9).toFixed(1)} GB free at ${folder}`;
	if (free < DISK.least)
		return [
			problem(
				"disk",
				`Only ${told}: submissions will be refused with 503.`,
				"Make room, or move the store with --store.",
			),
		];
	if (free < DISK.little)
		return [warning("disk", `Only ${told}.`, "Make room, or move the store with --store.")];
	return [ok("store", `${path} can be written; ${told}.`)];
}

/** Whether a service could listen there. */
export async function portFinding({
	host,
	port,
}: {
	host: string;
	port: number;
}): Promise<Finding> {
	const server = createServer();
	const code = await new Promise<string | undefined>((done) => {
		server.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
		server.listen(port, host, () => server.close(() => done(undefined)));
	});
	if (code === undefined) return ok("port", `Port ${port} on ${host} is free.`);
	if (code === "EADDRINUSE")
		return problem(
			"port",
			`Port ${port} on ${host} is in use by another program.`,
			"End that program, or start the service with another --port.",
		);
	return problem(
		"port",
		`Listening on ${host}:${port} is not possible: ${code}.`,
		"Choose another --host or --port.",
	);
}

/** Whether the programs that launchers start are there. */
export async function launcherFindings(
	endpoints: readonly LauncherCheck[],
	env: Env,
): Promise<Finding[]> {
	const findings = endpoints
		.filter(({ launcher }) => launcher.type === "process")
		.flatMap((endpoint) => processFindings(endpoint, env));
	const onDocker = endpoints
		.filter(({ launcher }) => launcher.type === "docker")
		.map(({ id }) => id);
	return onDocker.length === 0 ? findings : [...findings, await dockerFinding(onDocker, env)];
}

function processFindings(
	{ id, launcher: { command = [], cwd } }: LauncherCheck,
	env: Env,
): Finding[] {
	const check = `endpoint ${id}`;
	if (cwd !== undefined && !existsSync(cwd))
		return [
			problem(
				check,
				`Its working directory ${cwd} does not exist.`,
				"Set launcher.cwd to a folder that does.",
			),
		];
	/** Undefined when it is relative to a working directory that only the service knows. */
	const placed = (path: string): string | undefined =>
		isAbsolute(path) ? path : cwd && resolve(cwd, path);
	const [program = "", ...args] = command;
	const places = program.includes("/")
		? [placed(program)]
		: (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program));
	if (places.some((place) => place === undefined)) return [];
	if (!places.some((place) => isExecutable(place!)))
		return [
			problem(
				check,
				`Its program '${program}' was not found.`,
				`Install it, or set launcher.command to its path: sluice endpoints update ${id} --set 'launcher.command=[/path/to/${basename(program)}, ...]'`,
			),
		];
	const script = args.find((each) => each.endsWith(".py"));
	const path = script === undefined ? undefined : placed(script);
	if (!/^python[\d.]*$/.test(basename(program)) || path === undefined) return [];
	if (!existsSync(path))
		return [
			problem(
				check,
				`Its handler ${path} does not exist.`,
				"Correct launcher.command or launcher.cwd.",
			),
		];
	if (!importsRunpod(path)) return [];
	const has = hasModule(program, "runpod", cwd ?? dirname(path));
	if (has === undefined)
		return [problem(check, `'${program}' cannot be run.`, "Install Python 3.10 or newer.")];
	return has
		? [ok(check, `${program} has the runpod package.`)]
		: [
				problem(
					check,
					`${program} does not have the runpod package that its workers import.`,
					`Install it: ${program} -m pip install runpod, or name the python of a virtual environment in launcher.command.`,
				),
			];
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** Whether the Docker daemon answers. */
async function dockerFinding(endpoints: readonly string[], env: Env): Promise<Finding> {
	const address = env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
	const url = address.startsWith("unix://")
		? undefined
		: new URL(address.replace(/^tcp:/, "http:"));
	const place = url
		? { host: url.hostname, port: url.port }
		: { socketPath: address.slice("unix://".length) };
	const fault = await new Promise<string | undefined>((done) => {
		const asking = request({ ...place, path: "/_ping", timeout: DOCKER_MS }, (answer) => {
			answer.resume();
			done(answer.statusCode === 200 ? undefined : `HTTP ${answer.statusCode}`);
		});
		asking.on("timeout", () => asking.destroy(new Error("no answer")));
		asking.on("error", (error) => done(error.message));
		asking.end();
	});
	if (fault === undefined) return ok("docker", `The Docker daemon at ${address} answers.`);
	return problem(
		"docker",
		`The Docker daemon at ${address} does not answer (${fault}); ${endpoints.map((id) => `'${id}'`).join(", ")} cannot start workers.`,
		"Start Docker, give this user access to its socket, or set DOCKER_HOST.",
	);
}
