/** Addresses of clients. */

/** The other end of a connection. */
export interface Peer {
	readonly remoteAddress?: string | undefined;
}

/** The address; of IPv6 its first 64 bits, which one customer has for itself. */
export function networkOf({ remoteAddress = "" }: Peer): string {
	if (!remoteAddress.includes(":")) return remoteAddress;
	const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(remoteAddress)?.[1];
	if (mapped !== undefined) return mapped;
	const [start = "", end] = remoteAddress.replace(/%.*/, "").toLowerCase().split("::");
	const [first, last] = [start, end ?? ""].map((part) => (part === "" ? [] : part.split(":")));
	const zeros = end === undefined ? 0 : 8 - first!.length - last!.length;
	const groups = [...first!, ...Array.from({ length: zeros }, () => "0"), ...last!];
	return `${groups.slice(0, 4).join(":")}::/64`;
}
