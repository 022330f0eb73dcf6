/** Addresses that jobs may name when `urls` is `public`: none of a private, local or special network (RFC 6890). */
import { BlockList, isIP, isIPv4 } from "node:net";

const NOT_PUBLIC = listOf(
	"0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24",
	"192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
	// Teredo and 6to4 contain an IPv4 address that relays would call.
	"2001::/23 2001:db8::/32 2002::/16 3fff::/20",
);
/** All of IPv6 that is assigned; the rest is private, local or reserved. */
const PUBLIC_IPV6 = listOf("2000::/3");

export function isPublic(address: string): boolean {
	if (isIPv4(address)) return !NOT_PUBLIC.check(address, "ipv4");
	if (isIP(address) !== 6 || address.includes("%")) return false;
	return PUBLIC_IPV6.check(address, "ipv6") && !NOT_PUBLIC.check(address, "ipv6");
}

function listOf(...texts: string[]): BlockList {
	const list = new BlockList();
	for (const range of texts.join(" ").split(" ")) {
		const [address = "", bits] = range.split("/");
		list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
	}
	return list;
}
