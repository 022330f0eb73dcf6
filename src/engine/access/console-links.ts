/**
 * Links that sign in once (D31): for whoever sits at the machine, or holds an admin key, without
 * typing it into a browser. In memory: good at the server that made them.
 */
import type { Random } from "../../ids.ts";
import { hex } from "../../ids.ts";
import type { KeyStoreAccess } from "./keys.ts";
import { digest } from "./worker-tokens.ts";

/** How long a link is good, ms. */
export const LINK_MS = 600_000;

const TOKEN_BYTES = 24;

/** Most links at once: the oldest goes first. */
const MOST = 100;

/** A link as it is told, once. */
export interface ConsoleLink {
	/** What follows the address of the service, beginning with a slash. */
	path: string;
	/** Ms since the epoch. */
	until: number;
}

/** Makes links and takes them. */
export interface ConsoleLinks {
	/** A link that signs in as the holder of this key. */
	make(keyId: string): ConsoleLink;
	/**
	 * A link for the machine itself: it signs in with the key of the environment, else with the
	 * oldest admin key; undefined when there is none.
	 */
	makeOwn(): Promise<ConsoleLink | undefined>;
	/**
	 * The id of the key that the link signs in with; the link is used up by it. Undefined when it is
	 * no good.
	 */
	take(token: string): string | undefined;
}

/** Links by the SHA-256 of their tokens. */
export function consoleLinks(d: {
	keys: Pick<KeyStoreAccess, "first">;
	now: () => number;
	random: Random;
}): ConsoleLinks {
	const known = new Map<string, { keyId: string; until: number }>();

	function make(keyId: string): ConsoleLink {
		const token = hex(d.random(TOKEN_BYTES));
		const until = d.now() + LINK_MS;
		const [oldest] = known.keys();
		if (known.size >= MOST && oldest !== undefined) known.delete(oldest);
		known.set(digest(token), { keyId, until });
		return { path: `/console/link/${token}`, until };
	}

	return {
		make,
		async makeOwn() {
			const keyId = await d.keys.first();
			return keyId === undefined ? undefined : make(keyId);
		},
		take(token) {
			const hashed = digest(token);
			const link = known.get(hashed);
			known.delete(hashed);
			return link && d.now() < link.until ? link.keyId : undefined;
		},
	};
}
