/**
 * The socket of a daemon on another machine, forwarded by one `ssh` process to a socket here (D44,
 * decision 0039). The session's shell answers questions, and ends when this process does.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Until the connection stands, s; and between two signs of life of the other side, of which 3 may be missed. */
const CONNECT_S = 10;
const ALIVE_S = 5;

const SOCKET = "/var/run/docker.sock";

/** Answers each line, a path, with the row of `df` for it and a line with a dot. */
const SHELL = `exec sh -c 'while read -r path; do df -Pk "$path" 2>/dev/null | tail -n 1; echo .; done'`;

export interface SshTunnel {
	/** Path of the socket here, connected when needed. Rejects with what ssh says. */
	open(): Promise<string>;
	/** Free bytes at a path over there. */
	freeBytes(path: string): Promise<number | undefined>;
	/** The fault of a call through the tunnel, with what ssh says about it. */
	faultOf(error: Error): Error;
	close(): void;
}

type Ssh = ChildProcessByStdio<Writable, Readable, Readable>;

interface Session {
	ssh: Ssh;
	/** With the socket. */
	folder: string;
	socket: string;
	/** Waiting for answers, in order. */
	questions: ((rows: string[]) => void)[];
	lastError: string;
}

export function sshTunnel(url: URL): SshTunnel {
	const { hostname, port, username } = url;
	const remote = url.pathname.length > 1 ? decodeURIComponent(url.pathname) : SOCKET;
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
			...(username ? ["-l", decodeURIComponent(username)] : []),
			...["--", hostname, SHELL],
		];
		const ssh = spawn("ssh", args, { stdio: ["pipe", "pipe", "pipe"] });
		const session: Session = { ssh, folder, socket, questions: [], lastError: "" };
		// Its end is noticed by `close`.
		ssh.stdin.on("error", () => {});
		createInterface(ssh.stderr).on("line", (line) => {
			if (line.trim() !== "") session.lastError = line.trim();
		});
		let rows: string[] = [];
		createInterface(ssh.stdout).on("line", (line) => {
			if (line !== ".") return void rows.push(line);
			session.questions.shift()?.(rows);
			rows = [];
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
				reject(new Error(connectFault(url.host, session.lastError)));
				for (const answer of session.questions) answer([]);
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
			// Filesystem, 1024-blocks, used, available, capacity, mounted on.
			const [row = ""] = await ask(await session(), path);
			const available = row.trim().split(/\s+/)[3];
			return available === undefined ? undefined : Number(available) * 1024;
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

/** Resolves with no rows when the session ends. */
function ask({ ssh, questions }: Session, path: string): Promise<string[]> {
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
