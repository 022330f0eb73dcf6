/**
 * Two machines with Docker on this one: network namespaces, each with a dockerd of its own. The first
 * is reached by ssh (Debian's openssh-server, keys of the test), the second by TLS.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	closeSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { HostSettings } from "../../src/modules/docker/hosts/host-schema.ts";
import { makeImage } from "./docker.ts";
import { until } from "./until.ts";

const run = promisify(execFile);

/** Why two machines cannot be made here; undefined where they can. */
export const noHosts: string | undefined = reason();

function reason(): string | undefined {
	if (process.platform !== "linux" || process.getuid?.() !== 0) return "network namespaces need root on Linux";
	for (const [program, file] of [
		["dockerd", "/usr/sbin/dockerd"],
		["sshd (openssh-server)", "/usr/sbin/sshd"],
		["ip (iproute2)", "/usr/sbin/ip"],
		["openssl", "/usr/bin/openssl"],
	] as const)
		if (!existsSync(file)) return `${program} is not installed`;
	try {
		execFileSync("ip", ["netns", "add", `sluice-probe-${process.pid}`], { stdio: "pipe" });
		execFileSync("ip", ["netns", "del", `sluice-probe-${process.pid}`], { stdio: "pipe" });
		return undefined;
	} catch (error) {
		return `no network namespaces: ${(error as Error).message.trim()}`;
	}
}

/** The title of a suite, with the reason why it does not run. */
export function titledHosts(title: string): string {
	return noHosts === undefined ? title : `${title} (skipped: ${noHosts})`;
}

export interface Machine {
	readonly name: string;
	/** Of this machine, as workers there reach it. */
	readonly gateway: string;
	/** For `hosts`. */
	readonly settings: HostSettings;
	/** Runs `docker` there. */
	docker(...args: string[]): Promise<string>;
	/** Ends dockerd, by default as a crash does. */
	kill(signal?: NodeJS.Signals): Promise<void>;
	start(): Promise<void>;
	/** Cuts or restores its network. */
	connect(up: boolean): Promise<void>;
}

export interface TwoMachines {
	rig1: Machine;
	rig2: Machine;
	/** For programs that call `ssh`: finds the keys of the test. */
	path: string;
	close(): Promise<void>;
}

/** `gpus`: pretended for each; dockerd then has a driver for them that does nothing. */
export async function twoMachines(q: { gpus?: number; liveRestore?: boolean } = {}): Promise<TwoMachines> {
	const root = mkdtempSync(join(tmpdir(), "sluice-hosts-"));
	const closers: (() => Promise<unknown>)[] = [];
	const close = async (): Promise<void> => {
		for (const each of closers.toReversed()) await each().catch(() => {});
		// One for each dockerd that was killed.
		const mounts = `grep ' ${root}' /proc/self/mounts | cut -d ' ' -f 2 | sort -r`;
		await run("sh", ["-c", `${mounts} | xargs -r -n 1 umount`]).catch(() => {});
		rmSync(root, { recursive: true, force: true });
	};
	try {
		return { ...(await made(root, closers, q)), close };
	} catch (error) {
		await close();
		throw error;
	}
}

async function made(
	root: string,
	closers: (() => Promise<unknown>)[],
	q: { gpus?: number; liveRestore?: boolean },
): Promise<Omit<TwoMachines, "close">> {
	const stubs = join(root, "bin");
	mkdirSync(stubs);
	script(join(stubs, "nvidia-container-runtime-hook"), "exit 0");
	const net = await freeNet();
	const liveRestore = q.liveRestore ?? true;
	const make = (index: number): Promise<Base> => machine({ index, root, net, stubs, liveRestore, closers });
	const [first, second] = await Promise.all([make(1), make(2)]);
	await sshd(first, root, closers);
	const certificates = await tls(root, second.address);
	second.args.push(
		...["--tlsverify", "--tlscacert", certificates.daemon.ca, "--tlscert", certificates.daemon.cert],
		...["--tlskey", certificates.daemon.key, "--host", `tcp://${second.address}:2376`],
	);
	await Promise.all([first.start(), second.start()]);
	await Promise.all([makeImage(first.socket), makeImage(second.socket)]);
	const of = (base: Base, settings: HostSettings): Machine => ({
		...base,
		settings: {
			...settings,
			gpus: Array.from({ length: q.gpus ?? 0 }, (_, gpu) => ({
				id: `GPU-${base.name}-${gpu}`,
				model: base.name === "rig1" ? "NVIDIA L4" : "NVIDIA A100-SXM4-40GB",
				memoryGb: base.name === "rig1" ? 24.2 : 42.9,
			})),
		},
	});
	return {
		rig1: of(first, {
			docker: `ssh://root@${first.address}${first.socket.slice("unix://".length)}`,
			labels: ["small"],
		}),
		rig2: of(second, { docker: `tcp://${second.address}:2376`, tls: certificates.client }),
		path: `${join(root, "ssh")}:${process.env["PATH"] ?? ""}`,
	};
}

interface Base extends Omit<Machine, "settings"> {
	address: string;
	socket: string;
	/** Of dockerd. */
	args: string[];
	namespace: string;
}

async function machine(q: {
	index: number;
	root: string;
	net: string;
	stubs: string;
	liveRestore: boolean;
	closers: (() => Promise<unknown>)[];
}): Promise<Base> {
	const { index } = q;
	const name = `rig${index}`;
	const folder = join(q.root, name);
	mkdirSync(folder);
	const namespace = `sluice-${process.pid}-${index}`;
	const veth = `slc${process.pid}-${index}`;
	const [gateway, address] = [`${q.net}.${index}.1`, `${q.net}.${index}.2`];
	const ip = (...args: string[]): Promise<unknown> => run("ip", args);
	await ip("netns", "add", namespace);
	q.closers.push(() => ip("netns", "del", namespace));
	await ip("link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", namespace);
	await ip("addr", "add", `${gateway}/24`, "dev", veth);
	await ip("link", "set", veth, "up");
	for (const args of [
		["addr", "add", `${address}/24`, "dev", "eth0"],
		["link", "set", "eth0", "up"],
		["link", "set", "lo", "up"],
	])
		await ip("-n", namespace, ...args);

	const socket = `unix://${folder}/docker.sock`;
	const args = [
		...["--data-root", `${folder}/data`, "--exec-root", `${folder}/exec`],
		...["--pidfile", `${folder}/pid`, "--host", socket],
		...["--iptables=false", "--ip6tables=false", "--bridge=none", "--add-runtime", "nvidia=runc"],
		...(q.liveRestore ? ["--live-restore"] : []),
	];
	let dockerd: ChildProcess | undefined;
	const docker = async (...command: string[]): Promise<string> =>
		(await run("docker", ["--host", socket, ...command])).stdout.trim();

	async function kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
		const child = dockerd;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, "exit");
		child.kill(signal);
		await ended;
	}

	q.closers.push(async () => {
		await docker("ps", "--all", "--quiet").then(
			async (ids) => ids && (await docker("rm", "--force", ...ids.split("\n"))),
			() => {},
		);
		await kill("SIGTERM");
		const pid = join(folder, "exec/containerd/containerd.pid");
		if (existsSync(pid)) process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
	});

	return {
		name,
		gateway,
		address,
		socket,
		args,
		namespace,
		docker,
		kill,
		async start() {
			rmSync(`${folder}/pid`, { force: true });
			// Not by `ip netns exec`, which hides the control groups.
			const log = openSync(`${folder}/dockerd.log`, "a");
			dockerd = spawn("nsenter", [`--net=/run/netns/${namespace}`, "dockerd", ...args], {
				stdio: ["ignore", log, log],
				env: { ...process.env, PATH: `${q.stubs}:${process.env["PATH"] ?? ""}` },
			});
			closeSync(log);
			await until(`${name} runs Docker`, () =>
				docker("version").then(
					() => true,
					() => false,
				),
			);
		},
		async connect(up) {
			await ip("link", "set", veth, up ? "up" : "down");
		},
	};
}

/** The first two numbers of a network that no interface uses. */
async function freeNet(): Promise<string> {
	const { stdout } = await run("ip", ["-o", "addr"]);
	for (let second = 213; ; second += 1) if (!stdout.includes(` 10.${second}.`)) return `10.${second}`;
}

/** An ssh daemon in the namespace, and an `ssh` that knows its key. */
async function sshd({ namespace, address }: Base, root: string, closers: (() => Promise<unknown>)[]): Promise<void> {
	const folder = join(root, "ssh");
	mkdirSync(folder, { mode: 0o700 });
	mkdirSync("/run/sshd", { recursive: true });
	for (const name of ["host", "client"])
		await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
	const publicKey = (name: string): string => readFileSync(join(folder, `${name}.pub`), "utf8");
	writeFileSync(join(folder, "authorized"), publicKey("client"), { mode: 0o600 });
	writeFileSync(join(folder, "known"), `${address} ${publicKey("host")}`);
	writeFileSync(
		join(folder, "sshd_config"),
		`ListenAddress ${address}
HostKey ${folder}/host
AuthorizedKeysFile ${folder}/authorized
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
`,
	);
	writeFileSync(
		join(folder, "config"),
		`IdentityFile ${folder}/client\nUserKnownHostsFile ${folder}/known\nIdentitiesOnly yes\n`,
	);
	script(join(folder, "ssh"), `exec /usr/bin/ssh -F ${folder}/config "$@"`);
	const daemon = spawn(
		"nsenter",
		[`--net=/run/netns/${namespace}`, "/usr/sbin/sshd", "-D", "-f", join(folder, "sshd_config")],
		{ stdio: "ignore" },
	);
	closers.push(async () => daemon.kill());
	await until("ssh answers", () =>
		run(join(folder, "ssh"), ["-o", "BatchMode=yes", `root@${address}`, "true"]).then(
			() => true,
			() => false,
		),
	);
}

/** Certificates of an authority of the test, for the daemon and for its clients. */
async function tls(
	root: string,
	address: string,
): Promise<Record<"daemon" | "client", { ca: string; cert: string; key: string }>> {
	const folder = join(root, "tls");
	mkdirSync(folder);
	const openssl = (...args: string[]): Promise<unknown> => run("openssl", args, { cwd: folder });
	const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
	await openssl(
		...["req", "-x509", ...key, "-days", "2", "-subj", "/CN=test"],
		...["-keyout", "ca-key.pem", "-out", "ca.pem"],
	);
	for (const [name, extensions] of [
		["daemon", `subjectAltName=IP:${address}\nextendedKeyUsage=serverAuth\n`],
		["client", "extendedKeyUsage=clientAuth\n"],
	] as const) {
		writeFileSync(join(folder, `${name}.ext`), extensions);
		await openssl(...["req", ...key, "-subj", `/CN=${name}`], ...["-keyout", `${name}-key.pem`, "-out", `${name}.csr`]);
		await openssl(
			...["x509", "-req", "-in", `${name}.csr`, "-days", "2", "-CA", "ca.pem", "-CAkey", "ca-key.pem"],
			...["-CAcreateserial", "-extfile", `${name}.ext`, "-out", `${name}.pem`],
		);
	}
	const files = (name: string) => ({
		ca: join(folder, "ca.pem"),
		cert: join(folder, `${name}.pem`),
		key: join(folder, `${name}-key.pem`),
	});
	return { daemon: files("daemon"), client: files("client") };
}

function script(path: string, text: string): void {
	writeFileSync(path, `#!/bin/sh\n${text}\n`);
	chmodSync(path, 0o755);
}
