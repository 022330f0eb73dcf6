/** The port of a loopback address, which a container or Pod with its own network cannot reach. */
export function loopbackOf(url: string): { port: number } | undefined {
	const { hostname, port, protocol } = new URL(url);
	if (hostname !== "localhost" && hostname !== "[::1]" && !hostname.startsWith("127.")) return undefined;
	return { port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}
