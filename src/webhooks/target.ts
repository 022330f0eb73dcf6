/** The host of a webhook URL is resolved only once, so that a later DNS change cannot redirect the request (D21). */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { notPublic } from "./address.ts";

export interface Address {
	address: string;
	family: number;
}

/** Throws if there are no addresses. */
export type Resolve = (host: string) => Promise<Address[]>;

/** `refusal`: why nothing is sent. */
export type Target = { ok: true; url: URL; address: Address } | { ok: false; refusal: string };

/**
 * Takes the first allowed address and tries no other: a receiver may have a private address besides its public one.
 * Throws what `resolve` throws.
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
		return refused(`${host} is this machine; ${WAY_OUT}`);
	const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
	// Interfaces change: read for each delivery.
	const own = allowPrivateNetworks ? [] : ownAddresses();
	const address = allowPrivateNetworks
		? addresses[0]
		: addresses.find((each) => notPublic(each.address, own) === undefined);
	if (address) return { ok: true, url, address };
	const [first] = addresses;
	return refused(
		first ? `${host} is at ${notPublic(first.address, own)} address; ${WAY_OUT}` : `${host} has no address`,
	);
}

const WAY_OUT = "webhooks.allowPrivateNetworks: true in sluice.yaml allows it";

function machineAddresses(): string[] {
	return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

function refused(why: string): Target {
	return { ok: false, refusal: `not sent: ${why}` };
}
