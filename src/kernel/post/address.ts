/** Addresses that the service may call for a client (D21): only public ones, even if embedded in another address. */
import { BlockList, isIP, isIPv4 } from "node:net";

/** IANA special-purpose registries (RFC 6890); the first kind that matches names an address. */
const RANGES: Readonly<Record<string, string>> = {
	"an unspecified": "0.0.0.0/8 ::/128",
	"a private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
	"a carrier-private": "100.64.0.0/10",
	"a loopback": "127.0.0.0/8 ::1/128",
	// Azure's host agent and name server, reachable from each of its machines.
	"a cloud-metadata": "168.63.129.16/32",
	"a link-local": "169.254.0.0/16 fe80::/10",
	"a documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
	"a benchmarking": "198.18.0.0/15",
	"a multicast": "224.0.0.0/4 ff00::/8",
	"a broadcast": "255.255.255.255/32",
	// Teredo and 6to4 embed an IPv4 address that relays would call; both are retired (RFC 7526).
	"a Teredo": "2001::/32",
	"a 6to4": "2002::/16",
	"a reserved": "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 2001::/23",
};

/** Before the IPv4 address really called: IPv4-mapped and NAT64 (RFC 4291, RFC 6052). */
const WRAPPING = ["::ffff:", "64:ff9b::"];

const KINDS = Object.entries(RANGES).map(([kind, ranges]) => ({ kind, list: listOf(ranges) }));

/** All public IPv6, and what wraps IPv4; the rest is reserved. */
const PUBLIC = listOf("0.0.0.0/0 2000::/3");

/**
 * Returns words such as `a private`; undefined if the address is public. Addresses of this machine, `own`, are not:
 * services that listen on them may trust this machine.
 */
export function notPublic(address: string, own: readonly string[] = []): string | undefined {
	// Zone ids are link-local.
	if (address.includes("%")) return "a link-local";
	if (isIP(address) === 0) return "an unknown";
	const family = isIPv4(address) ? "ipv4" : "ipv6";
	const found = KINDS.find(({ list }) => list.check(address, family));
	if (found) return found.kind;
	if (!PUBLIC.check(address, family)) return "a reserved";
	const called = canonical(address);
	return own.some((each) => spellings(each).some((text) => canonical(text) === called)) ? "this machine's" : undefined;
}

/** IPv4 ranges also count within the IPv6 addresses that wrap them. */
function listOf(ranges: string): BlockList {
	const list = new BlockList();
	for (const range of ranges.split(" ")) {
		const [address = "", bits] = range.split("/");
		const wrapped = 128 - 32 + Number(bits);
		list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
		if (isIPv4(address)) for (const prefix of WRAPPING) list.addSubnet(prefix + address, wrapped, "ipv6");
	}
	return list;
}

function spellings(address: string): string[] {
	const text = address.replace(/%.*/, "");
	return isIPv4(text) ? [text, ...WRAPPING.map((prefix) => prefix + text)] : [text];
}

/** URLs have one spelling of an address. */
function canonical(address: string): string {
	return isIPv4(address) ? address : new URL(`http://[${address}]/`).hostname;
}
