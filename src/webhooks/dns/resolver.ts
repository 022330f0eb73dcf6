/**
 * Resolves host names without the thread pool. `getaddrinfo` holds one of its four threads until
 * the last name server has timed out: a few names that nothing answers for would stop every other
 * lookup, and file operations (decision 0029).
 */
import { lookup, Resolver } from "node:dns/promises";
import { readFileSync, statSync } from "node:fs";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../clock.ts";
import type { Address, Resolve } from "../target.ts";
import { candidates, parseHosts, parseSearch } from "./system-files.ts";

/** Maximum lookup, ms. */
const LOOKUP_MS = 5000;

/** c-ares: the timeout of the first try doubles with each. */
const QUERY_MS = 1500;
const QUERY_TRIES = 2;

/** How often the two files may be checked for a change, ms. */
const FILE_CHECK_MS = 1000;

/** Answers after which the next candidate is queried: the name, or its address, does not exist. */
const NEGATIVE: readonly unknown[] = ["ENOTFOUND", "ENODATA", "EBADNAME"];

export interface ResolverOptions {
	clock: Clock;
	hostsFile?: string;
	resolvConf?: string;
	/** Name servers in place of the system's. */
	servers?: readonly string[];
	/** `getaddrinfo`, which knows further sources of names: mDNS, NSS modules. */
	system?: Resolve;
	hasIpv4?: () => boolean;
}

export function hostResolver({
	clock,
	hostsFile = "/etc/hosts",
	resolvConf = "/etc/resolv.conf",
	servers,
	system = (host) => lookup(host, { all: true, order: "verbatim" }),
	hasIpv4 = machineHasIpv4,
}: ResolverOptions): Resolve {
	const hosts = parsedFile(clock, hostsFile, parseHosts);
	// A new channel reads the name servers of a changed file.
	const network = parsedFile(clock, resolvConf, (text) => {
		const channel = new Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES });
		if (servers) channel.setServers(servers);
		return { channel, search: parseSearch(text) };
	});
	const inFlight = new Map<string, Promise<Address[]>>();
	let systemBusy = false;

	/** Both families; the first that this machine can reach. */
	async function query(name: string): Promise<Address[]> {
		const { channel } = network();
		const [four, six] = await Promise.allSettled([channel.resolve4(name), channel.resolve6(name)]);
		const found = {
			four: four.status === "fulfilled" ? addressesOf(four.value) : [],
			six: six.status === "fulfilled" ? addressesOf(six.value) : [],
		};
		const all = hasIpv4() ? [...found.four, ...found.six] : [...found.six, ...found.four];
		if (all.length > 0) return all;
		for (const each of [four, six]) if (each.status === "rejected" && !isNegative(each.reason)) throw each.reason;
		throw failure("ENOTFOUND");
	}

	async function resolve(host: string): Promise<Address[]> {
		const known = hosts().get(host.replace(/\.$/, "").toLowerCase());
		if (known) return addressesOf(known);
		for (const name of candidates(host, network().search)) {
			try {
				return await query(name);
			} catch (error) {
				if (!isNegative(error)) throw failure("EAI_AGAIN");
			}
		}
		// One thread of the pool at most, and only for names of which DNS has said that they do not exist.
		if (systemBusy) throw failure("ENOTFOUND");
		systemBusy = true;
		return await system(host).finally(() => (systemBusy = false));
	}

	/** Sends to one name share a lookup. */
	return (host) => {
		const present = inFlight.get(host);
		if (present) return present;
		const lookedUp = withinLimit(clock, resolve(host)).finally(() => inFlight.delete(host));
		inFlight.set(host, lookedUp);
		return lookedUp;
	};
}

/** Rejects after {@link LOOKUP_MS}; c-ares ends the query some seconds later, and nothing waits for it. */
async function withinLimit(clock: Clock, work: Promise<Address[]>): Promise<Address[]> {
	const ended = new AbortController();
	const late = clock.sleep(LOOKUP_MS, ended.signal).then(() => {
		throw failure("EAI_AGAIN");
	});
	late.catch(() => {});
	try {
		return await Promise.race([work, late]);
	} finally {
		work.catch(() => {});
		ended.abort();
	}
}

/** A file as `parse` reads it, again after it changed. Without the file, as if it were empty. */
function parsedFile<T>(clock: Clock, path: string, parse: (text: string) => T): () => T {
	let value: T | undefined;
	let version: string | undefined;
	let checkedAt = -Infinity;
	return () => {
		if (value !== undefined && Math.abs(clock.now() - checkedAt) < FILE_CHECK_MS) return value;
		checkedAt = clock.now();
		const stat = statSync(path, { throwIfNoEntry: false });
		const present = stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : "";
		if (value === undefined || present !== version) value = parse(stat ? readFileSync(path, "utf8") : "");
		version = present;
		return value;
	};
}

function addressesOf(addresses: readonly string[]): Address[] {
	return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
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
