/** Links that sign in to the console once (D31), in the memory of the server that created them. */
import type { Peer } from "../../kernel/core/access/network.ts";
import type { EpochMs, WallMs } from "../../kernel/lib/time.ts";
import { hex } from "../../kernel/lib/ids.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import type { ApiKeys, KeyHolder } from "../../kernel/engine/access/keys.ts";
import { digest, equal } from "../../kernel/engine/access/credential-cache.ts";

export const LINK_MS = 600_000;

const TOKEN_BYTES = 24;

const MAX_LINKS = 100;

export type Links = ReturnType<typeof createLinks>;

export function createLinks({ keys, now, random }: EngineContext & { keys: ApiKeys }) {
	/** Keys are the SHA-256 of the tokens. */
	const links = new Map<string, { holder: KeyHolder; until: EpochMs }>();

	/** Returns the path of a link that is valid at most until the holder's key or session ends. */
	function make(holder: KeyHolder): { path: string; until: WallMs } {
		const token = hex(random(TOKEN_BYTES));
		const until = now() + LINK_MS;
		const [oldest] = links.keys();
		if (links.size >= MAX_LINKS && oldest !== undefined) links.delete(oldest);
		links.set(digest(token), { holder, until });
		// Behind the `#` no log of a proxy has the token, and only the console's page can use it up.
		return { path: `/console/#/link/${token}`, until };
	}

	return {
		make,
		/** Creates a link for the operator at the machine; undefined without any key. */
		async makeOwn() {
			const keyId = await keys.first();
			const holder = keyId === undefined ? undefined : await keys.holder(keyId);
			return holder && make(holder);
		},
		/** Uses the link up. Returns undefined when it is not valid or its key was replaced. */
		async redeem(token: string, peer: Peer): Promise<KeyHolder | undefined> {
			const hashed = digest(token);
			const link = links.get(hashed);
			links.delete(hashed);
			if (!link || now() >= link.until) return undefined;
			const holder = await keys.holder(link.holder.principal.keyId, peer);
			// A rotation ends links as it ends sessions.
			if (!holder || !equal(holder.hash, link.holder.hash)) return undefined;
			return { ...holder, until: Math.min(holder.until, link.holder.until) };
		},
	};
}
