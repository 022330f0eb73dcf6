/**
 * Links that sign in to the console once (D31), so that no key is typed into a browser. In memory:
 * valid at the server that created them.
 */
import type { EpochMs, WallMs } from "../../core/time.ts";
import { hex, type Random } from "../../ids.ts";
import type { ApiKeys } from "./keys.ts";
import { digest } from "./credential-cache.ts";

/** How long a link is valid, ms. */
export const LINK_MS = 600_000;

const TOKEN_BYTES = 24;

/** Maximum number of links at once: the oldest is dropped first. */
const MAX_LINKS = 100;

export interface ConsoleLink {
	/** Path and token, after the address of the service. */
	path: string;
	until: WallMs;
}

export interface ConsoleLinks {
	/** A link that signs in as the holder of this key. */
	make(keyId: string): ConsoleLink;
	/** A link for the operator at the machine, by `ApiKeys.first`; undefined without any key. */
	makeOwn(): Promise<ConsoleLink | undefined>;
	/** Uses the link up; returns the id of its key, undefined when the link is not valid. */
	redeem(token: string): string | undefined;
}

export function consoleLinks(d: { keys: Pick<ApiKeys, "first">; now: () => EpochMs; random: Random }): ConsoleLinks {
	/** Links by the SHA-256 of their tokens. */
	const links = new Map<string, { keyId: string; until: EpochMs }>();

	function make(keyId: string): ConsoleLink {
		const token = hex(d.random(TOKEN_BYTES));
		const until = d.now() + LINK_MS;
		const [oldest] = links.keys();
		if (links.size >= MAX_LINKS && oldest !== undefined) links.delete(oldest);
		links.set(digest(token), { keyId, until });
		// Behind the `#`: no log of a proxy has it, and only the console's page can use it up.
		return { path: `/console/#/link/${token}`, until };
	}

	return {
		make,
		async makeOwn() {
			const keyId = await d.keys.first();
			return keyId === undefined ? undefined : make(keyId);
		},
		redeem(token) {
			const hashed = digest(token);
			const link = links.get(hashed);
			links.delete(hashed);
			return link && d.now() < link.until ? link.keyId : undefined;
		},
	};
}
