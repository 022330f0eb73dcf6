/**
 * What the gate leaves to the whole run: repeats of what it proves anyway, and platforms and layers whose files have
 * not changed since the commit at which all of them last passed (`test/whole.json`). Nothing of it is lost:
 * `npm run whole` has everything.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import whole from "../whole.json" with { type: "json" };

/** The commit at which the step `system` of `npm run whole` last passed. It runs all groups below. */
const { system: PROVEN } = whole as { system?: string };

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Group {
	name: string;
	/** Patterns of test files. */
	files: readonly string[];
	/** The group belongs to the gate if one of these has changed, or one of its files. Without it, never. */
	of?: readonly string[];
}

const named = (folder: string, names: readonly string[]): string[] =>
	names.map((name) => `test/${folder}/${name}.test.ts`);

const ENGINE_OF_SERVERS = ["src/kernel/engine/cluster", "src/kernel/engine/lifecycle", "src/kernel/store/postgres"];

export const GROUPS: readonly Group[] = [
	{
		name: "Kubernetes",
		files: [
			...named("e2e", ["deploy-kubernetes", "kubernetes", "kubernetes-guide"]),
			...named("launchers", ["kubernetes", "kubernetes-guide", "kubernetes-http"]),
			...named("cluster", ["kubernetes"]),
		],
		of: [
			"src/modules/kubernetes",
			"src/kernel/launchers",
			"deploy/helm",
			"deploy/kustomize",
			"docs/guides/kubernetes.md",
		],
	},
	{
		name: "Slurm",
		files: [
			...named("e2e", ["slurm"]),
			...named("launchers", ["slurm", "slurm-http", "slurm-neighbour", "slurm-secrets"]),
		],
		of: ["src/modules/slurm", "src/kernel/launchers", "test/support/slurm.ts", "test/support/slurm-cluster.sh"],
	},
	{
		name: "containers of one daemon",
		files: [
			...named("e2e", ["docker", "docker-pull", "docker-replace"]),
			...named("launchers", ["docker", "docker-http", "docker-images"]),
		],
		of: ["src/modules/docker", "src/kernel/launchers", "packages/worker/src", "test/support/docker.ts"],
	},
	{
		name: "two Docker hosts",
		files: [...named("launchers", ["docker-hosts"]), ...named("e2e", ["docker-hosts"])],
		of: ["src/modules/docker", "src/kernel/launchers", "test/support/docker-hosts.ts"],
	},
	{
		name: "packages and deployment",
		files: [
			...named("e2e", ["compose", "executable", "image", "install", "systemd"]),
			"test/deploy/monitoring.test.ts",
		],
		of: [
			...["Dockerfile", "compose.yaml", "compose.observability.yaml", "install.sh", "package-lock.json", "bin"],
			...["deploy", "scripts/single-file", "scripts/release.ts", "src/modules/alerts/rules.ts"],
		],
	},
	{
		name: "commands in the documentation",
		files: named("e2e", ["guides"]),
		of: [
			...["README.md", "docs/README.md", "docs/guides", "docs/runbooks", "docs/scaling.md", "deploy/README.md"],
			...["examples", "starters", "src/cli", "src/kernel/config"],
		],
	},
	{
		name: "several servers",
		files: named("cluster", [
			...["alerts", "any-server-workers", "changes-at-two-servers", "database-unavailable", "held-locks"],
			...["killed-under-load", "lost-signals", "partition", "releases", "secret-rotation", "store-outage"],
			...["three-servers", "traces"],
		]),
		of: ENGINE_OF_SERVERS,
	},
	{
		name: "faults of PostgreSQL",
		files: named("store", [
			...["postgres-commit-faults", "postgres-faults", "postgres-server", "postgres-server-faults"],
			...["postgres-standby", "postgres-vacuum"],
		]),
		of: ["src/kernel/store/postgres", "src/kernel/store/operations"],
	},
	{
		name: "HTTP servers of Debian",
		files: named("http-servers", ["apertium", "aria2", "fastapi", "orthanc"]),
		of: ["packages/worker/src", "src/modules/http-workers", "src/kernel/launchers", "test/http-servers"],
	},
	{
		name: "alerts through all layers",
		files: named("e2e", ["alerts"]),
		of: ["src/modules/alerts"],
	},
	{
		name: "releases through all layers",
		files: named("e2e", ["releases"]),
		of: ["src/modules/releases", "src/kernel/engine/releases"],
	},
	{
		name: "losses of power, torture of several servers",
		files: ["test/torture/many-servers.test.ts", "test/torture/power-loss/losses.test.ts"],
		of: [
			...["test/torture", "src/kernel/store/sqlite", "src/kernel/engine/cluster"],
			...["src/modules/files", "src/kernel/store/tables/files.ts"],
			...["src/modules/s3", "src/kernel/store/tables/objects.ts", "src/kernel/store/tables/object-list.ts"],
			...["src/modules/openai-async", "src/kernel/store/tables/batches.ts"],
		],
	},
];

/** Parts of the specification that run over TLS in the gate; the others in the whole run. */
export const GATE_OVER_TLS = ["client/concurrency", "client/payloads", "worker/sdk"];

/** Paths that differ from a commit, from the root of the repository. Undefined if Git does not know the commit. */
function changedSince(commit: string | undefined): string[] | undefined {
	if (commit === undefined) return undefined;
	const git = (...args: string[]): string =>
		execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
	try {
		return git("diff", "--name-only", "--no-renames", commit, "--").split("\n");
	} catch {
		return undefined;
	}
}

/** Groups that the gate leaves out. With `changed` undefined none is. */
export function leftOut(changed: readonly string[] | undefined, groups = GROUPS): readonly Group[] {
	if (changed === undefined) return [];
	return groups.filter(
		({ files, of = [] }) =>
			!changed.some((path) => files.includes(path) || of.some((each) => path === each || path.startsWith(`${each}/`))),
	);
}

/** Test files that this run of the gate leaves out. Says so once. */
export function outsideGate(): string[] {
	const left = leftOut(changedSince(PROVEN));
	if (left.length > 0)
		process.stdout.write(
			`Left to npm run whole, unchanged since it passed at ${PROVEN}: ` +
				`${left.map(({ name }) => name).join(", ")}.\n`,
		);
	return left.flatMap(({ files }) => files);
}
