/**
 * Links that sign in to the console once (D31), so that no key is typed into a browser. In memory:
 * valid at the server that created them.
 */
import type { Peer } from "../../core/network.ts";
import type { EpochMs, WallMs } from "../../core/time.ts";
import { hex, type Random } from "../../ids.ts";
import type { ApiKeys, KeyHolder } from "./keys.ts";
import { digest, equal } from "./credential-cache.ts";

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
	/** A link that signs in as this holder, at most until its key or session ends. */
	make(holder: KeyHolder): ConsoleLink;
	/** A link for the operator at the machine, by `ApiKeys.first`; undefined without any key. */
	makeOwn(): Promise<ConsoleLink | undefined>;
	/** Uses the link up; returns who signs in, undefined when the link is not valid or its key was replaced. */
	redeem(token: string, peer: Peer): Promise<KeyHolder | undefined>;
}

export function consoleLinks(d: {
	keys: Pick<ApiKeys, "first" | "holder">;
	now: () => EpochMs;
	random: Random;
}): ConsoleLinks {
	/** Links by the SHA-256 of their tokens. */
	const links = new Map<string, { holder: KeyHolder; until: EpochMs }>();

	function make(holder: KeyHolder): ConsoleLink {
		const token = hex(d.random(TOKEN_BYTES));
		const until = d.now() + LINK_MS;
		const [oldest] = links.keys();
		if (links.size >= MAX_LINKS && oldest !== undefined) links.delete(oldest);
		links.set(digest(token), { holder, until });
		// Behind the `#`: no log of a proxy has it, and only the console's page can use it up.
		return { path: `/console/#/link/${token}`, until };
	}

	return {
		make,
		async makeOwn() {
			const keyId = await d.keys.first();
			const holder = keyId === undefined ? undefined : await d.keys.holder(keyId);
			return holder && make(holder);
		},
		async redeem(token, peer) {
			const hashed = digest(token);
			const link = links.get(hashed);
			links.delete(hashed);
			if (!link || d.now() >= link.until) return undefined;
			const now = await d.keys.holder(link.holder.principal.keyId, peer);
			// A rotation ends links as it ends sessions.
			if (!now || !equal(now.hash, link.holder.hash)) return undefined;
			return { ...now, until: Math.min(now.until, link.holder.until) };
		},
	};
}
