/**
 * Resolves a webhook URL to the one address to connect to (D21). The host is resolved only once, so
 * that a later DNS change cannot redirect the request.
 */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { notPublic } from "./address.ts";

/** An address of a host. */
export interface Address {
	address: string;
	family: number;
}

/** Finds all addresses of a host name; throws if there are none. */
export type Resolve = (host: string) => Promise<Address[]>;

/** The URL with its address, or why nothing is sent. */
export type Target = { ok: true; url: URL; address: Address } | { ok: false; refusal: string };

/**
 * Takes the first allowed address and tries no other: a receiver may have a private address beside
 * its public one. Throws what `resolve` throws.
 */
export async function targetOf(
	text: string,
	{
		allowPrivateNetworks,
		resolve,
		ownAddresses = machineAddresses,
	}: {
		allowPrivateNetworks: boolean;
		resolve: Resolve;
		ownAddresses?: () => readonly string[];
	},
): Promise<Target> {
	const url = URL.parse(text);
	if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
		return refused("it is not an http or https URL");
	if (url.username !== "" || url.password !== "")
		return refused("it holds a user name or password; let the receiver check the signature instead");
	const host = url.hostname.replace(/^\[|\]$/g, "");
	const family = isIP(host);
	if (!allowPrivateNetworks && family === 0 && /(^|\.)localhost\.?$/.test(host))
		return refused(`${host} is this machine`);
	const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
	// Interfaces come and go: read for each delivery.
	const own = allowPrivateNetworks ? [] : ownAddresses();
	const address = allowPrivateNetworks
		? addresses[0]
		: addresses.find((each) => notPublic(each.address, own) === undefined);
	if (address) return { ok: true, url, address };
	const [first] = addresses;
	return refused(first ? `${host} is at ${notPublic(first.address, own)} address` : `${host} has no address`);
}

function machineAddresses(): string[] {
	return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

function refused(why: string): Target {
	return { ok: false, refusal: `not sent: ${why}` };
}
