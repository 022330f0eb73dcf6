/** API keys (D30): who may do what. The key of the environment is an admin key; others are in the store as their SHA-256. */
import { hash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../core/errors.ts";
import type { Scope } from "../core/key-request.ts";
import type { KeyRow, KeyStore } from "../store/store.ts";
import type { Random } from "./ids.ts";
import { hex, uuidv7 } from "./ids.ts";
import { digest } from "./tokens.ts";

const KEY_BYTES = 24;

/** Time between two notes of a key's use, ms. */
const NOTE_MS = 60_000;

/** A caller, known by its key. */
export interface Principal {
  keyId: string;
  scopes: readonly Scope[];
  /** Endpoints it may use; absent: all. */
  endpoints?: readonly string[] | undefined;
}

/** A key as it is shown: never its hash. Times are ms since the epoch. */
export type ShownKey = Omit<KeyRow, "hash">;

/** Knows callers by their keys. */
export interface Keys {
  /** The caller with this key, or undefined. */
  identify(key: string): Promise<Principal | undefined>;
  /** Makes an admin key when there is none at all, neither here nor in the environment; it is told this once (D30). */
  makeFirst(): Promise<string | undefined>;
  /** Makes a key; it is told this once. */
  create(q: { name: string; scopes: readonly Scope[]; endpoints?: readonly string[] | undefined }): Promise<{ key: string; shown: ShownKey }>;
  /** All keys, oldest first; not the one of the environment. */
  list(): Promise<ShownKey[]>;
  /** Ends a key; its next call is 401. Throws `key_not_found`, and `last_admin_key` for the only key that could make others. */
  revoke(id: string): Promise<void>;
}

interface Known {
  hash: Buffer;
  principal: Principal;
  /** When its use was last noted in the store. */
  notedAt: number;
}

/** Whether a caller may do something of this scope on this endpoint. */
export function may(principal: Principal, scope: Scope, endpoint?: string): boolean {
  if (principal.endpoints && endpoint !== undefined && !principal.endpoints.includes(endpoint)) return false;
  const { scopes } = principal;
  return scopes.includes("admin") || scopes.includes(scope) || (scope === "read" && scopes.includes("write"));
}

/** Keys over the store, and the one of the environment. `onFault` is told when a use could not be noted. */
export function keys(d: { store: KeyStore; now: () => number; random: Random; fromEnvironment?: string | undefined; onFault: (error: unknown) => void }): Keys {
  const admin: Principal = { keyId: "environment", scopes: ["admin"] };
  const own = d.fromEnvironment === undefined ? undefined : hash("sha256", d.fromEnvironment, "buffer");
  const known = new Map<string, Known>();
  /** Grows with each key that ends, so that what was read before is not remembered after. */
  let ended = 0;

  async function add(q: Omit<KeyRow, "id" | "hash" | "createdAt">, ifNone: boolean): Promise<{ key: string; shown: ShownKey } | undefined> {
    const key = `sluice_${hex(d.random(KEY_BYTES))}`;
    const shown: ShownKey = { ...q, id: uuidv7(d.now(), d.random), createdAt: d.now() };
    return (await d.store.insert({ row: { ...shown, hash: digest(key) }, ifNone })) ? { key, shown } : undefined;
  }

  /** Notes the use of a key, at most once a minute. */
  function use(entry: Known): Principal {
    const now = d.now();
    if (now - entry.notedAt >= NOTE_MS) {
      entry.notedAt = now;
      d.store.used({ id: entry.principal.keyId, now }).catch(d.onFault);
    }
    return entry.principal;
  }

  return {
    async identify(key) {
      const bytes = hash("sha256", key, "buffer");
      if (own && timingSafeEqual(bytes, own)) return admin;
      const hashed = bytes.toString("hex");
      const seen = known.get(hashed);
      if (seen && timingSafeEqual(bytes, seen.hash)) return use(seen);
      const before = ended;
      const row = await d.store.find({ hash: hashed });
      if (!row) return undefined;
      const entry: Known = { hash: bytes, principal: { keyId: row.id, scopes: row.scopes as Scope[], endpoints: row.endpoints }, notedAt: row.lastUsedAt ?? 0 };
      if (before === ended) known.set(hashed, entry);
      return use(entry);
    },
    makeFirst: async () => (own ? undefined : (await add({ name: "first key", scopes: ["admin"] }, true))?.key),
    async create({ name, scopes, endpoints }) {
      const made = await add({ name, scopes: [...scopes], ...(endpoints ? { endpoints: [...endpoints] } : {}) }, false);
      if (!made) throw new Error("The store did not take the new key.");
      return made;
    },
    list: async () => (await d.store.list()).map(({ id, name, scopes, endpoints, createdAt, lastUsedAt }) => ({ id, name, scopes, endpoints, createdAt, lastUsedAt })),
    async revoke(id) {
      const answer = await d.store.remove({ id, ...(own ? {} : { keep: "admin" }) });
      if (answer === "missing") throw new ApiError("key_not_found", { key: id.slice(0, 80) });
      if (answer === "last") throw new ApiError("last_admin_key");
      ended += 1;
      for (const [hashed, entry] of known) if (entry.principal.keyId === id) known.delete(hashed);
    },
  };
}
