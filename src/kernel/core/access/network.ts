export interface Peer {
	readonly remoteAddress?: string | undefined;
}

/** One customer has the first 64 bits of an IPv6 address for itself, so these count as one address. */
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
