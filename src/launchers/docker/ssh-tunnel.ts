/**
 * The socket of a daemon on another machine, forwarded by one `ssh` process to a socket here (D44,
 * decision 0039). The session's shell answers questions, and ends when this process does.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { linesOf } from "../platform-streams.ts";

/** Until the connection stands, s; and between two signs of life of the other side, of which 3 may be missed. */
const CONNECT_S = 10;
const ALIVE_S = 5;

const SOCKET = "/var/run/docker.sock";

/** Reaches the shell over there: nothing that it, or `df`, could take for anything but a path. */
const ROOT_DIR = /^\/[^\p{Cc}]{0,4095}$/u;
/** Maximum length of a line of ssh, characters. */
const LINE_CHARACTERS = 500;

/** Answers each line, a path, with the row of `df` for it and a line with a dot. */
const SHELL = `exec sh -c 'while read -r path; do df -Pk "$path" 2>/dev/null | tail -n 1; echo .; done'`;

export interface SshTunnel {
	/** Path of the socket here, connected when needed. Rejects with what ssh says. */
	open(): Promise<string>;
	/** Free bytes at a path over there; undefined if it is no absolute path. */
	freeBytes(path: unknown): Promise<number | undefined>;
	/** The fault of a call through the tunnel, with what ssh says about it. */
	faultOf(error: Error): Error;
	close(): void;
}

type Env = Readonly<Record<string, string | undefined>>;

type Ssh = ChildProcessByStdio<Writable, Readable, Readable>;

interface Session {
	ssh: Ssh;
	/** With the socket. */
	folder: string;
	socket: string;
	/** Waiting for answers, in order. */
	questions: ((row: string) => void)[];
	lastError: string;
}

/** `env`: of ssh, without secrets of the service. */
export function sshTunnel(url: URL, env: Env): SshTunnel {
	const { hostname, port, username } = url;
	const remote = url.pathname.length > 1 ? decoded(url.pathname) : SOCKET;
	let current: Session | undefined;
	let opening: Promise<Session> | undefined;

	function connect(): Promise<Session> {
		const folder = mkdtempSync(join(tmpdir(), "sluice-ssh-"));
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
		// Its end is noticed by `close`.
		ssh.stdin.on("error", () => {});
		const errorsRead = eachLine(ssh.stderr, (line) => (session.lastError = line || session.lastError));
		let row = "";
		void eachLine(ssh.stdout, (line) => {
			if (line !== ".") return void (row = line);
			session.questions.shift()?.(row);
			row = "";
		});
		return new Promise((resolve, reject) => {
			ssh.once("error", (error: NodeJS.ErrnoException) => {
				rmSync(folder, { recursive: true, force: true });
				const missing = error.code === "ENOENT";
				reject(missing ? new Error("the program ssh was not found; install OpenSSH") : error);
			});
			ssh.once("close", () => {
				if (current === session) current = undefined;
				rmSync(folder, { recursive: true, force: true });
				void errorsRead.then(() => {
					reject(new Error(connectFault(url.host, session.lastError)));
					for (const answer of session.questions) answer("");
				});
			});
			// Answered once the connection stands and the socket is there.
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
		async freeBytes(path) {
			if (typeof path !== "string" || !ROOT_DIR.test(path)) return undefined;
			// Filesystem, 1024-blocks, used, available, capacity, mounted on.
			const available = (await ask(await session(), path)).split(/\s+/)[3] ?? "";
			return /^\d{1,12}$/.test(available) ? Number(available) * 1024 : undefined;
		},
		faultOf(error) {
			const { lastError = "" } = current ?? {};
			if (!/open failed/.test(lastError)) return error;
			return new Error(
				`ssh reaches ${url.host}, but not the Docker daemon at ${remote} there (${lastError}): start ` +
					"it, and let this user use it (group docker)",
				{ cause: error },
			);
		},
		close() {
			void opening?.then(end).catch(() => {});
			if (current) end(current);
			current = undefined;
		},
	};
}

function end({ ssh, folder }: Session): void {
	ssh.kill();
	rmSync(folder, { recursive: true, force: true });
}

/** A bad escape stands for itself. */
function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/** Calls `read` with the beginning of each line; resolves at the end of the stream. */
async function eachLine(stream: Readable, read: (line: string) => void): Promise<void> {
	try {
		for await (const pieces of linesOf(stream))
			for (const { bytes, begins } of pieces) if (begins) read(bytes.toString("utf8").slice(0, LINE_CHARACTERS).trim());
	} catch {
		// It was cut: the session ends.
	}
}

/** Resolves without a row when the session ends. */
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
