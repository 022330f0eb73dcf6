/** API keys (D30): who may do what. The key of the environment is an admin key; others are in the store as their SHA-256. */
import { hash, timingSafeEqual } from "node:crypto";
import type { KeyRow, KeyStore } from "../store/store.ts";
import type { Random } from "./ids.ts";
import { hex, uuidv7 } from "./ids.ts";
import { digest } from "./tokens.ts";

const KEY_BYTES = 24;

/** What a caller may do: `admin` may everything, `write` may also read. */
export type Scope = "read" | "write" | "admin";

/** A caller, known by its key. */
export interface Principal {
  keyId: string;
  scopes: readonly Scope[];
  /** Endpoints it may use; absent: all. */
  endpoints?: readonly string[] | undefined;
}

/** Knows callers by their keys. */
export interface Keys {
  /** The caller with this key, or undefined. */
  identify(key: string): Promise<Principal | undefined>;
  /** Makes an admin key when there is none at all, neither here nor in the environment; it is told this once (D30). */
  makeFirst(): Promise<string | undefined>;
}

/** Whether a caller may do something of this scope on this endpoint. */
export function may(principal: Principal, scope: Scope, endpoint?: string): boolean {
  if (principal.endpoints && endpoint !== undefined && !principal.endpoints.includes(endpoint)) return false;
  const { scopes } = principal;
  return scopes.includes("admin") || scopes.includes(scope) || (scope === "read" && scopes.includes("write"));
}

/** Keys over the store, and the one of the environment. */
export function keys(d: { store: KeyStore; now: () => number; random: Random; fromEnvironment?: string | undefined }): Keys {
  const admin: Principal = { keyId: "environment", scopes: ["admin"] };
  const own = d.fromEnvironment === undefined ? undefined : hash("sha256", d.fromEnvironment, "buffer");
  const known = new Map<string, { hash: Buffer; principal: Principal }>();

  function principalOf(row: KeyRow): Principal {
    return { keyId: row.id, scopes: row.scopes as Scope[], endpoints: row.endpoints };
  }

  return {
    async identify(key) {
      const bytes = hash("sha256", key, "buffer");
      if (own && timingSafeEqual(bytes, own)) return admin;
      const hashed = bytes.toString("hex");
      const seen = known.get(hashed);
      if (seen && timingSafeEqual(bytes, seen.hash)) return seen.principal;
      const row = await d.store.find({ hash: hashed });
      if (!row) return undefined;
      const principal = principalOf(row);
      known.set(hashed, { hash: bytes, principal });
      return principal;
    },
    async makeFirst() {
      if (own) return undefined;
      const key = `sluice_${hex(d.random(KEY_BYTES))}`;
      const row: KeyRow = { id: uuidv7(d.now(), d.random), hash: digest(key), name: "first key", scopes: ["admin"], createdAt: d.now() };
      return (await d.store.insert({ row, ifNone: true })) ? key : undefined;
    },
  };
}
