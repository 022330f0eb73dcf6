/** `/etc/hosts`: addresses of names that no server knows, such as those of a container. Pure. */
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
