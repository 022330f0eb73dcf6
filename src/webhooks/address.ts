/**
 * Addresses that the service may call for a client (D21): only public ones, even if embedded in
 * another address. Pure.
 */
import { isIP } from "node:net";

/** Non-public ranges (IANA special-purpose registries, RFC 6890). */
const RANGES: readonly (readonly [range: string, kind: string])[] = [
	["0.0.0.0/8", "an unspecified"],
	["10.0.0.0/8", "a private"],
	["100.64.0.0/10", "a carrier-private"],
	["127.0.0.0/8", "a loopback"],
	// Azure's host agent and name server, reachable from each of its machines.
	["168.63.129.16/32", "a cloud-metadata"],
	["169.254.0.0/16", "a link-local"],
	["172.16.0.0/12", "a private"],
	["192.0.0.0/24", "a reserved"],
	["192.0.2.0/24", "a documentation"],
	["192.88.99.0/24", "a reserved"],
	["192.168.0.0/16", "a private"],
	["198.18.0.0/15", "a benchmarking"],
	["198.51.100.0/24", "a documentation"],
	["203.0.113.0/24", "a documentation"],
	["224.0.0.0/4", "a multicast"],
	["255.255.255.255/32", "a broadcast"],
	["240.0.0.0/4", "a reserved"],
	["::/128", "an unspecified"],
	["::1/128", "a loopback"],
	["fc00::/7", "a private"],
	["fe80::/10", "a link-local"],
	["fec0::/10", "a private"],
	["ff00::/8", "a multicast"],
	// Teredo and 6to4 embed an IPv4 address that relays would call; both are retired (RFC 7526).
	["2001::/32", "a Teredo"],
	["2002::/16", "a 6to4"],
	["2001::/23", "a reserved"],
	["2001:db8::/32", "a documentation"],
	["3fff::/20", "a documentation"],
];

/**
 * The last 32 bits are the IPv4 address really called: IPv4-mapped and NAT64 (RFC 4291, RFC 6052).
 */
const WRAPPING = ["::ffff:0:0/96", "64:ff9b::/96"].map(bitsOfRange);

/** All public IPv6; the rest is reserved. */
const PUBLIC_IPV6 = bitsOfRange("2000::/3");

const KINDS = RANGES.map(([range, kind]) => ({
	bits: bitsOfRange(range),
	length: isIP(range.split("/")[0]!) === 4 ? 32 : 128,
	kind,
}));

/**
 * Why an address is not public, as words (`a private`); undefined if it is. Text that is no address
 * is not public, nor is an address of this machine, `own`: services that listen on it may trust it.
 */
export function notPublic(address: string, own: readonly string[] = []): string | undefined {
	// Zone ids are link-local.
	if (address.includes("%")) return "a link-local";
	if (isIP(address) === 0) return "an unknown";
	const bits = unwrapped(address);
	return kindOf(bits) ?? (own.some((each) => unwrapped(each) === bits) ? "this machine's" : undefined);
}

function unwrapped(address: string): string {
	const bits = bitsOf(address.replace(/%.*/, ""));
	return bits.length === 128 && WRAPPING.some((range) => bits.startsWith(range)) ? bits.slice(-32) : bits;
}

function kindOf(bits: string): string | undefined {
	const found = KINDS.find((range) => range.length === bits.length && bits.startsWith(range.bits));
	if (found) return found.kind;
	return bits.length === 32 || bits.startsWith(PUBLIC_IPV6) ? undefined : "a reserved";
}

function bitsOfRange(range: string): string {
	const [address, length] = range.split("/");
	return bitsOf(address!).slice(0, Number(length));
}

/** 32 or 128 characters `0` and `1`. */
function bitsOf(address: string): string {
	if (isIP(address) === 4)
		return address
			.split(".")
			.map((part) => Number(part).toString(2).padStart(8, "0"))
			.join("");
	const dotted = address.lastIndexOf(":") + 1;
	// The last 32 bits may be in IPv4 notation.
	if (address.includes("."))
		return groups(`${address.slice(0, dotted)}0:0`).slice(0, 96) + bitsOf(address.slice(dotted));
	return groups(address);
}

function groups(address: string): string {
	const [head = "", tail] = address.split("::");
	const front = head === "" ? [] : head.split(":");
	const back = tail === undefined || tail === "" ? [] : tail.split(":");
	const gap = Array.from({ length: tail === undefined ? 0 : 8 - front.length - back.length }, () => "0");
	return [...front, ...gap, ...back].map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0")).join("");
}
