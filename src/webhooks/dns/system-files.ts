/**
 * The resolver's files, pure: `/etc/hosts` has addresses of names that no server knows, such as
 * those of a container; `/etc/resolv.conf` the search domains, which c-ares does not apply to
 * single queries.
 */
import { isIP } from "node:net";

/** Addresses by lower-case name, in the order of the file. */
export function parseHosts(text: string): Map<string, string[]> {
	const table = new Map<string, string[]>();
	for (const line of text.split("\n")) {
		const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
		if (isIP(address) === 0) continue;
		for (const name of names) {
			const key = name.toLowerCase();
			table.set(key, [...(table.get(key) ?? []), address]);
		}
	}
	return table;
}

export interface SearchRules {
	domains: string[];
	/** A name with at least so many dots is queried as it is first. */
	ndots: number;
}

/** resolv.conf(5) bounds both. */
const MAX_DOMAINS = 6;
const MAX_NDOTS = 15;

export function parseSearch(text: string): SearchRules {
	let domains: string[] = [];
	let ndots = 1;
	for (const line of text.split("\n")) {
		const [keyword, ...values] = line
			.replace(/[#;].*/, "")
			.trim()
			.split(/\s+/);
		if (keyword === "search" || keyword === "domain") domains = values.slice(0, MAX_DOMAINS);
		if (keyword !== "options") continue;
		for (const value of values) {
			const dots = /^ndots:(\d+)$/.exec(value)?.[1];
			if (dots !== undefined) ndots = Math.min(MAX_NDOTS, Number(dots));
		}
	}
	return { domains, ndots };
}

/** The names to query for a host, in order (resolv.conf(5)). */
export function candidates(host: string, { domains, ndots }: SearchRules): string[] {
	if (host.endsWith(".")) return [host.slice(0, -1)];
	const searched = domains.map((domain) => `${host}.${domain.replace(/\.$/, "")}`);
	return host.split(".").length - 1 >= ndots ? [host, ...searched] : [...searched, host];
}
