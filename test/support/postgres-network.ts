/**
 * A PostgreSQL in a network namespace, which each server reaches by a link of its own whose packets
 * can be dropped, in one direction or both. Needs root, `ip`, `nsenter` and `iptables`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

/** Packets of this direction are dropped. */
export type Direction = "to the database" | "from the database" | "in both directions";

export interface Link {
	/** The address of the servers of this link, as the database sees them. */
	readonly client: string;
	/** The same address (`postgres://...`), by way of this link. */
	through(url: string): string;
	/** `ports`: of these connections only, by the port of the server; else of all. */
	drop(direction: Direction, ports?: readonly number[]): void;
	pass(): void;
}

export interface PostgresNetwork {
	postgres: PostgresServer;
	links: readonly Link[];
	remove(): Promise<void>;
}

/** Why this machine cannot do it, as a sentence; undefined when it can. */
export function networkFault(): string | undefined {
	if (process.getuid?.() !== 0) return "Network namespaces need root.";
	for (const program of ["ip", "nsenter", "iptables"])
		if (spawnSync(program, ["--version"]).error)
			return `${program} is missing: \`apt-get install iproute2 util-linux iptables\`.`;
	return undefined;
}

/** The same port in as many networks of four addresses as there are links. */
export async function postgresNetwork(count: number): Promise<PostgresNetwork> {
	const name = `sl${randomBytes(3).toString("hex")}`;
	const run = (...[file, ...args]: string[]): string => execFileSync(file!, args, { encoding: "utf8" });
	const inside = (...command: string[]): string => run("nsenter", `--net=/run/netns/${name}`, "--", ...command);
	run("ip", "netns", "add", name);
	const removeNetwork = (): void => {
		// The pairs of interfaces end with the namespace.
		spawnSync("ip", ["netns", "delete", name]);
	};
	process.on("exit", removeNetwork);
	const network = `10.${randomInt(64, 192)}.${randomInt(256)}`;
	inside("ip", "link", "set", "lo", "up");
	const links = Array.from({ length: count }, (_, n): Link & { server: string } => {
		const [client, server] = [`${network}.${4 * n + 1}`, `${network}.${4 * n + 2}`];
		const [outer, inner] = [`${name}o${n}`, `${name}i${n}`];
		run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name);
		run("ip", "address", "add", `${client}/30`, "dev", outer);
		run("ip", "link", "set", outer, "up");
		inside("ip", "address", "add", `${server}/30`, "dev", inner);
		inside("ip", "link", "set", inner, "up");
		return {
			client,
			server,
			through(url) {
				const by = new URL(url);
				by.hostname = server;
				return by.href;
			},
			drop(direction, ports) {
				const add = (chain: string[], port: string): void => {
					for (const each of ports ?? [undefined])
						inside(
							...["iptables", "-A", ...chain],
							...(each === undefined ? [] : ["-p", "tcp", port, String(each)]),
							...["-j", "DROP"],
						);
				};
				if (direction !== "from the database") add(["INPUT", "-i", inner], "--sport");
				if (direction !== "to the database") add(["OUTPUT", "-o", inner], "--dport");
			},
			pass() {
				for (const rule of inside("iptables", "-S").split("\n"))
					if (rule.startsWith("-A") && rule.includes(` ${inner} `))
						inside("iptables", ...rule.trim().replace("-A", "-D").split(" "));
			},
		};
	});
	const postgres = await startPostgres({
		network: { namespace: name, addresses: links.map(({ server }) => server) },
	});
	return {
		postgres,
		links,
		async remove() {
			for (const link of links) link.pass();
			await postgres.remove();
			removeNetwork();
			process.off("exit", removeNetwork);
		},
	};
}
