/**
 * Resolves host names without `getaddrinfo`, which holds one of four threads until the last name server has timed out:
 * a few names that nothing answers for would stop all lookups and file operations (decision 0029).
 */
import { lookup, Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "../system/clock.ts";
import { fileCalls } from "../system/file-calls.ts";
import type { Address, Resolve } from "./target.ts";

const LOOKUP_MS = 5000;

/** c-ares doubles the timeout with each try. */
const QUERY_MS = 1500;
const QUERY_TRIES = 2;

/** Age from which `resolv.conf` is read again. */
const FRESH_MS = 1000;

/** The name, or its address, does not exist: the next candidate is queried. */
const NEGATIVE: readonly unknown[] = ["ENOTFOUND", "ENODATA", "EBADNAME"];

export interface ResolverOptions {
	clock: Clock;
	resolvConf?: string;
	servers?: readonly string[];
	/** `getaddrinfo` knows further sources of names: the hosts file, mDNS, NSS modules. */
	system?: Resolve;
	hasIpv4?: () => boolean;
}

export function hostResolver({
	clock,
	resolvConf = "/etc/resolv.conf",
	servers,
	system = (host) => lookup(host, { all: true, order: "verbatim" }),
	hasIpv4 = machineHasIpv4,
}: ResolverOptions): Resolve {
	// One thread of the pool each: names of clients that DNS lacks keep no name of this network waiting.
	const lookUpBare = oneAtATime(system);
	const lookUpUnknown = oneAtATime(system);
	const inFlight = new Map<string, Promise<Address[]>>();
	let network = { channel: new Resolver(), conf: "", readAt: -Infinity };

	async function current(): Promise<typeof network> {
		if (Math.abs(clock.now() - network.readAt) < FRESH_MS) return network;
		const channel = new Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES });
		if (servers) channel.setServers(servers);
		return (network = { channel, conf: await textOf(resolvConf), readAt: clock.now() });
	}

	/** The family that this machine can reach comes first. */
	async function query(name: string): Promise<Address[]> {
		const { channel } = await current();
		const [four, six] = await Promise.allSettled([channel.resolve4(name), channel.resolve6(name)]);
		const answers = hasIpv4() ? [four, six] : [six, four];
		const all = answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
		if (all.length > 0) return all.map((address) => ({ address, family: isIP(address) }));
		for (const each of [four, six]) if (each.status === "rejected" && !isNegative(each.reason)) throw each.reason;
		throw failure("ENOTFOUND");
	}

	async function resolve(host: string, ended: AbortSignal): Promise<Address[]> {
		if (!host.includes(".")) return await lookUpBare(host, ended);
		for (const name of candidates(host, (await current()).conf)) {
			try {
				return await query(name);
			} catch (error) {
				if (!isNegative(error)) throw failure("EAI_AGAIN");
			}
		}
		return await lookUpUnknown(host, ended);
	}

	/** Sends to one name share a lookup. */
	return (host) => {
		const present = inFlight.get(host);
		if (present) return present;
		const lookedUp = withinLimit(clock, (ended) => resolve(host, ended)).finally(() => inFlight.delete(host));
		inFlight.set(host, lookedUp);
		return lookedUp;
	};
}

/** Each lookup holds a thread. One that has ended while it waited never begins. */
function oneAtATime(system: Resolve): (host: string, ended: AbortSignal) => Promise<Address[]> {
	let last: Promise<unknown> = Promise.resolve();
	return (host, ended) => {
		const found = last.then(() => {
			ended.throwIfAborted();
			return system(host);
		});
		last = found.catch(() => {});
		return found;
	};
}

/**
 * A name with fewer dots than `ndots` is queried first in the search domains (resolv.conf(5)): in Kubernetes
 * `hook.team` is a service of the cluster.
 */
function candidates(host: string, conf: string): string[] {
	if (host.endsWith(".")) return [host.slice(0, -1)];
	const ndots = Number(/\bndots:(\d{1,2})/.exec(valuesOf(["options"], conf))?.[1] ?? 1);
	if (host.split(".").length > ndots) return [host];
	const domains = valuesOf(["search", "domain"], conf).match(/\S+/g) ?? [];
	return [...domains.map((domain) => `${host}.${domain.replace(/\.$/, "")}`), host];
}

/** The last of these keywords counts; comments are left out. */
function valuesOf(keywords: readonly string[], conf: string): string {
	const lines = [...conf.matchAll(/^(\w+)([^#;\n]*)/gm)];
	return lines.findLast(([, keyword]) => keywords.includes(keyword!))?.[2] ?? "";
}

function textOf(path: string): Promise<string> {
	return fileCalls.run(path, () => readFile(path, "utf8")).catch(() => "");
}

/** c-ares ends a late query some seconds after {@link LOOKUP_MS}, and nothing waits for it. */
async function withinLimit(clock: Clock, resolve: (ended: AbortSignal) => Promise<Address[]>): Promise<Address[]> {
	const ended = new AbortController();
	const late = clock.sleep(LOOKUP_MS, ended.signal).then(() => {
		throw failure("EAI_AGAIN");
	});
	late.catch(() => {});
	const work = resolve(ended.signal);
	try {
		return await Promise.race([work, late]);
	} finally {
		work.catch(() => {});
		ended.abort();
	}
}

function machineHasIpv4(): boolean {
	return Object.values(networkInterfaces()).some((each) =>
		each?.some(({ family, internal }) => family === "IPv4" && !internal),
	);
}

function isNegative(error: unknown): boolean {
	return NEGATIVE.includes((error as NodeJS.ErrnoException).code);
}

function failure(code: string): Error {
	return Object.assign(new Error(code), { code });
}
