/**
 * Forwards a remote daemon's socket to a local one through one `ssh` process (D44, decision 0039). The session's
 * shell answers questions and ends when this process does.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileCalls } from "../../../kernel/system/file-calls.ts";
import { linesOf } from "../../../kernel/launchers/platform-streams.ts";
import type { Env } from "../../../kernel/lib/env.ts";

/** Connect timeout, and interval of keep-alives of which 3 may be missed, s. */
const CONNECT_S = 10;
const ALIVE_S = 5;

const SOCKET = "/var/run/docker.sock";

/** The path goes to a remote shell and `df`, so it must be absolute and without control characters. */
const ROOT_DIR = /^\/[^\p{Cc}]{0,4095}$/u;
const LINE_CHARACTERS = 500;

/** Answers each path with its row of `df` and a line with a dot. */
const SHELL = `exec sh -c 'while read -r path; do df -Pk "$path" 2>/dev/null | tail -n 1; echo .; done'`;

type Ssh = ChildProcessByStdio<Writable, Readable, Readable>;

interface Session {
	ssh: Ssh;
	folder: string;
	socket: string;
	questions: ((row: string) => void)[];
	lastError: string;
}

/** `env` is without secrets of the service. */
export function sshTunnel(url: URL, env: Env) {
	const { hostname, port, username } = url;
	const remote = url.pathname.length > 1 ? decoded(url.pathname) : SOCKET;
	let current: Session | undefined;
	let opening: Promise<Session> | undefined;

	async function connect(): Promise<Session> {
		const folder = await fileCalls.run(tmpdir(), () => mkdtemp(join(tmpdir(), "sluice-ssh-")));
		const socket = join(folder, "docker.sock");
		const options = [
			"BatchMode=yes",
			`ConnectTimeout=${CONNECT_S}`,
			`ServerAliveInterval=${ALIVE_S}`,
			"ServerAliveCountMax=3",
			"ExitOnForwardFailure=yes",
			"ControlMaster=no",
			"ControlPath=none",
		];
		const args = [
			...["-T", "-a", "-x", "-L", `${socket}:${remote}`],
			...options.flatMap((option) => ["-o", option]),
			...(port ? ["-p", port] : []),
			...(username ? ["-l", decoded(username)] : []),
			...["--", hostname, SHELL],
		];
		const ssh = spawn("ssh", args, { env: { ...env }, stdio: ["pipe", "pipe", "pipe"] });
		const session: Session = { ssh, folder, socket, questions: [], lastError: "" };
		// A broken pipe is handled at `close`.
		ssh.stdin.on("error", () => {});
		const errorsRead = eachLine(ssh.stderr, (line) => (session.lastError = line || session.lastError));
		let row = "";
		void eachLine(ssh.stdout, (line) => {
			if (line !== ".") return void (row = line);
			session.questions.shift()?.(row);
			row = "";
		});
		return await new Promise((resolve, reject) => {
			ssh.once("error", (error: NodeJS.ErrnoException) => {
				remove(folder);
				const missing = error.code === "ENOENT";
				reject(missing ? new Error("the program ssh was not found; install OpenSSH") : error);
			});
			ssh.once("close", () => {
				if (current === session) current = undefined;
				remove(folder);
				void errorsRead.then(() => {
					reject(new Error(connectFault(url.host, session.lastError)));
					for (const answer of session.questions) answer("");
				});
			});
			// The answer shows that the connection and the socket exist.
			void ask(session, "/").then(() => resolve(session));
		});
	}

	async function session(): Promise<Session> {
		if (current) return current;
		opening ??= connect().finally(() => (opening = undefined));
		return (current = await opening);
	}

	return {
		open: async () => (await session()).socket,
		/** Returns the free bytes at a path; undefined if it is not an absolute path. */
		async freeBytes(path: unknown): Promise<number | undefined> {
			if (typeof path !== "string" || !ROOT_DIR.test(path)) return undefined;
			// Filesystem, 1024-blocks, used, available, capacity, mounted on.
			const available = (await ask(await session(), path)).split(/\s+/)[3] ?? "";
			return /^\d{1,12}$/.test(available) ? Number(available) * 1024 : undefined;
		},
		faultOf(error: Error): Error {
			const { lastError = "" } = current ?? {};
			if (!/open failed/.test(lastError)) return error;
			return new Error(
				`ssh reaches ${url.host}, but not the Docker daemon at ${remote} there (${lastError}): start ` +
					"it, and let this user use it (group docker)",
				{ cause: error },
			);
		},
		close(): void {
			void opening?.then(end).catch(() => {});
			if (current) end(current);
			current = undefined;
		},
	};
}

/** A folder that cannot be removed does no harm. */
function remove(folder: string): void {
	fileCalls.run(folder, () => rm(folder, { recursive: true, force: true })).catch(() => {});
}

function end({ ssh, folder }: Session): void {
	// SIGKILL, since the program may ignore other signals.
	ssh.kill("SIGKILL");
	remove(folder);
}

/** A bad escape stands for itself. */
function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

async function eachLine(stream: Readable, read: (line: string) => void): Promise<void> {
	try {
		for await (const pieces of linesOf(stream))
			for (const { bytes, begins } of pieces) if (begins) read(bytes.toString("utf8").slice(0, LINE_CHARACTERS).trim());
	} catch {
		// The stream was cut, and the session ends.
	}
}

function ask({ ssh, questions }: Session, path: string): Promise<string> {
	return new Promise((resolve) => {
		questions.push(resolve);
		ssh.stdin.write(`${path}\n`);
	});
}

function connectFault(host: string, said: string): string {
	if (/host key verification failed/i.test(said))
		return `ssh does not know ${host} (${said}): run ssh ${host} once as the user of the service`;
	if (/permission denied/i.test(said))
		return `ssh to ${host} is refused (${said}): the user of the service needs a key without passphrase or an agent`;
	return `ssh to ${host} failed${said === "" ? "" : `: ${said}`}`;
}
