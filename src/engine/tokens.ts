/** Worker tokens (D26): made at launch or for `worker-env`, good for one endpoint, kept as their SHA-256. */
import { hash } from "node:crypto";
import type { TokenRow, TokenStore } from "../store/store.ts";
import type { Random } from "./ids.ts";
import { hex } from "./ids.ts";

const TOKEN_BYTES = 24;

/** Makes and checks worker tokens. */
export interface Tokens {
  /** A new token; without `worker` it is good for any worker id of the endpoint (`--replicas`). */
  issue(q: { endpoint: string; worker?: string }): Promise<string>;
  /** Whether the token is good for this worker of this endpoint. */
  admits(q: { token: string; endpoint: string; worker: string }): Promise<boolean>;
  /** Ends the token of a worker that is gone. */
  revoke(worker: string): Promise<void>;
  /** The store has removed the tokens of a deleted endpoint. */
  forget(endpoint: string): void;
}

/** SHA-256 in hex. */
export function digest(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** Tokens over the store; what was found once is remembered. */
export function tokens(d: { store: TokenStore; now: () => number; random: Random }): Tokens {
  const known = new Map<string, TokenRow>();
  return {
    async issue({ endpoint, worker }) {
      const token = `sluice_worker_${hex(d.random(TOKEN_BYTES))}`;
      const row = { hash: digest(token), endpoint, worker, createdAt: d.now() };
      await d.store.put(row);
      known.set(row.hash, row);
      return token;
    },
    async admits({ token, endpoint, worker }) {
      const hashed = digest(token);
      let row = known.get(hashed);
      if (!row) {
        row = await d.store.find({ hash: hashed });
        if (!row) return false;
        known.set(hashed, row);
      }
      return row.endpoint === endpoint && (row.worker === undefined || row.worker === worker);
    },
    async revoke(worker) {
      for (const [hashed, row] of known) if (row.worker === worker) known.delete(hashed);
      await d.store.remove({ worker });
    },
    forget(endpoint) {
      for (const [hashed, row] of known) if (row.endpoint === endpoint) known.delete(hashed);
    },
  };
}
