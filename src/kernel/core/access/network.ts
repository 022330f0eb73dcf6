export interface Peer {
	readonly remoteAddress?: string | undefined;
}

/** Returns the address for budgets. An IPv6 network of 64 bits belongs to one customer, so it counts as one address. */
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
