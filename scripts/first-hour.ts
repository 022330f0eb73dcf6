/**
 * `npm run first-hour`: the first hour of a stranger on this machine, with its own Node, and how
 * long each step takes: clone, install, demo, package, a handler in JavaScript and one in Python, an
 * HTTP server as a worker, console, container. What this machine cannot do is skipped by name.
 * Exits 1 when a step fails.
 * `npm run first-hour -- docker` runs the clone and the steps with this word.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Of the image, and of its volume. */
const IMAGE = "sluice-first-hour";
const ANSWER_LIMIT_MS = 60_000;
/** Time from `sluice connect` to the first result of an HTTP server. */
const CONNECT_LIMIT_MS = 60_000;

interface Step {
	name: string;
	/** Returns why it cannot be done here, if so. */
	run(): Promise<string | void>;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-first-hour-"));
const clone = join(folder, "sluice");
const bin = join(folder, "global/bin/sluice");

/** As of a user: without the packages of this repository, and with no settings of Sluice. */
const env: NodeJS.ProcessEnv = {
	...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:SLUICE_|npm_)/.test(name))),
	PATH: (process.env["PATH"] ?? "")
		.split(delimiter)
		.filter((each) => !each.includes("node_modules"))
		.join(delimiter),
	XDG_CONFIG_HOME: join(folder, "config"),
};
/** The Node that the repository brings, for the installed command. */
const modern = { ...env, PATH: `${join(clone, "node_modules/.bin")}${delimiter}${env["PATH"]}` };

const execute = promisify(execFile);

async function run(cwd: string, command: string, variables = env): Promise<string> {
	const { stdout } = await execute("sh", ["-c", command], {
		cwd,
		env: variables,
		maxBuffer: 64 * 1024 * 1024,
	});
	return stdout;
}

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	return port;
}

interface Session {
	stdout(): string;
	/** The first group of what is found; rejects when the session ends or is silent for long. */
	says(what: RegExp): Promise<string>;
	stop(): Promise<void>;
}

function dev(cwd: string): Session {
	return started(cwd, bin, ["dev", ".", "--port", "0"]);
}

function started(cwd: string, command: string, args: readonly string[]): Session {
	const child = spawn(command, args, { cwd, env: modern, stdio: "pipe" });
	let said = "";
	const listeners = new Set<() => void>();
	const onData = (piece: Buffer): void => {
		said += piece.toString();
		for (const listener of listeners) listener();
	};
	child.stdout.on("data", onData);
	child.stderr.on("data", onData);
	const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
	return {
		stdout: () => said,
		says: (what) =>
			new Promise((resolve, reject) => {
				const fail = (): void => reject(new Error(`No ${what} in:\n${said}`));
				const timer = setTimeout(fail, ANSWER_LIMIT_MS);
				const check = (): void => {
					const found = what.exec(said);
					if (!found) return;
					clearTimeout(timer);
					listeners.delete(check);
					resolve(found[1] ?? found[0]);
				};
				listeners.add(check);
				void ended.then(fail);
				check();
			}),
		async stop() {
			child.kill("SIGINT");
			await ended;
		},
	};
}

/** The curl line that the banner prints is pasted until the worker has answered it. */
async function firstResult(session: Session, expected: RegExp): Promise<void> {
	const curl = await session.says(/try it +(curl .*)/);
	const answer = await run(folder, curl);
	if (!expected.test(answer)) throw new Error(`Unexpected answer: ${answer}`);
}

let javascript: Session | undefined;

const STEPS: readonly Step[] = [
	{ name: "git clone", run: async () => void (await run(folder, `git clone -q ${ROOT} sluice`)) },
	{ name: "npm ci", run: async () => void (await run(clone, "npm ci")) },
	{
		name: "npm run demo, first real result",
		async run() {
			const said = await run(clone, "npm run demo");
			if (!said.includes("every job ran to its result")) throw new Error(said);
		},
	},
	{
		name: "npm pack && npm install -g",
		async run() {
			const prefix = join(folder, "global");
			await run(clone, `npm pack && npm install -g --prefix ${prefix} ./sluice-*.tgz`);
		},
	},
	{
		name: "sluice with this machine's Node",
		async run() {
			const { status, stderr } = spawnSync(bin, ["--version"], { env, encoding: "utf8" });
			if (status !== 0 && !/^sluice needs Node .* or run: npx -y node@/.test(stderr)) throw new Error(stderr);
		},
	},
	{
		name: "init javascript, dev, first result",
		async run() {
			await run(folder, `${bin} init javascript mine`, modern);
			javascript = dev(join(folder, "mine"));
			await firstResult(javascript, /"greeting":"Hello, Ada!"/);
		},
	},
	{
		name: "connect an HTTP server, first result",
		async run() {
			const server = createHttpServer((request, response) => {
				response.setHeader("content-type", "application/json");
				request.pipe(response);
			}).listen(0, "127.0.0.1");
			await once(server, "listening");
			const { port } = server.address() as AddressInfo;
			const variables = await javascript!.says(/shell +export (\S+ \S+)/);
			const sluice = `${variables} exec ${bin}`;
			const connect = `${sluice} connect raw http://127.0.0.1:${port} --endpoint served --yes`;
			const begun = performance.now();
			const session = started(folder, "sh", ["-c", connect]);
			await session.says(/Connecting /);
			const said = await run(folder, `${sluice} jobs submit served --input '{"name": "Ada"}' --wait`, modern);
			const ms = performance.now() - begun;
			await session.stop();
			server.close();
			if (ms > CONNECT_LIMIT_MS) throw new Error(`The first result took ${Math.round(ms / 1000)} s.`);
			if (!/^\{"name": "Ada"\}$/m.test(said)) throw new Error(`${said}\n${session.stdout()}`);
		},
	},
	{
		name: "console: sign in by the link",
		async run() {
			const link = new URL(await javascript!.says(/console +(\S+)/));
			const page = await fetch(new URL("/console/", link));
			const signedIn = await fetch(new URL("/console/session", link), {
				method: "POST",
				headers: { "content-type": "application/json", origin: link.origin },
				body: JSON.stringify({ link: link.hash.split("/").at(-1) }),
			});
			await javascript!.stop();
			if (!page.ok || !signedIn.ok)
				throw new Error(`HTTP ${page.status}, ${signedIn.status}: ${await signedIn.text()}`);
		},
	},
	{
		name: "init python, dev, first result",
		async run() {
			const cwd = join(folder, "in-python");
			await run(folder, `${bin} init python in-python`, modern);
			if (spawnSync("python3", ["--version"], { env }).status !== 0) return "no python3";
			const session = dev(cwd);
			await firstResult(session, /"greeting": ?"Hello, /);
			await session.stop();
		},
	},
	{
		name: "docker build",
		async run() {
			if (spawnSync("docker", ["info"], { env }).status !== 0) return "no Docker daemon answers";
			// Where no registry can be reached; the build installs packages over the machine's network.
			const base = process.env["SLUICE_TEST_IMAGE_BASE"];
			const own = base ? `--network host --build-arg BASE=${base}` : "";
			await run(clone, `docker build -q ${own} -t ${IMAGE} .`);
		},
	},
	{
		name: "docker run, first answer",
		async run() {
			if (spawnSync("docker", ["image", "inspect", IMAGE], { env }).status !== 0) return "there is no image";
			const port = await freePort();
			const bridge = spawnSync("docker", ["network", "inspect", "bridge"], { env }).status === 0;
			const line = /^docker run .*$/m
				.exec(readFileSync(join(clone, "README.md"), "utf8"))![0]
				.replace("--name sluice ", "")
				.replace("sluice-data", IMAGE)
				.replace(/ sluice$/, ` ${IMAGE}`)
				.replace(
					/-p 127\.0\.0\.1:8080:8080/,
					bridge ? `-p 127.0.0.1:${port}:8080` : `--network host -e SLUICE_HOST=127.0.0.1 -e SLUICE_PORT=${port}`,
				);
			const session = started(clone, "sh", ["-c", `exec ${line}`]);
			try {
				await session.says(/Sluice listens/);
				const key = await session.says(/API key[^\n]*?(sluice_\w+)/);
				const address = `http://127.0.0.1:${port}`;
				const authorization = `Bearer ${key}`;
				const { ok } = await fetch(`${address}/v1/endpoints`, { headers: { authorization } });
				const docs = await (await fetch(`${address}/docs/`)).text();
				if (!ok || !docs.includes("Tutorials")) throw new Error(session.stdout());
			} finally {
				await session.stop();
				await run(clone, `docker volume rm -f ${IMAGE}`);
			}
		},
	},
];

async function main(): Promise<void> {
	const begun = performance.now();
	const [word = ""] = process.argv.slice(2);
	const steps = STEPS.filter(({ name }, at) => at === 0 || name.includes(word));
	for (const { name, run: step } of steps) {
		const before = performance.now();
		let skipped: string | void;
		try {
			skipped = await step();
		} catch (error) {
			console.log(`FAILED   ${name}: ${(error as Error).message}`);
			process.exitCode = 1;
			break;
		}
		const seconds = ((performance.now() - before) / 1000).toFixed(1).padStart(6);
		console.log(skipped ? `skipped  ${name}: ${skipped}` : `${seconds} s ${name}`);
	}
	console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s altogether`);
	await javascript?.stop();
	rmSync(folder, { recursive: true, force: true });
}

await main();
