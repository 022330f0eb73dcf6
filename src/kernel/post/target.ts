/** The host of a URL is resolved only once, so that a later DNS change cannot redirect the request (D21). */
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
export type Target = ({ ok: true; address: Address } & Call) | { ok: false; refusal: string };

/** A URL without user and password, and what they become. `secrets`: what no receiver may make us show. */
interface Call {
	url: URL;
	authorization: string | undefined;
	secrets: readonly string[];
}

/** What the text alone decides, which submissions are refused for. */
type Place = ({ ok: true; host: string; family: number } & Call) | { ok: false; refusal: string };

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
	const place = placeOf(text, allowPrivateNetworks);
	if (!place.ok) return notSent(place.refusal);
	const { url, authorization, secrets, host, family } = place;
	const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
	// Interfaces change: read for each delivery.
	const own = allowPrivateNetworks ? [] : ownAddresses();
	const address = allowPrivateNetworks
		? addresses[0]
		: addresses.find((each) => notPublic(each.address, own) === undefined);
	if (address) return { ok: true, url, authorization, secrets, address };
	const [first] = addresses;
	return notSent(
		first ? `${host} is at ${notPublic(first.address, own)} address; ${WAY_OUT}` : `${host} has no address`,
	);
}

/** Returns why an address can never be sent to, whatever its host name leads to. Undefined if it may. */
export function addressFault(text: string, allowPrivateNetworks: boolean): string | undefined {
	const place = placeOf(text, allowPrivateNetworks);
	return place.ok ? undefined : place.refusal;
}

function placeOf(text: string, allowPrivateNetworks: boolean): Place {
	const url = URL.parse(text);
	if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
		return { ok: false, refusal: "it is not an http or https URL" };
	const call = callOf(url);
	if (!call) return { ok: false, refusal: "its user or password is not valid percent-encoding" };
	const host = url.hostname.replace(/^\[|\]$/g, "");
	const family = isIP(host);
	if (!allowPrivateNetworks && family === 0 && /(^|\.)localhost\.?$/.test(host))
		return { ok: false, refusal: `${host} is this machine; ${WAY_OUT}` };
	const kind = allowPrivateNetworks || family === 0 ? undefined : notPublic(host);
	if (kind !== undefined) return { ok: false, refusal: `${host} is at ${kind} address; ${WAY_OUT}` };
	return { ok: true, ...call, host, family };
}

/** A user without password, or of so many characters, may be a token, as in `https://TOKEN:x-oauth-basic@host/`. */
const TOKEN_LENGTH = 8;

/** User and password are sent as Basic (RFC 7617). Undefined if they cannot be decoded. */
function callOf(url: URL): Call | undefined {
	const { username, password } = url;
	if (username === "" && password === "") return { url, authorization: undefined, secrets: [] };
	try {
		const word = decodeURIComponent(password);
		const user = decodeURIComponent(username);
		const basic = Buffer.from(`${user}:${word}`).toString("base64");
		const tokens = password === "" || user.length >= TOKEN_LENGTH ? [username, user] : [];
		url.username = url.password = "";
		return { url, authorization: `Basic ${basic}`, secrets: [basic, password, word, ...tokens] };
	} catch {
		return undefined;
	}
}

const WAY_OUT = "webhooks.allowPrivateNetworks: true in sluice.yaml allows it";

function machineAddresses(): string[] {
	return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

function notSent(why: string): Target {
	return { ok: false, refusal: `not sent: ${why}` };
}
