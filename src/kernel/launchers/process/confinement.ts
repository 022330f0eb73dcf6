/** The user, resource limits and inherited variables of a worker's process. */
import { readFile } from "node:fs/promises";
import { fileCalls } from "../../system/file-calls.ts";
import type { ProcessLimits, ProcessSettings } from "./settings.ts";

const PRLIMIT = ["/usr/bin/prlimit", "/bin/prlimit"];

const MIB = 1024 * 1024;

/** Always inherited, since they hold no secrets. */
const MINIMAL = [
	..."PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TMPDIR".split(" "),
	..."LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX SSL_CERT_FILE SSL_CERT_DIR".split(" "),
	..."CUDA_* NVIDIA_* NCCL_* ROCR_* HIP_* HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE".split(" "),
];

interface Account {
	uid: number;
	gid: number;
	/** Set if it has an entry in `/etc/passwd`. */
	name?: string;
	home?: string;
}

export interface Confinement {
	prefix: readonly string[];
	account?: Account;
}

/** Throws an Error whose message ends a sentence when this machine does not allow it. */
export async function confinementOf({ user, limits }: ProcessSettings): Promise<Confinement> {
	const options = limits ? optionsOf(limits) : [];
	const account = user === undefined ? undefined : await accountOf(user);
	if (user !== undefined && !account) throw new Error(`/etc/passwd has no user ${user}`);
	if (account && account.uid !== process.getuid?.() && process.getuid?.() !== 0)
		throw new Error(`only a service that runs as root can start workers as user ${user}`);
	if (options.length === 0) return { prefix: [], ...(account && { account }) };
	for (const path of PRLIMIT)
		if (await fileCalls.isThere(path)) return { prefix: [path, ...options, "--"], ...(account && { account }) };
	throw new Error("launcher.limits needs the program prlimit, of the package util-linux");
}

/** Variables that a worker inherits. */
export function inheritedEnv(
	serviceEnv: Readonly<Record<string, string>>,
	{ user, inheritEnv = user === undefined ? "all" : "minimal" }: ProcessSettings,
): Record<string, string> {
	if (inheritEnv === "all") return { ...serviceEnv };
	const patterns = [...MINIMAL, ...(inheritEnv === "minimal" ? [] : inheritEnv)];
	const isInherited = (name: string): boolean =>
		patterns.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each));
	return Object.fromEntries(Object.entries(serviceEnv).filter(([name]) => isInherited(name)));
}

export async function accountEnv({ user }: ProcessSettings): Promise<Record<string, string>> {
	const account = user === undefined ? undefined : await accountOf(user);
	if (account?.name === undefined) return {};
	return { USER: account.name, LOGNAME: account.name, HOME: account.home ?? "/" };
}

function optionsOf({ memoryMb, processes, openFiles, fileSizeMb }: ProcessLimits): string[] {
	const option = (name: string, value: number | undefined): string[] =>
		value === undefined ? [] : [`--${name}=${value}:${value}`];
	return [
		...option("data", memoryMb && memoryMb * MIB),
		...option("nproc", processes),
		...option("nofile", openFiles),
		...option("fsize", fileSizeMb && fileSizeMb * MIB),
		...option("core", 0),
	];
}

/** Takes `uid:gid` or a name in `/etc/passwd`. */
async function accountOf(user: string): Promise<Account | undefined> {
	const [uid, gid] = user.split(":").map(Number);
	if (gid !== undefined) return { uid: uid!, gid };
	const file = "/etc/passwd";
	const text = await fileCalls.run(file, () => readFile(file, "utf8")).catch(() => "");
	const rows = text.split("\n");
	const row = rows.map((line) => line.split(":")).find(([name]) => name === user);
	return row && { uid: Number(row[2]), gid: Number(row[3]), name: user, home: row[5] ?? "/" };
}
