// Runs this command with a newer Node: one on PATH, else one from npm, which stays in the user's cache.
// Plain JavaScript for Node 14 and newer.
import { spawn, spawnSync } from "child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "fs";
import { homedir } from "os";
import { delimiter, dirname, join } from "path";

/** The package of npm with Node's program for this machine: it needs no install script. */
const PACKAGE = `${process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node"}-${process.platform}-${process.arch}`;

/** What a terminal or a supervisor sends to stop the command. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"];

/** `needed`: the lowest major version. Exits with 2 and a sentence if there is none and none can be fetched. */
export function runWithNewerNode(needed) {
	const onPath = (process.env.PATH || "").split(delimiter).map((folder) => join(folder, "node"));
	const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sluice");
	const kept = join(cache, `node-${needed}`);
	const program = join("node_modules", PACKAGE, "bin/node");
	// That of the cache was checked before it got there.
	const found = existsSync(join(kept, program)) ? join(kept, program) : onPath.find((path) => isNode(path, needed));
	run(found || fetched(needed, cache, kept, program));
}

function isNode(path, needed) {
	if (!existsSync(path)) return false;
	const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
	return Number((/^v(\d+)/.exec(stdout || "") || [])[1]) >= needed;
}

/** The path of the fetched program. */
function fetched(needed, cache, kept, program) {
	const what = `sluice needs Node ${needed} or newer; this is Node ${process.versions.node}.`;
	process.stderr.write(`${what} Fetching Node ${needed} from npm into ${kept}, once.\n`);
	let folder;
	try {
		mkdirSync(cache, { recursive: true, mode: 0o700 });
		folder = mkdtempSync(join(cache, "fetching-"));
		install(`${PACKAGE}@${needed}`, folder);
		if (!isNode(join(folder, program), needed)) throw new Error(`${PACKAGE} does not run on this machine.`);
		rmSync(kept, { recursive: true, force: true });
		renameSync(folder, kept);
	} catch (error) {
		if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
		// Another start has put it there in the meantime.
		if (isNode(join(kept, program), needed)) return join(kept, program);
		process.stderr.write(
			`Cannot fetch Node ${needed}: ${error.message} Install Node ${needed} or newer (https://nodejs.org), or run this again with access to npm's registry.\n`,
		);
		process.exit(2);
	}
	return join(kept, program);
}

/** Throws an error with npm's reason. */
function install(name, prefix) {
	const flags = ["--global=false", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
	const retries = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
	// The npm of this Node first: that of another one may need a newer Node.
	const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
	const { error, status, stderr } = spawnSync("npm", ["install", "--prefix", prefix, ...flags, ...retries, name], {
		encoding: "utf8",
		stdio: ["ignore", "ignore", "pipe"],
		env: { ...process.env, PATH },
	});
	if (error) throw new Error(error.code === "ENOENT" ? "npm is not installed." : error.message);
	if (status === 0) return;
	const reasons = stderr.split("\n").map((line) => line.replace(/^npm (?:error|ERR!) ?/, "").trim());
	const reason =
		reasons.find((line) => line !== "" && !/^(?:code|errno|syscall|type) /.test(line)) || `exit code ${status}`;
	throw new Error(`npm: ${reason.replace(/\.?$/, ".")}`);
}

function run(node) {
	const args = process.argv.slice(1);
	// Workers whose command is `node` need the newer one too.
	process.env.PATH = [dirname(node), process.env.PATH].join(delimiter);
	if (process.execve) process.execve(node, [node, ...args], process.env);
	const child = spawn(node, args, { stdio: "inherit" });
	// A terminal sends its signals to both processes.
	const atTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
	for (const signal of SIGNALS)
		process.on(signal, () => {
			if (signal === "SIGTERM" || !atTerminal) child.kill(signal);
		});
	child.on("error", (error) => {
		process.stderr.write(`Cannot run ${node}: ${error.message}\n`);
		process.exit(1);
	});
	child.on("exit", (code, signal) => {
		if (signal === null) process.exit(code);
		for (const each of SIGNALS) process.removeAllListeners(each);
		process.kill(process.pid, signal);
	});
}
